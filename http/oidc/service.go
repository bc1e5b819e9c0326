// Package oidc signs people in by OpenID Connect, in both roles.
//
// As a provider it serves /oidc/*: the authorization code flow with PKCE for
// public clients, and the sign-in page. As a relying party it serves GET /v2/login:
// it redirects users to external providers and handles their return. An interaction
// combines both: a user can sign in to one of our clients with an external provider.
//
// No state is kept in memory: it is in a durable store between two requests, so that
// each request may go to another node. Codes, refresh tokens and states are stored
// under their digests only.
//
// Validations and identity tokens come from zitadel/oidc. Its router and handlers are
// not used, because every path is a row of the table of the gateway.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	protocol "github.com/zitadel/oidc/v3/pkg/oidc"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain/user"
	"svc/http/gateway"
)

// Store stores values for a time, for all nodes, durably. It is a *jetstream.Records with a lifetime
// of at least ConsentLifetime.
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
	// SignUp makes an account, and says how it becomes valid.
	SignUp(ctx context.Context, in accounts.SignUp) (made accounts.Account, validation string, err error)
	SignInWith(ctx context.Context, who accounts.Identity, from accounts.Client) (sessions.Session, error)
	// ShowCode checks the code of the second factor for a session that lacks it.
	ShowCode(ctx context.Context, by sessions.Session, code, ip string) error
}

// Person is a user in tokens and userinfo.
type Person struct {
	user.User
	EmailProven bool // the user has proven to own the address
}

// Options configure a Service. Those without a default are required.
type Options struct {
	Issuer   string // API_URL without /v2
	Keys     Keys
	Store    Store
	Sessions Sessions
	Accounts Accounts
	// User finds a user by id; false when there is none. It must find users that were just
	// created, also on another node.
	User func(ctx context.Context, id string) (Person, bool, error)
	// Who returns the session of a token in the access-token cookie. It must see that a session
	// has just ended, also on another node.
	Who func(ctx context.Context, token string) (userID, sessionID string, ok bool)

	TokenLifetime time.Duration    // ACCESS_TOKENS_MAX_AGE
	Consoles      []string         // CONSOLE_URL; the first is the default target after a sign-in
	External      []ExternalClient // OIDC_EXTERNAL_CLIENTS
	// Workspace finds the client of a workspace. Nil: there are none.
	Workspace func(ctx context.Context, clientID string) (Client, bool, error)
	// MayReturn allows further redirect targets of GET /v2/login besides the consoles. Nil: none.
	MayReturn func(u *url.URL) bool

	Providers     []Provider   // of ParseProviders
	HTTP          *http.Client // how providers are reached; required with Providers
	DisableSignin bool         // DISABLE_LOCAL_SIGNIN
	DisableSignup bool         // DISABLE_LOCAL_SIGNUP
	Now           func() time.Time
	Log           *slog.Logger // default: discarded
}

// Lifetimes.
const (
	interactionLifetime = 10 * time.Minute
	codeLifetime        = 10 * time.Minute
	idTokenLifetime     = time.Hour
	refreshLifetime     = 24 * time.Hour
	// ConsentLifetime is how long a consent is valid.
	ConsentLifetime = 30 * 24 * time.Hour
)

// Service signs people in. It is safe for concurrent use.
type Service struct {
	o        Options
	base     string // path of the issuer, before every path of ours
	audience string // API_URL
	clients  map[string]Client
	rps      []*relyingParty // in the order of the buttons
	pages    *pages
}

// New returns a Service. It makes no requests: providers are discovered at their first use.
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
		s.rps = append(s.rps, newRelyingParty(p, o.HTTP, o.Now))
	}
	return s, nil
}

// path returns a path of this service for browsers.
func (s *Service) path(parts ...string) string { return s.base + strings.Join(parts, "") }

