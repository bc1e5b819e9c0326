package oidc_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
)

func TestTheCodeFlow(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole("scope", "openid profile email offline_access unknown")
	at := b.begin(a)

	p := b.get(at)
	require.Equal(t, http.StatusOK, p.status)
	require.Contains(t, p.body, `autocomplete="current-password"`)
	require.NotContains(t, p.body, "<script")

	answer := b.signIn(at, " Ada@Example.org ", adaPass)
	require.Equal(t, http.StatusFound, answer.status, answer.body)
	code := b.resume(answer, a)
	got := b.tokens(a.redeem(code))
	require.Equal(t, "Bearer", got["token_type"])
	require.InDelta(t, 3600, got["expires_in"], 1)
	require.NotEmpty(t, got["refresh_token"])

	claims, err := h.keys.Verify(t.Context(), got["access_token"].(string))
	require.NoError(t, err)
	require.Equal(t, h.ada, claims.Subject)
	require.Equal(t, "svc-console", claims.ClientID)
	require.Equal(t, h.url, claims.Issuer)
	require.Equal(t, []string{h.url + "/v2"}, claims.Audience)
	require.NotEmpty(t, claims.ID)
	require.Equal(t, got["scope"], claims.Scope)
	require.Contains(t, claims.Scope, "workspaces:write", "the console gets all")
	require.NotContains(t, claims.Scope, "unknown")
	require.True(t, h.live(h.ada, claims.SessionID))
	require.Equal(t, got["access_token"], b.cookie("access-token"), "signed in, too")

	h.checkIDToken(t, got, claims.SessionID)
	info := b.get("/oidc/userinfo", "Authorization", "Bearer "+got["access_token"].(string))
	require.Equal(t, http.StatusOK, info.status)
	require.Subset(t, info.json(t), map[string]any{
		"sub": h.ada, "firstName": "Ada", "lastName": "Lovelace", "language": "en", "email": adaMail, "email_verified": false, "mfa": "none",
	})

	again := byConsole()
	second := b.tokens(again.redeem(b.returned(b.get(again.path()), again)))
	claims2, err := h.keys.Verify(t.Context(), second["access_token"].(string))
	require.NoError(t, err)
	require.Equal(t, claims.SessionID, claims2.SessionID, "straight back with the session there is")
	require.NotContains(t, second, "refresh_token")
}

// checkIDToken verifies an identity token as any client would.
func (h *fixture) checkIDToken(t *testing.T, got map[string]any, sessionID string) {
	t.Helper()
	provider, err := goidc.NewProvider(t.Context(), h.url)
	require.NoError(t, err)
	id, err := provider.Verifier(&goidc.Config{ClientID: "svc-console"}).Verify(t.Context(), got["id_token"].(string))
	require.NoError(t, err)
	require.NoError(t, id.VerifyAccessToken(got["access_token"].(string)))
	require.Equal(t, h.ada, id.Subject)
	require.Equal(t, "no-1", id.Nonce)
	require.Equal(t, []string{"svc-console"}, id.Audience, "never the API")
	require.WithinDuration(t, time.Now().Add(time.Hour), id.Expiry, time.Minute)
	var more map[string]any
	require.NoError(t, id.Claims(&more))
	require.Equal(t, sessionID, more["sid"])
	require.Equal(t, []any{"pwd"}, more["amr"])
	require.Equal(t, adaMail, more["email"])
	require.NotContains(t, more, "meta")
}

func TestEveryStepMayMeetAnotherNode(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser() // browsers do not tell ports of one host apart
	there := h.another()
	a := bySPA("scope", "openid offline_access")
	at := b.begin(a)
	require.Equal(t, http.StatusOK, b.get(there+at).status)
	p := b.post(there+at+"/login", url.Values{"login": {adaMail}, "password": {adaPass}})
	code := b.returned(b.get(h.url+p.header.Get("Location")), a)
	answer := b.post(there+"/oidc/token", a.redeem(code))
	require.Equal(t, http.StatusOK, answer.status, answer.body)
	token := answer.json(t)["refresh_token"].(string)
	require.NotEmpty(t, b.tokens(refresh(spa, token)))
	require.Equal(t, http.StatusBadRequest, b.post(there+"/oidc/token", refresh(spa, token)).status, "used there, refused here")
}

