package oidc_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoCannotBeTrustedIsNotSentAnywhere(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	for name, change := range map[string][]string{
		"no client":             {"client_id", ""},
		"an unknown client":     {"client_id", "nobody"},
		"no redirect":           {"redirect_uri", ""},
		"a foreign redirect":    {"redirect_uri", "https://evil.example/cb"},
		"a longer redirect":     {"redirect_uri", spaHome + "/more"},
		"another query":         {"redirect_uri", spaHome + "?x=1"},
		"a fragment":            {"redirect_uri", spaHome + "#x"},
		"a user":                {"redirect_uri", "https://me@shop.example/cb"},
		"another scheme":        {"redirect_uri", "javascript:alert(1)"},
		"no scheme":             {"redirect_uri", "//shop.example/cb"},
		"encoded twice":         {"redirect_uri", "https://shop.example%2Fcb"},
		"loopback by its name":  {"redirect_uri", "http://localhost:1234/native"},
		"loopback, other path":  {"redirect_uri", "http://127.0.0.1:1234/other"},
		"loopback, other class": {"redirect_uri", "https://127.0.0.1:1234/native"},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.get(bySPA(change...).path())
			require.Equal(t, http.StatusBadRequest, p.status)
			require.Empty(t, p.header.Get("Location"))
			require.Contains(t, p.header.Get("Content-Type"), "text/html")
			require.Contains(t, p.body, "<h1>This link cannot sign you in</h1>")
			require.NotContains(t, p.body, "evil")
		})
	}
	twice := bySPA()
	twice.Add("redirect_uri", "https://evil.example/")
	require.Equal(t, http.StatusBadRequest, b.get(twice.path()).status)
}

func TestOtherFaultsAreTheClientsToShow(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	for name, tt := range map[string]struct {
		change []string
		want   string
	}{
		"no challenge":              {[]string{"code_challenge", ""}, "invalid_request"},
		"a short challenge":         {[]string{"code_challenge", "abc"}, "invalid_request"},
		"a challenge of other":      {[]string{"code_challenge", strings.Repeat("=", 43)}, "invalid_request"},
		"plain PKCE":                {[]string{"code_challenge_method", "plain"}, "invalid_request"},
		"no method, which is plain": {[]string{"code_challenge_method", ""}, "invalid_request"},
		"no response type":          {[]string{"response_type", ""}, "invalid_request"},
		"implicit":                  {[]string{"response_type", "id_token token"}, "unsupported_response_type"},
		"a fragment":                {[]string{"response_mode", "fragment"}, "invalid_request"},
		"no scope":                  {[]string{"scope", ""}, "invalid_scope"},
		"no openid":                 {[]string{"scope", "email"}, "invalid_scope"},
		"a request object":          {[]string{"request", "eyJ"}, "request_not_supported"},
		"no number":                 {[]string{"max_age", "-1"}, "invalid_request"},
		"none and more":             {[]string{"prompt", "none login"}, "invalid_request"},
		"a hint of nobody":          {[]string{"id_token_hint", "a.b.c"}, "invalid_request"},
		"nobody is there":           {[]string{"prompt", "none"}, "login_required"},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.get(bySPA(tt.change...).path())
			require.Equal(t, http.StatusFound, p.status)
			query := p.location(t).Query()
			require.True(t, strings.HasPrefix(p.header.Get("Location"), spaHome+"?"))
			require.Equal(t, tt.want, query.Get("error"))
			require.NotEmpty(t, query.Get("error_description"))
			require.Equal(t, "st-1", query.Get("state"))
		})
	}
}

func TestNativeClientsTakeAnyPort(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, redirect := range []string{"http://127.0.0.1:43211/native", "com.shop:/cb"} {
		b := h.browser()
		a := newAuthQuery(spa, redirect)
		at := b.begin(a)
		scheme, _, _ := strings.Cut(redirect, "/native")
		if strings.HasPrefix(redirect, "com.") {
			scheme = "com.shop:"
		}
		require.Contains(t, b.get(at).header.Get("Content-Security-Policy"), "form-action 'self' "+scheme)
		require.NotEmpty(t, b.tokens(a.redeem(b.resume(b.signIn(at, adaMail, adaPass), a)))["access_token"])
	}
}

