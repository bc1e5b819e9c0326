package api

import (
	"cmp"
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/access"
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

// sharing is an entry of the sharing list, in requests and answers.
type sharing struct {
	Target      *shareTarget        `json:"target"`
	Permissions *access.Permissions `json:"permissions"`
}

// listShares handles GET /v2/workspaces/{workspaceId}/permissions.
func listShares(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		doc, err := accessOf(d, workspaceID(r))
		if err != nil {
			return nil, err
		}
		return shownShares(d, doc.Shares)
	}
}

// shownShares is the answer with a list of shares.
func shownShares(d Deps, shares []access.Share) (any, error) {
	result := []sharing{}
	for _, entry := range shares {
		shown, err := shownShare(d, entry, "")
		if err != nil {
			return nil, err
		}
		result = append(result, shown)
	}
	return map[string]any{"result": result}, nil
}

// share handles POST /v2/workspaces/{workspaceId}/permissions.
func share(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		entry, email, err := readShare(d, r)
		if err != nil {
			return nil, err
		}
		id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
		if err := rights.CheckShare(entry); err != nil {
			return nil, err
		}
		if err := mayReplace(d, rights, id, entry.Target.String()); err != nil {
			return nil, err
		}
		if _, err := d.Workspaces.Share(r.Context(), id, entry); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return shownShare(d, entry, email)
	}
}

// unshare handles DELETE /v2/workspaces/{workspaceId}/permissions/{target}.
func unshare(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		target, id := gateway.Var(r, "target"), workspaceID(r)
		if err := mayReplace(d, gateway.GrantFrom(r.Context()).Rights, id, target); err != nil {
			return nil, err
		}
		if _, err := d.Workspaces.Unshare(r.Context(), id, target); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return map[string]string{"id": target}, nil
	}
}

// readShare reads an entry and finds the user it names; email is how the caller
// named them, if so.
func readShare(d Deps, r *http.Request) (entry access.Share, email string, err error) {
	var in sharing
	if err := gateway.Decode(r, &in); err != nil {
		return entry, "", err
	}
	switch {
	case in.Target == nil:
		return entry, "", missing("target")
	case in.Permissions == nil:
		return entry, "", missing("permissions")
	}
	t := *in.Target
	entry = access.Share{Target: access.Target{ID: t.ID, Role: t.Role, Public: t.Public}, Permissions: *in.Permissions}
	if t.ID == "" && t.Email == "" {
		return entry, "", nil
	}
	if t.ID != "" && t.Email != "" {
		return entry, "", domain.Invalid(domain.FieldError{Field: "target", Message: "must name a user, a role or the public, and one of them only"})
	}
	found, err := findUser(d, t.ID, t.Email)
	if err == nil && t.ID == "" && !found.IsEmailValid() {
		err = noUser(t.Email) // whoever typed the address at sign-up may not be whom the caller means
	}
	entry.Target.ID = found.ID
	return entry, t.Email, err
}

// findUser returns the user with an id or, without one, with a mail address.
func findUser(d Deps, id, email string) (found projections.User, err error) {
	var ok bool
	err = d.ReadModel.View(func(r projections.Reader) (err error) {
		if id != "" {
			found, ok, err = projections.Users{}.Get(r, id)
		} else {
			found, ok, err = projections.Users{}.ByEmail(r, email)
		}
		return err
	})
	if err == nil && !ok {
		err = noUser(cmp.Or(id, email))
	}
	return found, err
}

// mayReplace refuses to touch the entry of an owner to anybody but an owner.
func mayReplace(d Deps, rights *access.Rights, workspaceID, target string) error {
	doc, err := accessOf(d, workspaceID)
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

// shownShare is an entry with the name of its target. A user without a name is
// shown by the address only to who named them so.
func shownShare(d Deps, entry access.Share, email string) (sharing, error) {
	t := entry.Target
	shown := sharing{Target: &shareTarget{ID: t.ID, Role: t.Role, Public: t.Public}, Permissions: &entry.Permissions}
	if t.ID == "" {
		return shown, nil
	}
	err := d.ReadModel.View(func(r projections.Reader) error {
		u, _, err := projections.Users{}.Get(r, t.ID)
		shown.Target.DisplayName = cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), email)
		return err
	})
	return shown, err
}
