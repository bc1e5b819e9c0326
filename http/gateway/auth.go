package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
)

// Kind is the kind of credential of a caller.
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
	Principal   *access.Principal // see Identity; nil: it is built from these fields
	WorkspaceID string            // the workspace that calls itself, by a runtime token
	AuthData    string            // passed on in x-svc-auth-data when set
	MFAPending  bool              // the session lacks its second factor
	ByCookie    bool              // set by the gateway: the cookie was used

	// Lent says that an automation acts for the user, with a token that it was lent. The token
	// is valid for the workspace LentTo, and for endpoints of other workspaces.
	Lent   bool
	LentTo string

	// SourceWorkspaceID is the workspace whose automation sent a runtime token, of any user.
	// It gives no rights.
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

// HasScope reports whether the credential of the caller includes a scope. One without a scope claim includes all.
func (c Caller) HasScope(scope string) bool {
	return c.Kind != KindUser || c.Scopes == nil || slices.Contains(c.Scopes, scope)
}

// Identity returns the caller as rules see it.
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

// Credentials are the credentials of a request. At most one of Bearer and Cookie is set: the
// header wins.
type Credentials struct {
	Bearer string // a JWT or an access token, from the Authorization header
	Cookie string // the same, from the cookie access-token
	APIKey string // from x-svc-api-key; never the internal key
}

func (c Credentials) none() bool { return c == Credentials{} }

// Authenticator identifies callers by their credentials. It refuses with the 401 codes of the
// contract; any other error is a fault of the platform.
type Authenticator interface {
	Authenticate(ctx context.Context, c Credentials) (Caller, error)
}

// CookieName is the cookie with the token of a session.
const CookieName = "access-token"

// SessionCookie returns the cookie with the token of a session for some time; an empty token deletes it.
func SessionCookie(r *http.Request, token string, lifetime time.Duration) *http.Cookie {
	seconds := max(1, int(lifetime/time.Second))
	if token == "" {
		seconds = -1
	}
	return &http.Cookie{Name: CookieName, Value: token, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: Secure(r)}
}

// authenticate is the step that identifies the caller.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.OwnAuth {
		return nil
	}
	caller, err := g.identify(r, ex)
	if err != nil {
		return g.countAnonymous(r, ex, err)
	}
	ex.setCaller(caller)
	if caller.SessionID != "" && !ex.route.Shared {
		ex.setHeader(w.Header(), "X-Svc-Session-Id", caller.SessionID)
	}
	return nil
}

// countAnonymous counts an unauthenticated request that is refused with err: guesses of credentials
// and paths count for the limits.
func (g *Gateway) countAnonymous(r *http.Request, ex *exchange, err error) error {
	if over := g.limits.use(r.Context(), ex, RateRequests, addressKey(ex.ip)); over != nil {
		return over
	}
	return err
}

// identify returns the caller of r. On open routes an invalid cookie is ignored, so that a browser
// with an old one still sees public content; so is a cookie of a cross-site request on a route with
// OwnSite. An invalid header is refused everywhere.
func (g *Gateway) identify(r *http.Request, ex *exchange) (Caller, error) {
	c, err := credentials(r)
	if err != nil {
		return Caller{}, err
	}
	if ex.route.HeaderAuth {
		c.Cookie = ""
	}
	caller, err := g.authenticateWith(r.Context(), ex, c)
	if c.Cookie != "" && (isRefusal(err) && ex.route.open() || err == nil && g.isCrossSite(r, ex, caller)) {
		c.Cookie = ""
		caller, err = g.authenticateWith(r.Context(), ex, c)
	}
	ex.credentials = c
	return caller, err
}

// authenticateWith returns the caller with the credentials c.
func (g *Gateway) authenticateWith(ctx context.Context, ex *exchange, c Credentials) (Caller, error) {
	if g.isInternal(ex, c) {
		return Caller{Kind: KindInternal}, nil
	}
	caller, err := g.callAuthenticator(ctx, c)
	caller.ByCookie = c.Cookie != "" && caller.Kind == KindUser
	return caller, err
}

// callAuthenticator calls the Authenticator.
func (g *Gateway) callAuthenticator(ctx context.Context, c Credentials) (Caller, error) {
	switch {
	case c.none():
		return Caller{}, nil
	case g.opts.Authenticator != nil:
		return g.opts.Authenticator.Authenticate(ctx, c)
	case c.APIKey != "":
		return Caller{}, domain.Refuse(domain.CodeInvalidCredentials, "unknown API key")
	}
	return Caller{}, domain.Refuse(domain.CodeInvalidToken, "unknown token")
}

// credentials reads the credentials of a request.
func credentials(r *http.Request) (Credentials, error) {
	c := Credentials{APIKey: r.Header.Get("X-Svc-Api-Key")}
	if len(r.Header.Values("X-Svc-Api-Key")) > 1 {
		return c, domain.Refuse(domain.CodeInvalidCredentials, "x-svc-api-key was sent twice")
	}
	if len(r.Header.Values("Authorization")) > 1 {
		return c, domain.Refuse(domain.CodeInvalidToken, "Authorization was sent twice")
	}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		c.Bearer = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") || c.Bearer == "" {
			return c, domain.Refuse(domain.CodeInvalidToken, `the Authorization header must be "Bearer " and a token`)
		}
		return c, nil
	}
	if cookie, err := r.Cookie(CookieName); err == nil {
		c.Cookie = cookie.Value
	}
	return c, nil
}