func TestWhenTheSessionThereIsDoes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole()
	first := b.tokens(a.redeem(b.code(a)))
	straight := func(more ...string) bool {
		p := b.get(byConsole(more...).path())
		require.Equal(t, http.StatusFound, p.status)
		return strings.HasPrefix(p.header.Get("Location"), console)
	}
	require.True(t, straight())
	require.True(t, straight("prompt", "none"))
	require.True(t, straight("max_age", "100"))
	require.True(t, straight("prompt", "consent"), "goes without saying for the console")
	require.True(t, straight("id_token_hint", first["id_token"].(string)))
	require.False(t, straight("prompt", "login"))
	require.False(t, straight("prompt", "select_account"))
	require.False(t, straight("max_age", "0"))
	h.pass(2 * time.Minute)
	require.False(t, straight("max_age", "100"))
	require.Equal(t, "login_required", b.get(byConsole("prompt", "none", "max_age", "100").path()).location(t).Query().Get("error"))

	other := h.browser()
	h.signUp("bob@example.org", adaPass)
	asked := byConsole()
	at := other.begin(asked)
	_ = other.resume(other.signIn(at, "bob@example.org", adaPass), asked)
	p := other.get(byConsole("id_token_hint", first["id_token"].(string)).path())
	require.Regexp(t, `^/oidc/interaction/`, p.header.Get("Location"), "Ada is asked for, and Bob is there")
	p = other.get(other.signIn(p.header.Get("Location"), "bob@example.org", adaPass).header.Get("Location"))
	require.Equal(t, "login_required", p.location(t).Query().Get("error"))
}

func TestVisitorsAndAccessTokensAreNobody(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	visitor, err := h.accounts.Anonymous(t.Context(), h.from())
	require.NoError(t, err)
	for _, token := range []string{visitor.Token, "at:abcdef", "rubbish", ""} {
		p := h.browser().get(byConsole().path(), "Cookie", "access-token="+token)
		require.Regexp(t, `^/oidc/interaction/`, p.header.Get("Location"))
	}
}

// Tokens that were not made for it do not open anything, whoever signed them.
func TestTokensAreOnlyWhatTheyWereMadeFor(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole()
	got := b.tokens(a.redeem(b.code(a)))
	id, access := got["id_token"].(string), got["access_token"].(string)
	require.Equal(t, http.StatusUnauthorized, h.browser().get("/oidc/userinfo", "Authorization", "Bearer "+id).status)

	parts := strings.Split(id, ".")
	hints := map[string]string{
		"an access token": access,
		"without alg":     b64(`{"alg":"none"}`) + "." + parts[1] + ".",
		"a changed claim": parts[0] + "." + b64(`{"iss":"`+h.url+`","sub":"root","aud":["svc-console"],"azp":"svc-console","exp":9999999999,"iat":1}`) + "." + parts[2],
		"cut off":         parts[0] + "." + parts[1],
		"signed with the public key": func() string {
			keys, err := h.keys.PublicKeys(t.Context())
			require.NoError(t, err)
			der, err := x509.MarshalPKIXPublicKey(keys[0].Key)
			require.NoError(t, err)
			head := b64(`{"alg":"HS256","kid":"`+keys[0].KID+`"}`) + "." + parts[1]
			mac := hmac.New(sha256.New, der)
			mac.Write([]byte(head))
			return head + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		}(),
	}
	for name, hint := range hints {
		p := h.browser().get(byConsole("id_token_hint", hint).path())
		require.Equal(t, "invalid_request", p.location(t).Query().Get("error"), name)
		require.Equal(t, http.StatusOK, h.browser().get("/oidc/session/end?id_token_hint="+hint).status)
	}
	require.Equal(t, http.StatusOK, b.get("/oidc/userinfo").status, "and none of them ended the session")
}

func b64(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestDiscoveryAndKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	p := b.get("/.well-known/openid-configuration")
	require.Equal(t, http.StatusOK, p.status)
	doc := p.json(t)
	for name, want := range map[string]any{
		"issuer": h.url, "authorization_endpoint": h.url + "/oidc/auth", "token_endpoint": h.url + "/oidc/token",
		"userinfo_endpoint": h.url + "/oidc/userinfo", "end_session_endpoint": h.url + "/oidc/session/end", "jwks_uri": h.url + "/oidc/jwks",
		"code_challenge_methods_supported": []any{"S256"}, "response_types_supported": []any{"code"},
		"token_endpoint_auth_methods_supported": []any{"none"}, "grant_types_supported": []any{"authorization_code", "refresh_token"},
		"id_token_signing_alg_values_supported": []any{"RS256"},
	} {
		require.Equal(t, want, doc[name], name)
	}
	require.Equal(t, p.body, b.get("/oidc/.well-known/openid-configuration").body)

	keys := b.get("/oidc/jwks")
	require.Contains(t, keys.header.Get("Cache-Control"), "max-age=300")
	for _, key := range keys.json(t)["keys"].([]any) {
		require.NotContains(t, key, "d")
	}
}
