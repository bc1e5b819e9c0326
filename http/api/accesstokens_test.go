package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/session"
	"svc/domain/user"
)

func (h *identityService) newAccessToken(p person, options ...option) answer {
	h.t.Helper()
	return h.do("POST", "/v2/user/accessTokens", append(options, p.bearer(), body(`{"name":"CI","expiresAt":"`+h.now().Add(time.Hour).Format(time.RFC3339)+`"}`))...)
}

// accessToken makes an access token that nobody sees again.
func (h *identityService) accessToken(p person) string {
	h.t.Helper()
	got := h.newAccessToken(p)
	require.Equal(h.t, http.StatusCreated, got.status, got.body)
	return h.hide(got.fields(h.t)["token"].(string))
}

// list decodes a JSON list of objects.
func (a answer) list(t *testing.T) (items []map[string]any) {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.NoError(t, json.Unmarshal([]byte(a.body), &items), a.body)
	return items
}

func TestTheLifeOfAnAccessToken(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	require.JSONEq(t, `[]`, h.do("GET", "/v2/user/accessTokens", ada.bearer()).body)
	got := h.newAccessToken(ada)
	require.Equal(t, http.StatusCreated, got.status, got.body)
	made := got.fields(t)
	id, token := made["id"].(string), h.hide(made["token"].(string))
	require.Equal(t, id, made["_id"])
	require.Equal(t, "/v2/user/accessTokens/"+id, got.header.Get("Location"))
	require.True(t, strings.HasPrefix(token, "at:"))
	require.Equal(t, ada.id, made["userId"])
	require.Equal(t, h.now().Add(time.Hour).Format("2006-01-02T15:04:05.000Z"), made["expiresAt"])
	delete(made, "token")
	require.Equal(t, []map[string]any{made}, h.do("GET", "/v2/user/accessTokens", ada.bearer()).list(t), "as a read shows it")
	created := eventsOf[accesstoken.Created](h, domain.State)
	require.Len(t, created, 1)
	require.Equal(t, domain.HashSecret(token), created[0].Hash)

	me := h.do("GET", "/v2/me", as(token))
	require.Equal(t, "at:"+id, me.fields(t)["sessionId"])
	require.Equal(t, made["expiresAt"], me.fields(t)["expires"])
	require.NotContains(t, me.fields(t)["scopes"], "settings")
	require.Equal(t, ada.id, h.do("GET", "/v2/me", with("Cookie", "access-token="+token)).fields(t)["id"])
	require.Eventually(t, func() bool {
		return h.do("GET", "/v2/user/accessTokens", ada.bearer()).list(t)[0]["lastUsedAt"] != nil
	}, patience, 10*time.Millisecond)
	for _, request := range []string{"GET /v2/user/accessTokens", "POST /v2/user/accessTokens", "PATCH /v2/user", "GET /v2/user/sessions", "POST /v2/user/mfa", "DELETE /v2/user"} {
		h.requireRefusal(403, "insufficient_scope", "session_required", request, as(token))
	}
	h.requireRefusal(403, "insufficient_scope", "", "POST /v2/user/password", as(token), body(`{"currentPassword":"x","password":"y"}`))
	h.requireRefusal(403, "insufficient_scope", "", "POST /v2/contacts", as(token), body(`{}`))
	require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/logout", as(token)).body)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", as(token)).status, "it is no session that could end")
	require.Empty(t, eventsOf[session.Ended](h, domain.State))

	require.JSONEq(t, `{"id":"`+id+`"}`, h.do("DELETE", "/v2/user/accessTokens/"+id, ada.bearer()).body)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", as(token))
	h.requireRefusal(404, "resource_not_found", "", "DELETE /v2/user/accessTokens/"+id, ada.bearer())
	require.JSONEq(t, `[]`, h.do("GET", "/v2/user/accessTokens", ada.bearer()).body)
	deleted := eventsOf[accesstoken.Deleted](h, domain.State)
	require.Len(t, deleted, 1)
	require.Equal(t, id, deleted[0].ID)
}

