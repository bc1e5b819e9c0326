package match_test

import (
	"cmp"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/match"
	"svc/domain/value"
)

// comparer compares values with ==, numbers also by order, and counts steps.
type comparer struct{ left int }

func (c *comparer) Spend(steps int) bool {
	c.left -= steps
	return c.left >= 0
}

func (c *comparer) Compare(t *match.Test, v any) match.Result {
	if !c.Spend(t.Cost) {
		return match.Unknown
	}
	switch t.Operator {
	case match.In:
		for i := range match.Length(t.Operand) {
			if match.Item(t.Operand, i) == v {
				return match.Yes
			}
		}
		return match.No
	case match.Greater, match.GreaterOrEqual, match.Less, match.LessOrEqual:
		a, isNumber := v.(float64)
		b, _ := t.Operand.(float64)
		return match.Is(isNumber && match.InOrder(t.Operator, cmp.Compare(a, b)))
	case match.Regexp:
		text, isText := v.(string)
		return match.Is(isText && t.Regexp.MatchString(text))
	}
	_, isList := v.([]any)
	_, isObject := v.(*value.Object)
	return match.Is(!isList && !isObject && v == t.Operand)
}

// uncertain is a value that is not known.
type uncertain struct{}

func (uncertain) IsUncertain() {}

// fields is an object of its own kind.
type fields map[string]any

func (f fields) Field(name string) (any, bool) {
	v, ok := f[name]
	return v, ok
}

func test(path string, operator match.Operator, operand any) match.Test {
	t := match.Test{Key: path, Operator: operator, Operand: operand}
	if path != "" {
		t.Path = []string{path}
	}
	return t
}

func not(t match.Test) match.Test {
	t.Not = true
	return t
}

func TestConditions(t *testing.T) {
	t.Parallel()
	doc := value.NewObject(
		"n", 5.0, "s", "text", "null", nil, "list", []any{1.0, 2.0}, "empty", []any{},
		"rows", []any{value.NewObject("a", 1.0), value.NewObject("a", 2.0, "b", 3.0)},
	)
	deep := match.Test{Path: []string{"rows", "a"}, Operator: match.Equal, Operand: 2.0}
	for name, c := range map[string]struct {
		condition match.Condition
		on        any
		want      match.Result
	}{
		"nothing is asked":                        {nil, doc, match.Yes},
		"equal":                                   {match.Condition{test("n", match.Equal, 5.0)}, doc, match.Yes},
		"not equal":                               {match.Condition{test("n", match.Equal, 6.0)}, doc, match.No},
		"the opposite":                            {match.Condition{not(test("n", match.Equal, 6.0))}, doc, match.Yes},
		"all tests must hold":                     {match.Condition{test("n", match.Equal, 5.0), test("s", match.Equal, "no")}, doc, match.No},
		"an element of a list":                    {match.Condition{test("list", match.Equal, 2.0)}, doc, match.Yes},
		"in":                                      {match.Condition{test("n", match.In, []any{1.0, 5.0})}, doc, match.Yes},
		"in a list of texts":                      {match.Condition{test("s", match.In, []string{"text"})}, doc, match.Yes},
		"greater":                                 {match.Condition{test("n", match.Greater, 5.0)}, doc, match.No},
		"greater or equal":                        {match.Condition{test("n", match.GreaterOrEqual, 5.0)}, doc, match.Yes},
		"less":                                    {match.Condition{test("n", match.Less, 6.0)}, doc, match.Yes},
		"less or equal":                           {match.Condition{test("n", match.LessOrEqual, 4.0)}, doc, match.No},
		"a null exists":                           {match.Condition{test("null", match.Exists, nil)}, doc, match.Yes},
		"what is missing does not exist":          {match.Condition{test("x", match.Exists, nil)}, doc, match.No},
		"missing":                                 {match.Condition{test("x", match.Missing, nil)}, doc, match.Yes},
		"size":                                    {match.Condition{test("list", match.Size, 2.0)}, doc, match.Yes},
		"only lists have a size":                  {match.Condition{test("s", match.Size, 4.0)}, doc, match.No},
		"a size is a number":                      {match.Condition{test("list", match.Size, "2")}, doc, match.No},
		"a path crosses a list":                   {match.Condition{deep}, doc, match.Yes},
		"missing in one element":                  {match.Condition{{Path: []string{"rows", "b"}, Operator: match.Missing}}, doc, match.Yes},
		"a path ends in an empty list":            {match.Condition{{Path: []string{"empty", "a"}, Operator: match.Exists}}, doc, match.No},
		"one of the alternatives":                 {match.Condition{{Operator: match.AnyOf, Alternatives: []match.Condition{{test("n", match.Equal, 1.0)}, {deep}}}}, doc, match.Yes},
		"none of the alternatives":                {match.Condition{not(match.Test{Operator: match.AnyOf, Alternatives: []match.Condition{{deep}}})}, doc, match.No},
		"an element meets a condition":            {match.Condition{{Path: []string{"rows"}, Operator: match.Element, Alternatives: []match.Condition{{test("a", match.Equal, 2.0), test("b", match.Equal, 3.0)}}}}, doc, match.Yes},
		"no element meets all of a condition":     {match.Condition{{Path: []string{"rows"}, Operator: match.Element, Alternatives: []match.Condition{{test("a", match.Equal, 1.0), test("b", match.Equal, 3.0)}}}}, doc, match.No},
		"the whole value":                         {match.Condition{test("", match.Equal, 5.0)}, 5.0, match.Yes},
		"a map":                                   {match.Condition{test("n", match.Equal, 1.0)}, map[string]any{"n": 1.0}, match.Yes},
		"an object of another kind":               {match.Condition{test("n", match.Equal, 1.0)}, fields{"n": 1.0}, match.Yes},
		"a value that is not known":               {match.Condition{test("n", match.Equal, 1.0)}, fields{"n": uncertain{}}, match.Unknown},
		"the opposite of unknown is unknown":      {match.Condition{not(test("n", match.Equal, 1.0))}, fields{"n": uncertain{}}, match.Unknown},
		"a path into what is not known":           {match.Condition{{Path: []string{"n", "m"}, Operator: match.Exists}}, fields{"n": uncertain{}}, match.Unknown},
		"unknown and no is no":                    {match.Condition{test("n", match.Equal, 1.0), test("m", match.Exists, nil)}, fields{"n": uncertain{}}, match.No},
		"a path through a text leads to nothing":  {match.Condition{{Path: []string{"s", "x"}, Operator: match.Missing}}, doc, match.Yes},
		"a list of lists is not crossed":          {match.Condition{{Path: []string{"l", "a"}, Operator: match.Equal, Operand: 1.0}}, fields{"l": []any{[]any{value.NewObject("a", 1.0)}}}, match.No},
		"an index of a list is a name by default": {match.Condition{{Path: []string{"list", "0"}, Operator: match.Exists}}, doc, match.No},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := match.Evaluation{Comparer: &comparer{math.MaxInt}}
			require.Equal(t, c.want, e.Matches(c.condition, c.on))
		})
	}
}

