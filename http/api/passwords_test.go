package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// mail returns the token of the next mail, which goes to this address.
func (h *identityService) mail(to string) string {
	h.t.Helper()
	select {
	case m := <-h.mails:
		require.Equal(h.t, to, m.to)
		_, token, _ := strings.Cut(m.text, "#token=")
		token, _, _ = strings.Cut(token, "\n")
		return h.hide(token)
	case <-time.After(patience):
		h.t.Fatal("no mail came")
		return ""
	}
}

const next = "another long one"

func TestSigningUp(t *testing.T) {
	h := openIdentity(t)
	h.hide(next)
	got := h.do("POST", "/v2/signup", body(`{"email":"Ada@Example.org","password":"`+next+`","firstName":"Ada","lastName":"Byron","language":"en"}`))
	require.Equal(t, http.StatusCreated, got.status, got.body)
	made := got.fields(t)
	id := made["id"].(string)
	require.Equal(t, "/v2/users/"+id, got.header.Get("Location"))
	require.Equal(t, "auto", made["validation"])
	require.Equal(t, "ada@example.org", made["email"])
	require.Equal(t, "validated", made["status"])
	require.NotEmpty(t, made["createdAt"])
	events := eventsOf[user.SignedUp](h, domain.State)
	require.Len(t, events, 1)
	require.Equal(t, "127.0.0.1", events[0].IP)
	require.Equal(t, id, events[0].User.ID)

	taken := h.requireRefusal(409, "resource_already_exists", "", "POST /v2/signup", body(`{"email":"ADA@example.org","password":"`+next+`","firstName":"E","lastName":"E"}`))
	require.Equal(t, map[string]any{"field": "email", "value": "ada@example.org"}, taken.fields(t)["details"])
	for _, c := range []refusal{
		{"no email", "POST /v2/signup", []option{body(`{"password":"x","firstName":"a","lastName":"b"}`)}, 400, "missing_parameter", ``},
		{"no password", "POST /v2/signup", []option{body(`{"email":"x","firstName":"a","lastName":"b"}`)}, 400, "missing_parameter", ``},
		{"no first name", "POST /v2/signup", []option{body(`{"email":"x","password":"x","lastName":"b"}`)}, 400, "missing_parameter", ``},
		{"no last name", "POST /v2/signup", []option{body(`{"email":"x","password":"x","firstName":"a","lastName":null}`)}, 400, "missing_parameter", `{"parameter":"lastName","errors":[{"field":"lastName","message":"is required"}]}`},
		{"a role of one's choice", "POST /v2/signup", []option{body(`{"email":"x","password":"x","firstName":"a","lastName":"b","status":"validated"}`)}, 400, "invalid_request", `{"errors":[{"field":"status","message":"unknown field"}]}`},
		{"no address", "POST /v2/signup", []option{body(`{"email":"ada","password":"long enough","firstName":"a","lastName":"b"}`)}, 422, "validation_failed", `{"errors":[{"field":"email","message":"must be a mail address"}]}`},
		{"a short password", "POST /v2/signup", []option{body(`{"email":"a@b.c","password":"short","firstName":"a","lastName":"b"}`)}, 422, "validation_failed", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
	h.set(func(s *accounts.Settings) { s.DisableSignup = true })
	h.requireRefusal(403, "permission_denied", "", "POST /v2/signup", body(`{"email":"x@y.z","password":"long enough","firstName":"a","lastName":"b"}`))
	require.Len(t, eventsOf[user.SignedUp](h, domain.State), 1)
}

func TestSignupsAreLimitedByAddress(t *testing.T) {
	h := openIdentity(t)
	h.limit()
	for range 10 {
		h.requireRefusal(400, "missing_parameter", "", "POST /v2/signup", body(`{}`))
	}
	h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/signup", body(`{}`))
	for range 5 {
		h.requireRefusal(400, "missing_parameter", "", "POST /v2/user/password", body(`{}`))
	}
	h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/user/validate", body(`{}`))
}

func TestProvingAnAddress(t *testing.T) {
	h := openIdentity(t)
	h.set(func(s *accounts.Settings) { s.Validation = accounts.ValidationEmail })
	made := h.do("POST", "/v2/signup", body(`{"email":"ada@example.org","password":"`+password+`","firstName":"Ada","lastName":"Byron"}`)).fields(t)
	require.Equal(t, "email", made["validation"])
	require.Equal(t, "pending", made["status"])
	first := h.mail("ada@example.org")
	h.requireRefusal(401, "invalid_credentials", "email_not_validated", "POST /v2/login", body(`{"email":"ada@example.org","password":"`+password+`"}`))
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"wrong"}`))

	for _, email := range []string{"nobody@example.org", "ada@example.org"} {
		require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/user/validate", body(`{"email":"`+email+`"}`)).body)
	}
	second := h.mail("ada@example.org")
	require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/user/validate", body(`{"token":"`+second+`"}`)).body)
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/validate", body(`{"token":"`+second+`"}`))
	require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/user/validate", body(`{"token":"`+first+`"}`)).body, "it proves the same")
	h.enter("ada@example.org")

	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/validate", body(`{"token":"guess"}`))
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/validate", body(`{"email":"no address"}`))
	h.requireRefusal(400, "missing_parameter", "", "POST /v2/user/validate", body(`{}`))
	h.requireRefusal(400, "invalid_request", "", "POST /v2/user/validate", body(`{"email":"a@b.c","token":"x"}`))
}

func TestAnAccountWaitsForASuperAdmin(t *testing.T) {
	h := openIdentity(t)
	h.set(func(s *accounts.Settings) { s.Validation = accounts.ValidationManual })
	made := h.do("POST", "/v2/signup", body(`{"email":"ada@example.org","password":"`+password+`","firstName":"Ada","lastName":"Byron"}`)).fields(t)
	require.Equal(t, "manual", made["validation"])
	h.requireRefusal(401, "invalid_credentials", "manual_validation", "POST /v2/login", body(`{"email":"ada@example.org","password":"`+password+`"}`))
	changed := h.do("PATCH", "/v2/users/"+made["id"].(string), h.root().bearer(), body(`{"status":"validated"}`))
	require.Equal(t, "validated", changed.fields(t)["status"])
	h.enter("ada@example.org")
}

func TestChangingAPassword(t *testing.T) {
	h := openIdentity(t)
	h.hide(next)
	ada, other := h.newAccount("ada@example.org"), h.enter("ada@example.org")
	change := func(current, password string) option {
		return body(jsonOf(t, map[string]string{"currentPassword": current, "password": password}))
	}
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/user/password", ada.bearer(), change("wrong", next))
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/password", ada.bearer(), change(password, "short"))
	h.requireRefusal(401, "missing_token", "", "POST /v2/user/password", change(password, next))
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/user/password", h.visitor().bearer(), change(password, next))
	require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/user/password", ada.bearer(), change(password, next)).body)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", ada.bearer()).status, "one's own session goes on")
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", other.bearer())
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"`+password+`"}`))
	h.signedIn(h.login("ada@example.org", next))
	ended := eventsOf[session.Ended](h, domain.State)
	require.Len(t, ended, 1)
	require.Equal(t, "password", ended[0].Cause)
	require.Equal(t, other.session, ended[0].SessionID)
}

