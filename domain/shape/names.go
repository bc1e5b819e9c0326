package shape

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// PageEvents returns the types of the events that a page and its blocks emit and
// listen to, each once, in the order of the document. Those that a template names
// are not known.
func PageEvents(doc *document.Map) (emit, listen []string) {
	var e pageEvents
	for key, v := range doc.All() {
		switch key {
		case "onInit":
			e.emit.add("", v)
		case "updateOn", "notifyOn":
			e.listen.add("", v)
		case "blocks":
			e.find(v, "")
		}
	}
	return e.emit.list(), e.listen.list()
}

type pageEvents struct{ emit, listen types }

// find looks for events in v, a part of a block whose events begin with prefix.
func (e *pageEvents) find(v any, prefix string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			e.find(item, prefix)
		}
	case *document.Map:
		if isBlock(v) {
			prefix = instancePrefix(v)
		}
		e.addEvents(v, prefix)
	}
}

// addEvents takes the events that one object names.
func (e *pageEvents) addEvents(m *document.Map, prefix string) {
	if kind := m.Text("type"); kind == "event" || kind == "upload" {
		e.emit.add(prefix, m.Text("value"))
	}
	for key, v := range m.All() {
		switch {
		case slices.Contains(emitKeys, key):
			e.emit.add(prefix, v)
		case slices.Contains(listenKeys, key):
			e.listen.add(prefix, v)
		case !slices.Contains(dataKeys, key):
			e.find(v, prefix)
		}
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

// types are types of events, each once.
type types struct {
	all  []string
	seen map[string]bool
}

// add adds the type that v names: an event's name, or an object with one.
func (t *types) add(prefix string, v any) {
	name, _ := v.(string)
	if m, ok := v.(*document.Map); ok {
		name = m.Text("event")
	}
	if name == "" || isTemplate(name) || t.seen[prefix+name] {
		return
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	t.seen[prefix+name] = true
	t.all = append(t.all, prefix+name)
}

// list returns the types; an empty list is no null.
func (t *types) list() []string { return append([]string{}, t.all...) }
