// Package match evaluates conditions of paths and operators, like the queries of MongoDB.
// Rules (domain/access) and automations (domain/automation/expr) compile their conditions
// to it. They differ in how values are compared and what a step costs, which a Comparer
// says. Every evaluation has a budget of steps.
package match

import (
	"regexp"

	"svc/domain/value"
)

// Result is the outcome of a test. All, any and not of results are their minimum, their
// maximum and the negative.
type Result int8

// The outcomes of a test.
const (
	No      Result = -1
	Unknown Result = 0 // a value is not known, or the budget is spent
	Yes     Result = 1
)

// Is returns Yes or No.
func Is(b bool) Result {
	if b {
		return Yes
	}
	return No
}

// Operator is what a test does with the value at its path.
type Operator uint8

// The operators. Where it does not say otherwise, a list also passes when one of its
// elements does.
const (
	AnyOf   Operator = iota // one of the alternatives holds for the whole value; the path is not used
	Equal                   // equals the operand
	In                      // is in the operand
	Greater                 // is greater than the operand, and so on
	GreaterOrEqual
	Less
	LessOrEqual
	Regexp  // matches the regular expression
	Exists  // there is a value
	Missing // there is none, in at least one element of a list that the path crosses
	Size    // is a list of that length
	All     // contains each of the operand; the Comparer decides about the whole list
	Element // is a list with an element for which the first alternative holds
)

// Condition holds when all its tests do. The zero condition always holds.
type Condition []Test

// Test is one entry of a condition.
type Test struct {
	Key          string   // the name of the entry, as written
	Path         []string // to the value; empty for the whole value
	Operator     Operator
	Not          bool // the opposite is asked
	Operand      any
	Regexp       *regexp.Regexp
	Alternatives []Condition
	Cost         int // of one comparison, as the Comparer counts it
}

// Object is a value that is read by field.
type Object interface {
	Field(name string) (any, bool)
}

type absent struct{}

// Absent is the value that a Comparer sees where there is none.
var Absent any = absent{}

// Uncertain is implemented by values that are not known, or not completely.
type Uncertain interface{ IsUncertain() }

// Comparer compares values and counts the steps of an evaluation.
type Comparer interface {
	// Spend takes steps from the budget, and reports whether it is enough.
	Spend(steps int) bool
	// Compare tests a single value, which may be Absent.
	Compare(t *Test, v any) Result
}

// Evaluation evaluates conditions.
type Evaluation struct {
	Comparer
	ListIndexes bool // a path may also name an element of a list by its index
	NestedLists bool // a path also crosses lists that are elements of lists
}

// Matches evaluates a condition on a value.
func (e *Evaluation) Matches(c Condition, v any) Result {
	all := Yes
	for i := range c {
		if all = min(all, e.test(&c[i], v)); all == No {
			break
		}
	}
	return all
}

func (e *Evaluation) test(t *Test, v any) Result {
	found := No
	if t.Operator == AnyOf {
		for i := 0; i < len(t.Alternatives) && found != Yes; i++ {
			found = max(found, e.Matches(t.Alternatives[i], v))
		}
	} else {
		found = e.find(t, v, t.Path, false)
	}
	if t.Not {
		return -found
	}
	return found
}

// find looks for a value at path that passes the test. A path that crosses a list
// continues in each of its elements. With ignoreAbsent only values that exist count.
func (e *Evaluation) find(t *Test, v any, path []string, ignoreAbsent bool) Result {
	if !e.Spend(1) {
		return Unknown
	}
	if len(path) == 0 {
		switch v.(type) {
		case string, float64, bool, nil, []any, *value.Object:
		case Uncertain:
			return Unknown
		}
		return e.Check(t, v)
	}
	var inner any
	exists := false
	switch v := v.(type) {
	case map[string]any:
		inner, exists = v[path[0]]
	case *value.Object:
		inner, exists = v.Get(path[0])
	case Object:
		inner, exists = v.Field(path[0])
	case Uncertain:
		return Unknown
	case []any:
		if len(v) > 0 {
			return e.findInList(t, v, path, ignoreAbsent)
		}
	}
	switch {
	case exists:
		return e.find(t, inner, path[1:], ignoreAbsent)
	case ignoreAbsent:
		return No
	default:
		return e.Check(t, Absent)
	}
}

func (e *Evaluation) findInList(t *Test, list []any, path []string, ignoreAbsent bool) Result {
	found := No
	if e.ListIndexes {
		if i, ok := value.Index(path[0]); ok && i < len(list) {
			found = e.find(t, list[i], path[1:], ignoreAbsent)
			ignoreAbsent = true // the element that the path names exists
		}
	}
	for i := 0; i < len(list) && found != Yes && e.Spend(0); i++ {
		if _, isObject := list[i].(*value.Object); isObject || e.NestedLists {
			found = max(found, e.find(t, list[i], path, ignoreAbsent))
		} else if e.Spend(1) && !ignoreAbsent {
			found = max(found, e.Check(t, Absent))
		}
	}
	return found
}

// Check tests the value at the end of a path: the value, or its elements.
func (e *Evaluation) Check(t *Test, v any) Result {
	switch t.Operator {
	case Exists:
		return Is(v != Absent)
	case Missing:
		return Is(v == Absent)
	case Size:
		n, isNumber := t.Operand.(float64)
		return Is(isNumber && float64(Length(v)) == n)
	case All:
		return e.Compare(t, v)
	case Element:
		found := No
		for i := 0; i < Length(v) && found != Yes && e.Spend(0); i++ {
			found = max(found, e.Matches(t.Alternatives[0], Item(v, i)))
		}
		return found
	}
	found := e.Compare(t, v)
	for i := 0; i < Length(v) && found != Yes && e.Spend(0); i++ {
		found = max(found, e.Compare(t, Item(v, i)))
	}
	return found
}

// InOrder reports whether an ordering operator accepts the result of a comparison.
func InOrder(o Operator, order int) bool {
	switch o {
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	case Less:
		return order < 0
	default:
		return order <= 0
	}
}

// Length returns the number of elements of a list, -1 for any other value.
func Length(v any) int {
	switch list := v.(type) {
	case []any:
		return len(list)
	case []string:
		return len(list)
	}
	return -1
}

// Item returns an element of a list.
func Item(list any, i int) any {
	if texts, ok := list.([]string); ok {
		return texts[i]
	}
	return list.([]any)[i]
}
