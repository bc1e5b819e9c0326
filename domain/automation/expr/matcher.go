package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc/domain/match"
	"svc/domain/value"
)

// Matcher decides whether a value meets a condition of paths and operators.
type Matcher struct {
	loose     bool
	condition match.Condition
}

// CompileMatcher compiles a condition: {path: value or {op: operand}, $and, $or, $nor}. A
// loose one compares with ==, others with ===.
func CompileMatcher(cond *value.Object, loose bool) (*Matcher, error) {
	return compileMatcher(cond, loose, nil)
}

// compileMatcher takes the cost of regular expressions from the budget of e, if not nil.
func compileMatcher(cond *value.Object, loose bool, e *evaluation) (*Matcher, error) {
	condition, err := (&matcherCompiler{e}).condition(cond, 0)
	return &Matcher{loose, condition}, err
}

// checkFixedMatcher reports an error of a condition that has no variables, also of its
// regular expressions.
func (p *parser) checkFixedMatcher(start int, n node) {
	if !isFixed(n) {
		return
	}
	cond, ok := n.eval(newWorldlessEvaluation(MaxSpent)).(*value.Object)
	if !ok {
		p.failAt(start, SyntaxError, "jsonmatch: the condition must be an object")
	} else if _, err := CompileMatcher(cond, false); err != nil {
		p.failAt(start, SyntaxError, "jsonmatch: %s", err)
	}
}

// isFixed reports whether a value has no variables.
func isFixed(n node) bool {
	variable := func(n node) bool { return !isFixed(n) }
	switch n := n.(type) {
	case constant, bareWord:
		return true
	case list:
		return !slices.ContainsFunc(n.items, variable)
	case object:
		return !slices.ContainsFunc(n.values, variable)
	}
	return false
}

// Match reports whether v meets the condition.
func (m *Matcher) Match(v any) (bool, error) {
	matches, _, err := m.MatchWithin(v, MaxSpent)
	return matches, err
}

// FilterSteps is the budget of a filter of a wait for one event. It is far less than that
// of an instruction: filters are evaluated for every event, whoever caused it.
const FilterSteps = 1_000_000

// MatchWithin is Match with a budget of steps. It returns the steps spent, and fails when
// the budget is too small.
func (m *Matcher) MatchWithin(v any, steps int) (matches bool, spent int, err error) {
	e := newWorldlessEvaluation(steps)
	matches = m.match(e, v)
	return matches && e.err == nil, min(e.Spent, steps), e.err
}

func (m *Matcher) match(e *evaluation, v any) bool {
	evaluation := match.Evaluation{Comparer: comparer{e, m.loose}, ListIndexes: true}
	return evaluation.Matches(m.condition, v) == match.Yes
}

// comparer implements match.Comparer.
type comparer struct {
	*evaluation
	loose bool
}

// Spend implements match.Comparer.
func (c comparer) Spend(steps int) bool { return c.spend(steps) }

// Compare implements match.Comparer.
func (c comparer) Compare(t *match.Test, v any) match.Result {
	result := match.Is(c.passes(t, v))
	if c.err != nil {
		return match.Unknown
	}
	return result
}

func (c comparer) passes(t *match.Test, v any) bool {
	switch t.Operator {
	case match.Equal:
		return c.equals(v, t.Operand)
	case match.In:
		return slices.ContainsFunc(t.Operand.([]any), func(item any) bool { return c.equals(v, item) })
	case match.Regexp:
		s, ok := v.(string)
		return ok && c.spend(t.Cost*len(s)) && t.Regexp.MatchString(s)
	}
	// Numbers are compared with numbers and strings with strings only.
	kind := value.TypeName(v)
	if v == match.Absent || kind != value.TypeName(t.Operand) || kind != "number" && kind != "string" || !c.spend(lengthOf(v)+lengthOf(t.Operand)) {
		return false
	}
	order, ok := value.Compare(v, t.Operand)
	return ok && match.InOrder(t.Operator, order)
}

// equals takes an absent value for null.
func (c comparer) equals(v, operand any) bool {
	switch {
	case v == match.Absent:
		return value.IsNothing(operand)
	case c.loose:
		return c.equal(v, operand)
	default:
		return c.same(v, operand)
	}
}

// matcherCompiler compiles conditions.
type matcherCompiler struct {
	budget *evaluation // for compiling regular expressions; nil: not limited
}

var errMatcherDepth = errors.New("the condition is nested too deeply")

func (c *matcherCompiler) condition(cond *value.Object, depth int) (all match.Condition, err error) {
	if depth > MaxDepth {
		return nil, errMatcherDepth
	}
	for key, operand := range cond.All() {
		var tests match.Condition
		switch {
		case key == "$and" || key == "$or" || key == "$nor":
			tests, err = c.group(key, operand, depth)
		case strings.HasPrefix(key, "$"):
			err = fmt.Errorf("unknown operator %s", key)
		default:
			tests, err = c.operand(strings.Split(key, "."), operand, depth)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, tests...)
	}
	return all, nil
}

