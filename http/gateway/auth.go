package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"

	"svc/domain"
)

// Credentials are what a request shows of its sender. At most one of Bearer
// and Cookie is set: the header wins.
type Credentials struct {
	Bearer string // a JWT or an access token, from the Authorization header
	Cookie string // the same, from the cookie access-token
	APIKey string // from x-svc-api-key; never the internal key
}

func (c Credentials) none() bool { return c == Credentials{} }

// Authenticator knows callers by their credentials. It refuses with the 401
// codes of the contract; any other error is a fault of the platform.
type Authenticator interface {
	Authenticate(ctx context.Context, c Credentials) (Caller, error)
}

// CookieName is the cookie that carries a session's token.
const CookieName = "access-token"

// authenticate is the step that finds out who calls.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.OwnAuth {
		return nil
	}
	caller, err := g.identify(r, ex)
	if err != nil {
		return g.countStranger(r, ex, err)
	}
	ex.become(caller)
	if caller.SessionID != "" && !ex.route.Shared {
		w.Header().Set("X-Svc-Session-Id", caller.SessionID)
	}
	return nil
}

// countStranger counts a request of somebody unknown that is refused with err:
// guessing credentials and paths is a request like any other for the limits.
func (g *Gateway) countStranger(r *http.Request, ex *exchange, err error) error {
	if over := g.limits.take(r.Context(), ex, RateRequests, addressKey(ex.ip)); over != nil {
		return over
	}
	return err
}

// identify finds out who sent r. On open routes a cookie that does not hold
// is ignored, so that a browser with an old one still sees public things; so is one
// that another web site had a browser send to a route that minds. A header that does
// not hold is refused everywhere.
func (g *Gateway) identify(r *http.Request, ex *exchange) (Caller, error) {
	c, err := credentials(r)
	if err != nil {
		return Caller{}, err
	}
	caller, err := g.recognise(r.Context(), ex, c)
	if c.Cookie != "" && (isRefusal(err) && ex.route.open() || err == nil && g.fromElsewhere(r, ex, caller)) {
		c.Cookie = ""
		caller, err = g.recognise(r.Context(), ex, c)
	}
	ex.shown = c
	return caller, err
}

// recognise returns who shows c.
func (g *Gateway) recognise(ctx context.Context, ex *exchange, c Credentials) (Caller, error) {
	if g.isInternal(ex, c) {
		return Caller{Kind: KindInternal}, nil
	}
	caller, err := g.ask(ctx, c)
	caller.ByCookie = c.Cookie != "" && caller.Kind == KindUser
	return caller, err
}

// ask asks the Authenticator.
func (g *Gateway) ask(ctx context.Context, c Credentials) (Caller, error) {
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

// credentials reads what the request shows.
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

// isInternal recognises the internal key. As a bearer token it is known only
// where the route says so.
func (g *Gateway) isInternal(ex *exchange, c Credentials) bool {
	key := ex.settings.InternalKey
	return SameSecret(c.APIKey, key) || ex.route.BearerKey && SameSecret(c.Bearer, key)
}

// SameSecret compares in constant time. An empty secret is never the same.
func SameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1 && a != ""
}

// isRefusal reports whether err says that a credential does not hold, rather
// than that it could not be checked.
func isRefusal(err error) bool {
	return statuses[domain.CodeOf(err)] == http.StatusUnauthorized
}

// checkCSRF is the step against forged requests: who comes by the cookie must
// show the session's token too, or an allowed origin for a WebSocket.
func (g *Gateway) checkCSRF(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.NoCSRF && !ex.route.OwnAuth && ex.writes(r) {
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
	if !g.showsCSRF(r, ex.caller) {
		return domain.Refuse(domain.CodeInvalidToken, "x-svc-csrf-token is missing or not this session's").Reason("csrf")
	}
	return nil
}

// showsCSRF reports whether r has the CSRF token of the session of c.
func (g *Gateway) showsCSRF(r *http.Request, c Caller) bool {
	token := r.Header.Get("X-Svc-Csrf-Token")
	return token != "" && g.opts.CheckCSRF != nil && g.opts.CheckCSRF(c, token)
}

// fromElsewhere reports whether a cookie is not to count that c came by: as far as is
// known another web site had the browser send it. Requests that write are not asked for
// here, they need the CSRF token anyway.
func (g *Gateway) fromElsewhere(r *http.Request, ex *exchange, c Caller) bool {
	if !ex.route.OwnSite || !c.ByCookie || !isRead(r.Method) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "same-site", "none":
		return false
	}
	return !g.showsCSRF(r, c)
}

// checkSite refuses a login that another web site had a browser send: it would
// put somebody else's session in the place of the visitor's own.
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
