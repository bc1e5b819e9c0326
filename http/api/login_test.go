package api_test

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
	"svc/http/api"
	"svc/http/oidc"
)

// person is somebody who is signed in.
type person struct{ id, email, session, token, csrf string }

func (p person) bearer() option { return as(p.token) }
func (p person) cookie() option { return with("Cookie", "access-token="+p.token) }

// cookieWithCSRF is cookie with the CSRF token of the session.
func (p person) cookieWithCSRF() option {
	return func(r *http.Request) {
		p.cookie()(r)
		with("x-svc-csrf-token", p.csrf)(r)
	}
}

// signedIn reads the answer to a login, whose token nobody may see again.
func (h *identityService) signedIn(got answer) person {
	h.t.Helper()
	require.Equal(h.t, http.StatusOK, got.status, got.body)
	in := got.fields(h.t)
	p := person{session: in["sessionId"].(string), id: in["id"].(string), token: in["token"].(string), csrf: got.header.Get("X-Svc-Csrf-Token")}
	require.Equal(h.t, in["userId"], in["id"])
	h.hide(p.token)
	return p
}

func (h *identityService) login(email, secret string, options ...option) answer {
	h.t.Helper()
	return h.do("POST", "/v2/login", append(options, body(jsonOf(h.t, map[string]string{"email": email, "password": secret})))...)
}

// enter signs in who has an account.
func (h *identityService) enter(email string) person {
	h.t.Helper()
	p := h.signedIn(h.login(email, password))
	p.email = email
	return p
}

// newAccount makes an account and signs in to it.
func (h *identityService) newAccount(email string) person {
	h.t.Helper()
	made := h.do("POST", "/v2/signup", body(jsonOf(h.t, map[string]string{"email": email, "password": password, "firstName": "Ada", "lastName": "Byron"})))
	require.Equal(h.t, http.StatusCreated, made.status, made.body)
	return h.enter(email)
}

func (h *identityService) root() person {
	h.t.Helper()
	p := h.signedIn(h.login(rootEmail, adminPassword))
	p.email = rootEmail
	return p
}

func (h *identityService) visitor() person {
	h.t.Helper()
	return h.signedIn(h.do("POST", "/v2/login/anonymous"))
}

// requireRefusal sends a request that is refused; reason "" is none.
func (h *identityService) requireRefusal(status int, code, reason, request string, options ...option) answer {
	h.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	got := h.do(method, path, options...)
	require.Equal(h.t, status, got.status, "%s: %s", request, got.body)
	fields := got.fields(h.t)
	require.Equal(h.t, code, fields["error"], got.body)
	details, _ := fields["details"].(map[string]any)
	if reason == "" {
		require.NotContains(h.t, details, "reason", got.body)
	} else {
		require.Equal(h.t, reason, details["reason"], got.body)
	}
	return got
}

// cookieOf returns the cookie that an answer sets.
func cookieOf(t *testing.T, got answer) *http.Cookie {
	t.Helper()
	cookie, err := http.ParseSetCookie(got.header.Get("Set-Cookie"))
	require.NoError(t, err)
	return cookie
}