// tokenWithTypo is another token, which differs in one character.
func tokenWithTypo(token string) string {
	other := "A"
	if i := len(token) - 9; token[i:i+1] == other {
		other = "B"
	}
	return token[:len(token)-9] + other + token[len(token)-8:]
}

func TestAnAccessTokenIsRevokedByItsValue(t *testing.T) {
	h := openIdentity(t)
	ada, bob := h.newAccount("ada@example.org"), h.newAccount("bob@example.org")
	token := h.accessToken(ada)
	h.requireRefusal(404, "resource_not_found", "", "DELETE /v2/user/accessTokens/"+token, bob.bearer())
	h.requireRefusal(404, "resource_not_found", "", "DELETE /v2/user/accessTokens/"+tokenWithTypo(token), ada.bearer())
	got := h.do("DELETE", "/v2/user/accessTokens/"+token, ada.bearer())
	require.Regexp(t, `^{"id":"tok_[0-9a-f]{24}"}$`, got.body)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", as(token))
	for _, odd := range []string{"tok_", "at:", "*", "..%2F..", strings.Repeat("x", 4000), "tok_" + strings.Repeat("f", 24)} {
		h.requireRefusal(404, "resource_not_found", "", "DELETE /v2/user/accessTokens/"+odd, ada.bearer())
	}
}

func TestAccessTokensEndWithTheirTimeAndTheirAccount(t *testing.T) {
	h := openIdentity(t)
	ada, root := h.newAccount("ada@example.org"), h.root()
	token := h.accessToken(ada)
	h.do("PATCH", "/v2/users/"+ada.id, root.bearer(), body(`{"status":"deactivated"}`))
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", as(token))
	h.do("PATCH", "/v2/users/"+ada.id, root.bearer(), body(`{"status":"validated"}`))
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", as(token)).status)
	h.pass(time.Hour)
	h.requireRefusal(401, "token_expired", "", "GET /v2/me", as(token))
	super := h.accessToken(h.root())
	require.Equal(t, "superAdmin", h.do("GET", "/v2/me", as(super)).fields(t)["role"])
	h.requireRefusal(403, "insufficient_scope", "", "DELETE /v2/users/"+ada.id, as(super))
}

