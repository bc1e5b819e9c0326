package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// termsAgg makes a bucket for each value of a field.
type termsAgg struct {
	field field
	size  int
	order []bucketOrder
	inner []named
}

// bucketOrder is what buckets are sorted by: _count, _key, or a number that an inner
// aggregation comes to.
type bucketOrder struct {
	by, property string
	at           int // of the inner aggregation
	down         bool
}

func (p *parser) termsAgg(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "field", "size", "order")
	t := termsAgg{field: p.field(m["field"], at+".field"), size: p.whole(m, "size", at, 10, 1, maxBuckets), inner: inner}
	if order, given := m["order"]; given {
		for _, item := range several(order) {
			t.order = append(t.order, p.bucketOrder(item, at+".order", inner))
		}
		if len(t.order) > maxSorts {
			p.fault(at+".order", "has more than %d fields", maxSorts)
		}
	} else {
		t.order = []bucketOrder{{by: "_count", down: true}}
	}
	return t
}

func (p *parser) bucketOrder(v any, at string, inner []named) (o bucketOrder) {
	name, how, ok := p.single(v, at, "field")
	if !ok {
		return o
	}
	switch how {
	case "asc", "desc":
		o.down = how == "desc"
	default:
		p.fault(at+"."+name, "must be asc or desc")
	}
	if name == "_count" || name == "_key" {
		o.by = name
		return o
	}
	for i, a := range inner { // the names of aggregations may have dots in them
		if property, found := strings.CutPrefix(name, a.name); found && (property == "" || property[0] == '.') {
			if n, ok := a.agg.(numeric); ok && n.has(strings.TrimPrefix(property, ".")) {
				return bucketOrder{by: a.name, at: i, property: strings.TrimPrefix(property, "."), down: o.down}
			}
		}
	}
	p.fault(at+"."+name, "must be _count, _key, or a number that an inner aggregation comes to")
	return o
}

func (t termsAgg) begin(b *budget) state {
	return &termsState{termsAgg: t, budget: b, buckets: map[any]*bucket{}}
}

// termsState holds a bucket for each value that was seen: which ones are the largest
// is known in the end only.
type termsState struct {
	termsAgg
	budget  *budget
	buckets map[any]*bucket
}

func (s *termsState) add(d Doc) error {
	return s.field.each(d, func(v any) error {
		k, err := bucketOf(s.buckets, v, lengthOf, s.inner, s.budget)
		if err != nil {
			return err
		}
		return k.add(d)
	})
}

// lengthOf is what a value weighs.
func lengthOf(v any) int { return len(textOf(v)) }

func (s *termsState) result() (map[string]any, error) {
	keys := slices.SortedFunc(maps.Keys(s.buckets), s.compare)
	shown := keys[:min(s.size, len(keys))]
	if err := s.budget.count(len(shown)); err != nil {
		return nil, err
	}
	others := 0
	for _, key := range keys[len(shown):] {
		others += s.buckets[key].count
	}
	list := make([]any, 0, len(shown))
	for _, key := range shown {
		one, err := s.buckets[key].result(s.inner, keyOf(key))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return map[string]any{"doc_count_error_upper_bound": 0, "sum_other_doc_count": others, "buckets": list}, nil
}

// keyOf is how a bucket says which value it is of.
func keyOf(v any) map[string]any {
	switch v := v.(type) {
	case time.Time:
		return map[string]any{"key": v.UnixMilli(), "key_as_string": textOf(v)}
	case bool:
		key := 0
		if v {
			key = 1
		}
		return map[string]any{"key": key, "key_as_string": textOf(v)}
	}
	return map[string]any{"key": v}
}

// compare orders buckets by their keys; of equal ones the lower key is the first.
func (s *termsState) compare(a, b any) int {
	for _, o := range s.order {
		c := 0
		switch o.by {
		case "_key":
			c = compareValues(a, b)
		case "_count":
			c = cmp.Compare(s.buckets[a].count, s.buckets[b].count)
		default:
			c = compareNumbers(s.number(a, o), s.number(b, o), o.down)
		}
		if o.down && c != 0 {
			return -c
		}
		if c != 0 {
			return c
		}
	}
	return compareValues(a, b)
}

func (s *termsState) number(key any, o bucketOrder) *float64 {
	return s.buckets[key].subs[o.at].(numericState).number(o.property)
}

// compareNumbers orders numbers so that those that are not there come last, in both
// directions.
func compareNumbers(a, b *float64, down bool) int {
	last := 1
	if down {
		last = -1
	}
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return last
	case b == nil:
		return -last
	}
	return cmp.Compare(*a, *b)
}
