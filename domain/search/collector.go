package search

import "encoding/json"

// Collector makes the answer to a request out of documents. It is used by one
// goroutine.
type Collector struct {
	request *Request
	budget  budget
	hits    hits
	aggs    []state
}

// Result is the answer to a request.
type Result struct {
	Size      int               `json:"size"` // how many match; of many, that there are that many
	Documents []json.RawMessage `json:"documents"`
	Aggs      map[string]any    `json:"aggs,omitempty"`
}

// NewCollector returns a collector for the answer to r. It asks halt now and then
// whether to go on, and fails with what that says; nil: it always does.
func NewCollector(r *Request, halt func() error) *Collector {
	c := &Collector{request: r, budget: budget{field: "limit", halt: halt}}
	if r.Aggregates() {
		c.budget.field = "aggs"
	}
	c.hits = hits{page: r.page, budget: &c.budget}
	c.aggs = start(r.aggs, &c.budget)
	return c
}

// Add takes the next document that matches, in the order that the request asks to
// visit them in. It returns false when no more are needed.
func (c *Collector) Add(d Doc) (more bool, err error) {
	if err := c.hits.add(d); err != nil {
		return false, err
	}
	for _, s := range c.aggs {
		if err := s.add(d); err != nil {
			return false, err
		}
	}
	counted := c.hits.seen >= maxCounted && !c.request.total
	return !counted || !c.hits.full() || c.request.Aggregates(), nil
}

// Result returns the answer.
func (c *Collector) Result() (Result, error) {
	r := Result{Size: c.hits.seen, Documents: c.hits.documents()}
	if !c.request.total {
		r.Size = min(r.Size, maxCounted)
	}
	if !c.request.Aggregates() {
		return r, nil
	}
	r.Aggs = map[string]any{}
	return r, results(r.Aggs, c.request.aggs, c.aggs)
}
