package collection

import (
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// query is a condition on rows.
type query struct {
	cond    *value.Object
	matcher *expr.Matcher
	fields  []string // of rows that it looks at
}

// compileQuery reads a condition. Nothing is a condition that all rows meet.
func compileQuery(v any) (*query, error) {
	if value.IsNothing(v) {
		v = &value.Object{}
	}
	cond, ok := v.(*value.Object)
	if !ok {
		return nil, Refuse(BadQuery, "a query is an object, not %s", value.Kind(v))
	}
	cond = aliased(cond, 0)
	matcher, err := expr.CompileMatcher(cond, false)
	if err != nil {
		return nil, Refuse(BadQuery, "the query is not understood: %s", err)
	}
	return newQuery(cond, matcher)
}

func newQuery(cond *value.Object, m *expr.Matcher) (*query, error) {
	q := &query{cond: cond, matcher: m}
	if q.look(cond); len(q.fields) > maxPaths {
		return nil, Refuse(BadQuery, "a query looks at no more than %d fields", maxPaths)
	}
	return q, nil
}

// look notes the fields that a condition looks at; no more when they are too many.
func (q *query) look(cond *value.Object) {
	for _, key := range cond.Keys() {
		if list, ok := cond.At(key).([]any); ok && strings.HasPrefix(key, "$") {
			for _, item := range list {
				if inner, ok := item.(*value.Object); ok {
					q.look(inner)
				}
			}
			continue
		}
		if field := fieldOf(key); len(q.fields) <= maxPaths && !slices.Contains(q.fields, field) {
			q.fields = append(q.fields, field)
		}
	}
}

// fieldOf returns the field that a path begins with.
func fieldOf(path string) string {
	field, _, _ := strings.Cut(path, ".")
	return field
}

// aliased returns a condition with _id called id.
func aliased(cond *value.Object, depth int) *value.Object {
	made := &value.Object{}
	for _, key := range cond.Keys() {
		v := cond.At(key)
		if list, ok := v.([]any); ok && strings.HasPrefix(key, "$") && depth < expr.MaxDepth {
			items := make([]any, len(list))
			for i, item := range list {
				items[i] = item
				if inner, ok := item.(*value.Object); ok {
					items[i] = aliased(inner, depth+1)
				}
			}
			v = items
		}
		if _, both := made.Get(unalias(key)); both {
			continue // id counts, of the two
		}
		made.Set(unalias(key), v)
	}
	return made
}

// meets reports whether a row meets the query, without reading more of it than that
// takes.
func (q *query) meets(e *effort, row Row) (bool, error) {
	if q.empty() {
		return true, e.spend(1)
	}
	part, err := row.some(q.fields)
	if err != nil {
		return false, err
	}
	return q.match(e, part)
}

// match reports whether an object meets the query.
func (q *query) match(e *effort, row *value.Object) (bool, error) {
	fits, spent, err := q.matcher.MatchWithin(row, matchSteps)
	if err != nil {
		return false, Refuse(BadQuery, "the query cannot be evaluated: %s", err)
	}
	return fits, e.spend(1 + spent/stepSize) // it counts bytes, and instructions for each
}

// empty reports whether nothing is asked of a row.
func (q *query) empty() bool { return emptyCondition(q.cond) }

func emptyCondition(cond *value.Object) bool {
	return !slices.ContainsFunc(cond.Keys(), func(key string) bool {
		list, ok := cond.At(key).([]any)
		return !ok || key != "$and" || slices.ContainsFunc(list, func(item any) bool {
			inner, ok := item.(*value.Object)
			return !ok || !emptyCondition(inner)
		})
	})
}

// asked is what a query asks of one field: one of some values, or a range.
type asked struct {
	values []any // nil: not asked for by value
	bounds []bound
}

// bound is one end of a range.
type bound struct {
	op string
	v  any
}

// demands gathers what every row must meet: of the entries that are joined by and.
func demands(cond *value.Object, into map[string]*asked) {
	for _, key := range cond.Keys() {
		v := cond.At(key)
		if key == "$and" {
			list, _ := v.([]any)
			for _, item := range list {
				if inner, ok := item.(*value.Object); ok {
					demands(inner, into)
				}
			}
			continue
		}
		if strings.HasPrefix(key, "$") {
			continue
		}
		if into[key] == nil {
			into[key] = &asked{}
		}
		into[key].read(v)
	}
}

func (a *asked) read(v any) {
	o, ok := v.(*value.Object)
	if !ok || !slices.ContainsFunc(o.Keys(), func(key string) bool { return strings.HasPrefix(key, "$") }) {
		a.narrow([]any{v})
		return
	}
	for _, op := range o.Keys() {
		operand := o.At(op)
		switch op {
		case "$eq":
			a.narrow([]any{operand})
		case "$in":
			if list, ok := operand.([]any); ok {
				a.narrow(list)
			}
		case "$gt", "$gte", "$lt", "$lte":
			a.bounds = append(a.bounds, bound{op, operand})
		}
	}
}

// narrow keeps the shorter one of two lists of values: both must be met.
func (a *asked) narrow(values []any) {
	if a.values == nil || len(values) < len(a.values) {
		a.values = values
		if values == nil {
			a.values = []any{}
		}
	}
}

// keyRange returns the keys of a range behind a prefix. What is equal to an open end
// is in it too: the query is asked again of what is found.
func (a *asked) keyRange(prefix []byte) Range {
	r := startingWith(prefix)
	for _, b := range a.bounds {
		rank := rankOf(b.v)
		if rank != rankNumber && rank != rankString {
			return Range{prefix, []byte{}} // nothing compares with it
		}
		kind := startingWith(append(slices.Clone(prefix), rank))
		key := startingWith(boundKey(slices.Clone(prefix), b.v))
		if strings.HasPrefix(b.op, "$g") {
			r = r.within(Range{key.From, kind.To})
		} else {
			r = r.within(Range{kind.From, key.To})
		}
	}
	return r
}

// boundKey is the key of an end of a range. Long texts are in no order behind their
// beginning: of such an end only that counts.
func boundKey(prefix []byte, v any) []byte {
	text, ok := v.(string)
	if !ok || len(text) <= longText {
		return Key(prefix, v)
	}
	key := Key(prefix, text[:longText])
	return key[:len(key)-2]
}
