package node

import (
	"context"
	"time"

	"svc/commands/fetch"
	"svc/commands/runtime"
	"svc/commands/signing"
	"svc/domain/automation"
)

// runTokens are what automations call the platform with. It implements
// runtime.Tokens.
type runTokens struct {
	keys *signing.Keys
	may  func(workspaceID, role string) (bool, error) // whether automations may take a role
}

// How long tokens are good: those that an automation asks for, and those that are added
// to a request.
const (
	askedFor = 60 * time.Second
	added    = 10 * time.Second
)

// Token implements runtime.Tokens.
func (t runTokens) Token(ctx context.Context, kind fetch.TokenKind, of runtime.Acting, asked bool) (string, error) {
	ttl := added
	if asked {
		ttl = askedFor
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
		return t.keys.WorkspaceToken(ctx, a, ttl)
	}
	return t.keys.SessionToken(ctx, a, ttl)
}

// RoleKey implements runtime.Tokens.
func (t runTokens) RoleKey(ctx context.Context, role string, of runtime.Acting) (string, error) {
	may, err := t.may(of.WorkspaceID, role)
	if err != nil {
		return "", err
	}
	if !may {
		return "", automation.Invalid("svcApiKey: the workspace has no role %s that automations may take", role)
	}
	return t.keys.RoleToken(ctx, of.WorkspaceID, role, of.CorrelationID, of.Depth, added)
}
