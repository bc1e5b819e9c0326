package api

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/domain"
	domainfeed "svc/domain/feed"
	"svc/http/gateway"
	"svc/streams/feed"
)

// form is how events are sent.
type form int

const (
	formJSON  form = iota
	formSSE        // as they come
	formCloud      // CloudEvents
	formLines      // all of them, one in a line
)

// The media types of events.
const (
	cloudBatch = "application/cloudevents-batch+json"
	cloudEvent = "application/cloudevents+json"
	jsonLines  = "application/x-ndjson"
	eventsSSE  = "text/event-stream"
)

// eventForm is the first form that the client names.
func eventForm(r *http.Request) form {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		media, _, _ := mime.ParseMediaType(part)
		switch media {
		case eventsSSE:
			return formSSE
		case cloudBatch:
			return formCloud
		case jsonLines:
			return formLines
		case "application/json", "*/*", "application/*":
			return formJSON
		}
	}
	return formJSON
}

// maxEventOffset is how far a page may be by its number; a cursor goes further.
const maxEventOffset = 10_000

// eventQuery is what a list of events is asked for.
type eventQuery struct {
	filter   domainfeed.Filter
	page     gateway.Page
	up       bool
	fromSeq  string
	toSeq    string
	beforeID string
	cursor   string
}

// The parameters of a list that are no filters.
var eventListParams = []string{"page", "limit", "sort", "cursor", "fromSeq", "toSeq", "beforeId"}

func readEventQuery(r *http.Request, form form) (q eventQuery, err error) {
	query := gateway.NewQuery(r)
	q = eventQuery{
		page: query.Page(50, 1000), fromSeq: query.Text("fromSeq"), toSeq: query.Text("toSeq"),
		beforeID: query.Text("beforeId"), cursor: query.Text("cursor"),
	}
	sort := query.Text("sort")
	if err := query.Err(); err != nil {
		return q, err
	}
	switch {
	case sort != "" && sort != "asc" && sort != "desc":
		return q, badParameter("sort", "must be asc or desc")
	case q.cursor != "" && query.Has("page"):
		return q, badParameter("cursor", "give page or cursor, not both")
	case q.page.Offset() > maxEventOffset:
		return q, badParameter("page", "is too far; go on with the cursor of the page before")
	case form == formLines && (query.Has("page") || query.Has("limit")):
		return q, badParameter("limit", "all matches are sent; leave page and limit out")
	}
	q.up = sort == "asc"
	q.filter, err = eventFilter(r.URL.Query(), eventListParams...)
	return q, err
}

// eventFilter reads a filter from what is left of a query.
func eventFilter(values url.Values, others ...string) (domainfeed.Filter, error) {
	for _, name := range others {
		values.Del(name)
	}
	return domainfeed.ParseFilter(values)
}

func badParameter(name, message string) error {
	return domain.Refuse(domain.CodeInvalidParameter, "%s: %s", name, message).
		With("parameter", name).With("errors", []domain.FieldError{{Field: name, Message: message}})
}

// eventRange is the part of the feed that a query is about.
func (d Deps) eventRange(r *http.Request, q eventQuery) (feed.Range, error) {
	rng := feed.Range{WorkspaceID: workspaceID(r), Descending: !q.up, Filter: &q.filter}
	var err error
	if q.fromSeq != "" {
		if rng.After, err = d.positionIn(r, "fromSeq", q.fromSeq); err != nil {
			return rng, err
		}
	}
	if q.toSeq != "" {
		until, err := d.positionIn(r, "toSeq", q.toSeq)
		if err != nil {
			return rng, err
		}
		rng.Until = &until
	}
	if q.beforeID != "" {
		until, found, err := d.Feed.BeforeEvent(r.Context(), rng.WorkspaceID, q.beforeID)
		if err != nil {
			return rng, err
		}
		if !found {
			return rng, badParameter("beforeId", "there is no such event, or it was erased")
		}
		rng.Until = nearer(rng.Until, until)
	}
	return rng, applyCursor(&rng, q.cursor)
}

// nearer is the earlier of two bounds.
func nearer(a *domain.Position, b domain.Position) *domain.Position {
	if a != nil {
		b = domain.Position{State: min(a.State, b.State), Activity: min(a.Activity, b.Activity)}
	}
	return &b
}

// positionIn reads a position: a token, or the revision of a content.
func (d Deps) positionIn(r *http.Request, name, text string) (domain.Position, error) {
	at, err := domain.ParsePosition(text)
	if err != nil {
		revision, notNumber := strconv.ParseUint(text, 10, 64)
		if notNumber != nil || revision == 0 {
			return at, badParameter(name, "is no position that the service gave")
		}
		at = domain.At(domain.State, revision)
	}
	return d.Feed.Resolve(r.Context(), workspaceID(r), at)
}

// Cursors begin with the way they go.
const (
	cursorUp   = "u"
	cursorDown = "d"
)

// cursorAfter is the cursor that goes on after an event.
func cursorAfter(last *feed.Event, down bool) string {
	if down {
		return cursorDown + feed.PositionBefore(last).Token()
	}
	return cursorUp + last.Seq.Token()
}

func applyCursor(rng *feed.Range, cursor string) error {
	if cursor == "" {
		return nil
	}
	way, token := cursor[:1], cursor[1:]
	at, err := domain.ParsePosition(token)
	if err != nil || way != cursorUp && way != cursorDown {
		return badParameter("cursor", "was not returned by this list: leave it out to start at the first page")
	}
	if (way == cursorDown) != rng.Descending {
		return badParameter("cursor", "is of a list in the other order")
	}
	if rng.Descending {
		rng.Until = nearer(rng.Until, at)
	} else {
		rng.After = rng.After.Max(at)
	}
	return nil
}
