package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/page"
	"svc/domain/value"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func parse(t *testing.T, text string) *value.Object {
	t.Helper()
	v, err := value.ParseJSON(text)
	require.NoError(t, err)
	return v.(*value.Object)
}

// view returns a view of a page.
func view(t *testing.T, doc string) *page.View {
	t.Helper()
	return &page.View{
		Document: page.Compile("p1", "home", parse(t, doc)), Language: page.Language{Tag: "en"}, Now: noon, Query: value.NewObject(),
	}
}

// definitions are blocks by instance/name.
type definitions map[string]*page.Definition

func (d definitions) Find(instance, name string) *page.Definition { return d[instance+"/"+name] }

func define(t *testing.T, instance, text string) *page.Definition {
	t.Helper()
	return page.CompileDefinition(instance, parse(t, text))
}

// at returns a value of the configuration of a block as JSON.
func at(t *testing.T, tree *page.Tree, path, key string) string {
	t.Helper()
	require.Contains(t, tree.ByPath, path)
	v := tree.ByPath[path].Config.At(key)
	if m, ok := v.(*page.MixedText); ok {
		v = m.String()
	}
	return value.JSON(v, "")
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, want string }{
		"a whole placeholder keeps the type":       {`"n":41,"blocks":[{"slug":"KPI","x":"{{n}}"}]`, `41`},
		"mixed text":                               {`"n":41,"blocks":[{"slug":"KPI","x":"n={{n}}!"}]`, `"n=41!"`},
		"objects become JSON in mixed text":        {`"o":{"a":[1]},"blocks":[{"slug":"KPI","x":"o={{o}}"}]`, `"o={\"a\":[1]}"`},
		"a missing value is empty in mixed text":   {`"blocks":[{"slug":"KPI","x":"a{{no.such}}b"}]`, `"ab"`},
		"items of lists":                           {`"l":[{"a":1},{"a":2}],"blocks":[{"slug":"KPI","x":"{{l[1].a}}"}]`, `2`},
		"true becomes a boolean":                   {`"s":"true","blocks":[{"slug":"KPI","x":"{{s}}"}]`, `true`},
		"negation of an object":                    {`"o":{},"blocks":[{"slug":"KPI","x":"!{{o}}"}]`, `false`},
		"negation of nothing":                      {`"o":"","blocks":[{"slug":"KPI","x":"!{{o}}"}]`, `true`},
		"negation of zero":                         {`"o":0,"blocks":[{"slug":"KPI","x":"!{{o}}"}]`, `true`},
		"a key takes that of the parent":           {`"x":"P","blocks":[{"slug":"KPI","x":"{{x}}"}]`, `"P"`},
		"own configuration comes first":            {`"y":"page","blocks":[{"slug":"KPI","y":"own","x":"{{y}}"}]`, `"own"`},
		"keys that read each other end":            {`"blocks":[{"slug":"KPI","y":"{{x}}","x":"{{y}}"}]`, `null`},
		"templates in objects and lists":           {`"n":1,"blocks":[{"slug":"KPI","x":{"a":["{{n}}",{"b":"{{n}}{{n}}"}]}}]`, `{"a":[1,{"b":"11"}]}`},
		"expressions are not evaluated":            {`"blocks":[{"slug":"KPI","x":"{% 1+1 %}"}]`, `"{% 1+1 %}"`},
		"what is no path is plain text":            {`"blocks":[{"slug":"KPI","x":"{{ 1 + 1 }} {{}}"}]`, `"{{ 1 + 1 }} {{}}"`},
		"texts by language":                        {`"t":{"en":"Hi","fr":"Salut"},"blocks":[{"slug":"KPI","x":"{{t}} you"}]`, `"Hi you"`},
		"system":                                   {`"name":"Home","blocks":[{"slug":"KPI","x":"{{SYSTEM.page.slug}} {{SYSTEM.language}} {{SYSTEM.userIsSignedIn}}"}]`, `"home en false"`},
		"date with a fallback":                     {`"d":null,"blocks":[{"slug":"KPI","x":"{{d|date:'LL','fr','—'}}"}]`, `"—"`},
		"date":                                     {`"d":"2026-02-01","blocks":[{"slug":"KPI","x":"{{d|date:'LL','fr'}}"}]`, `"1 février 2026"`},
		"relative time":                            {`"d":"2026-11-17T09:00:00Z","blocks":[{"slug":"KPI","x":"{{d|from-now}} {{d|from-now:'fr'}}"}]`, `"3 hours ago il y a 3 heures"`},
		"a choice":                                 {`"a":1,"b":0,"blocks":[{"slug":"KPI","x":"{{a|if:'yes','no'}} {{b|if:'yes',a}}"}]`, `"yes 1"`},
		"numbers":                                  {`"n":1234567.891,"blocks":[{"slug":"KPI","x":"{{n|formatNumber:'de',2}} {{n|formatNumber}}"}]`, `"1.234.567,89 1,234,567.891"`},
		"a list is filtered":                       {`"q":{"k":2},"l":[{"k":1},{"k":2}],"blocks":[{"slug":"KPI","x":"{{l|filter:q}}"}]`, `[{"k":2}]`},
		"a pattern is replaced":                    {`"s":"a1b22","blocks":[{"slug":"KPI","x":"{{s|replace:'[0-9]+','#','g'}} {{s|replace:'\\d','#'}}"}]`, `"a#b# a#b22"`},
		"a bad pattern leaves the value":           {`"s":"a","blocks":[{"slug":"KPI","x":"{{s|replace:'(','#'}}"}]`, `"a"`},
		"an unknown filter leaves the value":       {`"s":"a","blocks":[{"slug":"KPI","x":"{{s|shout}}"}]`, `"a"`},
		"filters chain":                            {`"s":"","blocks":[{"slug":"KPI","x":"{{s|if:'a','bb'|replace:'b','c','g'}}"}]`, `"cc"`},
		"quotes may contain braces and separators": {`"s":"","blocks":[{"slug":"KPI","x":"{{s|if:'a','}}|,:'}}"}]`, `"}}|,:"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := view(t, "{"+c.config+"}").Expand()
			require.Equal(t, c.want, at(t, tree, "0", "x"))
		})
	}
}

func TestInsertedValuesAreNoTemplates(t *testing.T) {
	t.Parallel()
	v := view(t, `{"secretish":"S","blocks":[{"slug":"KPI","x":"Hi {{SYSTEM.query.q}}","y":"{{SYSTEM.query.q}}"}]}`)
	v.Query = parse(t, `{"q":"{{secretish}}"}`)
	tree := v.Expand()
	require.Equal(t, `"Hi {{secretish}}"`, at(t, tree, "0", "x"))
	require.Equal(t, `"{{secretish}}"`, at(t, tree, "0", "y"))
	require.NoError(t, v.Fold(tree, "0", parse(t, `{"x":"{{secretish}}","o.p":"{{secretish}}"}`)))
	tree = v.Expand()
	require.Equal(t, `"{{secretish}}"`, at(t, tree, "0", "x"))
	require.Equal(t, `{"p":"{{secretish}}"}`, at(t, tree, "0", "o"))
}

func TestAnUnknownFilterIsReportedOnce(t *testing.T) {
	t.Parallel()
	tree := view(t, `{"blocks":[{"slug":"KPI","x":"{{a|shout}} {{a|shout}}"},{"slug":"KPI","x":"{{a|shout}}"}]}`).Expand()
	require.Len(t, tree.Problems, 1)
	require.Contains(t, tree.Problems[0].Message, "shout")
}

func TestConditionsAndRepeats(t *testing.T) {
	t.Parallel()
	tree := view(t, `{"list":[{"n":1},null,{"n":2}],"o":{},"blocks":[
		{"slug":"KPI","if":"!{{o}}","x":1},
		{"slug":"KPI","hidden":true,"x":1},
		{"slug":"KPI","repeat":{"on":"{{list}}"},"if":"{{item}}","x":"{{item.n}}/{{$index}}"},
		{"slug":"BlocksList","template":{"repeat":{"on":"{{list}}","as":"row"}},"blocks":[{"slug":"KPI","x":"{{row.n}}"}]},
		{"slug":"KPI","repeat":{"on":"{{nothing}}"},"x":1}
	]}`).Expand()
	require.True(t, tree.ByPath["0"].Hidden)
	require.True(t, tree.ByPath["1"].Hidden)
	require.Len(t, tree.ByPath["2"].Copies, 2)
	require.Equal(t, `"1/0"`, at(t, tree, "2:0", "x"))
	require.Equal(t, `"2/2"`, at(t, tree, "2:2", "x"))
	require.Len(t, tree.ByPath["3"].Copies, 3)
	require.Equal(t, `2`, at(t, tree, "3:2.0", "x"))
	require.Empty(t, tree.ByPath["4"].Copies)
}

func TestALongRepeatIsCut(t *testing.T) {
	t.Parallel()
	v := view(t, `{"blocks":[{"slug":"KPI","repeat":{"on":"{{list}}"},"x":"{{item}}"},{"slug":"KPI","x":"after"}]}`)
	list := make([]any, 1_000_000)
	for i := range list {
		list[i] = float64(i)
	}
	require.NoError(t, v.Fold(v.Expand(), "", value.NewObject("few", list[:10])))
	v.Document.Config.Set("list", list)
	v.Folded = nil
	tree := v.Expand()
	require.Len(t, tree.ByPath["0"].Copies, 1000)
	require.Equal(t, 999_000, tree.ByPath["0"].LeftOut)
	require.Equal(t, `"after"`, at(t, tree, "1", "x"))
}

func TestTextThatDoublesIsBounded(t *testing.T) {
	t.Parallel()
	var keys []string
	for i := range 60 {
		keys = append(keys, `"k`+string(rune('A'+i))+`":"{{k`+string(rune('A'+i+1))+`}}{{k`+string(rune('A'+i+1))+`}}"`)
	}
	tree := view(t, `{`+strings.ReplaceAll(strings.Join(keys, ","), `\`, `_`)+`,"blocks":[{"slug":"KPI","x":"{{kA}}"},{"slug":"KPI","x":"y"}]}`).Expand()
	require.Equal(t, `"y"`, at(t, tree, "1", "x"))
	require.NotEmpty(t, tree.Problems)
}

// Text costs what it has, and not what it has up to each of its values.
func TestTextWithManyValuesIsWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 10_000) + strings.Repeat("{{n}}", 1000)
	tree := view(t, `{"n":7,"blocks":[{"slug":"KPI","x":"`+long+`"}]}`).Expand()
	require.Empty(t, tree.Problems)
	require.Len(t, at(t, tree, "0", "x"), 11_002)
}

func TestKinds(t *testing.T) {
	t.Parallel()
	v := view(t, `{"blocks":[
		{"slug":"Product","title":"Chair","onInit":"ready"},
		{"slug":"NoSuch"},
		{"slug":"crm.Contacts","onSubmit":"open"},
		{"slug":"Contacts","appInstance":"crm"},
		{"slug":"Loop"},
		{"slug":"KPI","x":"own"}
	]}`)
	v.Definitions = definitions{
		"/Product":     define(t, "", `{"config":{"size":"small","title":"Untitled"},"css":":block{color:red}","automation":"price","blocks":[{"slug":"RichText","content":"{{title}} {{size}}"}]}`),
		"/KPI":         define(t, "", `{"block":"RichText","config":{"content":"mine"}}`),
		"/Loop":        define(t, "", `{"blocks":[{"slug":"Loop"}]}`),
		"crm/Contacts": define(t, "crm", `{"automation":{"slug":"list","payload":{"n":"{{n}}"}},"config":{"n":5},"blocks":[{"slug":"Row"}]}`),
		"crm/Row":      define(t, "crm", `{"blocks":[{"slug":"Button","type":"event","value":"pick"}]}`),
	}
	tree := v.Expand()
	require.Equal(t, `"Chair small"`, at(t, tree, "0.0", "content"))
	require.Equal(t, &page.Call{Slug: "price"}, tree.ByPath["0"].Call)
	require.Equal(t, ":block{color:red}", tree.ByPath["0"].CSS[0])
	require.ErrorContains(t, tree.ByPath["1"].Err, "NoSuch")
	require.Equal(t, "crm", tree.ByPath["2"].Instance)
	require.Equal(t, "crm", tree.ByPath["3"].Instance)
	require.Equal(t, `{"n":5}`, value.JSON(tree.ByPath["2"].Call.Payload, ""))
	require.Equal(t, "crm", tree.ByPath["2.0.0"].Instance, "a block of an app names its events inside of the instance")
	require.Equal(t, "Button", tree.ByPath["2.0.0"].Kind)
	require.ErrorContains(t, tree.ByPath["4.0"].Err, "contains itself")
	require.Equal(t, "RichText", tree.ByPath["5"].Kind, "a name of the workspace wins over a built-in one")
	require.Len(t, tree.Problems, 2)
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, data, key, want string }{
		"numbers add":                     {`"n":41`, `{"$merge":{"n":1}}`, "n", `42`},
		"strings add":                     {`"s":"a"`, `{"$merge":{"s":"b"}}`, "s", `"ab"`},
		"booleans and":                    {`"b":true`, `{"$merge":{"b":false}}`, "b", `false`},
		"absent is set":                   {`"x":1`, `{"$merge":{"n":1}}`, "n", `1`},
		"another type is set":             {`"n":"1"`, `{"$merge":{"n":1}}`, "n", `1`},
		"a list is concatenated":          {`"l":["b"]`, `{"$merge":{"l":["c"]}}`, "l", `["b","c"]`},
		"a single value is appended":      {`"l":["b"]`, `{"$merge":{"l":{"a":1}}}`, "l", `["b",{"a":1}]`},
		"in front":                        {`"l":["b"]`, `{"$unshift":{"l":["a"]},"$merge":{"l":["c"]}}`, "l", `["a","b","c"]`},
		"entries are removed":             {`"l":[{"id":1},{"id":2},{"id":3}]`, `{"$remove":{"l":{"id":[2,3]}}}`, "l", `[{"id":1}]`},
		"equal entries are removed":       {`"l":[1,2,1]`, `{"$remove":{"l":1}}`, "l", `[2]`},
		"a path":                          {`"user":{"name":"A","age":3}`, `{"user.name":"Z"}`, "user", `{"name":"Z","age":3}`},
		"missing parents are created":     {`"x":1`, `{"$replace":{"a.b.c":1}}`, "a", `{"b":{"c":1}}`},
		"an item of a list":               {`"l":[{"a":1},{"a":2}]`, `{"l.1.a":5}`, "l", `[{"a":1},{"a":5}]`},
		"objects merge shallowly":         {`"o":{"a":{"x":1},"b":1}`, `{"$merge":{"o":{"a":{"y":1}}}}`, "o", `{"a":{"y":1},"b":1}`},
		"templates beside it stay":        {`"n":1,"o":{"a":"{{n}}","b":1}`, `{"o.b":2}`, "o", `{"a":1,"b":2}`},
		"a list with templates grows":     {`"n":1,"l":["{{n}}"]`, `{"$merge":{"l":["{{n}}"]}}`, "l", `[1,"{{n}}"]`},
		"css is ignored":                  {`"x":1`, `{"o":{"css":"a","b":1},"css":"x"}`, "o", `{"b":1}`},
		"the type script is ignored":      {`"x":1`, `{"o":{"type":"script","b":1},"o.type":"script"}`, "o", `{"b":1}`},
		"a template is no type to add to": {`"n":1,"s":"{{n}}"`, `{"$merge":{"s":1}}`, "s", `1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := view(t, `{"blocks":[{"slug":"KPI",`+c.config+`}]}`)
			before := v.Expand()
			wrote := at(t, before, "0", strings.SplitN(strings.Trim(c.config, `"`), `"`, 2)[0])
			require.NoError(t, v.Fold(before, "0", parse(t, c.data)))
			require.Equal(t, c.want, at(t, v.Expand(), "0", c.key))
			v.Folded = nil
			require.Equal(t, wrote, at(t, v.Expand(), "0", strings.SplitN(strings.Trim(c.config, `"`), `"`, 2)[0]), "the document stays as it was")
		})
	}
}

