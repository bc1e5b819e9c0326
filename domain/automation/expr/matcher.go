package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// Matcher decides whether an object fits a condition of paths and operators.
type Matcher struct {
	loose bool
	pays  *evaluation // for what compiling costs; nil: nobody does
	tests []test
}

// test is one part of a condition; all must hold.
type test func(e *evaluation, target any) bool

// CompileMatcher reads a condition: {path: value or {op: operand}, $and, $or,
// $nor}. A loose one compares with ==, others with ===.
func CompileMatcher(cond *value.Object, loose bool) (*Matcher, error) {
	m := &Matcher{loose: loose}
	tests, err := m.compile(cond, 0)
	m.tests = tests
	return m, err
}

// fixedMatcher refuses a condition that is written out and is none: also for
// its regular expressions.
func (p *parser) fixedMatcher(start int, n node) {
	if !isFixed(n) {
		return
	}
	cond, ok := n.eval(apart(MaxSpent)).(*value.Object)
	if !ok {
		p.failAt(start, SyntaxError, "jsonmatch: the condition must be an object")
	} else if _, err := CompileMatcher(cond, false); err != nil {
		p.failAt(start, SyntaxError, "jsonmatch: %s", err)
	}
}

// isFixed reports whether a value is written out.
func isFixed(n node) bool {
	variable := func(n node) bool { return !isFixed(n) }
	switch n := n.(type) {
	case constant, bare:
		return true
	case list:
		return !slices.ContainsFunc(n.items, variable)
	case object:
		return !slices.ContainsFunc(n.values, variable)
	}
	return false
}

// Match reports whether v fits.
func (m *Matcher) Match(v any) (bool, error) {
	fits, _, err := m.MatchWithin(v, MaxSpent)
	return fits, err
}

// FilterSteps is what asking a filter of a wait about one event may cost. It is far less
// than an instruction may: filters are asked about every event, of whomever it is.
const FilterSteps = 1_000_000

// MatchWithin is Match with a bound on what it costs. It tells what it cost; when that
// would be too much, it fails.
func (m *Matcher) MatchWithin(v any, steps int) (fits bool, spent int, err error) {
	e := apart(steps)
	fits = m.match(e, v)
	return fits && e.err == nil, min(e.Spent, steps), e.err
}

func (m *Matcher) match(e *evaluation, v any) bool { return every(e, m.tests, v) }

func every(e *evaluation, tests []test, v any) bool {
	return !slices.ContainsFunc(tests, func(t test) bool { return !t(e, v) })
}

var errMatcherDepth = errors.New("the condition is nested too deeply")

func (m *Matcher) compile(cond *value.Object, depth int) ([]test, error) {
	if depth > MaxDepth {
		return nil, errMatcherDepth
	}
	var tests []test
	for _, key := range cond.Keys() {
		t, err := m.entry(key, cond.At(key), depth)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return tests, nil
}

func (m *Matcher) entry(key string, operand any, depth int) (test, error) {
	switch key {
	case "$and", "$or", "$nor":
		return m.group(key, operand, depth)
	}
	if strings.HasPrefix(key, "$") {
		return nil, fmt.Errorf("unknown operator %s", key)
	}
	inner, err := m.operand(operand, depth)
	if err != nil {
		return nil, err
	}
	keys := strings.Split(key, ".")
	return func(e *evaluation, v any) bool { return inner(e, field{v, keys}) }, nil
}

func (m *Matcher) group(op string, operand any, depth int) (test, error) {
	list, ok := operand.([]any)
	if !ok {
		return nil, fmt.Errorf("%s needs a list of conditions", op)
	}
	var all [][]test
	for _, item := range list {
		cond, ok := item.(*value.Object)
		if !ok {
			return nil, fmt.Errorf("%s needs a list of conditions", op)
		}
		tests, err := m.compile(cond, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, tests)
	}
	return func(e *evaluation, v any) bool {
		fits := func(tests []test) bool { return every(e, tests, v) }
		if op == "$and" {
			return !slices.ContainsFunc(all, func(tests []test) bool { return !fits(tests) })
		}
		return slices.ContainsFunc(all, fits) == (op == "$or")
	}, nil
}

// fieldTest is a test of what is found at one path.
type fieldTest func(e *evaluation, f field) bool

// operand reads what a path is compared with: an object of operators, or a
// value.
func (m *Matcher) operand(operand any, depth int) (fieldTest, error) {
	o, ok := operand.(*value.Object)
	if !ok || !isOperators(o) {
		return m.operator("$eq", operand, nil, depth)
	}
	var tests []fieldTest
	for _, op := range o.Keys() {
		if op == "$options" {
			if _, ok := o.Get("$regex"); !ok {
				return nil, errors.New("$options needs $regex")
			}
			continue
		}
		t, err := m.operator(op, o.At(op), o, depth)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return func(e *evaluation, f field) bool {
		return !slices.ContainsFunc(tests, func(t fieldTest) bool { return !t(e, f) })
	}, nil
}

func isOperators(o *value.Object) bool {
	return slices.ContainsFunc(o.Keys(), func(key string) bool { return strings.HasPrefix(key, "$") })
}

// field is a path into a value.
type field struct {
	v    any
	keys []string
}

// values returns what stands at the path, several values when it crosses arrays; and
// whether it is absent, be it in one element of an array only.
func (f field) values(e *evaluation) (found []any, absent bool) {
	if !e.works(1) {
		return nil, false
	}
	if len(f.keys) == 0 {
		return []any{f.v}, false
	}
	if list, ok := f.v.([]any); ok {
		return f.across(e, list)
	}
	v, ok := value.Undefined, false
	if o, is := f.v.(*value.Object); is {
		v, ok = o.Get(f.keys[0])
	}
	if !ok {
		return nil, true
	}
	return field{v, f.keys[1:]}.values(e)
}

// across is values of an array: of the item that the path names by its index, and of
// each element. An item that is named so is there, whatever the elements lack.
func (f field) across(e *evaluation, list []any) (found []any, absent bool) {
	if !e.works(len(list)) {
		return nil, false
	}
	i, named := value.Index(f.keys[0])
	if named = named && i < len(list); named {
		found, absent = field{list[i], f.keys[1:]}.values(e)
	}
	lacking := len(list) == 0
	for _, item := range list {
		if _, ok := item.(*value.Object); !ok {
			lacking = true
			continue
		}
		more, none := field{item, f.keys}.values(e)
		found, lacking = append(found, more...), lacking || none
	}
	return found, absent || lacking && !named
}
