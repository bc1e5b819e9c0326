package shape

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/domain/automation"
	"svc/domain/document"
)

// names is the naming of keys that others refer to.
func names(limit int) *naming {
	return &naming{limit: limit, wrong: func(key string) string { return nameProblem(key, limit) }}
}

const maxBlockName = 60

// blockNames is the naming of the blocks of a workspace. A dot separates an app instance,
// a slash a path.
var blockNames = &naming{limit: maxBlockName, wrong: func(key string) string {
	if why := nameProblem(key, maxBlockName); why != "" {
		return why
	}
	if i := strings.IndexFunc(key, func(r rune) bool { return r < utf8.RuneSelf && !isPlain(r) }); i >= 0 {
		return fmt.Sprintf("a block's name has no %q: letters, digits, spaces, _ and - only", key[i])
	}
	return ""
}}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ' || r == '_' || r == '-'
}

// nameProblem returns the problem of a name that others refer to, "" for none. Two names
// that look the same must be the same: a name has no invisible characters, no letters of
// two alphabets, and is no word that looks the same in Latin letters.
func nameProblem(s string, limit int) string {
	length := utf8.RuneCountInString(s)
	switch {
	case !utf8.ValidString(s) || length == 0 || length > limit:
		return fmt.Sprintf("a name has 1 to %d characters", limit)
	case strings.TrimSpace(s) != s:
		return "a name has no blanks at its ends"
	}
	used, alike := map[string]bool{}, true
	for _, r := range s {
		script := scriptOf(r)
		if script == "" {
			return fmt.Sprintf("the character %U is not allowed in a name", r)
		}
		if script != common {
			used[script] = true
			alike = alike && strings.ContainsRune(likeLatin, r)
		}
	}
	if used[eastAsian] {
		delete(used, latin) // they are written together
	}
	if len(used) > 1 {
		return "a name has letters of one alphabet: those of two can look alike"
	}
	if len(used) == 1 && alike {
		return "these letters look like Latin ones"
	}
	return ""
}

// common is the script of characters that all scripts share, eastAsian that of the scripts
// which are written together.
const (
	common    = "common"
	latin     = "Latin"
	eastAsian = "East Asian"
)

// scripts are those that people write today and that a name may have.
var scripts = []struct {
	name string
	has  []*unicode.RangeTable
}{
	{latin, []*unicode.RangeTable{unicode.Latin}},
	{eastAsian, []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo}},
	{"Cyrillic", []*unicode.RangeTable{unicode.Cyrillic}},
	{"Greek", []*unicode.RangeTable{unicode.Greek}},
	{"Arabic", []*unicode.RangeTable{unicode.Arabic}},
	{"Hebrew", []*unicode.RangeTable{unicode.Hebrew}},
	{"Armenian", []*unicode.RangeTable{unicode.Armenian}},
	{"Georgian", []*unicode.RangeTable{unicode.Georgian}},
	{"Devanagari", []*unicode.RangeTable{unicode.Devanagari}},
	{"Bengali", []*unicode.RangeTable{unicode.Bengali}},
	{"Gurmukhi", []*unicode.RangeTable{unicode.Gurmukhi}},
	{"Gujarati", []*unicode.RangeTable{unicode.Gujarati}},
	{"Oriya", []*unicode.RangeTable{unicode.Oriya}},
	{"Tamil", []*unicode.RangeTable{unicode.Tamil}},
	{"Telugu", []*unicode.RangeTable{unicode.Telugu}},
	{"Kannada", []*unicode.RangeTable{unicode.Kannada}},
	{"Malayalam", []*unicode.RangeTable{unicode.Malayalam}},
	{"Sinhala", []*unicode.RangeTable{unicode.Sinhala}},
	{"Thai", []*unicode.RangeTable{unicode.Thai}},
	{"Lao", []*unicode.RangeTable{unicode.Lao}},
	{"Khmer", []*unicode.RangeTable{unicode.Khmer}},
	{"Myanmar", []*unicode.RangeTable{unicode.Myanmar}},
	{"Ethiopic", []*unicode.RangeTable{unicode.Ethiopic}},
}

// likeLatin are the letters of other alphabets that a reader takes for Latin
// ones.
const likeLatin = "АВЕЅІЈКМНОРСТУХҮԌԚԜЗЬасԁеһіјӏорԛѕԝхуъьҽпгѵѡүӕ" + // Cyrillic
	"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνρυωηοτ" + // Greek
	"ՍՕԼՏզիհյնոսցքօ" // Armenian

// oddLatin are Latin letters that look like other ones or like two.
const oddLatin = "ıĲĳĸĿŀŉſƖƗǀǁǂǃǄǅǆǇǈǉǊǋǌǱǲǳẚẛ"

// scriptOf returns the script of a character that a name may have, "" when it may not:
// other than letters, digits and signs of ASCII, invisible characters, and variants of
// usual letters.
func scriptOf(r rune) string {
	switch {
	case r < utf8.RuneSelf && unicode.IsLetter(r):
		return latin
	case r >= ' ' && r < 0x7f, r == 'ー':
		return common
	case !unicode.In(r, unicode.L, unicode.Mn, unicode.Mc), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r),
		r >= 0xf900 && r <= 0xffff, r >= 0x2f800 && r <= 0x2fa1f:
		return ""
	}
	for _, s := range scripts {
		if !unicode.In(r, s.has...) {
			continue
		}
		if s.name == latin && (r >= 0x250 && (r < 0x1e00 || r > 0x1eff) || strings.ContainsRune(oddLatin, r)) {
			return ""
		}
		return s.name
	}
	return ""
}

