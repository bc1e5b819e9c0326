package shape

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/document"
	"svc/domain/nearest"
	"svc/domain/value"
)

// maxFaults is how many faults of a document are reported, and how many unknown fields
// besides.
const maxFaults = 100

// checker collects the faults of one document. Unknown fields are apart, so that
// many of them do not hide the others from those who only warn of them.
type checker struct{ faults, unknown []Fault }

func (c *checker) allFaults() []Fault { return append(c.unknown, c.faults...) }

func (c *checker) fault(code domain.Code, at *fieldPath, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, Fault{Field: at.String(), Message: fmt.Sprintf(format, args...), Code: code})
	}
}

// check checks a whole document.
func (t *table) check(doc *document.Map) []Fault {
	c := &checker{}
	c.members(&field{of: t.fields}, doc, nil)
	if t.also != nil {
		t.also(c, doc)
	}
	return c.allFaults()
}

// value checks one value. Null is a fault unless its field may be null.
func (c *checker) value(f *field, v any, at *fieldPath) {
	got := kindOf(v)
	if got&f.is == 0 {
		c.fault(domain.CodeInvalidRequest, at, "expected %s, got %s", strings.Join(f.is.Names(), " or "), got)
		return
	}
	if why := f.valueProblem(v); why != "" {
		c.fault(domain.CodeValidation, at, "%s", why)
		return
	}
	switch v := v.(type) {
	case []any:
		c.items(f, v, at)
	case *document.Map:
		c.mapping(f, v, at)
	}
}

func (c *checker) items(f *field, items []any, at *fieldPath) {
	if f.each == nil {
		return
	}
	for i, item := range items {
		c.value(f.each, item, at.at(i))
	}
}

func (c *checker) mapping(f *field, m *document.Map, at *fieldPath) {
	if f.keys != nil {
		for key := range m.All() {
			if why := f.keys.wrong(key); why != "" {
				c.fault(domain.CodeValidation, at.at(key), "%s", why)
			}
		}
	}
	switch {
	case f.of != nil:
		c.members(f, m, at)
	case f.typed != untyped:
		c.typed(f, m, at)
	case f.each != nil:
		for key, v := range m.All() {
			c.value(f.each, v, at.at(key))
		}
	}
}

// members checks the fields of an object.
func (c *checker) members(f *field, m *document.Map, at *fieldPath) {
	for key, v := range m.All() {
		member := f.member(key)
		switch {
		case member == nil && !f.open:
			c.unknownField(f, at, key)
		case member == nil || member.readOnly || v == nil && !member.nullIsPresent:
		default:
			c.value(member, v, at.at(key))
		}
	}
	for _, f := range f.of {
		if v, ok := m.Get(f.name); f.must && v == nil && (!ok || !f.nullIsPresent) {
			c.fault(domain.CodeMissingParameter, at.at(f.name), "is required")
		}
	}
}

// member returns the field of an object that is called so, or nil.
func (f *field) member(name string) *field {
	for i := range f.of {
		if f.of[i].name == name {
			return &f.of[i]
		}
	}
	return nil
}

// unknownField reports a field that an object does not have.
func (c *checker) unknownField(f *field, at *fieldPath, key string) {
	if at != nil && len(c.faults) < maxFaults {
		c.fault(domain.CodeInvalidRequest, at.at(key), "unknown field; known are %s", f.known(key))
	} else if at == nil && len(c.unknown) < maxFaults {
		c.unknown = append(c.unknown, Fault{
			Field: at.at(key).String(), Message: "unknown field; known are " + f.known(key),
			Code: domain.CodeInvalidRequest, Unknown: true,
		})
	}
}

