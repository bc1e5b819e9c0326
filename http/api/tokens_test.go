package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"svc/commands/signing"
)

// forge signs the claims of a real token otherwise.
func forge(t *testing.T, real string, method jwt.SigningMethod, secret any, kid string, change jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(real, claims)
	require.NoError(t, err)
	maps.Copy(claims, change)
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	signed, err := token.SignedString(secret)
	require.NoError(t, err)
	return signed
}

// kidOf returns the key that signed a token.
func kidOf(t *testing.T, token string) string {
	t.Helper()
	parsed, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	require.NoError(t, err)
	return parsed.Header["kid"].(string)
}

// sign signs claims with the platform's own key.
func (h *identityService) sign(c signing.Claims) string {
	h.t.Helper()
	token, err := h.keys.Sign(h.t.Context(), c)
	require.NoError(h.t, err)
	return token
}

func TestTokensThatDoNotHold(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	kid := kidOf(t, ada.token)
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := h.keys.JWKS(t.Context())
	require.NoError(t, err)
	good := signing.Claims{SessionID: ada.session, Subject: ada.id, IssuedAt: h.now(), ExpiresAt: h.now().Add(time.Hour)}
	change := func(do func(*signing.Claims)) signing.Claims { c := good; do(&c); return c }
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", as(h.sign(good))).status, "the forger knows how")

	parts := strings.Split(ada.token, ".")
	for name, token := range map[string]string{
		"alg none":                       forge(t, ada.token, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid, nil),
		"HS256 with the public key":      forge(t, ada.token, jwt.SigningMethodHS256, public, kid, nil),
		"a foreign key under our kid":    forge(t, ada.token, jwt.SigningMethodES256, foreign, kid, nil),
		"a foreign kid":                  forge(t, ada.token, jwt.SigningMethodES256, foreign, "nobody", nil),
		"no kid":                         forge(t, ada.token, jwt.SigningMethodES256, foreign, "", nil),
		"another issuer":                 h.sign(change(func(c *signing.Claims) { c.Issuer = "https://evil.example" })),
		"another audience":               h.sign(change(func(c *signing.Claims) { c.Audience = []string{"https://evil.example/v2"} })),
		"a session that never was":       h.sign(change(func(c *signing.Claims) { c.SessionID = uuid.NewString() })),
		"the session of somebody else":   h.sign(change(func(c *signing.Claims) { c.Subject = h.root().id })),
		"no session":                     h.sign(change(func(c *signing.Claims) { c.SessionID = "" })),
		"not yet valid":                  h.sign(change(func(c *signing.Claims) { c.IssuedAt = h.now().Add(5 * time.Minute) })),
		"without the end of its segment": ada.token[:len(ada.token)-5],
		"half":                           ada.token[:len(ada.token)/2],
		"without a signature":            parts[0] + "." + parts[1] + ".",
		"without a body":                 parts[0] + ".." + parts[2],
		"dots":                           "..",
		"a word":                         "token",
		"oversized":                      ada.token + strings.Repeat("A", 20_000),
		"an unknown access token":        "at:" + strings.Repeat("a", 67),
		"an empty access token":          "at:",
	} {
		t.Run(name, func(t *testing.T) {
			got := h.do("GET", "/v2/me", as(token))
			require.Equal(t, 401, got.status, got.body)
			require.Equal(t, "invalid_token", got.fields(t)["error"])
			require.Equal(t, "Bearer", got.header.Get("WWW-Authenticate"))
			require.Equal(t, 401, h.do("GET", "/v2/me", with("Cookie", "access-token="+token)).status, "as a cookie")
			require.Equal(t, 401, h.do("POST", "/v2/login/anonymous", as(token)).status, "on an open route")
		})
	}
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", with("Authorization", "Basic YTpi"))
	h.requireRefusal(401, "missing_token", "", "GET /v2/me?access_token="+ada.token)
}

func TestATokenEndsWithItsTime(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	h.pass(time.Hour + 29*time.Second)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", ada.bearer()).status, "clocks differ")
	h.pass(2 * time.Second)
	h.requireRefusal(401, "token_expired", "", "GET /v2/me", ada.bearer())
}