// The keys at which a block names events (contract/pages.md 4), and those below
// which there is nothing but data.
var (
	emitKeys   = strings.Fields("onInit onSubmit onChange onSort onSelect onClose pagination")
	listenKeys = strings.Fields("updateOn notifyOn updateRowOn openOn closeOn toastOn")
	dataKeys   = strings.Fields("payload values data schema automation")
)

// IsEventKey reports whether pages and blocks name an event at a key.
func IsEventKey(key string) bool {
	return slices.Contains(emitKeys, key) || slices.Contains(listenKeys, key)
}

// PageEvents returns the types of the events that a page and its blocks emit and
// listen to, each once, in the order of the document. Those that a template names
// are not known.
func PageEvents(doc *document.Map) (emit, listen []string) {
	emit, listen = []string{}, []string{} // an empty list is no null
	seen := map[automation.Use]bool{}
	for _, use := range Uses(document.Page, doc) {
		use.Field = ""
		if seen[use] {
			continue
		}
		seen[use] = true
		switch use.Kind {
		case automation.Emission:
			emit = append(emit, use.Name)
		case automation.Listening:
			listen = append(listen, use.Name)
		}
	}
	return emit, listen
}

// Uses returns every place at which a page, a block of an index, an agent or a test suite names an automation of
// the workspace, or an event, in the order of the document. Names that are computed are not
// known.
func Uses(kind *document.Kind, doc *document.Map) []automation.Use {
	var f useFinder
	switch kind {
	case document.Page:
		f.definition(doc, nil)
	case document.Agent:
		tools, _ := doc.Get("tools")
		list, _ := tools.([]any)
		for i, item := range list {
			if tool, ok := item.(*document.Map); ok {
				run, _ := tool.Get("automation")
				f.call(run, (*fieldPath)(nil).at("tools").at(i).at("automation"))
			}
		}
	case document.Test:
		run, _ := doc.Get("automation")
		f.call(run, (*fieldPath)(nil).at("automation"))
		f.stubs(doc, nil)
		cases, _ := doc.Get("cases")
		items, _ := cases.([]any)
		for i, item := range items {
			if c, ok := item.(*document.Map); ok {
				f.stubs(c, (*fieldPath)(nil).at("cases").at(i))
			}
		}
	case document.Index:
		for name, v := range doc.Object("blocks").All() {
			if block, ok := v.(*document.Map); ok {
				f.definition(block, (*fieldPath)(nil).at("blocks").at(name))
			}
		}
	}
	return f.uses
}

// useFinder finds names in the blocks of a document.
type useFinder struct{ uses []automation.Use }

// stubs finds the automations that stubs of a test suite or a case stand for. Those of apps may be missing on purpose.
func (f *useFinder) stubs(m *document.Map, at *fieldPath) {
	list, _ := m.Object("stubs").Get("automations")
	items, _ := list.([]any)
	for i, item := range items {
		if stub, ok := item.(*document.Map); ok && !strings.Contains(stub.Text("automation"), ".") {
			f.call(stub.Text("automation"), at.at("stubs").at("automations").at(i).at("automation"))
		}
	}
}

// definition finds the names in what has blocks.
func (f *useFinder) definition(m *document.Map, at *fieldPath) {
	for key, v := range m.All() {
		switch key {
		case "onInit":
			f.event(automation.Emission, "", v, at.at(key))
		case "updateOn", "notifyOn":
			f.event(automation.Listening, "", v, at.at(key))
		case "automation":
			f.call(v, at.at(key))
		case "blocks":
			f.find(v, "", at.at(key))
		}
	}
}

// find looks for names in v, a part of a block whose events begin with prefix.
func (f *useFinder) find(v any, prefix string, at *fieldPath) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			f.find(item, prefix, at.at(i))
		}
	case *document.Map:
		if isBlock(v) {
			if prefix = instancePrefix(v); prefix == "" { // an instance resolves its own names
				run, _ := v.Get("automation")
				f.call(run, at.at("automation"))
			}
		}
		f.members(v, prefix, at)
	}
}

// members finds the names in one object.
func (f *useFinder) members(m *document.Map, prefix string, at *fieldPath) {
	if kind := m.Text("type"); kind == "event" || kind == "upload" {
		f.event(automation.Emission, prefix, m.Text("value"), at.at("value"))
	}
	for key, v := range m.All() {
		switch {
		case slices.Contains(emitKeys, key):
			f.event(automation.Emission, prefix, v, at.at(key))
		case slices.Contains(listenKeys, key):
			f.event(automation.Listening, prefix, v, at.at(key))
		case !slices.Contains(dataKeys, key):
			f.find(v, prefix, at.at(key))
		}
	}
}

// event adds the event that v names: its type, or an object with one.
func (f *useFinder) event(kind automation.UseKind, prefix string, v any, at *fieldPath) {
	f.add(kind, prefix, v, "event", at)
}

// call adds the automation that v names: its slug, or an object with one.
func (f *useFinder) call(v any, at *fieldPath) { f.add(automation.Call, "", v, "slug", at) }

func (f *useFinder) add(kind automation.UseKind, prefix string, v any, member string, at *fieldPath) {
	name, _ := v.(string)
	if m, ok := v.(*document.Map); ok {
		name, at = m.Text(member), at.at(member)
	}
	if name != "" && !isTemplate(name) {
		f.uses = append(f.uses, automation.Use{Kind: kind, Name: prefix + name, Field: at.String()})
	}
}

// instancePrefix returns what the names of a block's events begin with: the app
// instance that it is of, if it is of one.
func instancePrefix(block *document.Map) string {
	if name := block.Text("appInstance"); name != "" {
		return name + "."
	}
	return block.Text("slug")[:strings.LastIndex(block.Text("slug"), ".")+1]
}