// Routes returns the routes of this package.
func (s *Service) Routes() []gateway.Route {
	own := func(rt gateway.Route, handle gateway.HandlerFunc) gateway.Route {
		rt.Handler, rt.NoCSRF = handle, true
		return rt
	}
	return []gateway.Route{
		own(gateway.Route{Method: http.MethodGet, Path: "/.well-known/openid-configuration", Permission: gateway.Public, OwnAuth: true, Summary: "Discover the OpenID provider"}, s.discover),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/.well-known/openid-configuration", Permission: gateway.Public, OwnAuth: true, Summary: "Discover the OpenID provider, under its other name"}, s.discover),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/jwks", Permission: gateway.Public, OwnAuth: true, Summary: "Read the public keys"}, s.jwks),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/auth", Permission: gateway.Public, OwnAuth: true, Summary: "Begin the authorization code flow"}, s.authorize),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/auth/{uid}", Permission: gateway.Public, OwnAuth: true, Effect: gateway.Writes, Summary: "Resume the flow after the sign-in"}, s.resume),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/interaction/{uid}", Permission: gateway.Public, OwnAuth: true, Summary: "Show the sign-in page"}, s.interact),
		own(gateway.Route{Method: http.MethodPost, Path: "/oidc/interaction/{uid}/login", Permission: gateway.Public, OwnAuth: true, Rate: gateway.RateLogin, MaxBody: maxForm, Summary: "Sign in on the page"}, s.signIn),
		own(gateway.Route{Method: http.MethodPost, Path: "/oidc/token", Permission: gateway.Public, OwnAuth: true, MaxBody: maxForm, Summary: "Exchange a code or a refresh token"}, s.token),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/session/end", Permission: gateway.Public, OwnAuth: true, Effect: gateway.Writes, Summary: "End the session"}, s.endSession),
		{Method: http.MethodGet, Path: "/oidc/userinfo", Permission: gateway.Auth, NoScope: true, Handler: gateway.HandlerFunc(s.userinfo), Summary: "Read the claims of the user"},
		{Method: http.MethodPost, Path: "/oidc/userinfo", Permission: gateway.Auth, NoScope: true, Effect: gateway.Reads, MaxBody: maxForm, Handler: gateway.HandlerFunc(s.userinfo), Summary: "Read the claims of the user"},

		own(gateway.Route{Method: http.MethodGet, Path: "/login", Surface: gateway.Versioned, Permission: gateway.Public, OwnAuth: true, NoWait: true, Summary: "Go to an identity provider"}, s.login),
		own(gateway.Route{Method: http.MethodGet, Path: "/login/callback", Surface: gateway.Versioned, Permission: gateway.Public, OwnAuth: true, Effect: gateway.Writes, Summary: "Come back from an identity provider"}, s.callback),
	}
}

// maxForm is the size limit of forms.
const maxForm = 64 << 10

// ConsoleClient is the client id of the console.
const ConsoleClient = "svc-console"

// ExternalClient is an entry of OIDC_EXTERNAL_CLIENTS.
type ExternalClient struct {
	ID           string
	RedirectURIs []string
}

// Client is an application that people sign in to. All clients are public:
// they have no secret, and use PKCE.
type Client struct {
	ID           string
	Name         string   // shown on the page; empty: the id
	RedirectURIs []string // compared exactly; on loopback addresses with any port
	Under        []string // URLs: everything below them is a redirect URI too
	Trusted      bool     // of the platform: asks for no consent and gets the cookie
	AllScopes    bool     // gets every scope of the API, whatever it asks for
}

// knownClients returns the clients of the settings.
func (s *Service) knownClients() (map[string]Client, error) {
	known := map[string]Client{ConsoleClient: {
		ID: ConsoleClient, Name: "the console", Under: s.o.Consoles, Trusted: true, AllScopes: true,
	}}
	var errs []error
	for _, c := range s.o.External {
		// An identity token is for its client. One for a client with the name of the
		// API would pass for an access token.
		if _, twice := known[c.ID]; twice || c.ID == "" || c.ID == s.audience {
			errs = append(errs, fmt.Errorf("client %q: the id is taken or empty", c.ID))
			continue
		}
		known[c.ID] = Client{ID: c.ID, RedirectURIs: c.RedirectURIs}
	}
	return known, errors.Join(errs...)
}

