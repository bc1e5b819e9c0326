package identity

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc/commands/fetch"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/feed"
	"svc/http/gateway"
	"svc/projections"
)

// Identify returns the caller of a run for somebody who acts in a workspace, with the rights
// that they have there now.
func (i *Identity) Identify(_ context.Context, workspaceID string, actor domain.Actor) (runtime.Caller, error) {
	caller := runtime.Caller{Actor: actor, Credential: true}
	who, err := i.Acting(actor, workspaceID)
	if err != nil {
		return caller, err
	}
	caller.Email, caller.AuthData = who.Email, runtime.AuthDataOf(who.AuthData)
	rights, found, err := i.RightsOf(who, workspaceID)
	if err != nil {
		return caller, err
	}
	if !found {
		rights = access.OutsideRights(who)
	}
	caller.Rights, caller.Role = rights, rights.Role()
	return caller, nil
}

// CallerOf returns the caller of automations that an event starts: who emitted it, or for whom the
// emitting automation acted; the workspace itself when the platform recorded it.
func (i *Identity) CallerOf(ctx context.Context, e *feed.Event) (runtime.Caller, error) {
	actor := domain.Actor{UserID: e.Source.UserID, SessionID: e.Source.SessionID}
	if e.Source.ServiceTopic != feed.Emitted {
		if id, byKey := strings.CutPrefix(actor.UserID, "key:"); byKey {
			actor.KeyID = id
		}
		return runtime.Caller{Actor: actor}, nil
	}
	if e.Actor != nil {
		actor = *e.Actor
	}
	return i.Identify(ctx, e.Source.WorkspaceID, actor)
}

// Known implements runtime.Registry: it returns the registered workspaces that the owner of
// a workspace may read, by slug.
func (i *Identity) Known(_ context.Context, workspaceID string) (list []programs.Workspace, err error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	doc, _, _, err := projections.Access{}.Get(r, workspaceID, 0)
	owners := access.Owners(doc.Shares)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	who, ok, err := i.PrincipalOf(owners[0])
	if err != nil || !ok {
		return nil, err
	}
	registered, err := projections.Workspaces{}.Registered(r)
	if err != nil {
		return nil, err
	}
	for _, rec := range registered {
		rights, found, err := i.RightsOf(who, rec.ID)
		if err != nil {
			return nil, err
		}
		if found && rights.Allows("read", "workspaces", nil) {
			list = append(list, programs.Workspace{ID: rec.ID, Slug: rec.Meta.Slug, Name: rec.Meta.Name})
		}
	}
	slices.SortFunc(list, func(a, b programs.Workspace) int { return strings.Compare(a.Slug, b.Slug) })
	return list, nil
}

// OwnSession returns the session of a token that a user holds themselves, as it is now: one
// of the clients of the platform. A token that an application was given is not accepted: it
// could be exchanged for one with more scopes.
func (i *Identity) OwnSession(ctx context.Context, token string, clients ...string) (userID, sessionID string, ok bool) {
	claims, err := i.o.Tokens.Verify(ctx, token)
	if err != nil || !slices.Contains(clients, claims.ClientID) {
		return "", "", false
	}
	caller, err := i.Authenticate(ctx, gateway.Credentials{Cookie: token})
	return caller.UserID, caller.SessionID, err == nil
}

// RunTokens are the tokens that automations call the platform with. It implements
// runtime.Tokens. Both fields are required.
type RunTokens struct {
	Keys     *signing.Keys
	Identity *Identity
}

// How long tokens are valid: those that an automation asks for, and those that are added to
// a request.
const (
	requestedTokenLifetime = 60 * time.Second
	addedTokenLifetime     = 10 * time.Second
)

// Token implements runtime.Tokens.
func (t RunTokens) Token(ctx context.Context, kind fetch.TokenKind, of runtime.Acting, requested bool) (string, error) {
	lifetime := addedTokenLifetime
	if requested {
		lifetime = requestedTokenLifetime
	}
	c := of.Caller
	a := signing.Acting{
		UserID: c.UserID, SessionID: c.SessionID, Visitor: c.Visitor, Scopes: c.Scopes,
		WorkspaceID: of.WorkspaceID, CorrelationID: of.CorrelationID, Depth: of.Depth, Narrow: of.IsNarrowed(kind),
	}
	if c.Rights == nil || c.WorkspaceID != "" { // a workspace acts by itself, whoever caused it
		a.UserID = ""
	}
	if kind == fetch.WorkspaceToken {
		return t.Keys.WorkspaceToken(ctx, a, lifetime)
	}
	return t.Keys.SessionToken(ctx, a, lifetime)
}

// RoleKey implements runtime.Tokens.
func (t RunTokens) RoleKey(ctx context.Context, role string, of runtime.Acting) (string, error) {
	may, err := t.Identity.HasKeyRole(of.WorkspaceID, role)
	if err != nil {
		return "", err
	}
	if !may {
		return "", automation.Invalid("svcApiKey: the workspace has no role %s that automations may take", role)
	}
	return t.Keys.RoleToken(ctx, of.WorkspaceID, role, of.CorrelationID, of.Depth, addedTokenLifetime)
}