func TestUpdatesOfThePageReachItsBlocks(t *testing.T) {
	t.Parallel()
	v := view(t, `{"title":"A","blocks":[{"slug":"KPI","x":"{{title}}"}]}`)
	require.NoError(t, v.Fold(v.Expand(), "", parse(t, `{"title":"B","slug":"other","id":"x"}`)))
	tree := v.Expand()
	require.Equal(t, `"B"`, at(t, tree, "0", "x"))
	require.True(t, value.IsUndefined(tree.Config.At("id")))
	require.NoError(t, v.Fold(tree, "", parse(t, `{"$merge":{"blocks":[{"slug":"KPI","x":"{{title}}"}]},"blocks.0.x":"C","blocks.0.slug":"RichText"}`)))
	tree = v.Expand()
	require.Equal(t, `"C"`, at(t, tree, "0", "x"))
	require.Equal(t, "KPI", tree.ByPath["0"].Kind)
	require.Equal(t, `"{{title}}"`, at(t, tree, "1", "x"), "blocks of data have no templates")
}

func TestDataCannotMakeContentUnsecure(t *testing.T) {
	t.Parallel()
	v := view(t, `{"blocks":[
		{"slug":"RichText","allowUnsecure":true,"content":"<script>{{x}}</script>","x":"1"},
		{"slug":"RichText","content":"a"},
		{"slug":"RichText","allowUnsecure":true,"content":"{{x}}","x":"<script>2</script>"},
		{"slug":"Button","type":"script","value":"go()"},
		{"slug":"RichText","allowUnsecure":"{{x}}","content":"b","x":true}
	]}`)
	tree := v.Expand()
	require.Equal(t, []string{"1"}, tree.ByPath["0"].Config.At("content").(page.Unsecure).Text.Values)
	require.Equal(t, "a", tree.ByPath["1"].Config.At("content"))
	require.Equal(t, "<script>2</script>", tree.ByPath["2"].Config.At("content"), "it is wholly data")
	require.True(t, page.IsScript(tree.ByPath["3"].Config))
	require.Equal(t, "b", tree.ByPath["4"].Config.At("content"))
	for _, path := range []string{"0", "1"} {
		require.NoError(t, v.Fold(v.Expand(), path, parse(t, `{"allowUnsecure":true,"content":"<script>3</script>","type":"script"}`)))
	}
	require.NoError(t, v.Fold(v.Expand(), "", parse(t, `{"$merge":{"blocks":[{"slug":"RichText","allowUnsecure":true,"content":"<script>4</script>"},{"slug":"Button","type":"script","value":"go()"}]}}`)))
	require.NoError(t, v.Fold(v.Expand(), "3", parse(t, `{"$replace":{"type":"scr"}}`)))
	require.NoError(t, v.Fold(v.Expand(), "3", parse(t, `{"$merge":{"type":"ipt"}}`)))
	tree = v.Expand()
	require.Equal(t, "<script>3</script>", tree.ByPath["0"].Config.At("content"))
	require.Equal(t, "<script>3</script>", tree.ByPath["1"].Config.At("content"))
	require.Equal(t, "<script>4</script>", tree.ByPath["5"].Config.At("content"))
	require.False(t, page.IsScript(tree.ByPath["6"].Config))
	require.False(t, page.IsScript(tree.ByPath["3"].Config))
}

func TestAStateThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	v := view(t, `{"blocks":[{"slug":"KPI","x":"a"}]}`)
	require.NoError(t, v.Fold(v.Expand(), "0", value.NewObject("x", strings.Repeat("b", 900_000))))
	require.ErrorIs(t, v.Fold(v.Expand(), "0", value.NewObject("y", strings.Repeat("b", 200_000))), page.ErrTooLarge)
	require.ErrorIs(t, v.Fold(v.Expand(), "", value.NewObject("y", strings.Repeat("b", 200_000))), page.ErrTooLarge)
	require.Len(t, at(t, v.Expand(), "0", "x"), 900_002)
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	doc := page.Compile("p", "s", parse(t, `{"name":{"en":"Home","fr":"Accueil","de-CH":"Zuhause"},"blocks":[{"slug":"KPI","title":{"it":"Ciao"}}]}`))
	require.Equal(t, []string{"en", "fr", "de-CH", "it"}, doc.Languages)
	for accept, want := range map[string]string{
		"": "en", "fr": "fr", "fr-CA,en;q=0.5": "fr", "es, de;q=0.9, fr;q=0.8": "de-CH", "en;q=0.1, fr;q=0.9": "fr", "xx": "en", "fr;q=0": "en", "it": "it", "*": "en",
	} {
		require.Equal(t, want, page.ChooseLanguage(accept, doc.Languages).Tag, accept)
	}
	text := func(tag string) string {
		s, ok := page.Language{Tag: tag}.Resolve(doc.Name)
		require.True(t, ok)
		return s
	}
	require.Equal(t, "Accueil", text("fr-BE"))
	require.Equal(t, "Home", text("es"))
	require.Equal(t, "Zuhause", text("de-CH"))
	language, rest, ok := page.SplitLanguage("fr-BE/a/b")
	require.True(t, ok)
	require.Equal(t, "fr-BE", language.Tag)
	require.Equal(t, "a/b", rest)
	_, _, ok = page.SplitLanguage("french/a")
	require.False(t, ok)
}

