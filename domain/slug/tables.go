package slug

// latin lists, after each letter or two of a slug, the letters that are written
// so without their marks: those of Latin-1, of Latin Extended A and B, and of
// Latin Extended Additional, by the decomposition of Unicode; and the few that
// Unicode does not take apart.
var latin = []struct{ plain, marked string }{
	{"A", "ÀÁÂÃÄÅĀĂĄǍǞǠǺȀȂȦḀẠẢẤẦẨẪẬẮẰẲẴẶ"},
	{"a", "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ"},
	{"AE", "ÆǢǼ"},
	{"ae", "æǣǽ"},
	{"B", "ɃḂḄḆ"},
	{"b", "ƀḃḅḇ"},
	{"C", "ÇĆĈĊČḈ"},
	{"c", "çćĉċčḉ"},
	{"D", "ÐĎĐḊḌḎḐḒ"},
	{"d", "ðďđḋḍḏḑḓ"},
	{"E", "ÈÉÊËĒĔĖĘĚȄȆȨḔḖḘḚḜẸẺẼẾỀỂỄỆ"},
	{"e", "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ"},
	{"F", "Ḟ"},
	{"f", "ḟ"},
	{"G", "ĜĞĠĢǦǴḠ"},
	{"g", "ĝğġģǧǵḡ"},
	{"H", "ĤĦȞḢḤḦḨḪ"},
	{"h", "ĥħȟḣḥḧḩḫẖ"},
	{"I", "ÌÍÎÏĨĪĬĮİƗǏȈȊḬḮỈỊ"},
	{"i", "ìíîïĩīĭįıǐȉȋḭḯỉị"},
	{"J", "Ĵ"},
	{"j", "ĵǰ"},
	{"K", "ĶǨḰḲḴ"},
	{"k", "ķĸǩḱḳḵ"},
	{"L", "ĹĻĽĿŁḶḸḺḼ"},
	{"l", "ĺļľŀłḷḹḻḽ"},
	{"M", "ḾṀṂ"},
	{"m", "ḿṁṃ"},
	{"N", "ÑŃŅŇŊǸṄṆṈṊ"},
	{"n", "ñńņňŉŋǹṅṇṉṋ"},
	{"O", "ÒÓÔÕÖØŌŎŐƠǑǪǬǾȌȎȪȬȮȰṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢ"},
	{"o", "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ"},
	{"OE", "Œ"},
	{"oe", "œ"},
	{"P", "ṔṖ"},
	{"p", "ṕṗ"},
	{"R", "ŔŖŘȐȒṘṚṜṞ"},
	{"r", "ŕŗřȑȓṙṛṝṟ"},
	{"S", "ŚŜŞŠȘṠṢṤṦṨ"},
	{"s", "śŝşšſșṡṣṥṧṩ"},
	{"SS", "ẞ"},
	{"ss", "ß"},
	{"T", "ŢŤŦȚṪṬṮṰ"},
	{"t", "ţťŧțṫṭṯṱẗ"},
	{"TH", "Þ"},
	{"th", "þ"},
	{"U", "ÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖṲṴṶṸṺỤỦỨỪỬỮỰ"},
	{"u", "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự"},
	{"V", "ṼṾ"},
	{"v", "ṽṿ"},
	{"W", "ŴẀẂẄẆẈ"},
	{"w", "ŵẁẃẅẇẉẘ"},
	{"X", "ẊẌ"},
	{"x", "ẋẍ"},
	{"Y", "ÝŶŸȲẎỲỴỶỸ"},
	{"y", "ýÿŷȳẏẙỳỵỷỹ"},
	{"Z", "ŹŻŽƵẐẒẔ"},
	{"z", "źżžƶẑẓẕ"},
}

// The words of generated slugs: harmless ones, in whatever pair.
const (
	adjectives = `able agile airy alert amber ample aqua arctic ardent azure balmy bold bonny brave breezy brief bright
		brisk broad bronze calm candid careful cheerful chief civic clean clear clever coastal cobalt cool copper coral
		cosmic cosy crimson crisp curious daily dapper daring deep deft dewy eager early earnest easy elated elegant
		emerald epic equal even exact fabled fair famous fancy fast festive fine firm fluent fond frank free fresh
		friendly gentle giant glad golden good grand green happy hardy hazel hearty helpful honest humble icy ideal indigo
		ivory jade jolly jovial joyful keen kind large lemon level light lilac lively logical loyal lucid lucky lunar
		magenta mellow merry mighty mild mint modern modest native neat new nimble noble novel olive open orange orderly
		pastel patient peaceful placid plain pleasant polar polite prime proud pure quick quiet rapid rare ready regal
		robust rosy royal ruby sage sandy scarlet serene sharp shiny silent silver simple sincere sleek smart smooth snowy
		solar solid sonic spry stable steady still sturdy subtle sunny super swift teal tidy topaz tranquil trusty upbeat
		urban useful velvet vast verdant vivid warm wide windy wise witty young zesty`
	nouns = `acorn agate alder anchor antler apple arbour arch arrow aspen atlas atoll aurora badger bamboo barley basil
		basin bay beacon beaver beech bell birch bison bloom bluff bramble branch breeze bridge brook cabin cactus camel
		canal canyon cape cedar cello cherry cliff cloud clover comet compass condor coral cove crane creek crest daisy
		dawn delta dolphin dove dune eagle elm ember falcon fern field finch fjord flame flint flute forest fossil fox
		garden garnet gazelle geyser ginger glacier glade grove gull harbour harp hawk hazel heath heron hill holly horizon
		island ivy jasper juniper kestrel kettle kite lagoon lake lantern larch lark laurel leaf ledge lily linden lion
		lotus lynx magnet maple marble meadow mesa meteor mill mirror mountain nectar oak oasis ocean orbit orchard orchid
		osprey otter owl palm panda pebble pelican peony pepper pine planet plateau plum pond poplar prairie prism quartz
		quill rain raven reef ridge river robin rose saffron sail salmon sequoia shell shore sky spark sparrow spring
		spruce star stone stream summit sun swallow swan thistle tiger trail tulip tundra valley violet walnut wave wharf
		willow wind wren yarrow zebra`
)
