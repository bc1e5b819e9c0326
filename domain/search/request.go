// Package search answers queries about events: which of them match, in which order, and
// their aggregations. Its language is a subset of that of search engines; anything else is
// refused with its path.
//
// Parse returns a Request. The reader of events passes each event that the Request matches
// to a Collector, which has the answer. There is no index here: Request.Filter says what
// every match has, so that the reader of an index can skip the rest.
package search

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/feed"
)

// Doc is an event as it is searched: Types.Doc makes one.
type Doc interface {
	// Values returns the values at a dotted path, lists element by element: texts,
	// numbers, booleans, times and objects. The path "" is the whole event.
	Values(path string) []any
	// ContainsWords reports whether the event has all the words, anywhere.
	ContainsWords(words ...string) bool
	// JSON returns the event as it is shown.
	JSON() []byte
}

// Bounds of one request.
const (
	maxLimit    = 1000 // documents of one page
	usualLimit  = 100
	maxOffset   = 10_000   // documents before the page
	maxCounted  = 10_000   // up to here hits are counted without being asked for
	maxClauses  = 1024     // of all queries: conditions, words, ranges
	maxDepth    = 20       // of a query
	maxPattern  = 1000     // characters of a pattern
	maxPatterns = 4096     // characters of all patterns
	maxField    = 500      // characters of the name of a field
	maxSorts    = 10       // fields to sort by
	maxSource   = 200      // fields of the documents
	maxAggs     = 100      // in all
	maxAggDepth = 5        // of aggregations
	maxBuckets  = 10_000   // in an answer
	maxMemory   = 64 << 20 // bytes, roughly, of memory for the answer
	maxFaults   = 20       // that are reported
)

// Request is what a search asks for.
type Request struct {
	query query
	page  page
	total bool // all hits are counted, however many there are
	typed bool // some fields are those that workspaces declare
	deep  bool // some need the events to be read
	whole bool // some need the whole events to be read
	aggs  []named
}

// Terms are what requests are read with.
type Terms struct {
	Now   time.Time                                 // what `now` means
	Zones func(name string) (*time.Location, error) // finds a time zone by its name
}

// fields are those of a body, and the messages for a wrong type.
var fields = map[string]string{
	"query": "an object", "scope": "a text", "limit": "a number", "page": "a number", "sort": "a list", "source": "a list",
	"aggs": "an object", "aggregations": "an object", "track_total_hits": "true or false",
}

// Parse reads the body of a search. A body of another shape is refused with
// invalid_request, one that asks for something that there is not with
// validation_failed, which names the paths.
func Parse(body map[string]any, terms Terms) (*Request, error) {
	if _, given := body["query"]; !given {
		return nil, domain.Refuse(domain.CodeMissingParameter, "query is required").With("errors", []domain.FieldError{{Field: "query", Message: "is required"}})
	}
	if wrong := typeFaults(body); len(wrong) > 0 {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "%s: %s", wrong[0].Field, wrong[0].Message).With("errors", wrong)
	}
	p := &parser{now: terms.Now, zones: terms.Zones}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if _, known := fields[name]; !known {
			p.fault(name, "is not supported")
		}
	}
	r := &Request{query: p.query(body["query"], "query", 1), page: p.page(body)}
	r.total, _ = body["track_total_hits"].(bool)
	if scope, given := body["scope"]; given && scope != "events" {
		p.fault("scope", "must be events")
	}
	r.aggs = p.subAggs(body, "", 1)
	if len(p.faults) > 0 {
		return nil, domain.Invalid(p.faults...)
	}
	r.typed, r.deep, r.whole = p.typed, p.deep || r.page.limit > 0, p.aside || r.page.limit > 0
	return r, nil
}

// typeFaults lists the fields that are of another type.
func typeFaults(body map[string]any) (wrong []domain.FieldError) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		ok := true
		switch fields[name] {
		case "an object":
			_, ok = body[name].(map[string]any)
		case "a text":
			_, ok = body[name].(string)
		case "a number":
			_, ok = body[name].(float64)
		case "a list":
			_, ok = body[name].([]any)
		case "true or false":
			_, ok = body[name].(bool)
		}
		if !ok {
			wrong = append(wrong, domain.FieldError{Field: name, Message: "must be " + fields[name]})
		}
	}
	return wrong
}

// page reads which documents are wanted.
func (p *parser) page(body map[string]any) page {
	g := page{order: newestFirst, limit: p.whole(body, "limit", "", usualLimit, 0, maxLimit)}
	g.skip = p.whole(body, "page", "", 0, 0, 1<<30) * g.limit
	if g.skip > maxOffset {
		p.fault("page", "begins after the first %d documents: go on from there with a range on @timestamp", maxOffset)
	}
	if sort, given := body["sort"]; given {
		g.order = p.sorting(sort, "sort")
	}
	if fields, given := body["source"]; given {
		g.source = p.source(fields, "source")
	}
	g.inOrder = len(g.order) == 1 && g.order[0].field == created
	return g
}