func TestResettingAPassword(t *testing.T) {
	h := openIdentity(t)
	h.hide(next)
	ada := h.newAccount("ada@example.org")
	for _, email := range []string{"nobody@example.org", "ADA@example.org"} {
		require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/user/password", body(`{"email":"`+email+`","language":"en"}`)).body)
	}
	token := h.mail("ada@example.org")
	require.Empty(t, h.mails, "nobody else gets one")
	reset := func(token string) option { return body(jsonOf(t, map[string]string{"token": token, "password": next})) }
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/password", reset("guess"))
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/password", body(`{"token":"`+token+`","password":"short"}`))
	require.JSONEq(t, `{"success":true}`, h.do("POST", "/v2/user/password", reset(token)).body)
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/password", reset(token))
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.bearer())
	h.signedIn(h.login("ada@example.org", next))
	require.Len(t, eventsOf[user.PasswordResetRequested](h, domain.Activity), 2)
	done := eventsOf[user.PasswordReset](h, domain.State)
	require.Len(t, done, 1)
	require.Equal(t, "ada@example.org", done[0].Email)

	h.do("POST", "/v2/user/password", body(`{"email":"ada@example.org"}`))
	late := h.mail("ada@example.org")
	h.pass(time.Hour)
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/password", body(`{"token":"`+late+`","password":"long enough"}`))
}

func TestPasswordBodiesThatAreRefused(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org").bearer()
	for _, c := range []refusal{
		{"nothing", "POST /v2/user/password", []option{body(`{}`)}, 400, "missing_parameter", `{"parameter":"email","errors":[{"field":"email","message":"is required"}]}`},
		{"a password alone", "POST /v2/user/password", []option{body(`{"password":"x"}`)}, 400, "missing_parameter", ``},
		{"no address", "POST /v2/user/password", []option{body(`{"email":"ada"}`)}, 422, "validation_failed", ``},
		{"two forms at once", "POST /v2/user/password", []option{body(`{"email":"a@b.c","token":"x"}`)}, 400, "invalid_request", `{"errors":[{"field":"token","message":"does not go with email"}]}`},
		{"a password for a mail", "POST /v2/user/password", []option{body(`{"email":"a@b.c","password":"x"}`)}, 400, "invalid_request", ``},
		{"a token without a password", "POST /v2/user/password", []option{body(`{"token":"x"}`)}, 400, "missing_parameter", `{"parameter":"password","errors":[{"field":"password","message":"is required"}]}`},
		{"a token and a password too many", "POST /v2/user/password", []option{body(`{"token":"x","password":"y","currentPassword":"z"}`)}, 400, "invalid_request", ``},
		{"no new password", "POST /v2/user/password", []option{ada, body(`{"currentPassword":"x"}`)}, 400, "missing_parameter", ``},
		{"a language for no mail", "POST /v2/user/password", []option{ada, body(`{"currentPassword":"x","password":"y","language":"en"}`)}, 400, "invalid_request", ``},
		{"the internal key", "POST /v2/user/password", []option{key(internalKey), body(`{"currentPassword":"x","password":"y"}`)}, 403, "insufficient_scope", `{"reason":"session_required"}`},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
	h.set(func(s *accounts.Settings) { s.DisableSignin = true })
	h.requireRefusal(403, "permission_denied", "", "POST /v2/user/password", body(`{"email":"ada@example.org"}`))
}
