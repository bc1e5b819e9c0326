package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/user"
)

// code is what an authenticator app shows now. Each counts once, so that time
// passes before it.
func (h *identityService) code(secret string) string {
	h.t.Helper()
	h.pass(30 * time.Second)
	code, err := totp.GenerateCode(secret, h.now())
	require.NoError(h.t, err)
	return code
}

func totpBody(code string) option { return body(`{"totp":"` + code + `"}`) }

const offerTOTP = `{"method":"totp","currentPassword":"` + password + `"}`

// secondFactor sets up a second factor and returns its secret.
func (h *identityService) secondFactor(p person) string {
	h.t.Helper()
	offer := h.do("POST", "/v2/user/mfa", p.bearer(), body(offerTOTP))
	require.Equal(h.t, http.StatusOK, offer.status, offer.body)
	fields := offer.fields(h.t)
	require.Equal(h.t, "totp", fields["method"])
	secret := h.hide(fields["secret"].(string))
	require.Contains(h.t, h.hide(fields["otpauthUrl"].(string)), secret)
	require.True(h.t, strings.HasPrefix(h.hide(fields["qrImage"].(string)), "data:image/png;base64,"))
	require.JSONEq(h.t, `{"method":"totp"}`, h.do("POST", "/v2/user/mfa", p.bearer(), totpBody(h.code(secret))).body)
	return secret
}

