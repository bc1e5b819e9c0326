package oidc_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/commands/egress"
	"svc/domain"
	"svc/http/oidc"
)

const platform = "our-platform" // the client id of one platform at another

// out reaches other houses, which are on this machine.
func out(t *testing.T, private bool) *http.Client {
	t.Helper()
	e, err := egress.New(egress.Options{Rules: egress.Rules{AllowPrivate: private}})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e.Client(10 * time.Second)
}

// federatedFixture is a fixture that trusts another one with who people are.
type federatedFixture struct {
	*fixture
	idp *fixture
}

// newFederatedFixture opens both.
func newFederatedFixture(t *testing.T, edits ...func(*oidc.Options, *accounts.Settings)) federatedFixture {
	t.Helper()
	idp := newFixture(t, func(o *oidc.Options, _ *accounts.Settings) {
		o.External = []oidc.ExternalClient{{ID: platform, RedirectURIs: []string{"http://127.0.0.1/v2/login/callback"}}}
	})
	all := append([]func(*oidc.Options, *accounts.Settings){func(o *oidc.Options, _ *accounts.Settings) {
		o.HTTP = out(t, true)
		o.Providers = []oidc.Provider{{
			Slug: "corp", Name: "Corp", Domains: []string{"corp.example"}, ClientID: platform, Issuer: idp.url,
			Scopes: []string{"openid", "email", "profile"}, Exchange: true,
			FirstNameClaim: "given_name", LastNameClaim: "family_name", EmailClaim: "email",
		}, {Slug: "other", ClientID: "x", Issuer: idp.url, Scopes: []string{"openid"}}}
	}}, edits...)
	return federatedFixture{newFixture(t, all...), idp}
}

// visit signs in at the provider and comes back with its answer.
func (tn federatedFixture) visit(b *browser, p page) page {
	tn.t.Helper()
	require.Equal(tn.t, http.StatusFound, p.status, p.body)
	return b.get(tn.answer(b, p.header.Get("Location")))
}

// answer signs in at the provider and returns where it sends the browser.
func (tn federatedFixture) answer(b *browser, address string) string {
	tn.t.Helper()
	there := &browser{b.t, tn.idp, b.http}
	p := there.get(address)
	if strings.HasPrefix(p.header.Get("Location"), "/oidc/interaction/") {
		p = there.signIn(p.header.Get("Location"), adaMail, adaPass)
		p = there.get(p.header.Get("Location"))
	}
	require.True(tn.t, strings.HasPrefix(p.header.Get("Location"), tn.url+"/v2/login/callback?"), p.header.Get("Location")+p.body)
	return p.header.Get("Location")
}

func TestSigningInWithAnotherPlatform(t *testing.T) {
	t.Parallel()
	tn := newFederatedFixture(t)
	b := tn.browser()
	p := b.get("/v2/login?provider=corp&redirectUri=" + url.QueryEscape(console+"w/x?y=1"))
	query := p.location(t).Query()
	require.Equal(t, "S256", query.Get("code_challenge_method"))
	require.NotEmpty(t, query.Get("nonce"))
	p = tn.visit(b, p)
	require.Equal(t, console+"w/x?y=1", p.header.Get("Location"))
	claims, err := tn.keys.Verify(t.Context(), b.cookie("access-token"))
	require.NoError(t, err)
	require.NotEqual(t, tn.ada, claims.Subject, "the address is not proven there, so it is somebody new")
	made := tn.person(claims.Subject)
	require.Equal(t, tn.idp.ada, made.AuthData["corp"].ID)
	require.Equal(t, "Ada", made.FirstName)
	require.Equal(t, http.StatusOK, b.get("/oidc/userinfo").status)

	again := tn.browser()
	p = tn.visit(again, again.get("/v2/login?domain=CORP.example"))
	require.Equal(t, console, p.header.Get("Location"))
	same, err := tn.keys.Verify(t.Context(), again.cookie("access-token"))
	require.NoError(t, err)
	require.Equal(t, claims.Subject, same.Subject)
	require.NotEqual(t, claims.SessionID, same.SessionID)
}

