package versioning

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/feed"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// historyEntry is an entry of the history.
type historyEntry struct {
	Seq             string   `json:"seq"`
	WorkspaceID     string   `json:"workspaceId,omitempty"` // in the history of everything
	At              string   `json:"at"`
	By              string   `json:"by"`
	Type            string   `json:"type"`
	Summary         string   `json:"summary"`
	Objects         []string `json:"objects,omitempty"` // paths of the documents that it touched
	CorrelationID   string   `json:"correlationId"`
	ContentRevision *uint64  `json:"contentRevision,omitempty"` // of a change of content
	Undoable        bool     `json:"undoable"`
}

// historyQuery is what a history is asked for.
type historyQuery struct {
	types         []string
	by, object    string
	after, before string // as entries have times
	workspaceID   string
	page          gateway.Page
	cursor        uint64 // entries before it; 0: from the last on
	paged         bool   // by number, which new entries move
	keys          bool   // entries about API keys too
}

// GetHistory handles GET /v2/workspaces/{workspaceId}/history.
func (h *Handlers) GetHistory(r *http.Request) (any, error) {
	q, err := readHistoryQuery(gateway.NewQuery(r))
	if err != nil {
		return nil, err
	}
	q.workspaceID = handler.WorkspaceID(r)
	q.keys = gateway.GrantFrom(r.Context()).Rights.Allows("manage_permissions", "workspaces", nil)
	return h.listHistory(r, q, false)
}

// GetAllHistory handles GET /v2/history.
func (h *Handlers) GetAllHistory(r *http.Request) (any, error) {
	query := gateway.NewQuery(r)
	workspaceID := query.Text("workspaceId")
	q, err := readHistoryQuery(query)
	if err != nil {
		return nil, err
	}
	q.workspaceID, q.keys = workspaceID, true
	return h.listHistory(r, q, true)
}

func readHistoryQuery(q *gateway.Query) (historyQuery, error) {
	h := historyQuery{types: q.List("types"), by: q.Text("by"), object: q.Text("object"), page: q.Page(50, 1000), paged: q.Has("page")}
	after, before, cursor := q.Time("afterDate"), q.Time("beforeDate"), q.Text("cursor")
	if err := q.Err(); err != nil {
		return h, err
	}
	if !after.IsZero() {
		h.after = after.Format(domain.Timestamp)
	}
	if !before.IsZero() { // entries have milliseconds: the next one is the first that is not before
		h.before = before.Add(time.Millisecond - time.Nanosecond).Format(domain.Timestamp)
	}
	if cursor == "" {
		return h, nil
	}
	if h.paged {
		return h, domain.Refuse(domain.CodeInvalidParameter, "give page or cursor, not both").With("parameter", "cursor")
	}
	at, err := domain.ParsePosition(cursor)
	if err != nil || at.State == 0 {
		return h, domain.Refuse(domain.CodeInvalidParameter, "cursor was not returned by this list: leave it out to start at the first page").With("parameter", "cursor")
	}
	h.cursor = at.State
	return h, nil
}

// matches reports whether a change was asked for.
func (q historyQuery) matches(c projections.Change) bool {
	switch {
	case q.by != "" && q.by != c.By, q.after != "" && c.At <= q.after, q.before != "" && c.At >= q.before,
		!q.keys && strings.HasPrefix(c.Type, "apikeys."),
		len(q.types) > 0 && !slices.ContainsFunc(q.types, func(pattern string) bool { return feed.Like(pattern, c.Type) }):
		return false
	}
	return q.object == "" || slices.ContainsFunc(c.Parts, func(part string) bool { return feed.Like(q.object, partObject(part)) })
}

// partObject is the object that a part belongs to.
func partObject(part string) string {
	object, _, _ := strings.Cut(part, "#")
	return object
}

// maxCounted is how many changes are looked at to count the matches; a longer
// history is not counted.
const maxCounted = 10_000

// historyPage is one page of a history.
type historyPage struct {
	changes []projections.Change
	more    bool // there are further ones
	total   int
	counted bool // total is of all
}

func (h *Handlers) listHistory(r *http.Request, q historyQuery, all bool) (any, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	list, err := findChanges(rd, q, all)
	if err != nil {
		return nil, err
	}
	entries := []historyEntry{}
	for _, c := range list.changes {
		entry, err := toHistoryEntry(rd, c)
		if err != nil {
			return nil, err
		}
		if all {
			entry.WorkspaceID = c.Workspace
		}
		entries = append(entries, entry)
	}
	answer := gateway.OK(entries)
	if list.counted {
		answer.With("X-Total-Count", strconv.Itoa(list.total))
	}
	switch {
	case list.more && q.paged:
		answer.With("Link", gateway.Next(r, "page", strconv.Itoa(q.page.Number+1)))
	case list.more:
		answer.With("Link", gateway.Next(r, "cursor", entries[len(entries)-1].Seq))
	}
	return answer, nil
}

// findChanges returns the page that was asked for. It goes on to count while that
// is cheap.
func findChanges(rd projections.Reader, q historyQuery, all bool) (list historyPage, err error) {
	seen, offset := 0, 0
	if q.paged {
		offset = q.page.Offset()
	}
	list.counted = q.cursor == 0
	visit := func(c projections.Change) bool {
		seen++
		if q.matches(c) {
			switch list.total++; {
			case list.total > offset+q.page.Limit:
				list.more = true
			case list.total > offset:
				list.changes = append(list.changes, c)
			}
		}
		if !list.more || list.counted && seen < maxCounted {
			return true
		}
		list.counted = false
		return false
	}
	history := projections.History{}
	if all && q.workspaceID == "" {
		return list, history.ListAll(rd, q.cursor, visit)
	}
	return list, history.List(rd, q.workspaceID, q.cursor, visit)
}

// summaries are the sentences of the catalogue, by type.
var summaries = func() map[string]string {
	all := map[string]string{}
	for _, fact := range catalog.Table() {
		all[fact.Name] = fact.Summary
	}
	return all
}()

// maxObjects is how many documents an entry names.
const maxObjects = 20

// toHistoryEntry is a change as the API shows it.
func toHistoryEntry(rd projections.Reader, c projections.Change) (historyEntry, error) {
	entry := historyEntry{
		Seq: domain.At(domain.State, c.Seq).Token(), At: c.At, By: c.By, Type: c.Type, Summary: c.Summary, CorrelationID: c.CorrelationID,
	}
	if entry.Summary == "" {
		entry.Summary = summaries[c.Type]
	}
	for _, part := range c.Parts {
		if object := partObject(part); len(entry.Objects) < maxObjects && !slices.Contains(entry.Objects, object) {
			entry.Objects = append(entry.Objects, object)
		}
	}
	if !c.Content {
		return entry, nil
	}
	entry.ContentRevision = &c.Seq
	if c.Type == createdType {
		return entry, nil
	}
	for _, part := range c.Parts {
		last, err := projections.History{}.Touched(rd, c.Workspace, part)
		if err != nil || last != c.Seq {
			return entry, err
		}
	}
	entry.Undoable = true
	return entry, nil
}

// revisionAt returns a function that tells the content revision of a workspace at a
// sequence, for payloads.
func (h *Handlers) revisionAt(ctx context.Context) func(workspaceID string, seq uint64) (uint64, error) {
	return func(workspaceID string, seq uint64) (uint64, error) {
		if err := h.ReadModel.Reach(ctx, domain.At(domain.State, seq)); err != nil {
			return 0, err
		}
		rd := h.ReadModel.Reader()
		defer rd.Close()
		return projections.History{}.Revision(rd, workspaceID, seq)
	}
}
