package expr

import (
	"errors"
	"fmt"
	"slices"

	"svc/domain/automation/value"
)

// operator reads one operator of the matcher; o is the object it stands in.
func (m *Matcher) operator(op string, operand any, o *value.Object, depth int) (fieldTest, error) {
	if depth > MaxDepth {
		return nil, errMatcherDepth
	}
	switch op {
	case "$eq":
		return m.equals(operand), nil
	case "$ne":
		return negated(m.equals(operand)), nil
	case "$gt", "$gte", "$lt", "$lte":
		return ordered(op, operand), nil
	case "$exists":
		return thereIs(value.Truth(operand)), nil
	case "$size":
		return some(func(_ *evaluation, v any) bool {
			list, ok := v.([]any)
			return ok && value.Same(float64(len(list)), operand)
		}), nil
	case "$regex":
		return m.regex(operand, o.At("$options"))
	case "$in", "$nin", "$all":
		return m.listed(op, operand)
	case "$not", "$elemMatch":
		return m.nested(op, operand, depth)
	}
	return nil, fmt.Errorf("unknown operator %s", op)
}

func negated(t fieldTest) fieldTest {
	return func(e *evaluation, f field) bool { return !t(e, f) }
}

// some makes a test that one value at the path must pass.
func some(is func(e *evaluation, v any) bool) fieldTest {
	return func(e *evaluation, f field) bool {
		found, _ := f.values(e)
		return slices.ContainsFunc(found, func(v any) bool { return is(e, v) })
	}
}

// someElement makes a test that a value at the path, or an element of it, must pass.
func someElement(is func(e *evaluation, v any) bool) fieldTest {
	return some(func(e *evaluation, v any) bool {
		list, ok := v.([]any)
		return is(e, v) || ok && slices.ContainsFunc(list, func(item any) bool { return is(e, item) })
	})
}

func (m *Matcher) same(e *evaluation, a, b any) bool {
	if m.loose {
		return e.equal(a, b)
	}
	return e.same(a, b)
}

// equals takes null for absent too.
func (m *Matcher) equals(operand any) fieldTest {
	present := someElement(func(e *evaluation, v any) bool { return m.same(e, v, operand) })
	if !value.IsNothing(operand) {
		return present
	}
	absent := thereIs(false)
	return func(e *evaluation, f field) bool { return absent(e, f) || present(e, f) }
}

// thereIs makes a test that there is a value at the path, or that there is none.
func thereIs(wanted bool) fieldTest {
	return func(e *evaluation, f field) bool {
		found, absent := f.values(e)
		if wanted {
			return len(found) > 0
		}
		return absent
	}
}

// ordered compares numbers with numbers and strings with strings only.
func ordered(op string, operand any) fieldTest {
	sign := map[string]string{"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}[op]
	kind := value.Kind(operand)
	return someElement(func(e *evaluation, v any) bool {
		return value.Kind(v) == kind && (kind == "number" || kind == "string") && e.compare(sign, v, operand)
	})
}

func (m *Matcher) regex(operand, options any) (fieldTest, error) {
	text, ok := operand.(string)
	flags, fine := options.(string)
	if !ok || !fine && !value.IsNothing(options) {
		return nil, errors.New("$regex and $options are strings")
	}
	if flags != "" {
		var why string
		if text, why = flagged("/" + text + "/" + flags); why != "" {
			return nil, errors.New(why)
		}
	}
	p, why := compilePattern(text)
	if why != "" {
		return nil, errors.New(why)
	}
	if m.pays != nil && !m.pays.compiles(p) {
		return nil, m.pays.err
	}
	return someElement(func(e *evaluation, v any) bool {
		s, ok := v.(string)
		return ok && e.works(p.cost*len(s)) && p.MatchString(s)
	}), nil
}

func (m *Matcher) listed(op string, operand any) (fieldTest, error) {
	list, ok := operand.([]any)
	if !ok {
		return nil, fmt.Errorf("%s needs a list", op)
	}
	var tests []fieldTest
	for _, item := range list {
		tests = append(tests, m.equals(item))
	}
	if op == "$all" {
		return func(e *evaluation, f field) bool {
			return len(tests) > 0 && !slices.ContainsFunc(tests, func(t fieldTest) bool { return !t(e, f) })
		}, nil
	}
	return func(e *evaluation, f field) bool {
		return slices.ContainsFunc(tests, func(t fieldTest) bool { return t(e, f) }) == (op == "$in")
	}, nil
}

// nested reads the operators that hold others.
func (m *Matcher) nested(op string, operand any, depth int) (fieldTest, error) {
	o, ok := operand.(*value.Object)
	if !ok || op == "$not" && (!isOperators(o) || isGroup(o)) {
		return nil, fmt.Errorf("%s needs an object", op)
	}
	if isOperators(o) && !isGroup(o) {
		inner, err := m.operand(o, depth+1)
		if op == "$not" || err != nil {
			return negated(inner), err
		}
		return elements(func(e *evaluation, item any) bool { return inner(e, field{v: item}) }), nil
	}
	tests, err := m.compile(o, depth+1)
	return elements(func(e *evaluation, item any) bool { return every(e, tests, item) }), err
}

// isGroup reports whether a condition begins with $and, $or or $nor: it is one
// of the whole element.
func isGroup(o *value.Object) bool {
	return slices.Contains([]string{"$and", "$or", "$nor"}, o.Keys()[0])
}

// elements makes a test that an element of the array at the path must pass.
func elements(is func(e *evaluation, v any) bool) fieldTest {
	return some(func(e *evaluation, v any) bool {
		list, _ := v.([]any)
		return slices.ContainsFunc(list, func(item any) bool { return is(e, item) })
	})
}
