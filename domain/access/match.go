package access

import (
	"cmp"
	"strings"
	"sync"

	"svc/domain/match"
)

// Object is what a right is asked about. Field returns one of its top-level
// fields; values are those of JSON: nil, bool, string, numbers, []any, []string
// and map[string]any.
type Object = match.Object

// Fields is an Object made of a map.
type Fields map[string]any

// Field implements Object.
func (f Fields) Field(name string) (any, bool) {
	v, ok := f[name]
	return v, ok
}

// evaluation is the evaluation of conditions for one decision: what the caller fills in,
// and the steps that are left.
type evaluation struct {
	*binding
	matcher match.Evaluation
	left    int
}

// maxSteps is the budget of one decision, for all its rules: a step is the comparison of
// two values, or of a character with two instructions of a regular expression. The cost
// of a comparison depends on the operand alone, so that the order of a map cannot change
// an outcome.
const maxSteps = 50000

// evaluations are used again, so that a decision allocates no memory.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// newEvaluation begins a decision. The caller releases the evaluation.
func (r *Rights) newEvaluation() *evaluation {
	e := evaluations.Get().(*evaluation)
	e.matcher = match.Evaluation{Comparer: e, NestedLists: true}
	e.binding, e.left = &r.bound, maxSteps
	return e
}

func (e *evaluation) release() {
	e.binding = nil
	evaluations.Put(e)
}

// Spend implements match.Comparer.
func (e *evaluation) Spend(steps int) bool {
	e.left -= steps
	return e.left >= 0
}

// canSpend takes steps if so many are left, and one for asking.
func (e *evaluation) canSpend(steps int) bool {
	e.left--
	if steps > e.left {
		return false
	}
	e.left -= steps
	return true
}

// holds evaluates a condition on an object.
func (e *evaluation) holds(c match.Condition, v any) match.Result {
	if len(c) == 0 {
		return match.Yes
	}
	return e.matcher.Holds(c, v)
}

// Compare implements match.Comparer.
func (e *evaluation) Compare(t *match.Test, v any) match.Result {
	text, isText := v.(string)
	cost := t.Cost
	switch t.Operator {
	case match.Regexp:
		cost = 1 + len(text)*t.Cost/2
	case match.All:
		cost = t.Cost * (1 + max(0, match.Length(v)))
	}
	if !e.canSpend(cost) {
		return match.Unknown
	}
	switch operand := e.fill(t.Operand); t.Operator {
	case match.Equal:
		return match.Is(e.equal(v, operand))
	case match.In:
		return match.Is(e.contains(operand, v))
	case match.Regexp:
		return match.Is(isText && t.Regexp.MatchString(text))
	case match.All:
		return e.containsAll(v, operand)
	default:
		order, ok := compare(v, operand)
		return match.Is(ok && match.InOrder(t.Operator, order))
	}
}

// containsAll reports whether v has each of the wanted values. An empty list is not
// contained.
func (e *evaluation) containsAll(v, wanted any) match.Result {
	all := match.Is(match.Length(wanted) > 0)
	for i := 0; i < match.Length(wanted) && all != match.No; i++ {
		one := match.Test{Operator: match.Equal, Operand: match.Item(wanted, i)}
		all = min(all, e.matcher.Check(&one, v))
	}
	return all
}

// compare orders numbers with numbers and texts with texts.
func compare(a, b any) (order int, ok bool) {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	}
	x, isNumber := number(a)
	y, ok := number(b)
	return cmp.Compare(x, y), isNumber && ok
}

// contains reports whether an element of list equals v. A placeholder for a list counts
// by its elements.
func (b *binding) contains(list, v any) bool {
	for i := range max(0, match.Length(list)) {
		item := match.Item(list, i)
		if p, ok := item.(placeholder); ok && p == topicsPlaceholder {
			if b.contains(b.fill(p), v) {
				return true
			}
		} else if b.equal(v, item) {
			return true
		}
	}
	return false
}

// equal compares strictly: no value equals one of another type. A missing value equals
// null.
func (b *binding) equal(v, operand any) bool {
	switch want := b.fill(operand).(type) {
	case nil:
		return v == nil || v == match.Absent
	case string:
		got, ok := v.(string)
		return ok && got == want
	case bool:
		got, ok := v.(bool)
		return ok && got == want
	case map[string]any:
		got, ok := v.(map[string]any)
		if !ok || len(got) != len(want) {
			return false
		}
		for key, item := range want {
			if inner, ok := got[key]; !ok || !b.equal(inner, item) {
				return false
			}
		}
		return true
	case []any, []string:
		if match.Length(v) != match.Length(want) {
			return false
		}
		for i := range match.Length(want) {
			if !b.equal(match.Item(v, i), match.Item(want, i)) {
				return false
			}
		}
		return true
	default:
		order, ok := compare(v, want)
		return ok && order == 0
	}
}
