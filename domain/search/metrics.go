package search

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// numeric is an aggregation that comes to a number, or to several that have names.
type numeric interface{ has(property string) bool }

// numericState is its state. A number that there is not is nil.
type numericState interface {
	number(property string) *float64
}

// isOdd reports whether n is none that JSON can hold.
func isOdd(n float64) bool { return math.IsNaN(n) || math.IsInf(n, 0) }

// told returns a number as answers have it: null for one that there is not.
func told(n float64, ok bool) *float64 {
	if !ok || isOdd(n) {
		return nil
	}
	return &n
}

// metricAgg reads an aggregation that makes no buckets; nil when the kind is none
// such.
func (p *parser) metricAgg(kind string, v any, at string) agg {
	switch kind {
	case "min", "max", "avg", "sum", "stats", "value_count":
		m, _ := p.options(v, at, "field")
		return metric{kind, p.field(m["field"], at+".field")}
	case "cardinality":
		m, _ := p.options(v, at, "field")
		return cardinality{p.field(m["field"], at+".field")}
	case "percentiles":
		return p.percentiles(v, at)
	case "top_hits":
		m, _ := p.options(v, at, "size", "sort", "_source")
		p.deep, p.aside = true, true
		t := topHits{page{order: newestFirst, keep: p.whole(m, "size", at, 3, 0, 10)}}
		if sort, given := m["sort"]; given {
			t.order = p.sorting(sort, at+".sort")
		}
		if fields, given := m["_source"]; given {
			t.source = p.source(fields, at+"._source")
		}
		return t
	}
	return nil
}

// metric is one of those that a few sums are enough for.
type metric struct {
	kind  string
	field field
}

func (m metric) has(property string) bool {
	if m.kind == "stats" {
		return slices.Contains([]string{"count", "min", "max", "avg", "sum"}, property)
	}
	return property == "" || property == "value"
}

func (m metric) begin(*budget) state { return &metricState{metric: m} }

type metricState struct {
	metric
	count         int
	sum, min, max float64
	dates         bool // the numbers are those of times
}

func (s *metricState) add(d Doc) error {
	if s.kind == "value_count" {
		s.count += len(s.field.of(d))
		return nil
	}
	for _, n := range s.field.numbers(d) {
		if s.count++; s.count == 1 {
			s.min, s.max = n, n
			_, s.dates = s.field.of(d)[0].(time.Time)
		}
		s.sum, s.min, s.max = s.sum+n, min(s.min, n), max(s.max, n)
	}
	return nil
}

func (s *metricState) number(property string) *float64 {
	some := s.count > 0
	switch cmp.Or(property, s.kind) {
	case "min":
		return told(s.min, some)
	case "max":
		return told(s.max, some)
	case "avg":
		return told(s.sum/float64(s.count), some)
	case "sum":
		return told(s.sum, true)
	case "value":
		return s.number("")
	}
	return told(float64(s.count), true)
}

func (s *metricState) result() (map[string]any, error) {
	if s.kind != "stats" {
		return s.dated("value", s.number(""), map[string]any{}), nil
	}
	all := map[string]any{"count": s.count}
	for _, property := range []string{"min", "max", "avg", "sum"} {
		s.dated(property, s.number(property), all)
	}
	return all, nil
}

// dated adds a number, of a time also in words.
func (s *metricState) dated(name string, n *float64, to map[string]any) map[string]any {
	to[name] = n
	if s.dates && n != nil && s.kind != "sum" && name != "sum" {
		to[name+"_as_string"] = textOf(time.UnixMilli(int64(*n)))
	}
	return to
}

// percentiles are values below which a part of all values is.
type percentiles struct {
	field    field
	percents []float64
}

func (p *parser) percentiles(v any, at string) agg {
	m, _ := p.options(v, at, "field", "percents")
	a := percentiles{field: p.field(m["field"], at+".field"), percents: []float64{1, 5, 25, 50, 75, 95, 99}}
	v, given := m["percents"]
	if !given {
		return a
	}
	items, ok := v.([]any)
	if !ok || len(items) == 0 || len(items) > maxAggs {
		p.fault(at+".percents", "must be a list of 1 to %d numbers", maxAggs)
	}
	a.percents = nil
	for i, item := range items {
		n := p.number(item, place(at+".percents", i))
		if n < 0 || n > 100 {
			p.fault(place(at+".percents", i), "must be from 0 to 100")
		}
		a.percents = append(a.percents, n)
	}
	return a
}

func (a percentiles) begin(b *budget) state { return &percentilesState{percentiles: a, budget: b} }

type percentilesState struct {
	percentiles
	budget *budget
	values []float64
}

func (s *percentilesState) add(d Doc) error {
	found := s.field.numbers(d)
	s.values = append(s.values, found...)
	return s.budget.spend(valueCost * len(found))
}

func (s *percentilesState) result() (map[string]any, error) {
	slices.Sort(s.values)
	values := map[string]any{}
	for _, percent := range s.percents {
		values[decimal(percent)] = s.at(percent)
	}
	return map[string]any{"values": values}, nil
}

// at returns the value at a percentage, between two values a part of each.
func (s *percentilesState) at(percent float64) *float64 {
	if len(s.values) == 0 {
		return nil
	}
	place := percent / 100 * float64(len(s.values)-1)
	low := int(place)
	high := min(low+1, len(s.values)-1)
	part := place - float64(low)
	return told(s.values[low]*(1-part)+s.values[high]*part, true)
}

// topHits are the first documents of a bucket.
type topHits struct{ page }

func (t topHits) begin(b *budget) state { return &topHitsState{hits{page: t.page, budget: b}} }

type topHitsState struct{ hits }

func (s *topHitsState) result() (map[string]any, error) {
	list := []any{}
	for _, body := range s.documents() {
		list = append(list, map[string]any{"_source": body})
	}
	total := map[string]any{"value": s.seen, "relation": "eq"}
	return map[string]any{"hits": map[string]any{"total": total, "hits": list}}, nil
}
