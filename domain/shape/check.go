package shape

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/document"
)

// maxFaults is how many faults of a document are told, and how many unknown
// fields besides.
const maxFaults = 100

// checker collects the faults of one document. Unknown fields are apart, so that
// many of them do not hide the others from those who only warn of them.
type checker struct{ faults, unknown []Fault }

func (c *checker) all() []Fault { return append(c.unknown, c.faults...) }

func (c *checker) fault(code domain.Code, at *place, format string, args ...any) {
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
	return c.all()
}

// value checks one value. Null is of no use here unless its field may be null.
func (c *checker) value(f *field, v any, at *place) {
	got := kindOf(v)
	if got&f.is == 0 {
		c.fault(domain.CodeInvalidRequest, at, "expected %s, got %s", strings.Join(f.is.Names(), " or "), got)
		return
	}
	if why := f.wrong(v); why != "" {
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

func (c *checker) items(f *field, items []any, at *place) {
	if f.each == nil {
		return
	}
	for i, item := range items {
		c.value(f.each, item, at.at(i))
	}
}

func (c *checker) mapping(f *field, m *document.Map, at *place) {
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
func (c *checker) members(f *field, m *document.Map, at *place) {
	for key, v := range m.All() {
		member := f.member(key)
		switch {
		case member == nil && !f.open:
			c.strange(f, at, key)
		case member == nil || member.readOnly || v == nil && !member.firm:
		default:
			c.value(member, v, at.at(key))
		}
	}
	for _, f := range f.of {
		if v, ok := m.Get(f.name); f.must && v == nil && (!ok || !f.firm) {
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

// strange reports a field that an object does not have.
func (c *checker) strange(f *field, at *place, key string) {
	if at != nil {
		c.fault(domain.CodeInvalidRequest, at.at(key), "unknown field; known are %s", f.known())
	} else if len(c.unknown) < maxFaults {
		c.unknown = append(c.unknown, Fault{
			Field: at.at(key).String(), Message: "unknown field; known are " + f.known(),
			Code: domain.CodeInvalidRequest, Unknown: true,
		})
	}
}

// known lists the members of an object that one may set.
func (f *field) known() string {
	var names []string
	for _, f := range f.of {
		if !f.readOnly {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

// maxKey is the length of a name in a schema, in characters.
const maxKey = 200

// typed checks typed fields, by the code that checks those of automations.
func (c *checker) typed(f *field, m *document.Map, at *place) {
	if key, long := longKey(m); long {
		c.fault(domain.CodeValidation, at, "a name has at most %d characters, which %s has not", maxKey, document.Shown(key))
		return
	}
	one, _ := m.Get("type")
	if f.typed == either && kindOf(one)&(text|list) != 0 {
		c.add(automation.TypedField(value.From(m), at.String(), maxFaults))
		return
	}
	fields := &value.Object{}
	for key, v := range m.All() {
		if kindOf(v) == object {
			fields.Set(key, value.From(v))
		} else if f.typed != settings || key != "additionalProperties" || kindOf(v) != boolean {
			c.fault(domain.CodeInvalidRequest, at.at(key), "a typed field is an object, not %s", kindOf(v))
		}
	}
	c.add(automation.TypedFields(fields, at.String(), maxFaults))
}

func (c *checker) add(faults []automation.Fault) {
	room := min(maxFaults-len(c.faults), len(faults))
	c.faults = append(c.faults, ofAutomation(faults[:room])...)
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