func TestRefreshTokensChangeAtEachUse(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := bySPA("scope", "openid offline_access events:read files:read")
	first := b.tokens(a.redeem(b.code(a)))
	token := first["refresh_token"].(string)

	b.requireTokenRefusal(refresh(spa, token, "scope", "openid settings"), 400, "invalid_scope")
	b.requireTokenRefusal(refresh("svc-console", token), 400, "invalid_grant")
	second := b.tokens(refresh(spa, token, "scope", "openid events:read"))
	require.Equal(t, "openid events:read", second["scope"])
	third := b.tokens(refresh(spa, second["refresh_token"].(string)))
	require.Equal(t, first["scope"], third["scope"], "what was given at first can be had again")

	claims, err := h.keys.Verify(t.Context(), third["access_token"].(string))
	require.NoError(t, err)
	require.True(t, h.live(h.ada, claims.SessionID))
	b.requireTokenRefusal(refresh(spa, token), 400, "invalid_grant")
	require.False(t, h.live(h.ada, claims.SessionID), "who shows a used one ends the session")
	b.requireTokenRefusal(refresh(spa, third["refresh_token"].(string)), 400, "invalid_grant")
}

func TestACodeWorksOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole()
	code := b.code(a)
	got := b.tokens(a.redeem(code))
	claims, err := h.keys.Verify(t.Context(), got["access_token"].(string))
	require.NoError(t, err)
	b.requireTokenRefusal(a.redeem(code), 400, "invalid_grant")
	require.False(t, h.live(h.ada, claims.SessionID))
	require.Equal(t, http.StatusUnauthorized, b.get("/oidc/userinfo", "Authorization", "Bearer "+got["access_token"].(string)).status)
	require.Regexp(t, `^/oidc/interaction/`, b.get(a.path()).header.Get("Location"), "nobody is signed in any more")
}

func TestOfManyWhoShowACodeOneIsServedAtMost(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole()
	code := b.code(a)
	var mu sync.Mutex
	served := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, h.url+"/oidc/token", strings.NewReader(a.redeem(code).Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			answer, err := http.DefaultClient.Do(r)
			if err == nil {
				answer.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil && answer.StatusCode == http.StatusOK {
				served++
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, served, 1)
}

func TestACodeIsForWhoAskedForIt(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for name, change := range map[string][]string{
		"another verifier": {"code_verifier", strings.Repeat("v", 43)},
		"another client":   {"client_id", "svc-console"},
		"another redirect": {"redirect_uri", "https://shop.example/other"},
	} {
		t.Run(name, func(t *testing.T) {
			b := h.browser()
			a := bySPA()
			code := b.code(a)
			b.requireTokenRefusal(a.redeem(code, change...), 400, "invalid_grant")
			b.requireTokenRefusal(a.redeem(code), 400, "invalid_grant")
			h.pass(time.Minute) // the limit of sign-ins
		})
	}
}

func TestATokenRequestThatIsWrong(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole()
	b.requireTokenRefusal(a.redeem("never"), 400, "invalid_grant")
	b.requireTokenRefusal(a.redeem("never", "client_id", "nobody"), 401, "invalid_client")
	b.requireTokenRefusal(a.redeem("never", "client_id", h.url+"/v2"), 401, "invalid_client")
	b.requireTokenRefusal(a.redeem("never", "code_verifier", ""), 400, "invalid_request")
	b.requireTokenRefusal(a.redeem("never", "grant_type", "password"), 400, "unsupported_grant_type")
	b.requireTokenRefusal(a.redeem("never", "grant_type", ""), 400, "invalid_request")
	b.requireTokenRefusal(refresh("svc-console", ""), 400, "invalid_request")
	b.requireTokenRefusal(refresh("svc-console", "never"), 400, "invalid_grant")
	twice := a.redeem("never")
	twice.Add("code", "again")
	b.requireTokenRefusal(twice, 400, "invalid_request")

	p := b.post("/oidc/token", a.redeem("never"), "Content-Type", "application/json")
	require.Equal(t, http.StatusUnsupportedMediaType, p.status)
	p = b.post("/oidc/token", a.redeem("never"), "Authorization", "Basic c3ZjLWNvbnNvbGU6c2VjcmV0")
	require.Equal(t, http.StatusUnauthorized, p.status)
	p = b.post("/oidc/token", url.Values{"code": {strings.Repeat("x", 100_000)}})
	require.Equal(t, http.StatusRequestEntityTooLarge, p.status)
}

func TestWhatTheStoreKeepsOpensNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := bySPA("scope", "openid offline_access")
	at := b.begin(a)
	secret := b.cookie("svc-signin")
	require.NotEmpty(t, secret)
	code := b.resume(b.signIn(at, adaMail, adaPass), a)
	token := b.tokens(a.redeem(code))["refresh_token"].(string)
	for _, key := range []string{"code/" + code, "refresh/" + token, "origin/" + code} {
		_, ok, err := h.records.Get(t.Context(), key)
		require.NoError(t, err)
		require.False(t, ok)
	}
	h.requireAbsent(code, token, secret, adaPass)
}