func TestPathsThroughListsAsAutomationsReadThem(t *testing.T) {
	t.Parallel()
	e := match.Evaluation{Comparer: &comparer{math.MaxInt}, ListIndexes: true, NestedLists: true}
	doc := value.NewObject("l", []any{[]any{value.NewObject("a", 1.0)}, value.NewObject("0", 7.0)})
	for want, tests := range map[match.Result][]match.Test{
		match.Yes: {
			{Path: []string{"l", "a"}, Operator: match.Equal, Operand: 1.0},
			{Path: []string{"l", "0", "0", "a"}, Operator: match.Equal, Operand: 1.0},
			{Path: []string{"l", "0"}, Operator: match.Equal, Operand: 7.0},
		},
		match.No: {
			{Path: []string{"l", "5"}, Operator: match.Exists},
			{Path: []string{"l", "0", "b"}, Operator: match.Exists},
		},
	} {
		for _, one := range tests {
			require.Equal(t, want, e.Matches(match.Condition{one}, doc), one.Path)
		}
	}
}

func TestAnEvaluationEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	list := make([]any, 1000)
	for i := range list {
		list[i] = value.NewObject("a", float64(i))
	}
	last := match.Condition{{Path: []string{"a"}, Operator: match.Equal, Operand: 999.0}}
	require.Equal(t, match.Yes, (&match.Evaluation{Comparer: &comparer{5000}}).Matches(last, list))
	few := &comparer{100}
	require.NotEqual(t, match.Yes, (&match.Evaluation{Comparer: few}).Matches(last, list))
	require.GreaterOrEqual(t, few.left, -1, "nothing is done after the budget is spent")
	costly := match.Condition{{Path: []string{"a"}, Operator: match.Equal, Operand: 1.0, Cost: 50}}
	require.Equal(t, match.Unknown, (&match.Evaluation{Comparer: &comparer{10}}).Matches(costly, value.NewObject("a", 1.0)))
}
