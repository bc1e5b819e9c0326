// Package identity finds out who calls and decides what they may do: it is the
// gateway's Authenticator and Authorizer over the read models, the sessions and
// the signing keys.
package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"svc/commands/cache"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/projections"
)

// Tokens verifies JWTs. It is a *signing.Keys.
type Tokens interface {
	Verify(ctx context.Context, token string) (signing.Claims, error)
}

// Sessions finds live sessions. It is a *sessions.Sessions.
type Sessions interface {
	Get(ctx context.Context, userID, id string) (sessions.Session, bool, error)
}

// ReadModel is what is read. It is a *projections.Models.
type ReadModel interface {
	Reader() projections.Reader
	// Moment tells whether what was read before is what would be read now.
	Moment() projections.Moment
}

// Options configure an Identity; those without a default are required.
type Options struct {
	Tokens    Tokens
	Sessions  Sessions
	ReadModel ReadModel
	// Alone says that there are no other nodes, whose writes would have to be waited for.
	Alone bool
	// Fresh waits until the read models contain what was written before, as far as this node
	// can find out.
	Fresh func(context.Context) error
	// SuperAdmins lists the addresses of super admins as they are now.
	SuperAdmins func() []string
	CSRFKey     []byte
	Used        func(id string) // told the id of each access token and API key that is used; default nobody

	Now func() time.Time // default time.Now
}

// Identity knows callers and their rights. It is safe for concurrent use.
type Identity struct {
	o          Options
	workspaces *cache.Cache[string, *compiledWorkspace]
	keys       *memory[apiKey]
	users      *memory[person]
	members    *cache.Cache[member, *membership]
	rights     *cache.Cache[holder, *access.Rights]
}

// Bounds of what is kept compiled.
const (
	cachedWorkspaces = 2000
	cachedKeys       = 2000
	cachedUsers      = 10_000
	cachedMembers    = 10_000
	cachedRights     = 5000
)

// New returns an Identity.
func New(o Options) (*Identity, error) {
	if o.Tokens == nil || o.Sessions == nil || o.ReadModel == nil || o.Fresh == nil || o.SuperAdmins == nil || len(o.CSRFKey) == 0 {
		return nil, errors.New("identity: Tokens, Sessions, ReadModel, Fresh, SuperAdmins and CSRFKey are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Used == nil {
		o.Used = func(string) {}
	}
	return &Identity{
		o: o, workspaces: cache.New[string, *compiledWorkspace](cachedWorkspaces),
		keys: newMemory(cachedKeys, newAPIKey), users: newMemory(cachedUsers, newPerson),
		members: cache.New[member, *membership](cachedMembers), rights: cache.New[holder, *access.Rights](cachedRights),
	}, nil
}

// CSRFToken is what a request with the cookie of a session must show when it
// writes.
func (i *Identity) CSRFToken(sessionID string) string {
	mac := hmac.New(sha256.New, i.o.CSRFKey)
	mac.Write([]byte(sessionID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckCSRF reports whether token is that of the caller's session.
func (i *Identity) CheckCSRF(c gateway.Caller, token string) bool {
	return c.SessionID != "" && hmac.Equal([]byte(token), []byte(i.CSRFToken(c.SessionID)))
}