// Match reports whether a document matches the query.
func (r *Request) Match(d Doc) bool { return r.query.match(d) }

// Filter returns what every match has: an index may leave out the rest.
func (r *Request) Filter() *feed.Filter {
	f := &feed.Filter{}
	r.query.needs(f)
	return f
}

// OldestFirst reports whether the events should be visited from the oldest to the
// newest, rather than the other way round.
func (r *Request) OldestFirst() bool { return r.page.inOrder && !r.page.order[0].down }

// Typed reports whether the request uses fields that workspaces declare: otherwise the
// declarations need not be loaded.
func (r *Request) Typed() bool { return r.typed }

// NeedsIndexOnly reports whether the answer needs nothing of the events but their ids, types,
// times, workspaces and correlation ids: an index of them is enough.
func (r *Request) NeedsIndexOnly() bool { return !r.deep }

// NeedsRunData reports whether the answer needs the inputs and outputs of executions, which are stored separately
// from their events.
func (r *Request) NeedsRunData() bool { return r.whole }

// Aggregates reports whether the request has aggregations.
func (r *Request) Aggregates() bool { return len(r.aggs) > 0 }

// budget limits the memory and time for the answer to one request.
type budget struct {
	field     string // that is named when a limit is exceeded
	usedBytes int    // bytes, roughly
	buckets   int    // in the answer
	steps     int
	halt      func() error // says why to stop; nil: never
}

// stepsAtOnce is how many additions to buckets happen between two checks of the time: one
// large document may be in very many.
const stepsAtOnce = 16

// work counts a step, and fails when the time is up.
func (b *budget) work() error {
	if b.steps++; b.steps%stepsAtOnce != 0 || b.halt == nil {
		return nil
	}
	return b.halt()
}

// spend adds used bytes; negative ones are freed.
func (b *budget) spend(bytes int) error {
	if b.usedBytes += bytes; b.usedBytes <= maxMemory {
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
	order       []sortKey
	source      *source // nil: all of them
	skip, limit int
	inOrder     bool // they come in the order in which they are wanted
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
	wanted := h.skip + h.limit
	switch {
	case h.limit == 0, h.inOrder && (h.seen <= h.skip || h.seen > wanted):
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

// isFull reports whether no document that comes can be among those wanted.
func (h *hits) isFull() bool { return h.limit == 0 || h.inOrder && h.seen >= h.skip+h.limit }

// compare orders hits; equal ones by arrival.
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

// source is the selection of the fields of documents in the answer. The nil source selects
// all.
type source struct{ patterns []string }

// source reads a list of fields, with * for any text.
func (p *parser) source(v any, at string) *source {
	if v == nil {
		return nil
	}
	items := asList(v)
	if len(items) > maxSource {
		p.fault(at, "has more than %d fields", maxSource)
		return nil
	}
	s := &source{}
	for i, item := range items {
		name := p.text(item, itemPath(at, i))
		if utf8.RuneCountInString(name) > maxField {
			p.fault(itemPath(at, i), "has more than %d characters", maxField)
		}
		s.patterns = append(s.patterns, string(fieldAt(name)))
	}
	return s
}

// of returns a document as it is shown.
func (s *source) of(d Doc) json.RawMessage {
	if s == nil {
		return d.JSON()
	}
	selected := map[string]any{}
	for _, v := range d.Values("") {
		if m, ok := v.(map[string]any); ok {
			selected, _ = s.narrow(m, "").(map[string]any)
		}
	}
	body, err := json.Marshal(selected)
	if err != nil || selected == nil {
		return json.RawMessage("{}") // what was decoded can be encoded
	}
	return body
}

// narrow returns the selected part of a value at a path, nil for none.
func (s *source) narrow(v any, path string) any {
	if path != "" && s.names(path) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		selected := map[string]any{}
		for name, inner := range v {
			if inner := s.narrow(inner, join(path, name)); inner != nil {
				selected[name] = inner
			}
		}
		if len(selected) > 0 {
			return selected
		}
	case []any:
		var selected []any
		for _, inner := range v {
			if inner := s.narrow(inner, path); inner != nil {
				selected = append(selected, inner)
			}
		}
		if selected != nil {
			return selected
		}
	}
	return nil
}

func (s *source) names(path string) bool {
	for _, pattern := range s.patterns {
		if pattern == path || strings.Contains(pattern, "*") && feed.Like(pattern, path) {
			return true
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// sortKey is a field to sort by.
type sortKey struct {
	field field
	down  bool
}

// newestFirst is the usual order.
var newestFirst = []sortKey{{field: created, down: true}}

// sorting reads a list of {field: asc|desc}, {field: {order}} and names of fields.
func (p *parser) sorting(v any, at string) (keys []sortKey) {
	items := asList(v)
	if len(items) > maxSorts {
		p.fault(at, "has more than %d fields", maxSorts)
		return nil
	}
	for i, item := range items {
		where := at
		if len(items) > 1 {
			where = itemPath(at, i)
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
	for _, v := range k.field.valuesOf(d) {
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