func TestAProviderInsideAnInteraction(t *testing.T) {
	t.Parallel()
	tn := newFederatedFixture(t)
	b := tn.browser()
	a := bySPA()
	at := b.begin(a)
	require.Contains(t, b.get(at).body, "Continue with Corp")
	uid := strings.TrimPrefix(at, "/oidc/interaction/")
	p := tn.visit(b, b.get("/v2/login?provider=corp&interaction="+uid))
	got := b.tokens(a.redeem(b.resume(p, a)))
	_, claims := tn.hintOf(got["id_token"].(string))
	require.Equal(t, tn.idp.ada, tn.person(claims["sub"].(string)).AuthData["corp"].ID)
	require.NotContains(t, claims, "amr")

	other := tn.browser()
	other.begin(a)
	require.Equal(t, http.StatusBadRequest, other.get("/v2/login?provider=corp&interaction="+strings.TrimPrefix(b.begin(byConsole("prompt", "login")), "/oidc/interaction/")).status)
}

func TestASecondFactorIsOwedAfterAProvider(t *testing.T) {
	t.Parallel()
	tn := newFederatedFixture(t)
	claimed, err := tn.accounts.Claim(t.Context(), adaMail, true) // a proven address keeps its second factor when it is linked
	require.NoError(t, err)
	code := tn.enrol(claimed.Password)
	opened, err := tn.accounts.SignInWith(t.Context(), accounts.Identity{Provider: "corp", Subject: tn.idp.ada, Email: adaMail, EmailVerified: true}, tn.from())
	require.NoError(t, err)
	require.Equal(t, tn.ada, opened.UserID, "linked")

	b := tn.browser()
	a := bySPA()
	at := b.begin(a)
	p := tn.visit(b, b.get("/v2/login?provider=corp&interaction="+strings.TrimPrefix(at, "/oidc/interaction/")))
	p = b.get(p.header.Get("Location"))
	require.Equal(t, at, p.header.Get("Location"), "back to the page")
	require.Contains(t, b.get(at).body, `autocomplete="one-time-code"`)
	tn.nextMinute()
	for range 5 {
		require.Equal(t, http.StatusUnauthorized, b.post(at+"/login", url.Values{"totp": {"000000"}}).status)
	}
	require.Equal(t, http.StatusTooManyRequests, b.post(at+"/login", url.Values{"totp": {"000000"}}).status, "codes count like passwords")
	p = b.post(at+"/login", url.Values{"totp": {code()}})
	require.Equal(t, http.StatusFound, p.status, p.body)
	_, claims := tn.hintOf(b.tokens(a.redeem(b.resume(p, a)))["id_token"].(string))
	require.Equal(t, []any{"otp", "mfa"}, claims["amr"])
}

func TestAForcedSecondFactorIsSetUpInTheConsole(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(_ *oidc.Options, s *accounts.Settings) { s.ForceMFA = true })
	b := h.browser()
	a := bySPA()
	p := b.get(b.signIn(b.begin(a), adaMail, adaPass).header.Get("Location"))
	require.Equal(t, "access_denied", p.location(t).Query().Get("error"))
	inConsole := byConsole()
	require.NotEmpty(t, b.tokens(inConsole.redeem(b.code(inConsole)))["access_token"])
}

func TestWhereALoginMayGo(t *testing.T) {
	t.Parallel()
	tn := newFederatedFixture(t, func(o *oidc.Options, _ *accounts.Settings) {
		o.MayReturn = func(u *url.URL) bool { return u.Host == "pages.example" }
	})
	b := tn.browser()
	for target, ok := range map[string]bool{
		"": true, console: true, console + "w/1": true, "https://pages.example/x": true,
		"https://evil.example/": false, "https://console.example/other": false, "https://console.example.evil/console/": false,
		"https://console.example/console/../other": false, "https://console.example/console/%2e%2e/other": false,
		"https://a@console.example/console/": false, "//evil.example": false, "/console/": false, "javascript:alert(1)": false,
		`https://console.example\@evil.example/console/`: false,
	} {
		p := b.get("/v2/login?provider=corp&redirectUri=" + url.QueryEscape(target))
		require.Equal(t, ok, p.status == http.StatusFound, target)
		if !ok {
			require.Equal(t, "invalid_parameter", p.json(t)["error"], target)
		}
	}
	require.JSONEq(t, `{"provider":"local"}`, b.get("/v2/login?domain=elsewhere.example").body)
	require.Equal(t, "invalid_parameter", b.get("/v2/login?provider=nobody").json(t)["error"])
	require.Equal(t, "missing_parameter", b.get("/v2/login").json(t)["error"])
}