func TestAVisitorSignsIn(t *testing.T) {
	h := openIdentity(t)
	got := h.do("POST", "/v2/login/anonymous")
	in := got.fields(t)
	require.Len(t, in["userId"], 24)
	require.Equal(t, h.now().Add(time.Hour).Format("2006-01-02T15:04:05.000Z"), in["expires"], "ACCESS_TOKENS_MAX_AGE")
	require.Equal(t, in["sessionId"], got.header.Get("X-Svc-Session-Id"))
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	cookie := cookieOf(t, got)
	require.Equal(t, http.Cookie{
		Name: "access-token", Value: in["token"].(string), Path: "/", MaxAge: 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode, Raw: cookie.Raw,
	}, *cookie)
	p := h.signedIn(got)

	me := h.do("GET", "/v2/me", p.bearer())
	require.Equal(t, http.StatusOK, me.status, me.body)
	require.Equal(t, p.csrf, me.header.Get("X-Svc-Csrf-Token"))
	require.JSONEq(t, jsonOf(t, map[string]any{
		"id": p.id, "firstName": "", "lastName": "", "status": "validated", "meta": map[string]any{}, "groups": []string{}, "mfa": "none",
		"authData":  map[string]any{"anonymous": map[string]any{"id": p.id}},
		"sessionId": p.session, "expires": in["expires"], "scopes": strings.Fields(accounts.Scopes),
	}), me.body)

	succeeded := eventsOf[user.LoginSucceeded](h, domain.Activity)
	require.Len(t, succeeded, 1)
	require.Equal(t, user.LoginSucceeded{
		ID: p.id, IP: "127.0.0.1", Provider: "anonymous",
		Session: user.OpenedSession{ID: p.session, Expires: h.now().Add(24 * time.Hour).Format("2006-01-02T15:04:05.000Z")},
	}, succeeded[0])
	require.Empty(t, eventsOf[user.Created](h, domain.State)[1:], "only the super admin has an account")
}

func TestTheCookieOfHTTPSStaysThere(t *testing.T) {
	h := openIdentity(t)
	h.limits.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	got := h.do("POST", "/v2/login/anonymous", with("X-Forwarded-Proto", "https"), with("X-Forwarded-For", "203.0.113.7"))
	require.True(t, cookieOf(t, got).Secure)
	listed := h.do("GET", "/v2/user/sessions", h.signedIn(got).bearer()).list(t)
	require.Equal(t, "203.0.113.7", listed[0]["ip"])
}

func TestALoginLastsAsLongAsItAsksFor(t *testing.T) {
	h := openIdentity(t)
	got := h.do("POST", "/v2/login/anonymous", body(`{"expiresAfter":60}`))
	require.Equal(t, 60, cookieOf(t, got).MaxAge)
	p := h.signedIn(got)
	long := h.signedIn(h.do("POST", "/v2/login/anonymous", body(`{"expiresAfter":9223372036854775807}`)))
	h.pass(2 * time.Minute)
	h.requireRefusal(401, "token_expired", "", "GET /v2/me", p.bearer())
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", long.bearer()).status)
	for _, after := range []string{"0", "-1"} {
		h.requireRefusal(422, "validation_failed", "", "POST /v2/login/anonymous", body(`{"expiresAfter":`+after+`}`))
	}
	for _, after := range []string{"1.5", `"60"`, "9223372036854775808"} {
		h.requireRefusal(400, "invalid_request", "", "POST /v2/login/anonymous", body(`{"expiresAfter":`+after+`}`))
	}
}

func TestSigningInAndOut(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	me := h.do("GET", "/v2/me", ada.bearer()).fields(t)
	require.Equal(t, "ada@example.org", me["email"])
	require.Equal(t, map[string]any{"svc": map[string]any{"id": ada.id, "email": "ada@example.org"}}, me["authData"])
	require.NotContains(t, me, "role")
	require.NotEmpty(t, me["createdAt"])
	require.Equal(t, "superAdmin", h.do("GET", "/v2/me", h.root().bearer()).fields(t)["role"])
	again := h.enter("ADA@example.org ")
	require.Equal(t, ada.id, again.id)

	out := h.do("POST", "/v2/logout", ada.bearer())
	require.JSONEq(t, `{"success":true}`, out.body)
	require.Negative(t, cookieOf(t, out).MaxAge)
	require.Empty(t, cookieOf(t, out).Value)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.bearer())
	h.requireRefusal(401, "invalid_token", "", "POST /v2/logout", ada.bearer())
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", again.bearer()).status, "the other session goes on")
	ended := eventsOf[session.Ended](h, domain.State)
	require.Len(t, ended, 1)
	require.Equal(t, ada.session, ended[0].SessionID)
	require.Equal(t, ada.id, ended[0].UserID)
	require.Equal(t, "logout", ended[0].Cause)
}