func TestForms(t *testing.T) {
	t.Parallel()
	form := page.FormFields(parse(t, `{"type":"object","required":["name"],"properties":{
		"name":{"type":"string","minLength":2,"maxLength":5,"pattern":"[a-z]+"},
		"age":{"type":"integer","min":18,"validators":{"max":{"value":99,"message":"too old"}}},
		"mail":{"type":"string","format":"email"},
		"when":{"type":"string","ui:widget":"date"},
		"ok":{"type":"boolean","validators":{"required":true}},
		"color":{"type":"string","enum":["red","blue"]},
		"size":{"type":"number","enum":[1,2]},
		"tags":{"type":"array","items":{"type":"string"}},
		"rows":{"type":"array","items":{"type":"object","properties":{"n":{"type":"number"}}}},
		"address":{"type":"object","properties":{"city":{"type":"string"}}},
		"title":{"type":"localized:string"},
		"fixed":{"type":"string","disabled":true}
	}}`))
	decode := func(pairs ...string) (string, map[string]string) {
		var values []page.NamedValue
		for i := 0; i < len(pairs); i += 2 {
			values = append(values, page.NamedValue{Name: pairs[i], Value: pairs[i+1]})
		}
		got, faults := form.Decode(page.Nest(values))
		rules := map[string]string{}
		for _, f := range faults {
			rules[f.Field] = f.Rule + f.Message
		}
		return value.JSON(got, ""), rules
	}
	got, faults := decode("name", "abc", "age", "20", "mail", "a@b.co", "when", "2026-01-02", "ok", "on", "color", "red", "size", "2", "tags[]", "x", "tags[]", "",
		"tags[]", "y", "rows[1].n", "2", "rows[0].n", "1", "address.city", "Rome", "title.fr", "T", "undeclared", "1", "fixed", "no", "a..[b", "1")
	require.Empty(t, faults)
	require.JSONEq(t, `{"name":"abc","age":20,"mail":"a@b.co","when":"2026-01-02","ok":true,"color":"red","size":2,"tags":["x","y"],"rows":[{"n":1},{"n":2}],"address":{"city":"Rome"},"title":{"fr":"T"}}`, got)
	_, faults = decode("name", "A", "age", "120", "mail", "nope", "when", "soon", "color", "green", "rows[0].n", "many")
	require.Equal(t, map[string]string{"name": "pattern", "age": "maxtoo old", "mail": "email", "when": "date", "ok": "required", "color": "enum", "rows[0].n": "type"}, faults)
	_, faults = decode("name", "", "age", "1.5", "ok", "on")
	require.Equal(t, map[string]string{"name": "required", "age": "type"}, faults)
	got, faults = decode("name", "abc", "ok", "true", "age", "17")
	require.Equal(t, map[string]string{"age": "min"}, faults)
	require.JSONEq(t, `{"name":"abc","ok":true,"age":17}`, got)
	require.Equal(t, "n", form.Find("rows[3].n").Name[len("rows[]."):])
}

// What stands in a payload is sent as it is, whatever it looks like.
func TestPayloadsAreData(t *testing.T) {
	t.Parallel()
	tree := view(t, `{"name":"P","blocks":[{"slug":"Button","n":1,"payload":{"content":"n is {{n}}","type":"script","blocks":[{"slug":"KPI","value":"{{n}}"}],"block":{"slug":"KPI"}}}]}`).Expand()
	require.JSONEq(t, `{"content":"n is 1","type":"script","blocks":[{"slug":"KPI","value":1}],"block":{"slug":"KPI"}}`, at(t, tree, "0", "payload"))
	require.Len(t, tree.ByPath, 1)
}
