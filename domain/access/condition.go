package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/match"
)

// compiler turns conditions into tests and notes what is wrong with them.
type compiler struct {
	faults []domain.FieldError
	regex  int // instructions left for the document
	values int // values left for the rule
	needs  placeholders
}

func newCompiler() *compiler { return &compiler{regex: maxTotal, values: maxValues} }

func (c *compiler) fault(field, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, domain.FieldError{Field: cut(field, 2*maxPath), Message: fmt.Sprintf(format, args...)})
	}
}

// err returns the refusal of everything that was found wrong.
func (c *compiler) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return domain.Invalid(c.faults...)
}

// conditions compiles the conditions of one rule and returns them with the
// placeholders that they need.
func (c *compiler) conditions(at string, m map[string]any) (match.Condition, placeholders) {
	c.values, c.needs = maxValues, 0
	tests := c.object(at, m, 0)
	if c.values < 0 {
		c.fault(at, "must not hold more than %d values", maxValues)
	}
	return tests, c.needs
}

// object compiles {field: value, …, $and: […], …}.
func (c *compiler) object(at string, m map[string]any, depth int) match.Condition {
	if depth > maxDepth {
		c.fault(at, "must not be nested deeper than %d", maxDepth)
		return nil
	}
	var tests match.Condition
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if c.values--; c.values < 0 {
			return nil
		}
		here, path := at+"."+cut(key, maxPath), strings.Split(cut(key, maxPath), ".")
		var found match.Condition
		switch {
		case len(key) > maxPath || slices.Contains(path, ""):
			c.fault(here, "must be the name of a field, with dots for fields within fields")
		case strings.HasPrefix(key, "$"):
			found = c.joined(here, key, m[key], depth)
		default:
			found = c.field(here, path, m[key], depth)
		}
		for i := range found {
			found[i].Key = key
		}
		tests = append(tests, found...)
	}
	return tests
}

// joined compiles $and, $or and $nor.
func (c *compiler) joined(at, key string, v any, depth int) match.Condition {
	if key != "$and" && key != "$or" && key != "$nor" {
		c.fault(at, "unknown operator; conditions are joined by $and, $or and $nor")
		return nil
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.fault(at, "must be a list of conditions")
		return nil
	}
	var of []match.Condition
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			c.fault(fmt.Sprintf("%s[%d]", at, i), "must be an object")
			return nil
		}
		of = append(of, c.object(fmt.Sprintf("%s[%d]", at, i), m, depth+1))
	}
	if key == "$and" {
		return slices.Concat(of...)
	}
	return match.Condition{{Operator: match.AnyOf, Not: key == "$nor", Alternatives: of}}
}

// field compiles what is asked of the value at path: a value, or operators.
func (c *compiler) field(at string, path []string, v any, depth int) match.Condition {
	before := c.values
	m, ok := v.(map[string]any)
	if !ok || !hasOperator(m) {
		arg := c.value(at, v, depth)
		return match.Condition{{Path: path, Operator: match.Equal, Operand: arg, Cost: before - c.values}}
	}
	var tests match.Condition
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if c.values--; c.values < 0 {
			return nil
		}
		before = c.values
		t := c.operator(at+"."+cut(key, maxPath), key, path, m, depth)
		if t.Regexp == nil {
			t.Cost = before - c.values
		}
		if key != "$options" { // part of $regex
			tests = append(tests, t)
		}
	}
	return tests
}

// negated compiles the operators below $not.
func (c *compiler) negated(at string, path []string, v any, depth int) match.Condition {
	m, ok := v.(map[string]any)
	if !ok || !hasOperator(m) || depth > maxDepth {
		c.fault(at, "must be an object of operators, nested at most %d deep", maxDepth)
		return nil
	}
	return c.field(at, path, m, depth+1)
}

func hasOperator(m map[string]any) bool {
	for key := range m {
		if strings.HasPrefix(key, "$") {
			return true
		}
	}
	return false
}

// operator compiles one entry of an object of operators.
func (c *compiler) operator(at, key string, path []string, m map[string]any, depth int) match.Test {
	t, v := match.Test{Path: path}, m[key]
	switch key {
	case "$eq", "$ne":
		t.Operator, t.Not, t.Operand = match.Equal, key == "$ne", c.value(at, v, depth)
	case "$in", "$nin":
		t.Operator, t.Not, t.Operand = match.In, key == "$nin", c.list(at, v, depth)
	case "$all":
		t.Operator, t.Operand = match.All, c.list(at, v, depth)
	case "$gt", "$gte", "$lt", "$lte":
		t.Operator, t.Operand = comparisons[key], c.comparable(at, v, depth)
	case "$regex":
		t.Operator = match.Regexp
		t.Regexp, t.Cost = c.pattern(at, v, m["$options"])
	case "$options":
		if m["$regex"] == nil {
			c.fault(at, "belongs to $regex")
		}
	case "$exists":
		want, ok := v.(bool)
		if !ok {
			c.fault(at, "must be true or false")
		}
		if t.Operator = match.Exists; !want {
			t.Operator = match.Missing
		}
	case "$size":
		n, ok := number(v)
		if !ok || n < 0 || n != float64(int(n)) {
			c.fault(at, "must be a whole number, not negative")
		}
		t.Operator, t.Operand = match.Size, n
	case "$elemMatch":
		t.Operator, t.Alternatives = match.Element, []match.Condition{c.element(at, v, depth)}
	case "$not":
		t.Operator, t.Not, t.Alternatives = match.AnyOf, true, []match.Condition{c.negated(at, path, v, depth)}
	default:
		c.fault(at, "unknown operator")
	}
	return t
}

var comparisons = map[string]match.Operator{
	"$gt": match.Greater, "$gte": match.GreaterOrEqual, "$lt": match.Less, "$lte": match.LessOrEqual,
}

// element compiles the operand of $elemMatch: conditions on the fields of an
// element, or operators on the element itself.
func (c *compiler) element(at string, v any, depth int) match.Condition {
	m, ok := v.(map[string]any)
	switch {
	case !ok || depth >= maxDepth:
		c.fault(at, "must be an object, nested at most %d deep", maxDepth)
		return nil
	case hasOperator(m) && !hasJoin(m):
		return c.field(at, nil, m, depth+1)
	default:
		return c.object(at, m, depth+1)
	}
}

func hasJoin(m map[string]any) bool {
	return m["$and"] != nil || m["$or"] != nil || m["$nor"] != nil
}
