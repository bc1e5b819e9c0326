package search

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// agg is an aggregation as a request describes it.
type agg interface {
	// begin returns a state of it that has seen nothing.
	begin(b *budget) state
}

// state is an aggregation while documents come in.
type state interface {
	add(d Doc) error
	result() (map[string]any, error)
}

// named is an aggregation with its name.
type named struct {
	name string
	agg
}

// costs of what is held, in bytes, roughly.
const (
	stateCost  = 128
	bucketCost = 128
	valueCost  = 8
)

// start begins all aggregations of a place.
func start(aggs []named, b *budget) []state {
	states := make([]state, len(aggs))
	for i, a := range aggs {
		states[i] = a.begin(b)
	}
	return states
}

// results adds the results of all aggregations of a place to an object.
func results(to map[string]any, aggs []named, states []state) error {
	for i, a := range aggs {
		result, err := states[i].result()
		if err != nil {
			return err
		}
		to[a.name] = result
	}
	return nil
}

// reserved are names that buckets have already.
var reserved = strings.Fields("key key_as_string doc_count from from_as_string to to_as_string buckets")

// subAggs reads the aggregations at a place, which are under one of two names.
func (p *parser) subAggs(m map[string]any, at string, depth int) (all []named) {
	key := "aggs"
	if _, long := m["aggregations"]; long {
		key = "aggregations"
	}
	v, given := m[key]
	if !given {
		return nil
	}
	at = join(at, key)
	if _, both := m["aggs"]; both && key != "aggs" {
		p.fault(at, "does not go with aggs")
	}
	if depth > maxAggDepth {
		p.fault(at, "is nested deeper than %d", maxAggDepth)
		return nil
	}
	inner, _ := p.object(v, at)
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		if p.aggs++; p.aggs > maxAggs {
			p.fault(at, "makes more than %d aggregations", maxAggs)
			return nil
		}
		if where := at + "." + name; name == "" || utf8.RuneCountInString(name) > 200 || strings.ContainsAny(name, "[]>") || slices.Contains(reserved, name) {
			p.fault(where, "is not a valid name of an aggregation")
		} else if a := p.agg(inner[name], where, depth); a != nil {
			all = append(all, named{name, a})
		}
	}
	return all
}

// agg reads one aggregation; nil when it is none.
func (p *parser) agg(v any, at string, depth int) agg {
	m, ok := p.object(v, at)
	if !ok {
		return nil
	}
	inner := p.subAggs(m, at, depth+1)
	kind := ""
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch {
		case name == "aggs" || name == "aggregations":
		case kind != "":
			p.fault(at, "must have exactly one kind of aggregation")
			return nil
		default:
			kind = name
		}
	}
	if kind == "" {
		p.fault(at, "must have a kind of aggregation")
		return nil
	}
	at += "." + kind
	if a := p.bucketAgg(kind, m[kind], at, inner); a != nil {
		return a
	}
	a := p.metricAgg(kind, m[kind], at)
	switch {
	case a == nil:
		p.fault(at, "is not supported")
	case inner != nil:
		p.fault(at, "has no buckets that aggregations could be made of")
	}
	return a
}

// bucketAgg reads an aggregation that makes buckets; nil when the kind is none such.
func (p *parser) bucketAgg(kind string, v any, at string, inner []named) agg {
	switch kind {
	case "terms":
		return p.termsAgg(v, at, inner)
	case "date_histogram":
		return p.dateHistogram(v, at, inner)
	case "histogram":
		return p.histogram(v, at, inner)
	case "range":
		return p.ranges(v, at, inner, false)
	case "date_range":
		return p.ranges(v, at, inner, true)
	case "filter":
		return filterAgg{p.query(v, at, 1), inner}
	case "filters":
		return p.filters(v, at, inner)
	case "missing":
		m, _ := p.options(v, at, "field")
		return filterAgg{boolean{mustNot: []query{exists{p.field(m["field"], at+".field")}}}, inner}
	}
	return nil
}

// bucket is a number of documents, and what their aggregations come to.
type bucket struct {
	count  int
	subs   []state
	budget *budget
}

func newBucket(inner []named, b *budget) (*bucket, error) {
	err := b.spend(bucketCost + len(inner)*stateCost)
	return &bucket{subs: start(inner, b), budget: b}, err
}

// bucketOf returns the bucket of a key, which is made when there is none yet; weigh,
// when set, says what the key weighs besides.
func bucketOf[K comparable](buckets map[K]*bucket, key K, weigh func(K) int, inner []named, b *budget) (*bucket, error) {
	if k, ok := buckets[key]; ok {
		return k, nil
	}
	k, err := newBucket(inner, b)
	if err == nil && weigh != nil {
		err = b.spend(weigh(key))
	}
	if err != nil {
		return nil, err
	}
	buckets[key] = k
	return k, nil
}

func (k *bucket) add(d Doc) error {
	k.count++
	if err := k.budget.work(); err != nil {
		return err
	}
	for _, s := range k.subs {
		if err := s.add(d); err != nil {
			return err
		}
	}
	return nil
}

// result adds what the bucket holds to what else is told of it.
func (k *bucket) result(inner []named, of map[string]any) (map[string]any, error) {
	of["doc_count"] = k.count
	return of, results(of, inner, k.subs)
}
