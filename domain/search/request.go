package search

import (
	"maps"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/feed"
)

// Request is what a search asks for.
type Request struct {
	query query
	page  page
	total bool // all hits are counted, however many there are
	typed bool // some fields are those that workspaces declare
	deep  bool // some are known only to who reads the events
	whole bool // some are known only to who reads all of them
	aggs  []named
}

// Terms are what requests are read with.
type Terms struct {
	Now   time.Time                                 // what `now` means
	Zones func(name string) (*time.Location, error) // finds a time zone by its name
}

// fields are those of a body, and what is wrong when they are of another type.
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
	if wrong := misshapen(body); len(wrong) > 0 {
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
	r.typed, r.deep, r.whole = p.typed, p.deep || r.page.keep > 0, p.aside || r.page.keep > 0
	return r, nil
}

// misshapen lists the fields that are of another type.
func misshapen(body map[string]any) (wrong []domain.FieldError) {
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
	g := page{order: newestFirst, keep: p.whole(body, "limit", "", usualLimit, 0, maxLimit)}
	g.skip = p.whole(body, "page", "", 0, 0, 1<<30) * g.keep
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

// Typed reports whether the request asks for fields that workspaces declare: when it
// does not, nobody needs to find out which those are.
func (r *Request) Typed() bool { return r.typed }

// Brief reports whether the answer needs nothing of the events but their ids, types,
// times, workspaces and correlation ids: an index of them is enough.
func (r *Request) Brief() bool { return !r.deep }

// Whole reports whether the answer needs what executions were given and gave, which is
// kept apart from their events.
func (r *Request) Whole() bool { return r.whole }

// Aggregates reports whether the request has aggregations.
func (r *Request) Aggregates() bool { return len(r.aggs) > 0 }
