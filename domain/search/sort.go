package search

import (
	"cmp"
	"strings"
	"time"
)

// sortKey is a field to sort by.
type sortKey struct {
	field field
	down  bool
}

// newestFirst is the usual order.
var newestFirst = []sortKey{{field: created, down: true}}

// sorting reads a list of {field: asc|desc}, {field: {order}} and names of fields.
func (p *parser) sorting(v any, at string) (keys []sortKey) {
	items := several(v)
	if len(items) > maxSorts {
		p.fault(at, "has more than %d fields", maxSorts)
		return nil
	}
	for i, item := range items {
		where := at
		if len(items) > 1 {
			where = place(at, i)
		}
		if name, ok := item.(string); ok && name != "" {
			keys = append(keys, sortKey{field: p.fieldAt(name, where)})
			continue
		}
		name, how, ok := p.single(item, where, "field")
		if !ok {
			continue
		}
		if m, isLong := how.(map[string]any); isLong {
			p.options(m, where+"."+name, "order")
			how = m["order"]
		}
		order, _ := how.(string)
		if order = strings.ToLower(order); order != "asc" && order != "desc" {
			p.fault(where+"."+name, "must be asc or desc")
		}
		keys = append(keys, sortKey{p.fieldAt(name, where), order == "desc"})
	}
	if len(keys) == 0 {
		return newestFirst
	}
	return keys
}

// of returns what a document is sorted by: of several values, the one that comes
// first; nil when there is none.
func (k sortKey) of(d Doc) (best any) {
	for _, v := range k.field.of(d) {
		if best == nil || k.compare(v, best) < 0 {
			best = v
		}
	}
	return best
}

// compare orders two values. What is missing comes last, in both directions.
func (k sortKey) compare(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	case k.down:
		return compareValues(b, a)
	}
	return compareValues(a, b)
}

// compareValues orders plain values: booleans, numbers and times, texts.
func compareValues(a, b any) int {
	if byRank := cmp.Compare(rank(a), rank(b)); byRank != 0 {
		return byRank
	}
	switch a := a.(type) {
	case float64:
		return cmp.Compare(a, b.(float64))
	case time.Time:
		return a.Compare(b.(time.Time))
	}
	return strings.Compare(textOf(a), textOf(b))
}

func rank(v any) int {
	switch v.(type) {
	case bool:
		return 0
	case float64:
		return 1
	case time.Time:
		return 2
	}
	return 3
}