func TestTheSecondFactorIsSetUpShownAndRemoved(t *testing.T) {
	h := openIdentity(t)
	ada, old := h.newAccount("ada@example.org"), h.enter("ada@example.org")
	secret := h.secondFactor(ada)
	require.Equal(t, "totp", h.do("GET", "/v2/me", ada.bearer()).fields(t)["mfa"])
	updates := eventsOf[user.Updated](h, domain.State)
	require.Equal(t, "totp", updates[len(updates)-1].User.MFA)

	login := func(extra string) []option {
		return []option{body(`{"email":"ada@example.org","password":"` + password + `"` + extra + `}`)}
	}
	h.requireRefusal(401, "invalid_credentials", "mfa_required", "POST /v2/login", login("")...)
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"wrong"}`))
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", login(`,"totp":"000000"`)...)
	require.Equal(t, []user.MFAFailed{{Email: "ada@example.org", IP: "127.0.0.1"}}, eventsOf[user.MFAFailed](h, domain.Activity))
	code := h.code(secret)
	in := h.signedIn(h.do("POST", "/v2/login", login(`,"totp":"`+code+`"`)...))
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", login(`,"totp":"`+code+`"`)...)
	require.Len(t, eventsOf[user.CodeAccepted](h, domain.State), 1)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/user/sessions", in.bearer()).status)

	drop := body(`{"method":"none","currentPassword":"` + password + `"}`)
	h.requireRefusal(401, "invalid_credentials", "mfa_required", "POST /v2/user/mfa", old.bearer(), drop)
	h.requireRefusal(401, "invalid_credentials", "mfa_required", "DELETE /v2/user", old.bearer(), body(`{"currentPassword":"`+password+`"}`))
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login/mfa", old.bearer(), totpBody("000000"))
	require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/login/mfa", old.bearer(), totpBody(h.code(secret))).body)
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/user/mfa", old.bearer(), body(`{"method":"none","currentPassword":"wrong"}`))
	require.JSONEq(t, `{"method":"none"}`, h.do("POST", "/v2/user/mfa", old.bearer(), drop).body)
	require.Equal(t, "none", h.do("GET", "/v2/me", old.bearer()).fields(t)["mfa"])
	h.enter("ada@example.org")
}

func TestSecondFactorsThatAreRefused(t *testing.T) {
	h := openIdentity(t)
	ada, visitor := h.newAccount("ada@example.org").bearer(), h.visitor().bearer()
	for _, c := range []refusal{
		{"nothing", "POST /v2/user/mfa", []option{ada, body(`{}`)}, 400, "missing_parameter", `{"parameter":"method","errors":[{"field":"method","message":"is required"}]}`},
		{"another method", "POST /v2/user/mfa", []option{ada, body(`{"method":"sms","currentPassword":"x"}`)}, 422, "validation_failed", `{"errors":[{"field":"method","message":"must be totp or none"}]}`},
		{"no password", "POST /v2/user/mfa", []option{ada, body(`{"method":"totp"}`)}, 400, "missing_parameter", `{"parameter":"currentPassword","errors":[{"field":"currentPassword","message":"is required"}]}`},
		{"a wrong password", "POST /v2/user/mfa", []option{ada, body(`{"method":"totp","currentPassword":"wrong"}`)}, 401, "invalid_credentials", ``},
		{"both at once", "POST /v2/user/mfa", []option{ada, body(`{"method":"totp","totp":"123456"}`)}, 400, "invalid_request", `{"errors":[{"field":"method","message":"does not go with totp"}]}`},
		{"no offer", "POST /v2/user/mfa", []option{ada, totpBody("123456")}, 404, "resource_not_found", ``},
		{"a visitor", "POST /v2/user/mfa", []option{visitor, body(`{"method":"totp"}`)}, 403, "permission_denied", ``},
		{"a visitor confirms", "POST /v2/user/mfa", []option{visitor, totpBody("123456")}, 404, "resource_not_found", ``},
		{"nothing to show", "POST /v2/login/mfa", []option{ada, totpBody("123456")}, 404, "resource_not_found", ``},
		{"a visitor shows", "POST /v2/login/mfa", []option{visitor, totpBody("123456")}, 404, "resource_not_found", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
	require.Empty(t, eventsOf[user.Updated](h, domain.State))
}

func TestARepeatedOfferShowsNoSecret(t *testing.T) {
	h := openIdentity(t)
	ada, once := h.newAccount("ada@example.org"), with("Idempotency-Key", "k-1")
	first := h.do("POST", "/v2/user/mfa", ada.bearer(), once, body(offerTOTP)).fields(t)
	h.hide(first["secret"].(string))
	again := h.do("POST", "/v2/user/mfa", ada.bearer(), once, body(offerTOTP))
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.JSONEq(t, `{"method":"totp"}`, again.body)
}

// Who must have a second factor gets nowhere else before they have shown it.
func TestASessionThatOwesItsSecondFactor(t *testing.T) {
	h := openIdentity(t)
	h.set(func(s *accounts.Settings) { s.ForceMFA = true })
	ada := h.newAccount("ada@example.org")
	for _, request := range []string{"GET /v2/user/sessions", "PATCH /v2/user", "GET /v2/workspaces", "POST /v2/contacts", "POST /v2/user/accessTokens", "DELETE /v2/user",
		"POST /v2/workspaces/w1/webhooks/x", "GET /v2/workspaces/w1/webhooks/x", "GET /v2/workspaces/w1/runs", "GET /v2/workspaces/w1/runs/r1",
		"GET /v2/workspaces/w1/events", "GET /v2/workspaces/w1/events/stream", "GET /v2/workspaces/w1/events/ws", "POST /v2/workspaces/w1/events"} {
		h.requireRefusal(401, "invalid_credentials", "mfa_required", request, ada.bearer())
	}
	change := body(`{"currentPassword":"` + password + `","password":"another long one"}`)
	h.requireRefusal(401, "invalid_credentials", "mfa_required", "POST /v2/user/password", ada.bearer(), change)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", ada.bearer()).status)
	h.requireRefusal(404, "resource_not_found", "", "POST /v2/login/mfa", ada.bearer(), totpBody("123456"))

	secret := h.secondFactor(ada)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/user/sessions", ada.bearer()).status)
	h.requireRefusal(401, "invalid_credentials", "mfa_required", "POST /v2/login", body(`{"email":"ada@example.org","password":"`+password+`"}`))
	in := h.signedIn(h.do("POST", "/v2/login", body(`{"email":"ada@example.org","password":"`+password+`","totp":"`+h.code(secret)+`"}`)))
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/user/sessions", in.bearer()).status)
	require.Equal(t, http.StatusOK, h.do("POST", "/v2/logout", h.newAccount("bob@example.org").bearer()).status)
}

// Whoever guesses is stopped at every door alike.
func TestGuessesAreCountedTogether(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	secret := h.secondFactor(ada)
	h.limit()
	for range 3 {
		h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login/mfa", ada.bearer(), totpBody("000000"))
	}
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/user/mfa", ada.bearer(), body(`{"method":"none","currentPassword":"wrong"}`))
	h.requireRefusal(401, "invalid_credentials", "", "DELETE /v2/user", ada.bearer(), body(`{"currentPassword":"wrong"}`))
	h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/login/mfa", ada.bearer(), totpBody("000000"))
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"wrong"}`))
	h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"`+password+`","totp":"000000"}`))
	h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/user/password", ada.bearer(), body(`{"currentPassword":"wrong","password":"long enough"}`))
	h.pass(time.Minute)
	require.Equal(t, http.StatusOK, h.do("POST", "/v2/login/mfa", ada.bearer(), totpBody(h.code(secret))).status)
}
