package events

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"time"

	"svc/domain"
	"svc/domain/document"
	domainfeed "svc/domain/feed"
	"svc/domain/search"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/feed"
)

// SearchEvents handles POST …/search: among the events that the caller may read.
func (h *Handlers) SearchEvents(r *http.Request) (any, error) {
	asked, err := h.readSearch(r)
	if err != nil {
		return nil, err
	}
	rights := gateway.GrantFrom(r.Context()).Rights
	if asked.Aggregates() && !rights.Allows("aggregate_search", "workspaces", nil) {
		return nil, domain.Refuse(domain.CodePermissionDenied, "you lack permission to aggregate the events of this workspace").
			With("action", "aggregate_search").With("subject", "workspaces")
	}
	rng := asked.feedRange()
	rng.WorkspaceID, rng.Filter = handler.WorkspaceID(r), withHints(rng.Filter, rights)
	if !rights.Always("read", "events") {
		rng.Need = feed.Whole // rules look at events, too
	}
	return h.search(r.Context(), asked, rng, NewEventFilter(rights))
}

// SearchAllEvents handles POST /v2/search: among the events of all workspaces.
func (h *Handlers) SearchAllEvents(r *http.Request) (any, error) {
	asked, err := h.readSearch(r)
	if err != nil {
		return nil, err
	}
	return h.search(r.Context(), asked, asked.feedRange(), func(*feed.Event) bool { return true })
}

// eventSearch is a search among the events that a filter of the feed lets through.
type eventSearch struct {
	*search.Request
	filter *domainfeed.Filter // nil: all
}

func (h *Handlers) readSearch(r *http.Request) (asked eventSearch, err error) {
	var body map[string]any
	if err := gateway.Decode(r, &body); err != nil {
		return asked, err
	}
	if given, ok := body["filter"]; ok {
		fields, ok := given.(map[string]any)
		if !ok {
			return asked, domain.Invalid(domain.FieldError{Field: "filter", Message: "must be an object: the parameters that a list of events is filtered by"})
		}
		filter, err := domainfeed.FilterOf(fields)
		if err != nil {
			return asked, err
		}
		asked.filter = &filter
		delete(body, "filter")
	}
	asked.Request, err = search.Parse(body, search.Terms{Now: h.Now(), Zones: time.LoadLocation})
	return asked, err
}

// feedRange is the part of the feed that a search goes through, and how much of its events
// the search looks at.
func (asked eventSearch) feedRange() feed.Range {
	switch {
	case asked.filter != nil: // which may look at anything
		return feed.Range{Filter: asked.filter, Need: feed.Whole}
	case asked.NeedsIndexOnly():
		return feed.Range{Filter: asked.Filter(), Need: feed.Indexed}
	case !asked.NeedsRunData():
		return feed.Range{Filter: asked.Filter(), Need: feed.Logged}
	}
	return feed.Range{Filter: asked.Filter(), Need: feed.Whole}
}

// searchTime is how long a search may take, the wait for its turn included.
const searchTime = 10 * time.Second

// searchSlots are taken by the searches of this process that run at once: each of them
// keeps a core busy, and has memory of its own.
var searchSlots = make(chan struct{}, 2*max(2, runtime.GOMAXPROCS(0)))

// acquireSearchSlot waits until fewer searches run, and returns how to release the slot.
func acquireSearchSlot(ctx context.Context) (release func(), err error) {
	select {
	case searchSlots <- struct{}{}:
		return func() { <-searchSlots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// search visits the events of a range that may match, and answers with what is found
// among those that somebody may read.
func (h *Handlers) search(ctx context.Context, asked eventSearch, rng feed.Range, may func(*feed.Event) bool) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.SearchTime, searchTime))
	defer cancel()
	release, err := acquireSearchSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	found := search.NewCollector(asked.Request, func() error { return context.Cause(ctx) })
	types := h.declaredTypes(asked.Typed())
	rng.Descending = !asked.OldestFirst()
	err = h.Feed.Walk(ctx, rng, func(e *feed.Event) (bool, error) {
		if ctx.Err() != nil { // one page of large events takes a while, too
			return false, context.Cause(ctx)
		}
		known, err := types(e.Source.WorkspaceID)
		if err != nil {
			return false, err
		}
		doc := known.Doc(e)
		if !asked.Match(doc) || !may(e) {
			return true, nil
		}
		return found.Add(doc)
	})
	if err != nil {
		return nil, err
	}
	return found.Result()
}

// declaredTypes returns a function that finds the types of events that a workspace
// declares, when somebody asks for them.
func (h *Handlers) declaredTypes(asked bool) func(workspaceID string) (search.Types, error) {
	known := map[string]search.Types{}
	return func(id string) (search.Types, error) {
		types, ok := known[id]
		if ok || !asked {
			return types, nil
		}
		settings, found, err := projections.Find(h.ReadModel, projections.Workspaces{}.Settings, id)
		if err == nil && found {
			events, _ := settings.Get("events")
			declared, _ := events.(*document.Map)
			types = search.TypesOf(declared)
		}
		known[id] = types
		return types, err
	}
}
