package api

import (
	"context"
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/streams/feed"
)

// mayReadEvents is the right to read events. Which, is decided event by event.
var mayReadEvents = gateway.Action{Action: "read", Subject: "events", Anyone: true}

// eventList is events as they are answered: their own JSON, which is made once, in a
// list.
type eventList []*feed.Event

// Encoded implements gateway.Encoded.
func (l eventList) Encoded() []byte {
	size := 2
	for _, e := range l {
		size += len(e.JSON()) + 1
	}
	body := append(make([]byte, 0, size), '[')
	for i, e := range l {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, e.JSON()...)
	}
	return append(body, ']')
}

// eventsPage is a page of the feed.
type eventsPage struct {
	Events eventList
	Cursor string
}

// Encoded implements gateway.Encoded.
func (p eventsPage) Encoded() []byte {
	body := append([]byte(`{"result":{"events":`), p.Events.Encoded()...)
	if p.Cursor != "" {
		body = append(append(append(body, `,"cursor":"`...), p.Cursor...), '"')
	}
	return append(body, "}}"...)
}

// listEvents handles GET …/events: a page of the feed, or all of it, or the feed as
// it grows, as the client asks.
func listEvents(d Deps) gateway.HandlerFunc {
	live := streamEvents(d)
	return func(r *http.Request) (any, error) {
		form := eventForm(r)
		if form == formSSE {
			return live(r)
		}
		q, err := readEventQuery(r, form)
		if err != nil {
			return nil, err
		}
		rng, err := d.eventRange(r, q)
		if err != nil {
			return nil, err
		}
		if form == formLines {
			return exportEvents(d, rng), nil
		}
		page, err := d.eventPage(r.Context(), gateway.GrantFrom(r.Context()).Rights, rng, q)
		if err != nil {
			return nil, err
		}
		return pageAnswer(r, form, page)
	}
}

// pageAnswer is a page in the form that was asked for, with where the next one is.
func pageAnswer(r *http.Request, form form, page eventsPage) (any, error) {
	next := ""
	if page.Cursor != "" {
		next = gateway.Next(withoutPage(r), "cursor", page.Cursor)
	}
	if form != formCloud {
		return gateway.OK(page).With("Link", next), nil
	}
	content, err := cloudPage(page)
	if next != "" {
		content.Header.Set("Link", next)
	}
	return content, err
}

// withoutPage is the request without the number of its page, which a cursor takes the
// place of.
func withoutPage(r *http.Request) *http.Request {
	u := *r.URL
	values := u.Query()
	values.Del("page")
	u.RawQuery = values.Encode()
	next := *r
	next.URL = &u
	return &next
}

// eventPage returns the page that was asked for. It is full unless the feed has ended:
// what the caller may not read does not count.
func (d Deps) eventPage(ctx context.Context, rights *access.Rights, rng feed.Range, q eventQuery) (eventsPage, error) {
	var page eventsPage
	may, skip := readable(rights), q.page.Offset()
	rng.Filter = hinted(rng.Filter, rights)
	next := func() string { return cursorAfter(page.Events[len(page.Events)-1], rng.Descending) }
	rng.Stop = func() bool { // whether there are more, the next page tells
		full := len(page.Events) == q.page.Limit
		if full {
			page.Cursor = next()
		}
		return full
	}
	err := d.Feed.Walk(ctx, rng, func(e *feed.Event) (bool, error) {
		switch {
		case !may(e):
		case skip > 0:
			skip--
		case len(page.Events) == q.page.Limit:
			page.Cursor = next()
			return false, nil
		default:
			page.Events = append(page.Events, e)
		}
		return true, nil
	})
	return page, err
}

// readable returns a function that tells whether somebody may read an event.
func readable(rights *access.Rights) func(*feed.Event) bool {
	if rights == nil {
		return func(*feed.Event) bool { return false }
	}
	if rights.Always(mayReadEvents.Action, mayReadEvents.Subject) {
		return func(*feed.Event) bool { return true }
	}
	return func(e *feed.Event) bool { return rights.Allows(mayReadEvents.Action, mayReadEvents.Subject, e) }
}

// hinted is a filter that spares looks at events that somebody surely may not read.
func hinted(f *feed.Filter, rights *access.Rights) *feed.Filter {
	if rights == nil || rights.Always(mayReadEvents.Action, mayReadEvents.Subject) {
		return f
	}
	needs, bounded := rights.Needs(mayReadEvents.Action, mayReadEvents.Subject)
	if !bounded {
		return f
	}
	with := feed.Filter{}
	if f != nil {
		with = *f
	}
	if len(needs) == 0 {
		with.Hints = [][]feed.PathFilter{{{Path: "id"}}} // there is nothing that they may read
	}
	for _, alternative := range needs {
		var all []feed.PathFilter
		for _, n := range alternative {
			if !strings.HasPrefix(n.Path, "payload") { // there a list may be on the way
				all = append(all, feed.PathFilter{Path: n.Path, Any: n.Any})
			}
		}
		with.Hints = append(with.Hints, all)
	}
	return &with
}

// getEvent handles GET …/events/{eventId}.
func getEvent(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id := gateway.Var(r, "eventId")
		e, found, err := d.Feed.Get(r.Context(), workspaceID(r), id)
		if err != nil {
			return nil, err
		}
		if !found || !readable(gateway.GrantFrom(r.Context()).Rights)(e) {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such event, or it was erased").With("resource", "event").With("id", id)
		}
		if strings.HasPrefix(r.Header.Get("Accept"), cloudEvent) {
			return cloudBody(cloudEvent, cloudOf(e))
		}
		return e, nil
	}
}