// isInternal reports whether the credential is the internal key. As a bearer token it is accepted
// only where the route says so.
func (g *Gateway) isInternal(ex *exchange, c Credentials) bool {
	key := ex.settings.InternalKey
	return SameSecret(c.APIKey, key) || ex.route.BearerKey && SameSecret(c.Bearer, key)
}

// SameSecret compares in constant time. An empty secret is never the same.
func SameSecret(a, b string) bool {
	if a == "" {
		return false
	}
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// isRefusal reports whether a credential is invalid, rather than that it could not be checked.
func isRefusal(err error) bool {
	return statuses[domain.CodeOf(err)] == http.StatusUnauthorized
}

// checkCSRF is the step against forged requests: a request with the cookie must have the CSRF token
// too, or an allowed origin for a WebSocket.
func (g *Gateway) checkCSRF(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.HeaderAuth && r.Header.Get("Origin") != "" && g.checkOrigin(r) != nil {
		return domain.Refuse(domain.CodePermissionDenied, "requests of this web origin are not accepted here").Reason("foreign_origin")
	}
	if ex.route.NoCSRF && !ex.route.OwnAuth && !ex.route.AnySite && ex.writes(r) {
		return g.checkSite(r)
	}
	if !ex.caller.ByCookie || ex.route.NoCSRF {
		return nil
	}
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return g.checkOrigin(r)
	}
	if isRead(r.Method) {
		return nil
	}
	if !g.hasCSRFToken(r, ex.caller) {
		return domain.Refuse(domain.CodeInvalidToken, "x-svc-csrf-token is missing or not this session's").Reason("csrf")
	}
	return nil
}

// hasCSRFToken reports whether r has the CSRF token of the session of c.
func (g *Gateway) hasCSRFToken(r *http.Request, c Caller) bool {
	token := r.Header.Get("X-Svc-Csrf-Token")
	return token != "" && g.opts.CheckCSRF != nil && g.opts.CheckCSRF(c, token)
}

// isCrossSite reports whether the cookie of c is ignored because another web site made the browser
// send it. Writes need the CSRF token anyway.
func (g *Gateway) isCrossSite(r *http.Request, ex *exchange, c Caller) bool {
	if !ex.route.OwnSite || !c.ByCookie || !isRead(r.Method) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "same-site", "none":
		return false
	}
	return !g.hasCSRFToken(r, c)
}

// checkSite refuses a login that another web site made a browser send: it would replace the session
// of the visitor by that of somebody else.
func (g *Gateway) checkSite(r *http.Request) error {
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || site == "same-origin" || site == "none" {
		return nil
	}
	return g.checkOrigin(r)
}

// checkOrigin accepts our own origin and those that CORS trusts.
func (g *Gateway) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if u, err := url.Parse(origin); err == nil && u.Host != "" && u.Host == r.Host {
		return nil
	}
	if origin != "" && g.cors.trusts(origin) {
		return nil
	}
	return domain.Refuse(domain.CodeInvalidToken, "this origin is not trusted").Reason("csrf")
}

// Grant is the result of the Authorizer.
type Grant struct {
	// InWorkspace says that the caller has some right in the workspace, even when the required
	// one is missing: their errors are recorded there.
	InWorkspace bool
	// WorkspaceID is the workspace's id when the path named it otherwise.
	WorkspaceID string
	// Rights decide about what is in the workspace; nil where the route needs
	// none.
	Rights *access.Rights
}

// Authorizer decides actions in a workspace. workspaceID is as the path has it,
// an id, slug:{slug} or page:{pageId}, and empty where the path names no workspace.
// It refuses with the 401, 403 and 404 codes of the contract.
type Authorizer interface {
	Authorize(ctx context.Context, c Caller, p Permission, workspaceID string) (Grant, error)
}

// authorize is the step that checks the permission of the route. A caller of a LateAuth route is
// let in without a grant.
func (g *Gateway) authorize(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	err := g.checkPermission(r, ex)
	if ex.route.LateAuth && ex.caller.Kind == KindNone && isRefusal(err) {
		ex.grant = Grant{}
		return nil
	}
	return err
}

// checkPermission refuses a caller who may not use the route.
func (g *Gateway) checkPermission(r *http.Request, ex *exchange) error {
	if err := checkFixed(ex.caller, ex.route.Permission); err != nil {
		return err
	}
	if err := ex.checkLent(); err != nil {
		return err
	}
	if ex.caller.MFAPending && !ex.route.BeforeMFA && ex.route.Permission != Public { // there handlers mind it
		return domain.Refuse(domain.CodeInvalidCredentials, "a second factor is required").Reason("mfa_required")
	}
	if err := checkScope(ex.caller, ex.route, r.Method); err != nil {
		return err
	}
	action, ok := ex.route.Permission.(Action)
	if !ok {
		return nil
	}
	return g.askAuthorizer(r, ex, action)
}

