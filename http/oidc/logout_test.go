package oidc_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// hintOf returns a token and what it says, unverified.
func (h *fixture) hintOf(token string) (string, map[string]any) {
	h.t.Helper()
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	require.NoError(h.t, err)
	var claims map[string]any
	require.NoError(h.t, json.Unmarshal(body, &claims))
	return token, claims
}

// expired is an identity token of Ada's session whose time is over.
func (h *fixture) expired(session string) string {
	h.t.Helper()
	key, err := h.keys.SigningKey(h.t.Context())
	require.NoError(h.t, err)
	token := jwt.NewWithClaims(jwt.GetSigningMethod(key.Alg), jwt.MapClaims{
		"iss": h.url, "sub": h.ada, "aud": []string{"svc-console"}, "azp": "svc-console", "sid": session,
		"iat": time.Now().Add(-2 * time.Hour).Unix(), "exp": time.Now().Add(-time.Hour).Unix(),
	})
	token.Header["kid"] = key.KID
	text, err := token.SignedString(key.Signer)
	require.NoError(h.t, err)
	return text
}

func TestEndSession(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	signedIn := func(a authQuery) (b *browser, id, session string) {
		h.pass(time.Minute)
		b = h.browser()
		token, claims := h.hintOf(b.tokens(a.redeem(b.code(a)))["id_token"].(string))
		require.True(t, h.live(h.ada, claims["sid"].(string)))
		return b, token, claims["sid"].(string)
	}
	end := func(b *browser, more ...string) page {
		query := url.Values{}
		for i := 0; i < len(more); i += 2 {
			query.Set(more[i], more[i+1])
		}
		return b.get("/oidc/session/end?" + query.Encode())
	}

	b, id, session := signedIn(byConsole())
	p := end(b, "id_token_hint", id, "post_logout_redirect_uri", console+"bye", "state", "s1")
	require.Equal(t, http.StatusFound, p.status)
	require.Equal(t, console+"bye?state=s1", p.header.Get("Location"))
	require.False(t, h.live(h.ada, session))
	require.Empty(t, b.cookie("access-token"))

	b, _, session = signedIn(byConsole())
	p = end(b)
	require.Equal(t, http.StatusOK, p.status)
	require.Contains(t, p.body, "You are signed out")
	require.False(t, h.live(h.ada, session))
	require.Empty(t, b.cookie("access-token"))

	_, _, session = signedIn(byConsole())
	require.Equal(t, http.StatusOK, end(h.browser(), "id_token_hint", h.expired(session)).status)
	require.False(t, h.live(h.ada, session), "by a token that has expired, and without the cookie")

	b, _, _ = signedIn(bySPA())
	for target, ok := range map[string]bool{
		"https://shop.example/":     true,
		"https://evil.example/":     false,
		"https://shop.example.evil": false,
		"http://shop.example/":      false,
		"com.shop:/elsewhere":       false,
		"javascript:alert(1)":       false,
	} {
		p = end(b, "client_id", spa, "post_logout_redirect_uri", target)
		require.Equal(t, ok, p.status == http.StatusFound, target)
		require.Equal(t, http.StatusOK, end(b, "post_logout_redirect_uri", target).status, "of no client")
	}
}

func TestEndSessionOfSomebodyElse(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.signUp("bob@example.org", adaPass)
	ada, bob := h.browser(), h.browser()
	a := byConsole()
	token, claims := h.hintOf(ada.tokens(a.redeem(ada.code(a)))["id_token"].(string))
	got := bob.tokens(a.redeem(bob.resume(bob.signIn(bob.begin(a), "bob@example.org", adaPass), a)))
	_, his := h.hintOf(got["id_token"].(string))

	require.Equal(t, http.StatusOK, bob.get("/oidc/session/end?id_token_hint="+token).status)
	require.False(t, h.live(h.ada, claims["sid"].(string)))
	require.True(t, h.live(his["sub"].(string), his["sid"].(string)), "Bob did not sign out")
	require.Equal(t, http.StatusOK, bob.get("/oidc/userinfo").status, "and keeps his cookie")
}