// client finds the client with this id.
func (s *Service) client(ctx context.Context, id string) (Client, bool, error) {
	if c, ok := s.clients[id]; ok || s.o.Workspace == nil || id == "" || id == s.audience {
		return c, ok, nil
	}
	return s.o.Workspace(ctx, id)
}

// name returns the name of the client on the page.
func (c Client) name() string {
	if c.Name != "" {
		return c.Name
	}
	return c.ID
}

// allows reports whether a code may be sent to uri.
func (c Client) allows(uri string) bool {
	u, ok := parseAbsolute(uri)
	return ok && (slices.Contains(c.RedirectURIs, uri) ||
		slices.ContainsFunc(c.RedirectURIs, func(known string) bool { return sameLoopback(u, known) }) ||
		slices.ContainsFunc(c.Under, func(base string) bool { return isBelow(u, base) }))
}

// allowsReturn reports whether uri is allowed after a logout: a redirect URI, or another one of its
// site. Clients register no others.
func (c Client) allowsReturn(uri string) bool {
	u, ok := parseAbsolute(uri)
	return ok && (c.allows(uri) || slices.ContainsFunc(c.RedirectURIs, func(known string) bool {
		k, err := url.Parse(known)
		return err == nil && isWeb(k) && k.Scheme == u.Scheme && strings.EqualFold(k.Host, u.Host)
	}))
}

// parseAbsolute parses an absolute URI.
func parseAbsolute(uri string) (*url.URL, bool) {
	u, err := url.Parse(uri)
	if err != nil || !u.IsAbs() || u.Fragment != "" || u.User != nil || strings.ContainsAny(uri, "\\ #") {
		return nil, false
	}
	return u, !isWeb(u) || u.Host != "" && u.Opaque == ""
}

