package search

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
)

// parser reads one request and collects what is wrong with it. Its readers return
// something usable whatever they find.
type parser struct {
	now     time.Time
	zones   func(string) (*time.Location, error)
	clauses int
	pattern int // characters of all patterns
	typed   bool
	deep    bool // something is asked for that an index does not know
	aside   bool // and that whole events must be read for
	aggs    int
	faults  []domain.FieldError
}

func (p *parser) fault(at, format string, args ...any) {
	if len(p.faults) < maxFaults {
		if runes := []rune(at); len(runes) > 2*maxField { // names come from the request
			at = string(runes[:2*maxField]) + "…"
		}
		p.faults = append(p.faults, domain.FieldError{Field: at, Message: fmt.Sprintf(format, args...)})
	}
}

// clause counts one more clause.
func (p *parser) clause(at string) {
	if p.clauses++; p.clauses == maxClauses+1 {
		p.fault(at, "makes more than %d clauses", maxClauses)
	}
}

// object returns v when it is an object.
func (p *parser) object(v any, at string) (m map[string]any, ok bool) {
	if m, ok = v.(map[string]any); !ok {
		p.fault(at, "must be an object")
	}
	return m, ok
}

// options returns v when it is an object of nothing but the named options.
func (p *parser) options(v any, at string, names ...string) (m map[string]any, ok bool) {
	m, ok = p.object(v, at)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(names, name) {
			p.fault(at+"."+name, "is not supported")
			ok = false
		}
	}
	return m, ok
}

// single returns the one entry of an object.
func (p *parser) single(v any, at, what string) (name string, value any, ok bool) {
	m, ok := p.object(v, at)
	if !ok {
		return "", nil, false
	}
	if len(m) != 1 {
		p.fault(at, "must have exactly one %s", what)
		return "", nil, false
	}
	for name, value = range m {
	}
	return name, value, true
}

// text returns v when it is a text that is not empty.
func (p *parser) text(v any, at string) string {
	s, _ := v.(string)
	if s == "" {
		p.fault(at, "must be a text that is not empty")
	}
	return s
}

// whole returns v when it is a whole number from least to most; missing when it is
// not there.
func (p *parser) whole(m map[string]any, name, at string, missing, least, most int) int {
	v, given := m[name]
	if !given {
		return missing
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		p.fault(join(at, name), "must be a whole number from %d to %d", least, most)
		return missing
	}
	return int(n)
}

// number returns v when it is a number.
func (p *parser) number(v any, at string) float64 {
	n, ok := v.(float64)
	if !ok {
		p.fault(at, "must be a number")
	}
	return n
}

// choice returns the option when it is one of choices, of any case; missing when it
// is not there.
func (p *parser) choice(m map[string]any, name, at, missing string, choices ...string) string {
	v, given := m[name]
	if !given {
		return missing
	}
	s, _ := v.(string)
	if s = strings.ToLower(s); !slices.Contains(choices, s) {
		p.fault(join(at, name), "must be %s", strings.Join(choices, " or "))
		return missing
	}
	return s
}

// several returns the elements of v; a single one may stand for a list of it.
func several(v any) []any {
	if items, ok := v.([]any); ok {
		return items
	}
	return []any{v}
}

// place is where the elements of a list stand.
func place(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }

// field returns v when it is the name of a field.
func (p *parser) field(v any, at string) field { return p.fieldAt(p.text(v, at), at) }

// fieldAt returns the field with a name. Names are short: a long one would be looked
// up piece by piece in every document.
func (p *parser) fieldAt(name, at string) field {
	if utf8.RuneCountInString(name) > maxField {
		p.fault(at, "has more than %d characters", maxField)
		return ""
	}
	f := fieldAt(name)
	p.typed = p.typed || f.isTyped()
	p.deep = p.deep || !f.known()
	p.aside = p.aside || !f.logged()
	return f
}

// patterned counts the characters of a pattern, and reports whether they are few
// enough: what a pattern takes grows with its length.
func (p *parser) patterned(characters int, at string) bool {
	p.pattern += characters
	switch {
	case characters > maxPattern:
		p.fault(at, "has more than %d characters", maxPattern)
	case p.pattern > maxPatterns:
		p.fault(at, "makes more than %d characters of patterns", maxPatterns)
	default:
		return true
	}
	return false
}