func TestARevokedKeyEndsItsTokens(t *testing.T) {
	h := openIdentity(t)
	ada, root := h.newAccount("ada@example.org"), h.root()
	require.Equal(t, http.StatusOK, h.do("DELETE", "/sys/jwks/"+kidOf(t, ada.token), root.bearer()).status)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.bearer())
	h.enter("ada@example.org")
}

func TestAScopeOpensItsRoutesOnly(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	narrow := h.sign(signing.Claims{SessionID: ada.session, Subject: ada.id, IssuedAt: h.now(), ExpiresAt: h.now().Add(time.Hour), Scope: "events:read"})
	me := h.do("GET", "/v2/me", as(narrow))
	require.Equal(t, []any{"events:read"}, me.fields(t)["scopes"])
	for _, request := range []string{"PATCH /v2/user", "POST /v2/contacts", "GET /v2/user/sessions", "PATCH /v2/users/" + ada.id, "POST /v2/user/validate"} {
		got := h.requireRefusal(403, "insufficient_scope", "", request, as(narrow), body(`{}`))
		require.Equal(t, map[string]any{"scope": "settings"}, got.fields(t)["details"], request)
	}
	require.Equal(t, http.StatusOK, h.do("POST", "/v2/logout", as(narrow)).status)
}

func TestTheCookieNeedsItsToken(t *testing.T) {
	h := openIdentity(t)
	ada, other := h.newAccount("ada@example.org"), h.newAccount("bob@example.org")
	require.NotEqual(t, ada.csrf, other.csrf)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", ada.cookie()).status, "reading needs none")
	change := body(`{"firstName":"Augusta"}`)
	h.requireRefusal(401, "invalid_token", "csrf", "PATCH /v2/user", ada.cookie(), change)
	h.requireRefusal(401, "invalid_token", "csrf", "PATCH /v2/user", ada.cookie(), change, with("x-svc-csrf-token", other.csrf))
	h.requireRefusal(401, "invalid_token", "csrf", "POST /v2/logout", ada.cookie())
	h.requireRefusal(401, "invalid_token", "csrf", "POST /v2/user/password", ada.cookie(), body(`{"currentPassword":"x","password":"long enough"}`))
	require.Equal(t, "Augusta", h.do("PATCH", "/v2/user", ada.cookieWithCSRF(), change).fields(t)["firstName"])
	require.Equal(t, http.StatusOK, h.do("PATCH", "/v2/user", ada.bearer(), change).status, "a bearer token needs none")
	h.signedIn(h.login("ada@example.org", password, ada.cookie())) // and a login needs none
	require.Equal(t, other.id, h.do("GET", "/v2/me", ada.cookie(), other.bearer()).fields(t)["id"], "the header wins")
	require.Equal(t, http.StatusOK, h.do("POST", "/v2/logout", ada.cookieWithCSRF()).status)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.cookie())
}

func TestAnAPIKeyAloneIsNobody(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	id := h.do("POST", "/v2/workspaces", ada.bearer(), body(`{"name":"Shop"}`)).fields(t)["id"].(string)
	made := h.do("POST", "/v2/workspaces/"+id+"/security/apikeys", ada.bearer(), body(`{"name":"CI","rules":[{"action":"read","subject":"workspaces"}]}`))
	require.Equal(t, http.StatusCreated, made.status, made.body)
	robot := h.hide(made.fields(t)["apiKey"].(string))
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/workspaces/"+id, key(robot)).status)
	h.requireRefusal(401, "missing_token", "", "GET /v2/me", key(robot))
	h.requireRefusal(401, "missing_token", "", "POST /v2/contacts", key(robot))
	h.requireRefusal(403, "insufficient_scope", "session_required", "PATCH /v2/user", key(robot), body(`{}`))
	h.requireRefusal(403, "permission_denied", "", "POST /v2/users", key(robot), body(`{}`))
	h.requireRefusal(401, "invalid_credentials", "", "GET /v2/me", key("sk_unknown"))
	require.Equal(t, ada.id, h.do("GET", "/v2/me", key(robot), ada.bearer()).fields(t)["id"], "beside a user")
}