// RefuseLent is the refusal of a token that was lent to an automation.
func RefuseLent() error {
	return domain.Refuse(domain.CodePermissionDenied,
		"what an automation was lent of a session opens its own workspace, and endpoints of others; use an access token or an API key")
}

// checkLent refuses an automation that acts for a user on routes for the account of the user: it has
// only their rights in its workspace.
func (ex *exchange) checkLent() error {
	_, asked := ex.route.Permission.(Action)
	if !ex.caller.Lent || ex.route.ToLent || ex.route.Permission == Public || asked && ex.workspaceParam() != "" {
		return nil
	}
	return RefuseLent()
}

// askAuthorizer calls the Authorizer. Its data may be older than the last write of the caller, so a
// refused write is checked again after the read model has caught up; a read has waited before.
func (g *Gateway) askAuthorizer(r *http.Request, ex *exchange, action Action) error {
	var err error
	ex.grant, err = g.opts.Authorizer.Authorize(r.Context(), ex.caller, action, ex.workspaceParam())
	if err == nil || !ex.writes(r) || domain.CodeOf(err) == domain.CodeInternal || g.opts.ReadModel == nil {
		return err
	}
	if behind := waitBounded(r.Context(), g.opts.ReadModel.Fresh); behind != nil {
		return err
	}
	ex.grant, err = g.opts.Authorizer.Authorize(r.Context(), ex.caller, action, ex.workspaceParam())
	return err
}

// errNoGateway says that a request did not pass a gateway, which alone has its credentials.
var errNoGateway = errors.New("gateway: the request came by none")

// Recheck authenticates and authorises r again, with the credentials of r and the permission of its
// route. A handler with an open connection calls it at least every 5 seconds, and closes the
// connection on an error: an invalid credential, a missing right, a path that names another
// workspace now, or a failed check.
func Recheck(r *http.Request) (Caller, Grant, error) {
	ex := exchangeOf(r)
	if ex.gateway == nil {
		return Caller{}, Grant{}, errNoGateway
	}
	next, err := ex.gateway.reauthorize(r, ex, ex.credentials)
	if err != nil {
		return Caller{}, Grant{}, err
	}
	if next.grant.WorkspaceID != ex.grant.WorkspaceID { // a slug has moved: these rights are not for what is held open
		return Caller{}, Grant{}, domain.Refuse(domain.CodeWorkspaceDenied, "the path names another workspace now")
	}
	return next.caller, next.grant, nil
}

// Introduce authenticates the caller of r late, with credentials in the first message of a stream.
// It refuses invalid credentials, a session without its second factor, a token without the scope,
// and a caller who may not use the route. The returned request has the caller, the grant and the
// source of events, also for Recheck.
func Introduce(r *http.Request, c Credentials) (*http.Request, error) {
	ex := exchangeOf(r)
	if ex.gateway == nil {
		return nil, errNoGateway
	}
	if c.none() {
		return nil, MissingCredential()
	}
	next, err := ex.gateway.reauthorize(r, ex, c)
	if isRefusal(err) {
		err = ex.gateway.countAnonymous(r, ex, err)
	}
	if err != nil {
		return nil, err
	}
	introduced := r.Clone(commands.WithRequest(withExchange(r.Context(), next), next.command))
	addCallerHeaders(introduced.Header, next.caller)
	return introduced, nil
}

// Count counts a request within a stream as a request of its caller, and refuses too many with 429.
func Count(r *http.Request) error {
	ex := exchangeOf(r)
	if ex.gateway == nil {
		return errNoGateway
	}
	return ex.gateway.limits.use(r.Context(), ex, RateRequests, ex.callerKey())
}

// reauthorize authenticates and authorises a request again, and returns the exchange of the caller
// with the credentials c. The results of the other steps stay.
func (g *Gateway) reauthorize(r *http.Request, ex *exchange, c Credentials) (*exchange, error) {
	next := ex.withoutCaller(c)
	next.settings = g.opts.Settings().withDefaults()
	caller, err := g.authenticateWith(r.Context(), next, c)
	if err != nil {
		return nil, err
	}
	next.setCaller(caller)
	return next, g.checkPermission(r, next)
}

// withoutCaller returns the exchange of the same request before the authentication.
func (ex *exchange) withoutCaller(creds Credentials) *exchange {
	return &exchange{
		gateway: ex.gateway, settings: ex.settings, start: ex.start,
		id: ex.id, parent: ex.parent, ip: ex.ip, secure: ex.secure,
		version: ex.version, revision: ex.revision, route: ex.route, template: ex.template, vars: ex.vars,
		credentials: creds, command: &commands.Request{Meta: ex.command.Meta, Address: ex.command.Address}, slot: ex.slot,
	}
}

// MissingCredential refuses a caller who showed no credential where one is required.
func MissingCredential() *domain.Error {
	return domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
}