func TestLoginsThatAreRefused(t *testing.T) {
	h := openIdentity(t)
	h.newAccount("ada@example.org")
	wrong := h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"wrong"}`))
	unknown := h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"eve@example.org","password":"wrong"}`))
	require.Equal(t, wrong.fields(t)["message"], unknown.fields(t)["message"])
	require.Len(t, wrong.header, len(unknown.header))
	require.Equal(t, []user.LoginFailed{
		{Email: "ada@example.org", IP: "127.0.0.1", Provider: "svc"}, {Email: "eve@example.org", IP: "127.0.0.1", Provider: "svc"},
	}, eventsOf[user.LoginFailed](h, domain.Activity))
	for _, c := range []refusal{
		{"no email", "POST /v2/login", []option{body(`{"password":"x"}`)}, 400, "missing_parameter", `{"parameter":"email","errors":[{"field":"email","message":"is required"}]}`},
		{"no password", "POST /v2/login", []option{body(`{"email":"x"}`)}, 400, "missing_parameter", `{"parameter":"password","errors":[{"field":"password","message":"is required"}]}`},
		{"an unknown field", "POST /v2/login", []option{body(`{"email":"x","password":"y","remember":true}`)}, 400, "invalid_request", `{"errors":[{"field":"remember","message":"unknown field"}]}`},
		{"a wrong type", "POST /v2/login", []option{body(`{"email":7,"password":"y"}`)}, 400, "invalid_request", `{"errors":[{"field":"email","message":"must be a text"}]}`},
		{"a bad lifetime", "POST /v2/login", []option{body(`{"email":"x","password":"y","expiresAfter":0}`)}, 422, "validation_failed", ``},
		{"a form", "POST /v2/login", []option{body(`email=x`), func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }}, 415, "invalid_request", `{"reason":"unsupported_media_type"}`},
		{"a bad header", "POST /v2/login", []option{as("x"), body(`{"email":"x","password":"y"}`)}, 401, "invalid_token", ``},
		{"no code", "POST /v2/login/mfa", []option{h.visitor().bearer(), body(`{}`)}, 400, "missing_parameter", ``},
		{"a code of nobody", "POST /v2/login/mfa", []option{body(`{"totp":"123456"}`)}, 401, "missing_token", ``},
		{"nobody leaves", "POST /v2/logout", nil, 401, "missing_token", ``},
		{"nobody asks who", "GET /v2/me", nil, 401, "missing_token", ``},
		{"the internal key asks who", "GET /v2/me", []option{key(internalKey)}, 403, "permission_denied", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
	h.set(func(s *accounts.Settings) { s.DisableSignin = true })
	h.requireRefusal(403, "permission_denied", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"x"}`))
}

// A bad cookie is nobody on a route that is open to all.
func TestAnOldCookieDoesNotKeepAnybodyOut(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	h.do("POST", "/v2/logout", ada.bearer())
	require.Equal(t, ada.id, h.signedIn(h.login("ada@example.org", password, ada.cookie())).id)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.cookie())
}

func TestARepeatedLoginShowsNoToken(t *testing.T) {
	h := openIdentity(t)
	h.newAccount("ada@example.org")
	once := with("Idempotency-Key", "k-1")
	visitor := h.visitor()
	first := h.login("ada@example.org", password, once, visitor.bearer())
	p := h.signedIn(first)
	again := h.login("ada@example.org", password, once, visitor.bearer())
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, p.session, again.fields(t)["sessionId"])
	require.NotContains(t, again.fields(t), "token")
	require.Empty(t, again.header.Get("Set-Cookie"))
	require.Empty(t, again.header.Get("X-Svc-Csrf-Token"))

	alone := h.signedIn(h.login("ada@example.org", password, once))
	other := h.login("ada@example.org", password, once) // perhaps somebody else behind the same address
	require.Empty(t, other.header.Get("Idempotency-Replayed"))
	require.NotEqual(t, alone.session, h.signedIn(other).session, "without a credential each is its own")
}

func TestLoginsAreLimitedByAddress(t *testing.T) {
	h := openIdentity(t)
	h.newAccount("ada@example.org")
	h.limit()
	for _, email := range []string{"ada@example.org", "ADA@example.org", " ada@example.org", "Ada@Example.org", "ada@example.org"} {
		h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(jsonOf(t, map[string]string{"email": email, "password": "wrong"})))
	}
	over := h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"`+password+`"}`))
	require.Equal(t, "login", over.fields(t)["details"].(map[string]any)["name"])
	require.NotEmpty(t, over.header.Get("Retry-After"))
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"bob@example.org","password":"wrong"}`))
	h.pass(time.Minute)
	h.enter("ada@example.org")
}

// exchangeOutside exchanges the token of an identity provider that knows one.
func exchangeOutside(_ context.Context, provider, token, kind string) (accounts.Identity, error) {
	switch {
	case provider == "shut":
		return accounts.Identity{}, domain.Refuse(domain.CodePermissionDenied, "tokens of shut are not exchanged")
	case token != "acme-token" || kind != "urn:ietf:params:oauth:token-type:id_token":
		return accounts.Identity{}, domain.Refuse(domain.CodeInvalidToken, "the token is not one of acme")
	}
	return accounts.Identity{Provider: provider, Subject: "a1", Email: "ada@example.org", EmailVerified: true, FirstName: "Ada"}, nil
}

func TestSigningInWithTheTokenOfAProvider(t *testing.T) {
	h := openIdentity(t, func(d *api.Handlers) {
		d.Accounts.Providers = []oidc.Provider{{Slug: "acme", Name: "Acme"}, {Slug: "shut"}}
		d.Accounts.Exchange = exchangeOutside
	})
	h.hide("acme-token")
	require.JSONEq(t, `{"localSignin":true,"localSignup":true,"anonymous":true,"providers":[{"slug":"acme","type":"oidc","name":"Acme"},{"slug":"shut","type":"oidc"}]}`,
		h.do("GET", "/v2/login/providers").body)
	exchange := func(provider, token string) []option {
		return []option{body(jsonOf(t, map[string]string{"provider": provider, "subject_token": token, "subject_token_type": "urn:ietf:params:oauth:token-type:id_token"}))}
	}
	p := h.signedIn(h.do("POST", "/v2/login/token-exchange", exchange("acme", "acme-token")...))
	me := h.do("GET", "/v2/me", p.bearer()).fields(t)
	require.Equal(t, "Ada", me["firstName"])
	require.Equal(t, map[string]any{"acme": map[string]any{"id": "a1", "email": "ada@example.org"}}, me["authData"])
	require.Equal(t, p.id, h.signedIn(h.do("POST", "/v2/login/token-exchange", exchange("acme", "acme-token")...)).id)

	h.requireRefusal(401, "invalid_token", "", "POST /v2/login/token-exchange", exchange("acme", "other")...)
	h.requireRefusal(403, "permission_denied", "", "POST /v2/login/token-exchange", exchange("shut", "acme-token")...)
	h.requireRefusal(404, "resource_not_found", "", "POST /v2/login/token-exchange", exchange("nobody", "acme-token")...)
	h.requireRefusal(400, "missing_parameter", "", "POST /v2/login/token-exchange", body(`{"provider":"acme"}`))
	h.requireRefusal(400, "missing_parameter", "", "POST /v2/login/token-exchange", body(`{"subject_token":"x"}`))
	h.requireRefusal(422, "validation_failed", "", "POST /v2/login/token-exchange", body(`{"provider":"acme","subject_token":"x","expiresAfter":0}`))
}

func TestWithoutProvidersThereAreNone(t *testing.T) {
	h := openIdentity(t)
	h.set(func(s *accounts.Settings) { s.DisableSignup = true })
	require.JSONEq(t, `{"localSignin":true,"localSignup":false,"anonymous":true,"providers":[]}`, h.do("GET", "/v2/login/providers").body)
	h.requireRefusal(404, "resource_not_found", "", "POST /v2/login/token-exchange", body(`{"provider":"acme","subject_token":"x"}`))
}