// known lists the members of an object that can be set, and the one that may be meant.
func (f *field) known(wanted string) string {
	var names []string
	for _, f := range f.of {
		if !f.readOnly {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ") + nearest.DidYouMean(wanted, slices.Values(names))
}

// maxKey is the length of a name in a schema, in characters.
const maxKey = 200

// typed checks typed fields, by the code that checks those of automations.
func (c *checker) typed(f *field, m *document.Map, at *fieldPath) {
	if key, long := longKey(m); long {
		c.fault(domain.CodeValidation, at, "a name has at most %d characters, which %s has not", maxKey, document.QuoteShort(key))
		return
	}
	one, _ := m.Get("type")
	if f.typed == either && kindOf(one)&(text|list) != 0 {
		c.addFaults(automation.TypedField(m, at.String(), maxFaults))
		return
	}
	fields := &value.Object{}
	for key, v := range m.All() {
		if kindOf(v) == object {
			fields.Set(key, v)
		} else if f.typed != settings || key != "additionalProperties" || kindOf(v) != boolean {
			c.fault(domain.CodeInvalidRequest, at.at(key), "a typed field is an object, not %s", kindOf(v))
		}
	}
	c.addFaults(automation.TypedFields(fields, at.String(), maxFaults))
}

func (c *checker) addFaults(faults []automation.Fault) {
	remaining := min(maxFaults-len(c.faults), len(faults))
	c.faults = append(c.faults, ofAutomation(faults[:remaining])...)
}

// longKey returns a key in v that is too long for a name.
func longKey(v any) (string, bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if key, long := longKey(item); long {
				return key, true
			}
		}
	case *document.Map:
		for key, item := range v.All() {
			if utf8.RuneCountInString(key) > maxKey {
				return key, true
			}
			if key, long := longKey(item); long {
				return key, true
			}
		}
	}
	return "", false
}

// The limits of a page, and of a block of a workspace.
const (
	MaxBlocks = 2000
	MaxLevels = 20 // of blocks in blocks
)

// checkBlocks checks that the blocks of doc are neither too many nor too deep.
func (c *checker) checkBlocks(doc *document.Map, at *fieldPath) {
	var n counter
	n.count(doc, 0)
	if n.blocks > MaxBlocks {
		c.fault(domain.CodeValidation, at.at("blocks"), "there are at most %d blocks, those in blocks included", MaxBlocks)
	}
	if n.levels > MaxLevels {
		c.fault(domain.CodeValidation, at.at("blocks"), "blocks are nested at most %d deep", MaxLevels)
	}
}

// counter counts blocks.
type counter struct{ blocks, levels int }

// count looks for blocks in v, which is inside level of them.
func (n *counter) count(v any, level int) {
	if level > MaxLevels {
		return // more levels than are allowed
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n.count(item, level)
		}
	case *document.Map:
		for key, value := range v.All() {
			inside := blocksAt(key, value)
			for _, block := range inside {
				n.blocks++
				n.levels = max(n.levels, level+1)
				n.count(block, level+1)
			}
			if inside == nil {
				n.count(value, level)
			}
		}
	}
}

// blocksAt returns the blocks at a key: blocks is a list of them, content one or a list,
// if it is no text.
func blocksAt(key string, v any) []any {
	items, isList := v.([]any)
	switch {
	case key == "blocks" && isList:
		return items
	case key == "content" && isList && !slices.ContainsFunc(items, func(item any) bool { return !isBlock(item) }):
		return items
	case key == "content" && isBlock(v):
		return []any{v}
	}
	return nil
}

func isBlock(v any) bool {
	m, ok := v.(*document.Map)
	return ok && m.Text("slug") != ""
}

// maxField is the length of a reported path, in characters: keys can be as long as a
// document.
const maxField = 400

// Path returns the path of a field as faults have it, those of automations too:
// keys are strings, positions in lists are ints. Path("do", 2, "fetch", "a b") is
// do[2].fetch["a b"].
func Path(steps ...any) string {
	path := ""
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			path = expr.Member(path, step)
		case int:
			path = fmt.Sprintf("%s[%d]", path, step)
		}
	}
	return path
}

// fieldPath is the path to a value in a document. It becomes text only for a fault: a
// document of many values below a long key would be copied many times. A nil path is the
// document itself.
type fieldPath struct {
	up   *fieldPath
	step any // a key or a position
}

func (p *fieldPath) at(step any) *fieldPath { return &fieldPath{p, step} }

// String returns the path, cut when it is long.
func (p *fieldPath) String() string {
	var steps []any
	for ; p != nil; p = p.up {
		step := p.step
		if key, ok := step.(string); ok {
			step = domain.Shorten(key, maxField)
		}
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	return domain.Shorten(Path(steps...), maxField)
}