func TestAccessTokensThatAreRefused(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org").bearer()
	soon := h.now().Add(time.Hour).Format(time.RFC3339)
	for _, c := range []refusal{
		{"no name", "POST /v2/user/accessTokens", []option{ada, body(`{"expiresAt":"` + soon + `"}`)}, 400, "missing_parameter", ``},
		{"no end", "POST /v2/user/accessTokens", []option{ada, body(`{"name":"CI"}`)}, 400, "missing_parameter", `{"parameter":"expiresAt","errors":[{"field":"expiresAt","message":"is required"}]}`},
		{"an end that is a number", "POST /v2/user/accessTokens", []option{ada, body(`{"name":"CI","expiresAt":7}`)}, 400, "invalid_request", ``},
		{"an end in the past", "POST /v2/user/accessTokens", []option{ada, body(`{"name":"CI","expiresAt":"2001-01-01T00:00:00Z"}`)}, 422, "validation_failed", `{"errors":[{"field":"expiresAt","message":"must be in the future"}]}`},
		{"no time", "POST /v2/user/accessTokens", []option{ada, body(`{"name":"CI","expiresAt":"soon"}`)}, 422, "validation_failed", ``},
		{"a date alone", "POST /v2/user/accessTokens", []option{ada, body(`{"name":"CI","expiresAt":"2101-01-01"}`)}, 422, "validation_failed", ``},
		{"an empty name", "POST /v2/user/accessTokens", []option{ada, body(`{"name":"","expiresAt":"` + soon + `"}`)}, 422, "validation_failed", ``},
		{"an unknown field", "POST /v2/user/accessTokens", []option{ada, body(`{"name":"CI","expiresAt":"` + soon + `","scopes":[]}`)}, 400, "invalid_request", ``},
		{"nobody", "POST /v2/user/accessTokens", []option{body(`{}`)}, 401, "missing_token", ``},
		{"nobody lists", "GET /v2/user/accessTokens", nil, 401, "missing_token", ``},
		{"nobody revokes", "DELETE /v2/user/accessTokens/tok_1", nil, 401, "missing_token", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
	require.Empty(t, eventsOf[accesstoken.Created](h, domain.State))
}

func TestARepeatedRequestMakesOneAccessToken(t *testing.T) {
	h := openIdentity(t)
	ada, once := h.newAccount("ada@example.org"), with("Idempotency-Key", "k-1")
	first := h.newAccessToken(ada, once).fields(t)
	h.hide(first["token"].(string))
	again := h.newAccessToken(ada, once)
	require.Equal(t, http.StatusCreated, again.status)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	delete(first, "token")
	require.Equal(t, first, again.fields(t))
	require.Len(t, eventsOf[accesstoken.Created](h, domain.State), 1)
}

func TestAVisitorMakesAnAccessToken(t *testing.T) {
	h := openIdentity(t)
	visitor := h.visitor()
	token := h.accessToken(visitor)
	require.Equal(t, visitor.id, h.do("GET", "/v2/me", as(token)).fields(t)["id"])
	h.requireRefusal(403, "insufficient_scope", "", "POST /v2/contacts", as(token), body(`{"email":"a@b.c"}`))
	require.Len(t, eventsOf[user.Created](h, domain.State), 2)
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	other := h.signedIn(h.login("ada@example.org", password, with("User-Agent", "a browser")))
	bob := h.newAccount("bob@example.org")
	listed := h.do("GET", "/v2/user/sessions", ada.bearer()).list(t)
	require.Len(t, listed, 2)
	byID := map[any]map[string]any{listed[0]["id"]: listed[0], listed[1]["id"]: listed[1]}
	when := h.now().Format("2006-01-02T15:04:05.000Z")
	require.Equal(t, map[string]any{
		"id": other.session, "createdAt": when, "lastSeenAt": when, "expires": h.now().Add(24 * time.Hour).Format("2006-01-02T15:04:05.000Z"),
		"ip": "127.0.0.1", "userAgent": "a browser", "provider": "svc", "mfa": false, "current": false,
	}, byID[other.session])
	require.Equal(t, true, byID[ada.session]["current"])

	h.requireRefusal(404, "resource_not_found", "", "DELETE /v2/user/sessions/"+bob.session, ada.bearer())
	gone := h.do("DELETE", "/v2/user/sessions/"+other.session, ada.bearer())
	require.JSONEq(t, `{"id":"`+other.session+`"}`, gone.body)
	require.Empty(t, gone.header.Get("Set-Cookie"))
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", other.bearer())
	h.requireRefusal(404, "resource_not_found", "", "DELETE /v2/user/sessions/"+other.session, ada.bearer())
	require.Len(t, h.do("GET", "/v2/user/sessions", ada.bearer()).list(t), 1)
	for _, odd := range []string{"*", "%3E", "..%2F..", strings.Repeat("x", 4000), "at:tok_1"} {
		h.requireRefusal(404, "resource_not_found", "", "DELETE /v2/user/sessions/"+odd, ada.bearer())
	}
	own := h.do("DELETE", "/v2/user/sessions/"+ada.session, ada.cookieWithCSRF())
	require.Negative(t, cookieOf(t, own).MaxAge)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.bearer())
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", bob.bearer()).status)
	ended := eventsOf[session.Ended](h, domain.State)
	require.Len(t, ended, 2)
	require.Equal(t, "revoked", ended[0].Cause)
	h.requireRefusal(401, "missing_token", "", "GET /v2/user/sessions")
	h.requireRefusal(401, "missing_token", "", "DELETE /v2/user/sessions/"+ada.session)
}