func isWeb(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// sameLoopback reports whether u is known except for the port, on a loopback address: native clients
// use any free port (RFC 8252, 7.3).
func sameLoopback(u *url.URL, known string) bool {
	k, err := url.Parse(known)
	if err != nil || k.Scheme != "http" || u.Scheme != "http" || k.Hostname() != u.Hostname() {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() && k.EscapedPath() == u.EscapedPath() && k.RawQuery == u.RawQuery
}

// isBelow reports whether u is base or below it.
func isBelow(u *url.URL, base string) bool {
	p, err := url.Parse(base)
	if err != nil || !isWeb(p) || u.Scheme != p.Scheme || !strings.EqualFold(u.Host, p.Host) {
		return false
	}
	at, root := u.EscapedPath(), strings.TrimSuffix(p.EscapedPath(), "/")
	if plain := strings.ToLower(at); strings.Contains(plain, "%2e") || strings.Contains(plain, "%2f") || strings.Contains(plain, "%5c") {
		return false // a path that is not normalised
	}
	if clean := path.Clean("/" + at); clean != strings.TrimSuffix(at, "/") && at != "" && at != "/" {
		return false
	}
	return at == root || strings.HasPrefix(at, root+"/")
}

// scope is a scope and its description on the page.
type scope struct {
	name    string
	meaning string // to a person; empty: nothing worth asking about
}

// identityScopes are those of OpenID Connect, apiScopes those of the API.
var (
	identityScopes = []scope{
		{"openid", "know who you are"},
		{"profile", "see your name, photo and language"},
		{"email", "see your e-mail address"},
		{"offline_access", "do so for a day without you"},
	}
	apiScopes = []scope{
		{"workspaces:read", "see your workspaces"},
		{"workspaces:write", "change your workspaces"},
		{"events:read", "read events"},
		{"events:write", "send events"},
		{"webhooks", "call your endpoints"},
		{"pages:read", "open your pages"},
		{"files:read", "read your files"},
		{"files:write", "change your files"},
		{"knowledge:read", "read and search the documents of your knowledge bases"},
		{"knowledge:write", "change the documents of your knowledge bases"},
		{"agents", "talk to your agents"},
		{"settings", "change your account and its access tokens"},
	}
)

func names(lists ...[]scope) []string {
	var all []string
	for _, list := range lists {
		for _, s := range list {
			all = append(all, s.name)
		}
	}
	return all
}

// grantableScopes returns the requested scopes that a client may get, in our order and once each.
func grantableScopes(c Client, wanted []string) []string {
	var granted []string
	for _, name := range names(identityScopes) {
		if slices.Contains(wanted, name) {
			granted = append(granted, name)
		}
	}
	for _, name := range names(apiScopes) {
		if c.AllScopes || slices.Contains(wanted, name) {
			granted = append(granted, name)
		}
	}
	return granted
}

// scopeTexts returns the descriptions of scopes.
func scopeTexts(scopes []string) []string {
	var all []string
	for _, s := range slices.Concat(identityScopes, apiScopes) {
		if slices.Contains(scopes, s.name) {
			all = append(all, s.meaning)
		}
	}
	return all
}

// cacheControl is the Cache-Control of the discovery document and the keys.
const cacheControl = "public, max-age=300"

// metadata is the discovery document with the fields that the library lacks.
type metadata struct {
	protocol.DiscoveryConfiguration
	IssuerInAnswers bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
	Prompts         []string `json:"prompt_values_supported"`                        // Initiating User Registration 1.0
}

// discover handles GET /.well-known/openid-configuration.
func (s *Service) discover(r *http.Request) (any, error) {
	key, err := s.o.Keys.SigningKey(r.Context())
	if err != nil {
		return nil, err
	}
	at := func(path string) string { return s.o.Issuer + path }
	doc := metadata{protocol.DiscoveryConfiguration{
		Issuer:                            s.o.Issuer,
		AuthorizationEndpoint:             at("/oidc/auth"),
		TokenEndpoint:                     at("/oidc/token"),
		UserinfoEndpoint:                  at("/oidc/userinfo"),
		EndSessionEndpoint:                at("/oidc/session/end"),
		JwksURI:                           at("/oidc/jwks"),
		ScopesSupported:                   names(identityScopes, apiScopes),
		ResponseTypesSupported:            []string{string(protocol.ResponseTypeCode)},
		ResponseModesSupported:            []string{string(protocol.ResponseModeQuery)},
		GrantTypesSupported:               []protocol.GrantType{protocol.GrantTypeCode, protocol.GrantTypeRefreshToken},
		SubjectTypesSupported:             []string{"public"},
		IDTokenSigningAlgValuesSupported:  []string{key.Alg},
		TokenEndpointAuthMethodsSupported: []protocol.AuthMethod{protocol.AuthMethodNone},
		CodeChallengeMethodsSupported:     []protocol.CodeChallengeMethod{protocol.CodeChallengeMethodS256},
		ClaimsSupported: []string{
			"sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "amr", "azp", "at_hash", "c_hash", "sid",
			"email", "email_verified", "name", "given_name", "family_name", "picture", "locale",
			"firstName", "lastName", "photo", "language", "mfa", "meta",
		},
	}, true, []string{protocol.PromptNone, protocol.PromptLogin, protocol.PromptConsent, protocol.PromptSelectAccount}}
	if s.offersSignUp() {
		doc.Prompts = append(doc.Prompts, promptCreate)
	}
	return gateway.OK(doc).With("Cache-Control", cacheControl), nil
}

// encoded is JSON that is sent as it is.
type encoded []byte

// Encoded implements gateway.Encoded.
func (e encoded) Encoded() []byte { return e }

// jwks handles GET /oidc/jwks.
func (s *Service) jwks(r *http.Request) (any, error) {
	keys, err := s.o.Keys.JWKS(r.Context())
	if err != nil {
		return nil, err
	}
	return gateway.OK(encoded(keys)).With("Cache-Control", cacheControl), nil
}
