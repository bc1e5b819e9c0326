package pages

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/value"
	"svc/domain/workspace"
	"svc/http/gateway"
)

// SignIn signs visitors in with the OpenID provider of the platform.
type SignIn interface {
	// AuthorizeURL is where people sign in.
	AuthorizeURL() string
	// Redeem spends the code of a sign-in, and opens a session for the pages of a workspace.
	Redeem(ctx context.Context, redemption Redemption) (accounts.LoginResult, error)
	// End ends a session.
	End(ctx context.Context, userID, sessionID string) error
}

// Redemption is the code of a sign-in with what it was asked for.
type Redemption struct {
	ClientID, Code, RedirectURI, Verifier string
	From                                  accounts.Client
}

// signInLifetime is how long a sign-in may take.
const signInLifetime = 15 * time.Minute

// pendingSignIn is a sign-in that has begun.
type pendingSignIn struct {
	WorkspaceID string `json:"w"`
	Verifier    string `json:"v"`
	Redirect    string `json:"r"` // where the visitor goes afterwards
	Callback    string `json:"c"`
	Cookie      string `json:"k"` // what the browser must show that began it
}

// signInCookie is not that of the sign-in page of the provider, which may be on the same host.
const signInCookie = "svc-pages-signin"

// randomText returns 256 random bits.
func randomText() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// browserSecret returns what the browser shows when it comes back: what it has already, because it may have begun to
// sign in in another tab, else something new.
func browserSecret(r *http.Request) string {
	if cookie, err := r.Cookie(signInCookie); err == nil && len(cookie.Value) == len(randomText()) {
		return cookie.Value
	}
	return randomText()
}

// signIn handles GET …/_svc/signin: it sends the visitor to the OpenID provider.
func (p *Pages) signIn(r *http.Request) (any, error) {
	at, err := p.place(r)
	if err != nil {
		return p.errorAnswer(r, nil, err)
	}
	query := gateway.NewQuery(r)
	target, up := query.Text("redirect"), query.Text("up")
	if err := query.Err(); err != nil {
		return nil, err
	}
	state := randomText()
	pending := pendingSignIn{
		WorkspaceID: at.workspaceID, Verifier: randomText(), Redirect: ownPath(at, target), Callback: scheme(r) + "://" + r.Host + at.site.base + "/_svc/callback",
		Cookie: browserSecret(r),
	}
	text, err := json.Marshal(pending)
	if err != nil {
		return nil, err
	}
	if err := p.Views.Put(r.Context(), "signin-"+state, text, signInLifetime); err != nil {
		return nil, err
	}
	challenge := sha256.Sum256([]byte(pending.Verifier))
	ask := url.Values{
		"response_type": {"code"}, "client_id": {workspace.ClientID(at.workspaceID)}, "redirect_uri": {pending.Callback}, "scope": {"openid profile email"},
		"state": {state}, "code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}
	if up != "" {
		ask.Set("prompt", "create")
	}
	return redirectTo(http.StatusFound, p.SignIn.AuthorizeURL()+"?"+ask.Encode()).With("Cache-Control", "no-store").WithCookie(&http.Cookie{
		Name: signInCookie, Value: pending.Cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: gateway.Secure(r), MaxAge: int(signInLifetime / time.Second),
	}), nil
}

// ownPath returns a path of the same pages that a visitor may be sent to, else the first page.
func ownPath(at place, target string) string {
	home := at.site.base + "/"
	u, err := url.Parse(target)
	if target == "" || err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || strings.ContainsAny(target, "\\\r\n\t") {
		return home
	}
	if at.site.base != "" && u.Path != at.site.base && !strings.HasPrefix(u.Path, home) {
		return home
	}
	return target
}

// callback handles GET …/_svc/callback: the visitor returns from signing in, and gets a session of their own.
func (p *Pages) callback(r *http.Request) (any, error) {
	at, err := p.place(r)
	if err != nil {
		return p.errorAnswer(r, nil, err)
	}
	v := &visit{Pages: p, request: r, place: at}
	state := r.URL.Query().Get("state")
	text, ok, err := p.Views.Get(r.Context(), "signin-"+state)
	if err != nil {
		return nil, err
	}
	var pending pendingSignIn
	if !ok || len(state) < 40 || json.Unmarshal(text, &pending) != nil || pending.WorkspaceID != at.workspaceID {
		return v.expiredSignIn("")
	}
	if cookie, err := r.Cookie(signInCookie); err != nil || !gateway.SameSecret(cookie.Value, pending.Cookie) {
		return v.expiredSignIn(pending.Redirect)
	}
	if r.URL.Query().Get("error") != "" { // the visitor did not want to
		return redirectTo(http.StatusFound, at.site.base+"/").With("Cache-Control", "no-store"), nil
	}
	from := accounts.Client{UserAgent: r.UserAgent()}
	if ip := gateway.ClientIP(r); ip.IsValid() {
		from.IP = ip.String()
	}
	in, err := p.SignIn.Redeem(r.Context(), Redemption{
		ClientID: workspace.ClientID(at.workspaceID), Code: r.URL.Query().Get("code"), RedirectURI: pending.Callback, Verifier: pending.Verifier, From: from,
	})
	if domain.CodeOf(err) == domain.CodeInvalidRequest { // the code was spent, or the account signed out meanwhile
		return v.expiredSignIn(pending.Redirect)
	}
	if err != nil {
		return nil, err
	}
	return redirectTo(http.StatusFound, pending.Redirect).With("Cache-Control", "no-store").WithCookie(gateway.SessionCookie(r, in.Token, in.Expires.Sub(p.Now()))), nil
}

// expiredSignIn says that a sign-in cannot be finished, and offers to sign in again.
func (v *visit) expiredSignIn(redirect string) (any, error) {
	if prefersJSON(v.request) {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the sign-in has expired: go back to the page and sign in again")
	}
	t := textsOf(builtInLanguage(v.request))
	return v.builtInPage(v.request, v, http.StatusBadRequest, t.SigninExpired, t.SigninExpiredText, value.NewObject("slug", "Signin", "redirect", redirect)), nil
}

// signOut handles POST …/_svc/signout.
func (p *Pages) signOut(r *http.Request) (any, error) {
	at, err := p.place(r)
	if err != nil {
		return p.errorAnswer(r, nil, err)
	}
	if !isSameOrigin(r) {
		return nil, domain.Refuse(domain.CodePermissionDenied, "visitors sign out on their own page only").Reason("origin")
	}
	caller := gateway.CallerFrom(r.Context())
	if caller.ByCookie && caller.SessionID != "" {
		if err := p.SignIn.End(r.Context(), caller.UserID, caller.SessionID); err != nil {
			return nil, err
		}
	}
	return redirectTo(http.StatusSeeOther, at.site.base+"/").WithCookie(gateway.SessionCookie(r, "", 0)), nil
}
