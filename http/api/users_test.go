package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

func TestASuperAdminMakesAUser(t *testing.T) {
	h := openIdentity(t)
	root := h.root()
	got := h.do("POST", "/v2/users", root.bearer(), body(`{"email":"Ada@Example.org","firstName":"Ada","groups":["staff","staff"],"password":"`+password+`"}`))
	require.Equal(t, http.StatusCreated, got.status, got.body)
	made := got.fields(t)
	require.Equal(t, "/v2/users/"+made["id"].(string), got.header.Get("Location"))
	require.Equal(t, "validated", made["status"])
	require.Equal(t, []any{"staff"}, made["groups"])
	require.Equal(t, root.id, made["createdBy"])
	require.Equal(t, made["id"], h.enter("ada@example.org").id)
	require.Empty(t, h.mails)

	invited := h.do("POST", "/v2/users", root.bearer(), body(`{"email":"bob@example.org"}`))
	require.Equal(t, http.StatusCreated, invited.status, invited.body)
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"bob@example.org","password":"x"}`))
	token := h.mail("bob@example.org")
	require.Equal(t, http.StatusOK, h.do("POST", "/v2/user/password", body(`{"token":"`+token+`","password":"`+password+`"}`)).status)
	h.enter("bob@example.org")
	require.Len(t, eventsOf[user.Created](h, domain.State), 3)

	ada := h.enter("ada@example.org")
	for _, c := range []refusal{
		{"a used address", "POST /v2/users", []option{root.bearer(), body(`{"email":"ADA@example.org","password":"long enough"}`)}, 409, "resource_already_exists", `{"field":"email","value":"ada@example.org"}`},
		{"no address", "POST /v2/users", []option{root.bearer(), body(`{}`)}, 400, "missing_parameter", ``},
		{"a bad address", "POST /v2/users", []option{root.bearer(), body(`{"email":"x"}`)}, 422, "validation_failed", ``},
		{"a short password", "POST /v2/users", []option{root.bearer(), body(`{"email":"x@y.z","password":"x"}`)}, 422, "validation_failed", ``},
		{"an unknown field", "POST /v2/users", []option{root.bearer(), body(`{"email":"x@y.z","role":"superAdmin"}`)}, 400, "invalid_request", ``},
		{"by a user", "POST /v2/users", []option{ada.bearer(), body(`{"email":"x@y.z"}`)}, 403, "permission_denied", ``},
		{"by nobody", "POST /v2/users", []option{body(`{"email":"x@y.z"}`)}, 401, "missing_token", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
}

func TestASuperAdminChangesAUser(t *testing.T) {
	h := openIdentity(t)
	h.hide(next)
	root, ada := h.root(), h.newAccount("ada@example.org")
	at := "/v2/users/" + ada.id
	got := h.do("PATCH", at, root.bearer(), body(`{"firstName":"Augusta","email":"Augusta@Example.org","groups":["staff"],"meta":{"a":1}}`))
	require.Equal(t, http.StatusOK, got.status, got.body)
	changed := got.fields(t)
	require.Equal(t, "augusta@example.org", changed["email"])
	require.Equal(t, []any{"staff"}, changed["groups"])
	require.Equal(t, root.id, changed["updatedBy"])
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/me", ada.bearer()).status, "the sessions go on")
	require.Len(t, eventsOf[user.Updated](h, domain.State), 1)

	require.Equal(t, http.StatusOK, h.do("PATCH", at, root.bearer(), body(`{"password":"`+next+`"}`)).status)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.bearer())
	in := h.signedIn(h.login("augusta@example.org", next))
	require.Equal(t, "deactivated", h.do("PATCH", at, root.bearer(), body(`{"status":"deactivated"}`)).fields(t)["status"])
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", in.bearer())
	wrong := h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"augusta@example.org","password":"`+next+`"}`))
	unknown := h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"nobody@example.org","password":"`+next+`"}`))
	require.Equal(t, wrong.fields(t)["message"], unknown.fields(t)["message"])
	causes := []string{}
	for _, e := range eventsOf[session.Ended](h, domain.State) {
		causes = append(causes, e.Cause)
	}
	require.Equal(t, []string{"password", "deactivated"}, causes)

	require.JSONEq(t, `{"id":"`+ada.id+`"}`, h.do("DELETE", at, root.bearer()).body)
	h.requireRefusal(404, "resource_not_found", "", "DELETE "+at, root.bearer())
	h.requireRefusal(404, "resource_not_found", "", "PATCH "+at, root.bearer(), body(`{"firstName":"x"}`))
	require.Equal(t, []user.Deleted{{UserID: ada.id}}, eventsOf[user.Deleted](h, domain.State))
}

func TestASuperAdminRemovesASecondFactor(t *testing.T) {
	h := openIdentity(t)
	root, ada := h.root(), h.newAccount("ada@example.org")
	h.secondFactor(ada)
	h.requireRefusal(422, "validation_failed", "", "PATCH /v2/users/"+ada.id, root.bearer(), body(`{"mfa":"totp"}`))
	require.Equal(t, "none", h.do("PATCH", "/v2/users/"+ada.id, root.bearer(), body(`{"mfa":"none"}`)).fields(t)["mfa"])
	h.enter("ada@example.org")
}

func TestChangesOfUsersThatAreRefused(t *testing.T) {
	h := openIdentity(t)
	root, ada, bob := h.root(), h.newAccount("ada@example.org"), h.newAccount("bob@example.org")
	own, other := "PATCH /v2/users/"+ada.id, "PATCH /v2/users/"+bob.id
	for field, text := range map[string]string{
		"email": `{"email":"eve@example.org"}`, "status": `{"status":"pending"}`, "groups": `{"groups":["admins"]}`,
		"password": `{"password":"long enough"}`, "mfa": `{"mfa":"none"}`,
	} {
		got := h.requireRefusal(403, "permission_denied", "", own, ada.bearer(), body(text))
		require.Equal(t, map[string]any{"field": field}, got.fields(t)["details"])
	}
	require.Equal(t, "Augusta", h.do("PATCH", "/v2/users/"+ada.id, ada.bearer(), body(`{"firstName":"Augusta"}`)).fields(t)["firstName"])
	for _, c := range []refusal{
		{"somebody else", other, []option{ada.bearer(), body(`{"firstName":"x"}`)}, 403, "permission_denied", ``},
		{"somebody who is not there", "PATCH /v2/users/nobody", []option{ada.bearer(), body(`{"firstName":"x"}`)}, 403, "permission_denied", ``},
		{"nobody changes", own, []option{body(`{}`)}, 401, "missing_token", ``},
		{"an unknown field", own, []option{root.bearer(), body(`{"role":"superAdmin"}`)}, 400, "invalid_request", `{"errors":[{"field":"role","message":"unknown field"}]}`},
		{"identities", own, []option{root.bearer(), body(`{"authData":{}}`)}, 400, "invalid_request", ``},
		{"a wrong list", own, []option{root.bearer(), body(`{"groups":"staff"}`)}, 400, "invalid_request", ``},
		{"an unknown status", own, []option{root.bearer(), body(`{"status":"asleep"}`)}, 422, "validation_failed", `{"errors":[{"field":"status","message":"must be pending, validated or deactivated"}]}`},
		{"no status", own, []option{root.bearer(), body(`{"status":null}`)}, 422, "validation_failed", ``},
		{"no address", own, []option{root.bearer(), body(`{"email":null}`)}, 422, "validation_failed", ``},
		{"a short password", own, []option{root.bearer(), body(`{"password":"x"}`)}, 422, "validation_failed", ``},
		{"a used address", own, []option{root.bearer(), body(`{"email":"bob@example.org"}`)}, 409, "resource_already_exists", `{"field":"email","value":"bob@example.org"}`},
		{"an unknown user", "PATCH /v2/users/ffffffffffffffffffffffff", []option{root.bearer(), body(`{"firstName":"x"}`)}, 404, "resource_not_found", `{"resource":"user","id":"ffffffffffffffffffffffff"}`},
		{"what is no id", "PATCH /v2/users/*", []option{root.bearer(), body(`{"firstName":"x"}`)}, 404, "resource_not_found", ``},
		{"delete what is no id", "DELETE /v2/users/" + strings.Repeat("x", 4000), []option{root.bearer()}, 404, "resource_not_found", ``},
		{"a user deletes", "DELETE /v2/users/" + ada.id, []option{ada.bearer()}, 403, "permission_denied", ``},
		{"nobody deletes", "DELETE /v2/users/" + ada.id, nil, 401, "missing_token", ``},
		{"a user lists sessions", "GET /v2/users/" + ada.id + "/sessions", []option{ada.bearer()}, 403, "permission_denied", ``},
		{"a user ends sessions", "DELETE /v2/users/" + bob.id + "/sessions", []option{ada.bearer()}, 403, "permission_denied", ``},
		{"sessions of nobody", "GET /v2/users/ffffffffffffffffffffffff/sessions", []option{root.bearer()}, 404, "resource_not_found", ``},
		{"sessions of what is no id", "DELETE /v2/users/*/sessions", []option{root.bearer()}, 404, "resource_not_found", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
	require.Len(t, eventsOf[user.Updated](h, domain.State), 1)
}

func TestASuperAdminEndsSessions(t *testing.T) {
	h := openIdentity(t)
	root, ada, other, visitor := h.root(), h.newAccount("ada@example.org"), h.enter("ada@example.org"), h.visitor()
	listed := h.do("GET", "/v2/users/"+ada.id+"/sessions", root.bearer()).list(t)
	require.Len(t, listed, 2)
	require.Equal(t, false, listed[0]["current"])
	require.Equal(t, true, h.do("GET", "/v2/users/"+root.id+"/sessions", root.bearer()).list(t)[0]["current"])
	require.JSONEq(t, `{"id":"`+ada.id+`"}`, h.do("DELETE", "/v2/users/"+ada.id+"/sessions", root.bearer()).body)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", ada.bearer())
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", other.bearer())
	require.JSONEq(t, `[]`, h.do("GET", "/v2/users/"+ada.id+"/sessions", root.bearer()).body)
	require.Equal(t, "anonymous", h.do("GET", "/v2/users/"+visitor.id+"/sessions", root.bearer()).list(t)[0]["provider"])
	require.Equal(t, http.StatusOK, h.do("DELETE", "/v2/users/"+visitor.id+"/sessions", root.bearer()).status)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", visitor.bearer())
	require.Len(t, eventsOf[session.Ended](h, domain.State), 3)
}

// ids returns who was found, in order, and how many there are.
func found(t *testing.T, got answer) (ids []string, size int) {
	t.Helper()
	require.Equal(t, http.StatusOK, got.status, got.body)
	fields := got.fields(t)
	for _, item := range fields["contacts"].([]any) {
		ids = append(ids, item.(map[string]any)["id"].(string))
	}
	return ids, int(fields["size"].(float64))
}

func TestFindingPeople(t *testing.T) {
	h := openIdentity(t)
	ada, bob, root := h.newAccount("ada@example.org"), h.newAccount("bob@example.org"), h.root()
	h.do("PATCH", "/v2/users/"+bob.id, root.bearer(), body(`{"groups":["staff"],"status":"pending","lastName":"Babbage"}`))
	find := func(p person, query, text string) ([]string, int) {
		t.Helper()
		return found(t, h.do("POST", "/v2/contacts"+query, p.bearer(), body(text)))
	}
	for text, want := range map[string][]string{
		`{}`:                               {bob.id, ada.id, root.id},
		`{"text":"ADA byron"}`:             {ada.id},
		`{"text":"example.org"}`:           {bob.id, ada.id, root.id},
		`{"email":"ADA@example.org"}`:      {ada.id},
		`{"email":"nobody@example.org"}`:   nil,
		`{"email":""}`:                     nil,
		`{"ids":[]}`:                       nil,
		`{"ids":["` + bob.id + `","x"]}`:   {bob.id},
		`{"firstName":"ad"}`:               {bob.id, ada.id},
		`{"lastName":"bab"}`:               {bob.id},
		`{"authProvider":"svc"}`:           {bob.id, ada.id, root.id},
		`{"authProvider":"acme"}`:          nil,
		`{"status":"pending"}`:             {bob.id},
		`{"groups":["staff","other"]}`:     {bob.id},
		`{"status":"pending","text":"ad"}`: {bob.id},
	} {
		ids, size := find(root, "", text)
		require.Equal(t, want, ids, text)
		require.Equal(t, len(want), size, text)
	}
	ids, size := find(root, "?page=1&limit=2", `{}`)
	require.Equal(t, []string{root.id}, ids)
	require.Equal(t, 3, size)
	ids, _ = find(root, "?createdBefore=2001-01-01T00:00:00Z", `{}`)
	require.Empty(t, ids)
	ids, _ = find(root, "?createdAfter="+url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339)), `{}`)
	require.Len(t, ids, 3)

	seen := h.do("POST", "/v2/contacts", root.bearer(), body(`{"email":"`+rootEmail+`"}`)).fields(t)["contacts"].([]any)[0]
	require.Equal(t, map[string]any{
		"id": root.id, "firstName": "", "lastName": "", "groups": []any{}, "email": rootEmail, "status": "validated", "meta": map[string]any{}, "mfa": "none", "role": "superAdmin",
	}, seen)
	ids, size = find(ada, "", `{"email":"bob@example.org"}`)
	require.Empty(t, ids, "nobody has shown to own the address")
	require.Zero(t, size)
	h.do("PATCH", "/v2/users/"+bob.id, root.bearer(), body(`{"status":"validated"}`))
	seen = h.do("POST", "/v2/contacts", ada.bearer(), body(`{"email":"bob@example.org"}`)).fields(t)["contacts"].([]any)[0]
	require.Equal(t, map[string]any{"id": bob.id, "firstName": "Ada", "lastName": "Babbage", "groups": []any{"staff"}}, seen)
	ids, _ = find(ada, "", `{"ids":["`+bob.id+`","`+root.id+`"]}`)
	require.ElementsMatch(t, []string{bob.id, root.id}, ids)
	ids, _ = find(ada, "", `{"email":""}`)
	require.Empty(t, ids)
}

func TestSearchesThatAreRefused(t *testing.T) {
	h := openIdentity(t)
	ada, root := h.newAccount("ada@example.org").bearer(), h.root().bearer()
	for _, c := range []refusal{
		{"everybody", "POST /v2/contacts", []option{ada}, 400, "missing_parameter", ``},
		{"a text", "POST /v2/contacts", []option{ada, body(`{"text":"a"}`)}, 403, "permission_denied", `{"field":"text"}`},
		{"a text beside an address", "POST /v2/contacts", []option{ada, body(`{"email":"a@b.c","text":""}`)}, 403, "permission_denied", ``},
		{"a name", "POST /v2/contacts", []option{ada, body(`{"firstName":"a"}`)}, 403, "permission_denied", `{"field":"firstName"}`},
		{"another name", "POST /v2/contacts", []option{ada, body(`{"lastName":"a"}`)}, 403, "permission_denied", `{"field":"lastName"}`},
		{"a provider", "POST /v2/contacts", []option{ada, body(`{"authProvider":"svc"}`)}, 403, "permission_denied", `{"field":"authProvider"}`},
		{"a status", "POST /v2/contacts", []option{ada, body(`{"status":"pending"}`)}, 403, "permission_denied", `{"field":"status"}`},
		{"a group", "POST /v2/contacts", []option{ada, body(`{"groups":["a"]}`)}, 403, "permission_denied", `{"field":"groups"}`},
		{"a time", "POST /v2/contacts?createdAfter=2001-01-01T00:00:00Z", []option{ada, body(`{"email":"a@b.c"}`)}, 403, "permission_denied", `{"field":"createdAfter"}`},
		{"a visitor", "POST /v2/contacts", []option{h.visitor().bearer(), body(`{"email":"a@b.c"}`)}, 403, "permission_denied", ``},
		{"nobody", "POST /v2/contacts", []option{body(`{"email":"a@b.c"}`)}, 401, "missing_token", ``},
		{"an unknown status", "POST /v2/contacts", []option{root, body(`{"status":"asleep"}`)}, 422, "validation_failed", `{"errors":[{"field":"status","message":"must be pending, validated or deactivated"}]}`},
		{"too many", "POST /v2/contacts", []option{root, body(`{"ids":["` + strings.Repeat(`x","`, 1000) + `"]}`)}, 422, "validation_failed", `{"errors":[{"field":"ids","message":"must be at most 1000"}]}`},
		{"a wrong list", "POST /v2/contacts", []option{root, body(`{"ids":"x"}`)}, 400, "invalid_request", ``},
		{"an unknown field", "POST /v2/contacts", []option{root, body(`{"phone":"x"}`)}, 400, "invalid_request", ``},
		{"a bad page", "POST /v2/contacts?page=-1", []option{root}, 400, "invalid_parameter", ``},
		{"a bad limit", "POST /v2/contacts?limit=101", []option{root}, 400, "invalid_parameter", ``},
		{"a bad time", "POST /v2/contacts?createdBefore=soon", []option{root}, 400, "invalid_parameter", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
}
