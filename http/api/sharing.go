package api

import (
	"cmp"
	"net/http"
	"slices"
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
		result := []sharing{}
		for _, entry := range doc.Shares {
			shown, err := shownShare(d, entry)
			if err != nil {
				return nil, err
			}
			result = append(result, shown)
		}
		return map[string]any{"result": result}, nil
	}
}

// share handles POST /v2/workspaces/{workspaceId}/permissions.
func share(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		entry, err := readShare(d, r)
		if err != nil {
			return nil, err
		}
		if err := mayMakeOwner(gateway.GrantFrom(r.Context()).Rights, entry); err != nil {
			return nil, err
		}
		if _, err := d.Workspaces.Share(r.Context(), workspaceID(r), entry); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return shownShare(d, entry)
	}
}

// unshare handles DELETE /v2/workspaces/{workspaceId}/permissions/{target}.
func unshare(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		target := gateway.Var(r, "target")
		if _, err := d.Workspaces.Unshare(r.Context(), workspaceID(r), target); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return map[string]string{"id": target}, nil
	}
}

// readShare reads an entry and finds the user it names.
func readShare(d Deps, r *http.Request) (entry access.Share, err error) {
	var in sharing
	if err := gateway.Decode(r, &in); err != nil {
		return entry, err
	}
	switch {
	case in.Target == nil:
		return entry, missing("target")
	case in.Permissions == nil:
		return entry, missing("permissions")
	}
	entry = access.Share{Target: access.Target{ID: in.Target.ID, Role: in.Target.Role, Public: in.Target.Public}, Permissions: *in.Permissions}
	if in.Target.ID == "" && in.Target.Email == "" {
		return entry, nil
	}
	if in.Target.ID != "" && in.Target.Email != "" {
		return entry, domain.Invalid(domain.FieldError{Field: "target", Message: "must name a user, a role or the public, and one of them only"})
	}
	found, err := findUser(d, in.Target.ID, in.Target.Email)
	entry.Target.ID = found.ID
	return entry, err
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

// mayMakeOwner refuses to let anybody but an owner make an owner: whoever may
// share would have everything else for the asking.
func mayMakeOwner(rights *access.Rights, entry access.Share) error {
	held := rights.Roles()
	if entry.Permissions.Role != "owner" || slices.Contains(held, "owner") || slices.Contains(held, "superadmin") {
		return nil
	}
	return domain.Refuse(domain.CodePermissionDenied, "only an owner makes others owners").
		With("action", "manage").With("subject", "workspaces")
}

// shownShare is an entry with the name of its target.
func shownShare(d Deps, entry access.Share) (sharing, error) {
	t := entry.Target
	shown := sharing{Target: &shareTarget{ID: t.ID, Role: t.Role, Public: t.Public}, Permissions: &entry.Permissions}
	if t.ID == "" {
		return shown, nil
	}
	err := d.ReadModel.View(func(r projections.Reader) error {
		u, _, err := projections.Users{}.Get(r, t.ID)
		shown.Target.DisplayName = cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), u.Email)
		return err
	})
	return shown, err
}
