package expr

import (
	"math"
	"strings"

	"svc/domain/automation/value"
)

// compare is what the comparison of two values yields, taken from the budget.
func (e *evaluation) compare(op string, a, b any) bool {
	switch op {
	case "===":
		return e.same(a, b)
	case "!==":
		return !e.same(a, b)
	case "==", "=":
		return e.equal(a, b)
	case "!=":
		return !e.equal(a, b)
	case "in":
		return e.within(a, b)
	}
	if !e.works(lengthOf(a) + lengthOf(b)) {
		return false
	}
	order, ok := value.Compare(a, b)
	switch {
	case !ok:
		return false
	case op == "<":
		return order < 0
	case op == "<=":
		return order <= 0
	case op == ">":
		return order > 0
	}
	return order >= 0
}

func (e *evaluation) same(a, b any) bool {
	same, spent := value.SameWithin(a, b, e.most-e.Spent)
	return e.works(spent) && same
}

func (e *evaluation) equal(a, b any) bool {
	equal, spent := value.EqualWithin(a, b, e.most-e.Spent)
	return e.works(spent) && equal
}

// number is v as a number, taken from the budget.
func (e *evaluation) number(v any) float64 {
	if n, ok := v.(float64); ok {
		return n
	}
	if !e.works(lengthOf(v)) {
		return math.NaN()
	}
	return value.Num(v)
}

// lengthOf is how long a text is, 0 for all that is none.
func lengthOf(v any) int {
	s, _ := v.(string)
	return len(s)
}

// within is the operator in.
func (e *evaluation) within(a, b any) bool {
	if value.IsUndefined(a) {
		return false
	}
	switch b := b.(type) {
	case []any:
		for _, item := range b {
			if !e.works(costOfItem) || e.same(item, a) {
				return e.err == nil
			}
		}
	case *value.Object:
		_, ok := b.Get(e.text(a))
		return ok
	case string:
		return e.listed(e.text(a), b)
	}
	return false
}

// costOfItem is what looking at an item costs: one of a list, or a character of a list in a
// text, whose items are cut out and read as numbers.
const costOfItem = 4

// listed reports whether a text is an item of a list in a text, divided by commas.
func (e *evaluation) listed(wanted, list string) bool {
	if !e.works(costOfItem * len(list)) {
		return false
	}
	n, numeric := value.Numeric(wanted)
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == wanted {
			return true
		}
		if numeric {
			if m, ok := value.Numeric(item); ok && m == n {
				return true
			}
		}
	}
	return false
}
