package workspaces

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Item is an item of the list of workspaces.
type Item struct {
	ID string `json:"id"`
	projections.Listed
	projections.Dynamics
	ClientID        string `json:"clientId"`
	Role            string `json:"role,omitempty"`
	DeletedAt       string `json:"deletedAt,omitempty"`
	RestorableUntil string `json:"restorableUntil,omitempty"`
	// Permissions are shown to those who manage them.
	Permissions []access.Share `json:"permissions,omitempty"`
}

// Query is what GET /v2/workspaces asks for.
type Query struct {
	search  string
	name    *regexp.Regexp
	ids     []string
	slugs   []string
	labels  []string
	member  string // user id, or nobody's
	owned   bool
	dirty   *bool
	deleted bool
}

// ListWorkspaces handles GET /v2/workspaces. Permissions come before paging, so
// that pages are full and the count is right.
func (h *Handlers) ListWorkspaces(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page, sort := q.Page(20, 100), q.Sort("name", "createdAt", "updatedAt")
	wanted, err := h.ReadQuery(q)
	if err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	var items []Item
	var total int
	caller := gateway.CallerFrom(r.Context())
	if caller.Identity().Super && wanted.isEmpty() && sort == lastUpdated {
		items, total, err = listPage(rd, page)
	} else {
		items, err = h.ListMatching(r, rd, wanted)
		sortWorkspaces(items, sort)
		items, total = gateway.PageOf(items, page), len(items)
	}
	if err != nil {
		return nil, err
	}
	readable := h.Access.Readable(caller, rd)
	for i := range items {
		if err := h.addRights(rd, readable, &items[i]); err != nil {
			return nil, err
		}
	}
	return gateway.List(r, items, total, page), nil
}

var lastUpdated = gateway.Sort{Field: "updatedAt", Down: true}

// listPage returns a page of all workspaces, the last updated first, and how many there are. Of the others only the ids
// are read.
func listPage(rd projections.Reader, page gateway.Page) (items []Item, total int, err error) {
	ids, err := projections.Workspaces{}.IDs(rd)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range gateway.PageOf(ids, page) {
		rec, ok, err := projections.Workspaces{}.Record(rd, id)
		if err != nil || !ok {
			return nil, 0, errors.Join(err, fmt.Errorf("workspace %s is listed, but not there", id))
		}
		items = append(items, toItem(rec))
	}
	return items, len(ids), nil
}

// addRights adds what the caller may do in a workspace of the page.
func (h *Handlers) addRights(rd projections.Reader, readable func(string) (*access.Rights, bool, error), item *Item) error {
	if item.DeletedAt != "" {
		return nil
	}
	rights, may, err := readable(item.ID)
	if err != nil || !may {
		return err
	}
	item.Role = rights.Role()
	if rights.Allows("manage_permissions", "workspaces", nil) {
		doc, _, _, err := projections.Access{}.Get(rd, item.ID, 0)
		if err != nil {
			return err
		}
		item.Permissions = doc.Shares
	}
	return nil
}

// ReadQuery reads what a list of workspaces is filtered by.
func (h *Handlers) ReadQuery(q *gateway.Query) (w Query, err error) {
	w = Query{
		search: strings.ToLower(q.Text("search")), ids: q.List("ids"), slugs: q.List("slug"), labels: q.List("labels"),
		owned: q.Flag("owned"), deleted: q.Flag("deleted"),
	}
	if dirty := q.Flag("dirty"); q.Has("dirty") {
		w.dirty = &dirty
	}
	name, email := q.Text("name"), q.Text("email")
	if err := q.Err(); err != nil {
		return w, err
	}
	if name != "" {
		if w.name, err = access.Pattern("(?i)" + name); err != nil {
			return w, domain.Refuse(domain.CodeInvalidParameter, "name: %v", err).With("parameter", "name")
		}
	}
	if email == "" {
		return w, nil
	}
	found, err := handler.FindUser(h.ReadModel, "", email)
	if domain.CodeOf(err) == domain.CodeNotFound {
		found.ID, err = "nobody", nil
	}
	w.member = found.ID
	return w, err
}

// ListMatching returns what was asked for of what the caller may read, the last updated first, without what they
// may do there. A super admin may read all: rights are not looked at, unless those of owners are asked for.
func (h *Handlers) ListMatching(r *http.Request, rd projections.Reader, q Query) (found []Item, err error) {
	caller := gateway.CallerFrom(r.Context())
	readable := h.Access.Readable(caller, rd)
	if caller.Identity().Super && !q.owned {
		readable = func(string) (*access.Rights, bool, error) { return nil, true, nil }
	}
	err = eachCandidate(rd, caller.Identity(), q, func(rec projections.Record) error {
		if !q.matches(rec) {
			return nil // before the rights: they may cost more
		}
		may, err := h.canList(r, rd, readable, rec, q)
		if may {
			found = append(found, toItem(rec))
		}
		return err
	})
	return found, err
}

