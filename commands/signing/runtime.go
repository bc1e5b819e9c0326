package signing

import (
	"context"
	"errors"
	"strings"
	"time"
)

// RuntimeAge is how long a token lives at most that an automation calls the API with.
const RuntimeAge = 60 * time.Second

// Acting says for whom an automation calls the API, and from where.
type Acting struct {
	// UserID and SessionID are those that the run began with. Without a user the run
	// acts for nobody.
	UserID, SessionID string
	// Visitor says that nobody signed in. SessionID was drawn by the platform for the
	// call then, and serves as the id of the user: what a caller may choose, such as a
	// correlation id, must never be given out as such a session.
	Visitor bool
	// Scopes are those of the credential that the run began with; nil: it has no such
	// claim.
	Scopes []string

	WorkspaceID   string // whose automation it is; required
	CorrelationID string
	Depth         int
	// Narrow says that the rights in the workspace are not lent: an app asks, which is
	// not the workspace, or somebody asks who was lent less. What is left is the name,
	// and for a user the automations that they may execute.
	Narrow bool
}

// SessionToken returns a token of the session that a run began with. Where nobody
// signed in it is worth no more than no token, but for the session that it names.
func (k *Keys) SessionToken(ctx context.Context, a Acting, ttl time.Duration) (string, error) {
	if a.nobody() {
		id := a.visitor()
		return k.runtime(ctx, Claims{Subject: id, SessionID: id, Visitor: true}, a, ttl)
	}
	c := Claims{Subject: a.UserID, SessionID: a.SessionID, Scope: strings.Join(a.Scopes, " ")}
	if a.Scopes != nil && c.Scope == "" {
		c.Scope = noScope
	}
	return k.runtime(ctx, c, a, ttl)
}

// noScope opens nothing: a claim that is empty would not limit a token at all.
const noScope = "none"

// nobody reports whether there is no session of somebody who signed in. The id of a
// visitor's session is that of the visitor.
func (a Acting) nobody() bool {
	return a.Visitor || a.UserID == "" || a.SessionID == "" || a.UserID == a.SessionID
}

// visitor is who calls when nobody signed in: the session that was drawn for them, or
// the run. A run cannot be mistaken for a session of somebody, whoever chose its
// correlation id.
func (a Acting) visitor() string {
	drawn := a.Visitor || a.UserID == a.SessionID
	if !drawn || a.SessionID == "" || a.SessionID == a.CorrelationID {
		return "run:" + a.WorkspaceID + ":" + a.CorrelationID
	}
	return a.SessionID
}

// WorkspaceToken returns a token of a workspace that calls itself, for no user, whoever
// the run began for.
func (k *Keys) WorkspaceToken(ctx context.Context, a Acting, ttl time.Duration) (string, error) {
	return k.runtime(ctx, Claims{}, a, ttl)
}

// RoleToken returns what is sent as an API key to take a role of a workspace. It says
// nothing of who calls. Whether the role may be taken is for the receiver to see.
func (k *Keys) RoleToken(ctx context.Context, workspaceID, role, correlationID string, depth int, ttl time.Duration) (string, error) {
	if role == "" {
		return "", errors.New("signing: a role is required")
	}
	return k.runtime(ctx, Claims{Role: role}, Acting{WorkspaceID: workspaceID, CorrelationID: correlationID, Depth: depth}, ttl)
}

func (k *Keys) runtime(ctx context.Context, c Claims, a Acting, ttl time.Duration) (string, error) {
	if a.WorkspaceID == "" {
		return "", errors.New("signing: a token of the runtime needs a workspace")
	}
	if ttl <= 0 || ttl > RuntimeAge {
		ttl = RuntimeAge
	}
	c.WorkspaceID, c.CorrelationID, c.Depth, c.Narrow = a.WorkspaceID, a.CorrelationID, a.Depth, a.Narrow
	c.IssuedAt = k.o.Now()
	c.ExpiresAt = c.IssuedAt.Add(ttl)
	return k.Sign(ctx, c)
}