func TestAnAnswerThatIsNotOurs(t *testing.T) {
	t.Parallel()
	tn := newFederatedFixture(t)
	b := tn.browser()
	begin := func() (state string) {
		return b.get("/v2/login?provider=corp").location(t).Query().Get("state")
	}
	lost := func(p page) {
		require.Equal(t, http.StatusBadRequest, p.status)
		require.Contains(t, p.body, "This sign-in is over")
	}
	lost(b.get("/v2/login/callback?code=x"))
	lost(b.get("/v2/login/callback?code=x&state=never"))
	lost(tn.browser().get("/v2/login/callback?code=x&state=" + begin()))

	state := begin()
	p := b.get("/v2/login/callback?code=x&state=" + state)
	require.Equal(t, "access_denied", p.location(t).Query().Get("error"), "a code that the provider does not know")
	lost(b.get("/v2/login/callback?code=x&state=" + state))
	p = b.get("/v2/login/callback?error=access_denied&state=" + begin())
	require.True(t, strings.HasPrefix(p.header.Get("Location"), console+"?"))
	require.Equal(t, "access_denied", p.location(t).Query().Get("error"))
	p = b.get("/v2/login/callback?code=x&iss=https://evil.example&state=" + begin())
	require.Equal(t, "access_denied", p.location(t).Query().Get("error"))

	at := b.begin(bySPA())
	p = b.get("/v2/login?provider=corp&interaction=" + strings.TrimPrefix(at, "/oidc/interaction/"))
	p = b.get("/v2/login/callback?error=x&state=" + p.location(t).Query().Get("state"))
	require.Equal(t, at+"?problem=provider_denied", p.header.Get("Location"))
	require.Contains(t, b.get(p.header.Get("Location")).body, "did not let you in")

	p = b.get("/v2/login?provider=corp")
	tn.pass(10 * time.Minute)
	lost(b.get("/v2/login/callback?code=x&state=" + p.location(t).Query().Get("state")))
	require.Empty(t, b.cookie("access-token"))
}

func TestWhoMeddlesOnTheWayGetsNobodyIn(t *testing.T) {
	t.Parallel()
	tn := newFederatedFixture(t)
	meddle := func(address, name, value string) string {
		u, err := url.Parse(address)
		require.NoError(t, err)
		query := u.Query()
		require.True(t, query.Has(name))
		query.Set(name, value)
		u.RawQuery = query.Encode()
		return u.String()
	}
	other := newAuthQuery("", "").Get("code_challenge")
	for name, way := range map[string]func(b *browser, there string) string{
		"nothing":           tn.answer,
		"another nonce":     func(b *browser, there string) string { return tn.answer(b, meddle(there, "nonce", "x")) },
		"another challenge": func(b *browser, there string) string { return tn.answer(b, meddle(there, "code_challenge", other)) },
		"another issuer": func(b *browser, there string) string {
			return meddle(tn.answer(b, there), "iss", "https://evil.example")
		},
		"a code of elsewhere": func(b *browser, there string) string { return meddle(tn.answer(b, there), "code", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			tn.idp.pass(time.Minute) // the limit of sign-ins
			b := tn.browser()
			p := b.get(way(b, b.get("/v2/login?provider=corp").header.Get("Location")))
			require.Equal(t, http.StatusFound, p.status)
			require.Equal(t, name == "nothing", b.cookie("access-token") != "" && p.header.Get("Location") == console)
			if name != "nothing" {
				require.Equal(t, "access_denied", p.location(t).Query().Get("error"))
			}
		})
	}
}

