package workspaces

import (
	"cmp"
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// shareTarget is whom something is shared with, as the API names them.
type shareTarget struct {
	ID          string `json:"id,omitempty"`
	Email       string `json:"email,omitempty"`
	Role        string `json:"role,omitempty"`
	Public      bool   `json:"public,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
}

// shareEntry is an entry of the sharing list, in requests and answers.
type shareEntry struct {
	Target      *shareTarget        `json:"target"`
	Permissions *access.Permissions `json:"permissions"`
}

// ListShares handles GET /v2/workspaces/{workspaceId}/permissions.
func (h *Handlers) ListShares(r *http.Request) (any, error) {
	doc, err := h.accessOf(handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	return h.sharesResponse(doc.Shares)
}

// sharesResponse is the answer with a list of shares.
func (h *Handlers) sharesResponse(shares []access.Share) (any, error) {
	result := []shareEntry{}
	for _, entry := range shares {
		response, err := h.toShareEntry(entry, "")
		if err != nil {
			return nil, err
		}
		result = append(result, response)
	}
	return map[string]any{"result": result}, nil
}

// ShareWorkspace handles POST /v2/workspaces/{workspaceId}/permissions.
func (h *Handlers) ShareWorkspace(r *http.Request) (any, error) {
	entry, email, err := h.readShareEntry(r)
	if err != nil {
		return nil, err
	}
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	if err := rights.CheckShare(entry); err != nil {
		return nil, err
	}
	if err := h.checkReplaceShare(rights, id, entry.Target.String()); err != nil {
		return nil, err
	}
	if _, err := h.Workspaces.Share(r.Context(), id, entry); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return h.toShareEntry(entry, email)
}

// UnshareWorkspace handles DELETE /v2/workspaces/{workspaceId}/permissions/{target}.
func (h *Handlers) UnshareWorkspace(r *http.Request) (any, error) {
	target, id := gateway.Var(r, "target"), handler.WorkspaceID(r)
	if err := h.checkReplaceShare(gateway.GrantFrom(r.Context()).Rights, id, target); err != nil {
		return nil, err
	}
	if _, err := h.Workspaces.Unshare(r.Context(), id, target); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return map[string]string{"id": target}, nil
}

// readShareEntry reads an entry and finds the user it names; email is how the caller
// named them, if so.
func (h *Handlers) readShareEntry(r *http.Request) (entry access.Share, email string, err error) {
	var in shareEntry
	if err := gateway.Decode(r, &in); err != nil {
		return entry, "", err
	}
	switch {
	case in.Target == nil:
		return entry, "", handler.MissingField("target")
	case in.Permissions == nil:
		return entry, "", handler.MissingField("permissions")
	}
	t := *in.Target
	entry = access.Share{Target: access.Target{ID: t.ID, Role: t.Role, Public: t.Public}, Permissions: *in.Permissions}
	if t.ID == "" && t.Email == "" {
		return entry, "", nil
	}
	if t.ID != "" && t.Email != "" {
		return entry, "", domain.Invalid(domain.FieldError{Field: "target", Message: "must name a user, a role or the public, and one of them only"})
	}
	found, err := handler.FindUser(h.ReadModel, t.ID, t.Email)
	if err == nil && t.ID == "" && !found.IsEmailValid() {
		err = handler.NoUser(t.Email) // whoever typed the address at sign-up may not be whom the caller means
	}
	entry.Target.ID = found.ID
	return entry, t.Email, err
}

// checkReplaceShare refuses to touch the entry of an owner to anybody but an owner.
func (h *Handlers) checkReplaceShare(rights *access.Rights, workspaceID, target string) error {
	doc, err := h.accessOf(workspaceID)
	if err != nil {
		return err
	}
	for _, present := range doc.Shares {
		if present.Target.String() == target {
			return rights.CheckUnshare(present)
		}
	}
	return nil
}

// toShareEntry is an entry with the name of its target. A user without a name is
// shown by the address only to who named them so.
func (h *Handlers) toShareEntry(entry access.Share, email string) (shareEntry, error) {
	t := entry.Target
	response := shareEntry{Target: &shareTarget{ID: t.ID, Role: t.Role, Public: t.Public}, Permissions: &entry.Permissions}
	if t.ID == "" {
		return response, nil
	}
	u, _, err := projections.Find(h.ReadModel, projections.Users{}.Get, t.ID)
	response.Target.DisplayName = cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), email)
	return response, err
}

// FindDocument finds the page, knowledge base or agent of a request whose shares the caller manages.
type FindDocument func(*http.Request) (documents.SharedDocument, error)

// ListDocumentShares handles GET …/permissions of a page, a knowledge base or an agent.
func (h *Handlers) ListDocumentShares(find FindDocument) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		shared, err := find(r)
		if err != nil {
			return nil, err
		}
		return h.sharesResponse(shared.Shares)
	}
}

// ShareDocument handles POST …/permissions.
func (h *Handlers) ShareDocument(find FindDocument) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		shared, err := find(r)
		if err != nil {
			return nil, err
		}
		entry, email, err := h.readShareEntry(r)
		if err != nil {
			return nil, err
		}
		if err := shared.CheckShare(gateway.GrantFrom(r.Context()).Rights, entry); err != nil {
			return nil, err
		}
		if _, err := h.Content.Share(r.Context(), shared.WorkspaceID, shared.Item.ID, entry); err != nil {
			return nil, err
		}
		handler.AwaitVisible(r.Context(), h.ReadModel)
		return h.toShareEntry(entry, email)
	}
}

// UnshareDocument handles DELETE …/permissions/{target}.
func (h *Handlers) UnshareDocument(find FindDocument) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		shared, err := find(r)
		if err != nil {
			return nil, err
		}
		target := gateway.Var(r, "target")
		if err := shared.CheckReplace(gateway.GrantFrom(r.Context()).Rights, target); err != nil {
			return nil, err
		}
		if _, err := h.Content.Unshare(r.Context(), shared.WorkspaceID, shared.Item.ID, target); err != nil {
			return nil, err
		}
		handler.AwaitVisible(r.Context(), h.ReadModel)
		return handler.IDResponse(target), nil
	}
}
