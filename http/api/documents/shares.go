package documents

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// SharedDocument is the page, knowledge base or agent whose shares a request is about.
type SharedDocument struct {
	WorkspaceID string
	Item        projections.Item
	Shares      []access.Share
	folder      Folder
	object      access.Object
}

// listShares returns with whom a document is shared, everyone first.
func listShares(rd projections.Reader, workspaceID string, item projections.Item) ([]access.Share, error) {
	shares, err := projections.Content{}.Shares(rd, workspaceID, item.ID)
	folder, _ := workspace.Folder(item.Path)
	return append([]access.Share{}, workspace.Item{Public: item.Public, Shares: shares}.SharesOf(folder)...), err
}

// addShares adds to a document with whom it is shared, for those who manage that.
func (f Folder) addShares(rd projections.Reader, view *documentView) error {
	if !view.rights.Allows("manage_permissions", f.subject, documentObject(rd, view.workspaceID, f.name, view.item)) {
		return nil
	}
	shares, err := listShares(rd, view.workspaceID, view.item)
	if err == nil {
		view.doc.Set("permissions", document.ValueOf(shares))
	}
	return err
}

// CheckShare refuses an entry that would share what the caller does not hold themselves: its policies on this document,
// and what its role comes with.
func (d SharedDocument) CheckShare(rights *access.Rights, entry access.Share) error {
	role := access.Share{Target: entry.Target, Permissions: access.Permissions{Role: entry.Permissions.Role}}
	if err := rights.CheckShare(role); err != nil {
		return err
	}
	for _, policy := range slices.Sorted(maps.Keys(entry.Permissions.Policies)) {
		action := policy
		if policy == "write" {
			action = "update"
		}
		known := slices.Contains(access.Actions(d.folder.subject), action) // what is not, the decision names
		if known && entry.Permissions.Policies[policy] {
			if err := checkObject(rights, action, d.folder.subject, d.object); err != nil {
				return err
			}
		}
	}
	if d.folder.name == KnowledgeBases.name { // its shares are also about its documents
		for _, granted := range access.DocumentShares([]access.Share{entry}) {
			for action := range granted.Permissions.Policies {
				if !mayAll(rights, action, d.WorkspaceID, d.Item.Slug()) {
					return domain.Refuse(domain.CodePermissionDenied, "you cannot share what you do not hold: %s documents", action).
						With("action", action).With("subject", "documents")
				}
			}
		}
	}
	return d.CheckReplace(rights, entry.Target.String())
}

// CheckReplace refuses to change the entry of an owner to anybody but an owner.
func (d SharedDocument) CheckReplace(rights *access.Rights, target string) error {
	for _, present := range d.Shares {
		if present.Target.String() == target {
			return rights.CheckUnshare(present)
		}
	}
	return nil
}

// mayReadAll reports whether the caller may read every document of a knowledge base.
func mayReadAll(rights *access.Rights, workspaceID, base string) bool {
	return mayAll(rights, "read", workspaceID, base)
}

// mayAll reports whether the caller may do something to every document of a knowledge base, whatever is in it.
func mayAll(rights *access.Rights, action, workspaceID, base string) bool {
	return rights.CheckGrant([]access.KeyRule{{
		Action: []string{action}, Subject: "documents", Conditions: map[string]any{"workspaceId": workspaceID, "knowledgeBase": base},
	}}) == nil
}

// PageToShare finds the page that a path names by its id, and whose shares the caller manages. The gateway has found its
// workspace; shares of the page count too.
func (h *Handlers) PageToShare(r *http.Request) (d SharedDocument, err error) {
	pageID := gateway.Var(r, "pageId")
	if err := h.reachLog(r.Context(), handler.WorkspaceID(r)); err != nil {
		return d, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	workspaceID, path, err := projections.Content{}.Page(rd, pageID)
	if err != nil {
		return d, err
	}
	found := false
	if path != "" {
		d.Item, found, err = projections.Content{}.Get(rd, workspaceID, path)
	}
	if err != nil || !found {
		return d, cmp.Or(err, noPage(pageID))
	}
	return Pages.toShare(rd, r, workspaceID, d.Item)
}

// DocumentToShare finds documents that paths name by their slugs, and whose shares the caller manages.
func (h *Handlers) DocumentToShare(f Folder) func(*http.Request) (SharedDocument, error) {
	return func(r *http.Request) (SharedDocument, error) {
		item, err := f.findCurrent(h, r, gateway.Var(r, "slug"), "manage_permissions")
		if err != nil {
			return SharedDocument{}, err
		}
		rd := h.ReadModel.Reader()
		defer rd.Close()
		return f.toShare(rd, r, handler.WorkspaceID(r), item)
	}
}

// toShare returns a document whose shares the caller manages.
func (f Folder) toShare(rd projections.Reader, r *http.Request, workspaceID string, item projections.Item) (SharedDocument, error) {
	d := SharedDocument{WorkspaceID: workspaceID, Item: item, folder: f, object: documentObject(rd, workspaceID, f.name, item)}
	if err := checkObject(gateway.GrantFrom(r.Context()).Rights, "manage_permissions", f.subject, d.object); err != nil {
		return d, err
	}
	var err error
	d.Shares, err = listShares(rd, workspaceID, item)
	return d, err
}
