package search

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rangesAgg makes a bucket for each range of a field.
type rangesAgg struct {
	field  field
	dates  bool
	ranges []interval
	inner  []named
}

// interval is a range: from is inside, to is not.
type interval struct {
	key      string
	from, to *float64 // numbers, or milliseconds
}

func (p *parser) ranges(v any, at string, inner []named, dates bool) agg {
	m, _ := p.options(v, at, "field", "ranges")
	a := rangesAgg{field: p.field(m["field"], at+".field"), dates: dates, inner: inner}
	items, ok := m["ranges"].([]any)
	if !ok || len(items) == 0 || len(items) > maxClauses {
		p.fault(at+".ranges", "must be a list of 1 to %d ranges", maxClauses)
	}
	for i, item := range items {
		where := place(at+".ranges", i)
		p.clause(where)
		m, ok := p.options(item, where, "key", "from", "to")
		if !ok {
			continue
		}
		r := interval{from: p.limit(m, "from", where, dates), to: p.limit(m, "to", where, dates)}
		r.key = a.shown(r.from) + "-" + a.shown(r.to)
		if key, given := m["key"]; given {
			r.key = p.text(key, where+".key")
		}
		a.ranges = append(a.ranges, r)
	}
	slices.SortStableFunc(a.ranges, func(x, y interval) int {
		return cmp.Or(compareNumbers(x.from, y.from, true), compareNumbers(x.to, y.to, false))
	})
	return a
}

// limit reads one end of a range; nil when it is open.
func (p *parser) limit(m map[string]any, name, at string, dates bool) *float64 {
	v, given := m[name]
	if !given {
		return nil
	}
	at += "." + name
	if text, ok := v.(string); ok && dates {
		t, ok := p.date(text, false)
		if !ok {
			p.fault(at, "must be a date, or date math such as now-1h/d")
		}
		ms := float64(t.UnixMilli())
		return &ms
	}
	n := p.number(v, at)
	return &n
}

// shown is an end of a range as its key has it.
func (a rangesAgg) shown(end *float64) string {
	switch {
	case end == nil:
		return "*"
	case a.dates:
		return textOf(time.UnixMilli(int64(*end)))
	}
	return decimal(*end)
}

// decimal is a number with at least one decimal.
func decimal(n float64) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func (a rangesAgg) begin(b *budget) state {
	return &rangesState{rangesAgg: a, fixed: newFixed(len(a.ranges), a.inner, b)}
}

type rangesState struct {
	rangesAgg
	fixed
}

func (s *rangesState) add(d Doc) error {
	values := s.field.numbers(d)
	if s.dates {
		values = nil
		for _, t := range s.field.times(d) {
			values = append(values, float64(t.UnixMilli()))
		}
	}
	for i, r := range s.ranges {
		inside := func(n float64) bool { return (r.from == nil || n >= *r.from) && (r.to == nil || n < *r.to) }
		if slices.ContainsFunc(values, inside) {
			if err := s.buckets[i].add(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *rangesState) result() (map[string]any, error) {
	list, err := s.told(func(i int) map[string]any {
		r := s.ranges[i]
		known := map[string]any{"key": r.key}
		for name, end := range map[string]*float64{"from": r.from, "to": r.to} {
			if end != nil {
				known[name] = *end
			}
			if end != nil && s.dates {
				known[name+"_as_string"] = s.shown(end)
			}
		}
		return known
	})
	return map[string]any{"buckets": list}, err
}

// fixed are buckets that are there whether documents come or not.
type fixed struct {
	inner   []named
	buckets []*bucket
	budget  *budget
	err     error // there is no memory for so many
}

func newFixed(n int, inner []named, b *budget) fixed {
	f := fixed{inner: inner, budget: b}
	for range n {
		k, err := newBucket(inner, b)
		f.buckets, f.err = append(f.buckets, k), cmp.Or(f.err, err)
	}
	return f
}

// told returns the buckets, each with what else is told of it.
func (f fixed) told(also func(i int) map[string]any) (list []any, err error) {
	if err := cmp.Or(f.err, f.budget.count(len(f.buckets))); err != nil {
		return nil, err
	}
	for i, k := range f.buckets {
		one, err := k.result(f.inner, also(i))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// filterAgg is one bucket, of the documents that match.
type filterAgg struct {
	query query
	inner []named
}

func (a filterAgg) begin(b *budget) state {
	return &filterState{a, newFixed(1, a.inner, b)}
}

type filterState struct {
	filterAgg
	fixed
}

func (s *filterState) add(d Doc) error {
	if !s.query.match(d) {
		return nil
	}
	return s.buckets[0].add(d)
}

func (s *filterState) result() (map[string]any, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.buckets[0].result(s.fixed.inner, map[string]any{})
}

// filtersAgg is a bucket for each query.
type filtersAgg struct {
	names   []string // of the queries; nil when they have none
	queries []query
	inner   []named
}

func (p *parser) filters(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "filters")
	at += ".filters"
	a := filtersAgg{inner: inner}
	switch filters := m["filters"].(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(filters)) {
			a.names = append(a.names, name)
			a.queries = append(a.queries, p.query(filters[name], at+"."+name, 1))
		}
	case []any:
		for i, filter := range filters {
			a.queries = append(a.queries, p.query(filter, place(at, i), 1))
		}
	}
	if len(a.queries) == 0 {
		p.fault(at, "must be queries, by name or as a list")
	}
	return a
}

func (a filtersAgg) begin(b *budget) state {
	return &filtersState{a, newFixed(len(a.queries), a.inner, b)}
}

type filtersState struct {
	filtersAgg
	fixed
}

func (s *filtersState) add(d Doc) error {
	for i, q := range s.queries {
		if q.match(d) {
			if err := s.buckets[i].add(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *filtersState) result() (map[string]any, error) {
	list, err := s.told(func(int) map[string]any { return map[string]any{} })
	if err != nil || s.names == nil {
		return map[string]any{"buckets": list}, err
	}
	byName := map[string]any{}
	for i, name := range s.names {
		byName[name] = list[i]
	}
	return map[string]any{"buckets": byName}, nil
}
