package gateway

import (
	"context"
	"strings"
	"time"

	"svc/domain/access"
)

// Kind tells what a caller showed.
type Kind string

// The kinds of callers. The zero Caller is KindNone.
const (
	KindNone     Kind = ""
	KindUser     Kind = "user"     // a session or an access token, with or without an API key
	KindAPIKey   Kind = "apiKey"   // an API key alone
	KindInternal Kind = "internal" // the internal API key
)

// Caller is who sent a request.
type Caller struct {
	Kind      Kind
	UserID    string
	SessionID string // at:{tokenId} for an access token
	KeyID     string // also set beside a user who sent a key
	Role      string
	Scopes    []string // nil: not limited by a scope claim
	Super     bool
	Anonymous bool

	Expires     time.Time         // when the credential ends; zero: never
	Principal   *access.Principal // see Identity; nil: what is known from here
	WorkspaceID string            // the workspace that calls itself, by a runtime token
	AuthData    string            // handed on in x-svc-auth-data when set
	MFAPending  bool              // the session still owes its second factor
	ByCookie    bool              // set by the gateway: the user came by the cookie

	// Lent says that an automation acts for the user, with a token that it was lent. It
	// opens the workspace LentTo, and endpoints of others.
	Lent   bool
	LentTo string

	// SourceWorkspaceID is the workspace whose automation sent a runtime token, whoever
	// the token is of. It gives no rights.
	SourceWorkspaceID string
	Depth             int // of the automation that sent a runtime token; 0: none did
}

// Actor names who is responsible for a change: a user id, or key:{id}.
func (c Caller) Actor() string {
	if c.UserID == "" && c.KeyID != "" {
		return "key:" + c.KeyID
	}
	return c.UserID
}

// Identity is who the evaluator takes the caller for.
func (c Caller) Identity() access.Principal {
	if c.Principal == nil {
		return access.Principal{UserID: c.UserID, SessionID: c.SessionID, Super: c.Super}
	}
	return *c.Principal
}

func (c Caller) byAccessToken() bool { return strings.HasPrefix(c.SessionID, "at:") }

// CallerFrom returns the caller of the request that ctx belongs to, or the
// zero Caller.
func CallerFrom(ctx context.Context) Caller {
	if ex := exchangeFrom(ctx); ex != nil {
		return ex.caller
	}
	return Caller{}
}

// WithCaller returns a context in which CallerFrom answers c: for tests of
// handlers without a gateway.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return withExchange(ctx, &exchange{caller: c})
}
