package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain/user"
)

// Store remembers values for a time, for all nodes, durably. It is a
// *jetstream.Records that keeps at least ConsentLifetime.
type Store interface {
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Consume returns a value and deletes it: one of several callers gets it.
	Consume(ctx context.Context, key string) (value []byte, ok bool, err error)
}

// Keys sign for the platform. They are *signing.Keys.
type Keys interface {
	Sign(ctx context.Context, c signing.Claims) (token string, err error)
	SigningKey(ctx context.Context) (signing.PrivateKey, error)
	PublicKeys(ctx context.Context) ([]signing.PublicKey, error)
	JWKS(ctx context.Context) ([]byte, error)
}

// Sessions are those of the platform. They are *sessions.Sessions.
type Sessions interface {
	Get(ctx context.Context, userID, id string) (sessions.Session, bool, error)
	End(ctx context.Context, userID, id, cause string) (bool, error)
}

// Accounts sign people in. They are *accounts.Accounts, whose refusals are
// those of the contract.
type Accounts interface {
	SignIn(ctx context.Context, in accounts.Login) (sessions.Session, error)
	SignInWith(ctx context.Context, who accounts.Identity, from accounts.Client) (sessions.Session, error)
	// ShowCode shows the second factor that a session still owes.
	ShowCode(ctx context.Context, by sessions.Session, code, ip string) error
}

// Person is a user as tokens and userinfo tell of them.
type Person struct {
	user.User
	EmailProven bool // somebody showed to own the address
}

// Options configure a Service. Those without a default are required.
type Options struct {
	Issuer   string // API_URL without /v2
	Keys     Keys
	Store    Store
	Sessions Sessions
	Accounts Accounts
	// User finds a user by id; false when there is none. It must know of somebody
	// who was made a moment ago, on another node too.
	User func(ctx context.Context, id string) (Person, bool, error)
	// Who knows the session of a token in the access-token cookie. It must know of
	// one that ended a moment ago, on another node too.
	Who func(ctx context.Context, token string) (userID, sessionID string, ok bool)

	TokenLifetime time.Duration    // ACCESS_TOKENS_MAX_AGE
	Consoles      []string         // CONSOLE_URL; the first is where people go who said nothing else
	External      []ExternalClient // OIDC_EXTERNAL_CLIENTS
	// Workspace finds the client of a workspace. Nil: there are none.
	Workspace func(ctx context.Context, clientID string) (Client, bool, error)
	// MayReturn allows GET /v2/login to go back to further places than the
	// consoles. Nil: none.
	MayReturn func(u *url.URL) bool

	Providers     []Provider   // of ParseProviders
	HTTP          *http.Client // how providers are reached; required with Providers
	DisableSignin bool         // DISABLE_LOCAL_SIGNIN
	DisableSignup bool         // DISABLE_LOCAL_SIGNUP
	Now           func() time.Time
	Log           *slog.Logger // default: discarded
}

// How long things are good for.
const (
	interactionLifetime = 10 * time.Minute
	codeLifetime        = 10 * time.Minute
	idTokenLifetime     = time.Hour
	refreshLifetime     = 24 * time.Hour
	// ConsentLifetime is how long a consent counts without being asked for again.
	ConsentLifetime = 30 * 24 * time.Hour
)

// Service signs people in. It is safe for concurrent use.
type Service struct {
	o        Options
	base     string // path of the issuer, before every path of ours
	audience string // API_URL
	clients  map[string]Client
	rps      []*relying // in the order of the buttons
	pages    *pages
}

// New returns a Service. It reaches nobody: providers are discovered when
// somebody goes to them.
func New(o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Host == "" || strings.HasSuffix(o.Issuer, "/") {
		return nil, errors.New("oidc: the issuer must be a URL without a slash at its end")
	}
	if o.Keys == nil || o.Store == nil || o.Sessions == nil || o.Accounts == nil || o.User == nil || o.Who == nil ||
		o.TokenLifetime <= 0 || len(o.Consoles) == 0 || len(o.Providers) > 0 && o.HTTP == nil {
		return nil, errors.New("oidc: Keys, Store, Sessions, Accounts, User, Who, TokenLifetime, Consoles and, with Providers, HTTP are required")
	}
	o.Consoles = slices.Clone(o.Consoles)
	for i, console := range o.Consoles {
		o.Consoles[i] = strings.TrimSuffix(console, "/") + "/"
	}
	s := &Service{o: o, base: issuer.Path, audience: o.Issuer + "/v2", pages: newPages()}
	if s.clients, err = s.knownClients(); err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	for _, p := range o.Providers {
		s.rps = append(s.rps, newRelying(p, o.HTTP, o.Now))
	}
	return s, nil
}

// path is a path of ours as a browser sees it.
func (s *Service) path(parts ...string) string { return s.base + strings.Join(parts, "") }
