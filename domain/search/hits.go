package search

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"

	"svc/domain"
)

// budget is what the answer to one request may take.
type budget struct {
	field   string // that is to blame when it is not enough
	held    int    // bytes, roughly
	buckets int    // in the answer
	steps   int
	halt    func() error // says why to stop; nil: never
}

// stepsAtOnce is how often something is added to a bucket between two looks at whether
// the time is up: one large document may be in very many.
const stepsAtOnce = 16

// work counts a step, and fails when the time is up.
func (b *budget) work() error {
	if b.steps++; b.steps%stepsAtOnce != 0 || b.halt == nil {
		return nil
	}
	return b.halt()
}

// spend takes bytes, or gives them back when they are negative.
func (b *budget) spend(bytes int) error {
	if b.held += bytes; b.held <= maxMemory {
		return nil
	}
	return domain.Invalid(domain.FieldError{
		Field: b.field, Message: "needs too much memory: ask for fewer documents or buckets, for less of them with source, or for a shorter range of time",
	})
}

// count counts buckets of the answer.
func (b *budget) count(n int) error {
	if b.buckets += n; b.buckets <= maxBuckets {
		return nil
	}
	return domain.Invalid(domain.FieldError{Field: "aggs", Message: fmt.Sprintf("makes more than %d buckets", maxBuckets)})
}

// hit is a document of the answer.
type hit struct {
	keys []any // what it is sorted by
	at   int   // when it came
	body json.RawMessage
}

// cost is how many bytes it takes, roughly.
func (h hit) cost() int {
	bytes := len(h.body) + bucketCost
	for _, key := range h.keys {
		if text, ok := key.(string); ok {
			bytes += len(text)
		}
	}
	return bytes
}

// page is which documents are wanted, and of them what.
type page struct {
	order      []sortKey
	source     *source // nil: all of them
	skip, keep int
	inOrder    bool // they come in the order in which they are wanted
}

// hits are the first documents in an order. When they do not come in that order it
// is a heap with the last of them on top.
type hits struct {
	page
	budget *budget
	seen   int
	best   []hit
}

func (h *hits) add(d Doc) error {
	h.seen++
	wanted := h.skip + h.keep
	switch {
	case h.keep == 0, h.inOrder && (h.seen <= h.skip || h.seen > wanted):
		return nil
	case h.inOrder:
		one := hit{body: h.source.of(d)}
		h.best = append(h.best, one)
		return h.budget.spend(one.cost())
	}
	candidate := hit{at: h.seen}
	for _, key := range h.order {
		candidate.keys = append(candidate.keys, key.of(d))
	}
	freed := 0
	if len(h.best) == wanted {
		if h.compare(candidate, h.best[0]) >= 0 {
			return nil
		}
		freed = heap.Pop(h).(hit).cost()
	}
	candidate.body = h.source.of(d)
	heap.Push(h, candidate)
	return h.budget.spend(candidate.cost() - freed)
}

// documents returns the documents of the page, in order.
func (h *hits) documents() []json.RawMessage {
	best := h.best
	if !h.inOrder {
		slices.SortFunc(best, h.compare)
		best = best[min(h.skip, len(best)):]
	}
	bodies := make([]json.RawMessage, len(best))
	for i, hit := range best {
		bodies[i] = hit.body
	}
	return bodies
}

// full reports whether no document that comes can be among those wanted.
func (h *hits) full() bool { return h.keep == 0 || h.inOrder && h.seen >= h.skip+h.keep }

// compare orders hits; of equal ones the one that came first is the first.
func (h *hits) compare(a, b hit) int {
	for i, key := range h.order {
		if c := key.compare(a.keys[i], b.keys[i]); c != 0 {
			return c
		}
	}
	return a.at - b.at
}

// Len implements heap.Interface.
func (h *hits) Len() int { return len(h.best) }

// Less implements heap.Interface: the last is on top.
func (h *hits) Less(i, j int) bool { return h.compare(h.best[i], h.best[j]) > 0 }

// Swap implements heap.Interface.
func (h *hits) Swap(i, j int) { h.best[i], h.best[j] = h.best[j], h.best[i] }

// Push implements heap.Interface.
func (h *hits) Push(x any) { h.best = append(h.best, x.(hit)) }

// Pop implements heap.Interface.
func (h *hits) Pop() any {
	last := h.best[len(h.best)-1]
	h.best = h.best[:len(h.best)-1]
	return last
}
