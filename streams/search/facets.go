package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc/commands/knowledge"
	"svc/domain/kbdocument"
)

const (
	maxFacets    = 10
	maxBuckets   = 100
	usualBuckets = 10
)

// facetCount counts one facet.
type facetCount struct {
	path    []string
	size    int
	ranges  []knowledge.Range
	counts  map[any]int // by value, or by place in ranges
	other   int
	missing int
}

func newFacetCounts(facets map[string]knowledge.Facet) (map[string]*facetCount, error) {
	if len(facets) > maxFacets {
		return nil, invalid("facets", fmt.Sprintf("must be at most %d", maxFacets))
	}
	counts := map[string]*facetCount{}
	for name, f := range facets {
		at := "facets." + name
		if !kbdocument.IsFilterField(f.Field) {
			return nil, invalid(at+".field", "is no field of a document")
		}
		c := &facetCount{path: strings.Split(f.Field, "."), size: usualBuckets, counts: map[any]int{}}
		if f.Size != nil {
			if c.size = *f.Size; c.size < 1 || c.size > maxBuckets {
				return nil, invalid(at+".size", fmt.Sprintf("must be 1 to %d", maxBuckets))
			}
		}
		if f.Ranges != nil {
			if n := len(*f.Ranges); n < 1 || n > maxBuckets {
				return nil, invalid(at+".ranges", fmt.Sprintf("must be 1 to %d", maxBuckets))
			}
			for i, r := range *f.Ranges {
				if !isBound(r.From) || !isBound(r.To) || r.From == nil && r.To == nil {
					return nil, invalid(fmt.Sprintf("%s.ranges[%d]", at, i), "must have a number or a text as from or to")
				}
			}
			c.ranges = *f.Ranges
		}
		counts[name] = c
	}
	return counts, nil
}

func isBound(v any) bool {
	switch v.(type) {
	case nil, float64, string:
		return true
	}
	return false
}

func (c *facetCount) reset() {
	clear(c.counts)
	c.other, c.missing = 0, 0
}

// add counts a document.
func (c *facetCount) add(fields map[string]any) {
	values := map[any]bool{}
	collectLeaves(fields, c.path, values)
	if len(values) == 0 {
		c.missing++
		return
	}
	if c.ranges == nil {
		for v := range values {
			c.counts[v]++
		}
		return
	}
	inAny := false
	for i, r := range c.ranges {
		for v := range values {
			if inRange(r, v) {
				c.counts[i]++
				inAny = true
				break
			}
		}
	}
	if !inAny {
		c.other++
	}
}

// collectLeaves adds the scalars at a path; of a list, those of its items.
func collectLeaves(v any, path []string, into map[any]bool) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) > 0 {
			collectLeaves(v[path[0]], path[1:], into)
		}
	case []any:
		for _, item := range v {
			collectLeaves(item, path, into)
		}
	case string, float64, bool:
		if len(path) == 0 {
			into[v] = true
		}
	case int64:
		if len(path) == 0 {
			into[float64(v)] = true
		}
	}
}

func inRange(r knowledge.Range, v any) bool {
	least, most := compareBounds(v, r.From), compareBounds(v, r.To)
	return (r.From == nil || least == 0 || least == 1) && (r.To == nil || most == -1)
}

// compareBounds compares two values of one type; 2: they cannot be compared.
func compareBounds(a, b any) int {
	switch a := a.(type) {
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b)
		}
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b)
		}
	}
	return 2
}

// rangeKey names a range.
func rangeKey(r knowledge.Range) string {
	if r.Name != "" {
		return r.Name
	}
	text := func(v any) string {
		if v == nil {
			return "*"
		}
		body, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return strings.Trim(string(body), `"`)
	}
	return text(r.From) + "-" + text(r.To)
}

func (c *facetCount) answer() knowledge.FacetAnswer {
	answer := knowledge.FacetAnswer{Buckets: []knowledge.Bucket{}, Other: c.other, Missing: c.missing}
	if c.ranges != nil {
		for i, r := range c.ranges {
			answer.Buckets = append(answer.Buckets, knowledge.Bucket{Key: rangeKey(r), Count: c.counts[i]})
		}
		return answer
	}
	for v, n := range c.counts {
		answer.Buckets = append(answer.Buckets, knowledge.Bucket{Key: v, Count: n})
	}
	slices.SortFunc(answer.Buckets, func(a, b knowledge.Bucket) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(fmt.Sprint(a.Key), fmt.Sprint(b.Key)))
	})
	if len(answer.Buckets) > c.size {
		for _, b := range answer.Buckets[c.size:] {
			answer.Other += b.Count
		}
		answer.Buckets = answer.Buckets[:c.size]
	}
	return answer
}
