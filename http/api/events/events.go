package events

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/access"
	domainfeed "svc/domain/feed"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/streams/feed"
)

// eventList is events as they are answered: their own JSON, which is made once, in a
// list.
type eventList []*feed.Event

// Encoded implements gateway.Encoded.
func (l eventList) Encoded() []byte {
	domainfeed.EncodeAll(l)
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

// ListEvents handles GET …/events: a page of the feed, or all of it, or the feed as
// it grows, as the client asks.
func (h *Handlers) ListEvents(r *http.Request) (any, error) {
	form := eventForm(r)
	if form == formSSE {
		return h.StreamEvents(r)
	}
	q, err := readEventQuery(r, form)
	if err != nil {
		return nil, err
	}
	rng, err := h.eventRange(r, q)
	if err != nil {
		return nil, err
	}
	if form == formLines {
		return h.exportEvents(rng), nil
	}
	page, err := h.eventPage(r.Context(), gateway.GrantFrom(r.Context()).Rights, rng, q)
	if err != nil {
		return nil, err
	}
	return pageResponse(r, form, page)
}

// pageResponse is a page in the form that was asked for, with where the next one is.
func pageResponse(r *http.Request, form form, page eventsPage) (any, error) {
	next := ""
	if page.Cursor != "" {
		next = gateway.Next(WithoutPage(r), "cursor", page.Cursor)
	}
	if form != formCloud {
		return gateway.OK(page).With("Link", next), nil
	}
	content, err := cloudPageResponse(page)
	if next != "" {
		content.Header.Set("Link", next)
	}
	return content, err
}

// WithoutPage is the request without the number of its page, which a cursor takes the
// place of.
func WithoutPage(r *http.Request) *http.Request {
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
func (h *Handlers) eventPage(ctx context.Context, rights *access.Rights, rng feed.Range, q eventQuery) (eventsPage, error) {
	var page eventsPage
	may, skip := NewEventFilter(rights), q.page.Offset()
	rng.Filter = withHints(rng.Filter, rights)
	next := func() string { return cursorAfter(page.Events[len(page.Events)-1], rng.Descending) }
	rng.Stop = func() bool { // whether there are more, the next page tells
		full := len(page.Events) == q.page.Limit
		if full {
			page.Cursor = next()
		}
		return full
	}
	err := h.Feed.Walk(ctx, rng, func(e *feed.Event) (bool, error) {
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

// NewEventFilter returns a function that tells whether somebody may read an event.
func NewEventFilter(rights *access.Rights) func(*feed.Event) bool {
	if rights == nil {
		return func(*feed.Event) bool { return false }
	}
	if rights.Always("read", "events") {
		return func(*feed.Event) bool { return true }
	}
	return func(e *feed.Event) bool { return rights.Allows("read", "events", e) }
}

// withHints is a filter that spares looks at events that somebody surely may not read.
func withHints(f *feed.Filter, rights *access.Rights) *feed.Filter {
	if rights == nil || rights.Always("read", "events") {
		return f
	}
	needs, bounded := rights.Needs("read", "events")
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

// GetEvent handles GET …/events/{eventId}.
func (h *Handlers) GetEvent(r *http.Request) (any, error) {
	id := gateway.Var(r, "eventId")
	e, found, err := h.Feed.Get(r.Context(), handler.WorkspaceID(r), id)
	if err != nil {
		return nil, err
	}
	if !found || !NewEventFilter(gateway.GrantFrom(r.Context()).Rights)(e) {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such event, or it was erased").With("resource", "event").With("id", id)
	}
	if strings.HasPrefix(r.Header.Get("Accept"), cloudEvent) {
		return cloudResponse(cloudEvent, toCloudEvent(e))
	}
	return e, nil
}

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
		case handler.JSONLines:
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
		return q, handler.RefuseParameter("sort", "must be asc or desc")
	case q.cursor != "" && query.Has("page"):
		return q, handler.RefuseParameter("cursor", "give page or cursor, not both")
	case q.page.Offset() > maxEventOffset:
		return q, handler.RefuseParameter("page", "is too far; go on with the cursor of the page before")
	case form == formLines && (query.Has("page") || query.Has("limit")):
		return q, handler.RefuseParameter("limit", "all matches are sent; leave page and limit out")
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

// eventRange is the part of the feed that a query is about.
func (h *Handlers) eventRange(r *http.Request, q eventQuery) (feed.Range, error) {
	rng := feed.Range{WorkspaceID: handler.WorkspaceID(r), Descending: !q.up, Filter: &q.filter}
	var err error
	if q.fromSeq != "" {
		if rng.After, err = h.positionIn(r, "fromSeq", q.fromSeq); err != nil {
			return rng, err
		}
	}
	if q.toSeq != "" {
		until, err := h.positionIn(r, "toSeq", q.toSeq)
		if err != nil {
			return rng, err
		}
		rng.Until = &until
	}
	if q.beforeID != "" {
		until, found, err := h.Feed.BeforeEvent(r.Context(), rng.WorkspaceID, q.beforeID)
		if err != nil {
			return rng, err
		}
		if !found {
			return rng, handler.RefuseParameter("beforeId", "there is no such event, or it was erased")
		}
		rng.Until = earlierBound(rng.Until, until)
	}
	return rng, applyCursor(&rng, q.cursor)
}

// earlierBound is the earlier of two bounds.
func earlierBound(a *domain.Position, b domain.Position) *domain.Position {
	if a != nil {
		b = domain.Position{State: min(a.State, b.State), Activity: min(a.Activity, b.Activity)}
	}
	return &b
}

// positionIn reads a position: a token, or the revision of a content.
func (h *Handlers) positionIn(r *http.Request, name, text string) (domain.Position, error) {
	at, err := domain.ParsePosition(text)
	if err != nil {
		revision, notNumber := strconv.ParseUint(text, 10, 64)
		if notNumber != nil || revision == 0 {
			return at, handler.RefuseParameter(name, "is no position that the service gave")
		}
		at = domain.At(domain.State, revision)
	}
	return h.Feed.Resolve(r.Context(), handler.WorkspaceID(r), at)
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
		return handler.RefuseParameter("cursor", "was not returned by this list: leave it out to start at the first page")
	}
	if (way == cursorDown) != rng.Descending {
		return handler.RefuseParameter("cursor", "is of a list in the other order")
	}
	if rng.Descending {
		rng.Until = earlierBound(rng.Until, at)
	} else {
		rng.After = rng.After.Max(at)
	}
	return nil
}

// cloudEventBody is an event in the form of CloudEvents 1.0. Attributes of ours are small
// letters, as it asks for.
type cloudEventBody struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Time            string          `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Seq             string          `json:"svcseq"`
	CorrelationID   string          `json:"svccorrelationid,omitempty"`
	UserID          string          `json:"svcuserid,omitempty"`
	SessionID       string          `json:"svcsessionid,omitempty"`
	Automation      string          `json:"svcautomation,omitempty"`
	Data            json.RawMessage `json:"data"`
}

func toCloudEvent(e *feed.Event) cloudEventBody {
	return cloudEventBody{
		SpecVersion: "1.0", ID: e.ID, Source: "/v2/workspaces/" + url.PathEscape(e.Source.WorkspaceID), Type: e.Type, Time: e.CreatedAt(),
		DataContentType: "application/json", Seq: e.Seq.Token(), CorrelationID: e.Source.CorrelationID, UserID: e.Source.UserID,
		SessionID: e.Source.SessionID, Automation: e.Source.AutomationSlug, Data: e.Payload,
	}
}

// cloudPageResponse is a page as a batch of CloudEvents.
func cloudPageResponse(page eventsPage) (gateway.Content, error) {
	batch := make([]cloudEventBody, len(page.Events))
	for i, e := range page.Events {
		batch[i] = toCloudEvent(e)
	}
	return cloudResponse(cloudBatch, batch)
}

func cloudResponse(media string, body any) (gateway.Content, error) {
	encoded, err := json.Marshal(body)
	return gateway.Content{Type: media + "; charset=utf-8", Body: encoded, Header: http.Header{}}, err
}

// exportEvents sends all events of a range, one in a line.
func (h *Handlers) exportEvents(rng feed.Range) gateway.Stream {
	return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		w.Header().Set("Content-Type", handler.JSONLines+"; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Disposition", `attachment; filename="events.ndjson"`)
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusOK)
			return nil, nil
		}
		rights := gateway.GrantFrom(r.Context()).Rights
		x := &export{w: w, r: r, may: NewEventFilter(rights), checked: h.Now()}
		rng.Filter = withHints(rng.Filter, rights)
		if err := h.Feed.Walk(r.Context(), rng, func(e *feed.Event) (bool, error) { return x.line(h, e) }); err != nil {
			if x.begun {
				panic(http.ErrAbortHandler) // a short answer must not look whole
			}
			return nil, err
		}
		w.WriteHeader(http.StatusOK)
		return nil, nil
	}}
}

// export is a range on its way out.
type export struct {
	w       http.ResponseWriter
	r       *http.Request
	may     func(*feed.Event) bool
	checked time.Time
	begun   bool
}

// line sends an event that the caller may read, as long as they may.
func (x *export) line(h *Handlers, e *feed.Event) (more bool, err error) {
	if now := h.Now(); now.Sub(x.checked) > handler.RightsPeriod {
		_, grant, err := gateway.Recheck(x.r)
		if err != nil {
			return false, err
		}
		x.may, x.checked = NewEventFilter(grant.Rights), now
	}
	if !x.may(e) {
		return true, nil
	}
	x.begun = true
	line := append(append(make([]byte, 0, len(e.JSON())+1), e.JSON()...), '\n')
	_, err = x.w.Write(line)
	return err == nil, err
}
