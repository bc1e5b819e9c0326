package identity

import (
	"svc/domain"
	"svc/domain/access"
	"svc/projections"
)

// Acting returns whom the evaluator takes somebody for whom an automation of a workspace
// acts, after the request is over that it began with. Whoever acts for itself, as a
// workspace does, is nobody else besides; an account or an API key that is not in use any
// more gives nothing.
func (i *Identity) Acting(a domain.Actor, workspaceID string) (who access.Principal, err error) {
	who = access.Principal{UserID: a.UserID, SessionID: a.SessionID}
	switch {
	case a.WorkspaceID != "":
		who = access.Principal{SessionID: a.SessionID}
		if !a.Lent {
			who.Workspace = a.WorkspaceID
		}
	case a.UserID != "" && a.UserID != a.SessionID: // the id of a visitor's session is that of the visitor
		known, ok, err := i.PrincipalOf(a.UserID)
		if err != nil {
			return who, err
		}
		if ok {
			known.SessionID = a.SessionID
			who = known
		}
	}
	if a.Lent {
		who.Super, who.Lent, who.LentTo = false, true, a.LentTo
	}
	if a.KeyRole != "" {
		who.KeyRole = roleOf(workspaceID, a.KeyRole)
	}
	if a.KeyID != "" {
		who.Key, err = i.keyOf(a.KeyID)
	}
	return who, err
}

// keyOf returns an API key by its id; nil when it is not in use.
func (i *Identity) keyOf(id string) (*access.Key, error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	key, ok, err := projections.APIKeys{}.Get(r, id)
	if err != nil || !ok || key.Disabled || !key.ExpiresAt.IsZero() && !key.ExpiresAt.After(i.o.Now()) {
		return nil, err
	}
	stored, ok, err := projections.APIKeys{}.Stored(r, key.Hash)
	if err != nil || !ok {
		return nil, err
	}
	made, err := i.keys.of(key.Hash, stored)
	return made.ready, err
}