// eachCandidate visits the workspaces of which the list is a part, the last updated first: not all of the platform when
// ids, or who may read them, say which they can be.
func eachCandidate(rd projections.Reader, p access.Principal, q Query, visit func(projections.Record) error) (err error) {
	var candidates map[string]bool // nil: all
	narrow := func(to map[string]bool) {
		if candidates != nil {
			maps.DeleteFunc(to, func(id string, _ bool) bool { return !candidates[id] })
		}
		candidates = to
	}
	if len(q.ids) > 0 {
		named := map[string]bool{}
		for _, id := range q.ids {
			named[id] = true
		}
		narrow(named)
	}
	if q.member != "" {
		of := map[string]bool{}
		if err := (projections.Access{}).Of(rd, q.member, func(id string) bool { of[id] = true; return true }); err != nil {
			return err
		}
		narrow(of)
	}
	if !q.deleted && (!p.Super || q.owned) {
		may, err := projections.Access{}.ReadableBy(rd, p.UserID)
		if err != nil {
			return err
		}
		if p.Key != nil {
			may[p.Key.WorkspaceID()] = true
		}
		narrow(may)
	}
	if candidates == nil || q.deleted {
		failure := projections.Workspaces{}.List(rd, q.deleted, func(rec projections.Record) bool {
			if candidates == nil || candidates[rec.ID] {
				err = visit(rec)
			}
			return err == nil
		})
		return cmp.Or(err, failure)
	}
	var records []projections.Record
	for id := range candidates {
		rec, ok, err := projections.Workspaces{}.Record(rd, id)
		if err != nil {
			return err
		}
		if ok && rec.Deleted == nil {
			records = append(records, rec)
		}
	}
	slices.SortFunc(records, func(a, b projections.Record) int { return cmp.Compare(b.Updated, a.Updated) })
	for _, rec := range records {
		if err := visit(rec); err != nil {
			return err
		}
	}
	return nil
}

// canList reports whether the caller may see a workspace in the list.
func (h *Handlers) canList(r *http.Request, rd projections.Reader, readable func(string) (*access.Rights, bool, error), rec projections.Record, q Query) (may bool, err error) {
	if rec.Deleted != nil {
		return h.canUndelete(r, rd, rec)
	}
	rights, may, err := readable(rec.ID)
	return err == nil && may && (!q.owned || slices.Contains(rights.Roles(), "owner")), err
}

func toItem(rec projections.Record) Item {
	item := Item{ID: rec.ID, Listed: rec.Meta, Dynamics: rec.Dynamic, ClientID: workspace.ClientID(rec.ID)}
	item.Labels = append([]string{}, rec.Meta.Labels...)
	if rec.Deleted != nil {
		item.DeletedAt, item.RestorableUntil = rec.Deleted.At.UTC().Format(domain.Timestamp), rec.Deleted.Until.UTC().Format(domain.Timestamp)
	}
	return item
}

// isEmpty reports whether all workspaces are asked for.
func (q Query) isEmpty() bool {
	return q.search == "" && q.name == nil && len(q.ids)+len(q.slugs)+len(q.labels) == 0 && q.member == "" && !q.owned && q.dirty == nil && !q.deleted
}

func (q Query) matches(w projections.Record) bool {
	text := strings.ToLower(w.Meta.Name + "\n" + w.Meta.Slug + "\n" + strings.Join(w.Meta.Description.Texts(), "\n"))
	switch {
	case len(q.slugs) > 0 && !slices.Contains(q.slugs, w.Meta.Slug),
		q.dirty != nil && *q.dirty != w.Dynamic.Dirty,
		q.name != nil && !q.name.MatchString(w.Meta.Name),
		q.search != "" && !strings.Contains(text, q.search):
		return false
	}
	return len(q.labels) == 0 || slices.ContainsFunc(q.labels, func(l string) bool { return slices.Contains(w.Meta.Labels, l) })
}

// ListLabels handles GET /v2/workspaces/labels: those of the workspaces that the
// caller may read, the most used first.
func (h *Handlers) ListLabels(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page := q.Page(100, 1000)
	if err := q.Err(); err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, err := h.ListMatching(r, rd, Query{})
	if err != nil {
		return nil, err
	}
	used := map[string]int{}
	for _, w := range found {
		for _, label := range w.Labels {
			used[label]++
		}
	}
	labels := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), strings.Compare(a, b))
	})
	return gateway.ListOf(r, labels, page), nil
}

// sortWorkspaces sorts what came the last updated first.
func sortWorkspaces(found []Item, by gateway.Sort) {
	field := func(w Item) string {
		switch by.Field {
		case "name":
			return strings.ToLower(w.Name)
		case "createdAt":
			return w.CreatedAt
		}
		return w.UpdatedAt
	}
	slices.SortStableFunc(found, func(a, b Item) int {
		if by.Down {
			a, b = b, a
		}
		return strings.Compare(field(a), field(b))
	})
}