func TestAProviderThatIsNotThereStopsNobodyElse(t *testing.T) {
	t.Parallel()
	down := atomic.Bool{}
	down.Store(true)
	var idp *fixture
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		doc := map[string]any{"issuer": "http://" + r.Host, "authorization_endpoint": idp.url + "/oidc/auth", "token_endpoint": "http://x", "jwks_uri": "http://x"}
		_ = json.NewEncoder(w).Encode(doc)
	}))
	t.Cleanup(front.Close)
	provider := oidc.Provider{Slug: "corp", ClientID: platform, Issuer: front.URL, Scopes: []string{"openid"}}
	h := newFixture(t, func(o *oidc.Options, _ *accounts.Settings) {
		o.Providers, o.HTTP = []oidc.Provider{provider}, out(t, true)
	})
	idp = h
	b := h.browser()
	p := b.get("/v2/login?provider=corp")
	require.Equal(t, http.StatusServiceUnavailable, p.status)
	require.Equal(t, "service_unavailable", p.json(t)["error"])
	a := byConsole()
	at := b.begin(a)
	p = b.get("/v2/login?provider=corp&interaction=" + strings.TrimPrefix(at, "/oidc/interaction/"))
	require.Equal(t, at+"?problem=provider_unavailable", p.header.Get("Location"))
	require.NotEmpty(t, b.resume(b.signIn(at, adaMail, adaPass), a), "with a password")

	down.Store(false)
	require.Equal(t, http.StatusFound, b.get("/v2/login?provider=corp").status, "asked again")
	down.Store(true)
	h.pass(2 * time.Hour)
	require.Equal(t, http.StatusFound, b.get("/v2/login?provider=corp").status, "what was known is still used")

	guarded := newFixture(t, func(o *oidc.Options, _ *accounts.Settings) {
		o.Providers, o.HTTP = []oidc.Provider{provider}, out(t, false)
	})
	down.Store(false)
	require.Equal(t, http.StatusServiceUnavailable, guarded.browser().get("/v2/login?provider=corp").status, "the inside is closed")
}

func TestTokenExchange(t *testing.T) {
	t.Parallel()
	tn := newFederatedFixture(t)
	there := tn.idp.browser()
	a := newAuthQuery(platform, "http://127.0.0.1:1/v2/login/callback")
	got := there.tokens(a.redeem(there.code(a)))
	id := got["id_token"].(string)

	who, err := tn.service.ExchangeToken(t.Context(), "corp", id, "")
	require.NoError(t, err)
	require.Equal(t, accounts.Identity{Provider: "corp", Subject: tn.idp.ada, Email: adaMail, FirstName: "Ada", LastName: "Lovelace", Language: "en"}, who)
	_, err = tn.service.ExchangeToken(t.Context(), "corp", id, "urn:ietf:params:oauth:token-type:id_token")
	require.NoError(t, err)

	refused := func(want domain.Code, provider, token, kind string) {
		t.Helper()
		_, err := tn.service.ExchangeToken(t.Context(), provider, token, kind)
		require.Equal(t, want, domain.CodeOf(err), err)
	}
	refused(domain.CodeValidation, "nobody", id, "")
	refused(domain.CodeValidation, "corp", id, "urn:ietf:params:oauth:token-type:access_token")
	refused(domain.CodePermissionDenied, "other", id, "")
	for name, token := range map[string]string{
		"nothing": "", "rubbish": "a.b.c", "an access token": got["access_token"].(string),
		"for another client": forgeToken(t, tn.idp, "svc-console", "", time.Hour),
		"expired":            forgeToken(t, tn.idp, platform, "", -time.Hour),
		"of another issuer":  forgeToken(t, tn.idp, platform, "https://evil.example", time.Hour),
		"signed by others":   forgeToken(t, tn.fixture, platform, tn.idp.url, time.Hour),
	} {
		t.Run(name, func(t *testing.T) { refused(domain.CodeInvalidToken, "corp", token, "") })
	}
}

// forgeToken is an identity token signed with the keys of a fixture.
func forgeToken(t *testing.T, h *fixture, audience, issuer string, life time.Duration) string {
	t.Helper()
	key, err := h.keys.SigningKey(t.Context())
	require.NoError(t, err)
	if issuer == "" {
		issuer = h.url
	}
	token := jwt.NewWithClaims(jwt.GetSigningMethod(key.Alg), jwt.MapClaims{
		"iss": issuer, "sub": "somebody", "aud": audience, "iat": time.Now().Unix(), "exp": time.Now().Add(life).Unix(),
	})
	token.Header["kid"] = key.KID
	text, err := token.SignedString(key.Signer)
	require.NoError(t, err)
	return text
}