func (c *matcherCompiler) group(op string, operand any, depth int) (match.Condition, error) {
	list, ok := operand.([]any)
	if !ok {
		return nil, fmt.Errorf("%s needs a list of conditions", op)
	}
	var all []match.Condition
	for _, item := range list {
		cond, ok := item.(*value.Object)
		if !ok {
			return nil, fmt.Errorf("%s needs a list of conditions", op)
		}
		tests, err := c.condition(cond, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, tests)
	}
	if op == "$and" {
		return slices.Concat(all...), nil
	}
	return match.Condition{{Operator: match.AnyOf, Not: op == "$nor", Alternatives: all}}, nil
}

// operand compiles what a path is compared with: an object of operators, or a value.
func (c *matcherCompiler) operand(path []string, operand any, depth int) (all match.Condition, err error) {
	o, ok := operand.(*value.Object)
	if !ok || !hasOperators(o) {
		return match.Condition{{Path: path, Operator: match.Equal, Operand: operand}}, nil
	}
	for op, operand := range o.All() {
		if op == "$options" {
			if _, ok := o.Get("$regex"); !ok {
				return nil, errors.New("$options needs $regex")
			}
			continue
		}
		tests, err := c.operator(op, path, operand, o, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, tests...)
	}
	return all, nil
}

func hasOperators(o *value.Object) bool {
	return slices.ContainsFunc(o.Keys(), func(key string) bool { return strings.HasPrefix(key, "$") })
}

// isGroup reports whether a condition begins with $and, $or or $nor: it is about the whole
// element.
func isGroup(o *value.Object) bool {
	return slices.Contains([]string{"$and", "$or", "$nor"}, o.Keys()[0])
}

var matchOperators = map[string]match.Operator{
	"$eq": match.Equal, "$ne": match.Equal, "$gt": match.Greater, "$gte": match.GreaterOrEqual, "$lt": match.Less, "$lte": match.LessOrEqual,
	"$in": match.In, "$nin": match.In, "$size": match.Size,
}

// operator compiles one operator of the object o.
func (c *matcherCompiler) operator(op string, path []string, operand any, o *value.Object, depth int) (match.Condition, error) {
	if depth > MaxDepth {
		return nil, errMatcherDepth
	}
	t := match.Test{Path: path, Operator: matchOperators[op], Not: op == "$ne" || op == "$nin", Operand: operand}
	switch op {
	case "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$size":
	case "$in", "$nin":
		if _, ok := operand.([]any); !ok {
			return nil, fmt.Errorf("%s needs a list", op)
		}
	case "$all":
		return c.all(path, operand)
	case "$exists":
		if t.Operator = match.Missing; value.IsTruthy(operand) {
			t.Operator = match.Exists
		}
	case "$regex":
		p, err := c.regex(operand, o.At("$options"))
		if err != nil {
			return nil, err
		}
		t.Operator, t.Regexp, t.Cost = match.Regexp, p.Regexp, p.cost
	case "$not":
		inner, ok := operand.(*value.Object)
		if !ok || !hasOperators(inner) || isGroup(inner) {
			return nil, fmt.Errorf("%s needs an object", op)
		}
		tests, err := c.operand(path, inner, depth+1)
		return match.Condition{{Operator: match.AnyOf, Not: true, Alternatives: []match.Condition{tests}}}, err
	case "$elemMatch":
		inner, ok := operand.(*value.Object)
		if !ok {
			return nil, fmt.Errorf("%s needs an object", op)
		}
		var tests match.Condition
		var err error
		if hasOperators(inner) && !isGroup(inner) {
			tests, err = c.operand(nil, inner, depth+1)
		} else {
			tests, err = c.condition(inner, depth+1)
		}
		if err != nil {
			return nil, err
		}
		t.Operator, t.Alternatives = match.Element, []match.Condition{tests}
	default:
		return nil, fmt.Errorf("unknown operator %s", op)
	}
	return match.Condition{t}, nil
}

// all compiles $all: each item must be found, in any of the values at the path. An empty
// list is never found.
func (c *matcherCompiler) all(path []string, operand any) (match.Condition, error) {
	list, ok := operand.([]any)
	if !ok {
		return nil, errors.New("$all needs a list")
	}
	if len(list) == 0 {
		return match.Condition{{Operator: match.AnyOf}}, nil
	}
	tests := make(match.Condition, len(list))
	for i, item := range list {
		tests[i] = match.Test{Path: path, Operator: match.Equal, Operand: item}
	}
	return tests, nil
}

func (c *matcherCompiler) regex(operand, options any) (*pattern, error) {
	text, ok := operand.(string)
	flags, fine := options.(string)
	if !ok || !fine && !value.IsNothing(options) {
		return nil, errors.New("$regex and $options are strings")
	}
	if flags != "" {
		var why string
		if text, why = withFlags("/" + text + "/" + flags); why != "" {
			return nil, errors.New(why)
		}
	}
	p, why := compilePattern(text)
	if why != "" {
		return nil, errors.New(why)
	}
	if c.budget != nil && !c.budget.spendCompile(p) {
		return nil, c.budget.err
	}
	return p, nil
}
