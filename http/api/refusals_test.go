package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// refusal is a request and the error it must meet.
type refusal struct {
	name    string
	request string // method and path; {w} is a workspace that exists
	options []option
	status  int
	code    string
	details string // JSON; empty: not looked at
}

func (c refusal) check(t *testing.T, h *testService, id string) {
	t.Helper()
	method, path, _ := strings.Cut(c.request, " ")
	got := h.do(method, strings.ReplaceAll(path, "{w}", id), c.options...)
	require.Equal(t, c.status, got.status, got.body)
	fields := got.fields(t)
	require.Equal(t, c.code, fields["error"], got.body)
	require.Equal(t, got.header.Get("X-Correlation-Id"), fields["requestId"])
	if field, ok := strings.CutPrefix(c.details, "field "); ok {
		require.Contains(t, jsonOf(t, fields["details"]), fmt.Sprintf(`"field":%q`, field))
	} else if c.details != "" {
		require.JSONEq(t, c.details, jsonOf(t, fields["details"]))
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	h := open(t)
	id, _ := h.shop()
	alice := as("alice")
	long := strings.Repeat("x", 61)
	for _, c := range []refusal{
		{"malformed", "POST /v2/workspaces", []option{alice, body(`{"name":`)}, 400, "invalid_request", ``},
		{"not an object", "POST /v2/workspaces", []option{alice, body(`["name"]`)}, 400, "invalid_request", ``},
		{"null", "POST /v2/workspaces", []option{alice, body(`null`)}, 400, "invalid_request", ``},
		{"two values", "POST /v2/workspaces", []option{alice, body(`{"name":"a"} {}`)}, 400, "invalid_request", ``},
		{"not UTF-8", "POST /v2/workspaces", []option{alice, body("{\"name\":\"\xff\"}")}, 400, "invalid_request", ``},
		{"unknown field", "POST /v2/workspaces", []option{alice, body(`{"nmae":"a"}`)}, 400, "invalid_request", `field nmae`},
		{"duplicate key", "POST /v2/workspaces", []option{alice, body(`{"name":"a","name":"b"}`)}, 400, "invalid_request", `field name`},
		{"wrong type", "POST /v2/workspaces", []option{alice, body(`{"name":7}`)}, 400, "invalid_request", `field name`},
		{"wrong list", "POST /v2/workspaces", []option{alice, body(`{"name":"a","labels":"b"}`)}, 400, "invalid_request", `field labels`},
		{"wrong item", "POST /v2/workspaces", []option{alice, body(`{"name":"a","labels":["ok",7]}`)}, 400, "invalid_request", `field labels[1]`},
		{"missing name", "POST /v2/workspaces", []option{alice, body(`{"description":"a"}`)}, 400, "missing_parameter", `field name`},
		{"null name", "POST /v2/workspaces", []option{alice, body(`{"name":null}`)}, 400, "missing_parameter", ``},
		{"no body", "POST /v2/workspaces", []option{alice}, 400, "missing_parameter", ``},
		{"half a surrogate", "POST /v2/workspaces", []option{alice, body(`{"name":"\ud800"}`)}, 400, "invalid_request", `field name`},
		{"a photo that runs", "POST /v2/workspaces", []option{alice, body(`{"name":"a","photo":"javascript:alert(1)"}`)}, 422, "validation_failed", ``},
		{"a logo that runs", "PATCH /v2/workspaces/{w}", []option{alice, body(`{"logo":"data:text/html,x"}`)}, 422, "validation_failed", ``},
		{"a long description", "PATCH /v2/workspaces/{w}", []option{alice, body(`{"description":"` + strings.Repeat("x", 10001) + `"}`)}, 422, "validation_failed", ``},
		{"empty name", "POST /v2/workspaces", []option{alice, body(`{"name":""}`)}, 422, "validation_failed", ``},
		{"too long name", "POST /v2/workspaces", []option{alice, body(`{"name":"` + long + `"}`)}, 422, "validation_failed", `field name`},
		{"control character", "POST /v2/workspaces", []option{alice, body(`{"name":"a\u0007"}`)}, 422, "validation_failed", ``},
		{"bad label", "POST /v2/workspaces", []option{alice, body(`{"name":"a","labels":["no space"]}`)}, 422, "validation_failed", `field labels[0]`},
		{"photo and logo differ", "POST /v2/workspaces", []option{alice, body(`{"name":"a","photo":"x","logo":"y"}`)}, 422, "validation_failed", `{"errors":[{"field":"logo","message":"is another name of photo: they must not differ"}]}`},
		{"name removed", "PATCH /v2/workspaces/{w}", []option{alice, body(`{"name":null}`)}, 400, "missing_parameter", `field name`},
		{"changed to a bad name", "PATCH /v2/workspaces/{w}", []option{alice, body(`{"name":"` + long + `"}`)}, 422, "validation_failed", ``},
		{"change of an unknown field", "PATCH /v2/workspaces/{w}", []option{alice, body(`{"colour":"x"}`)}, 400, "invalid_request", `field colour`},
		{"too large", "POST /v2/workspaces", []option{alice, body(`{"name":"` + strings.Repeat("x", 1<<20) + `"}`)}, 413, "invalid_request", ``},
		{"not JSON", "POST /v2/workspaces", []option{alice, body(`name=a`), func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }}, 415, "invalid_request", `{"reason":"unsupported_media_type"}`},
		{"no level", "PUT /sys/logging", []option{as("root"), body(`{}`)}, 400, "missing_parameter", `{"parameter":"level","errors":[{"field":"level","message":"is required"}]}`},
		{"unknown level", "PUT /sys/logging", []option{as("root"), body(`{"level":"loud"}`)}, 422, "validation_failed", `{"errors":[{"field":"level","message":"must be one of debug, error, info, warn"}]}`},
		{"level and more", "PUT /sys/logging", []option{as("root"), body(`{"level":"info","part":"x"}`)}, 400, "invalid_request", `{"errors":[{"field":"part","message":"unknown field"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h, id) })
	}
	require.Len(t, h.facts(id), 1, "nothing that was refused is recorded")
	require.Zero(t, h.level)
}

func TestCallersThatAreRefused(t *testing.T) {
	h := open(t)
	id, _ := h.shop()
	name := body(`{"name":"a"}`)
	for _, c := range []refusal{
		{"nobody creates", "POST /v2/workspaces", []option{name}, 401, "missing_token", ``},
		{"a stranger", "POST /v2/workspaces", []option{as("mallory"), name}, 401, "invalid_token", ``},
		{"an API key creates", "POST /v2/workspaces", []option{key("robot"), name}, 401, "missing_token", ``},
		{"a token without the scope", "POST /v2/workspaces", []option{as("narrow"), name}, 403, "insufficient_scope", `{"scope":"workspaces:write"}`},
		{"nobody reads", "GET /v2/workspaces/{w}", nil, 401, "missing_token", ``},
		{"no right at all", "GET /v2/workspaces/{w}", []option{as("carol")}, 403, "workspace_access_denied", ``},
		{"no right at all where nothing is", "GET /v2/workspaces/nowhere", []option{as("carol")}, 403, "workspace_access_denied", ``},
		{"a reader changes", "PATCH /v2/workspaces/{w}", []option{as("bob"), name}, 403, "permission_denied", `{"action":"update","subject":"workspaces"}`},
		{"the internal key in a workspace", "GET /v2/workspaces/{w}", []option{key(internalKey)}, 403, "permission_denied", ``},
		{"unknown workspace", "GET /v2/workspaces/nowhere", []option{as("alice")}, 404, "resource_not_found", `{"resource":"workspace","id":"nowhere"}`},
		{"change of an unknown workspace that was seen", "PATCH /v2/workspaces/nowhere", []option{as("alice"), name, with("If-Match", `"1a"`)}, 404, "resource_not_found", `{"resource":"workspace","id":"nowhere"}`},
		{"change of an unknown workspace", "PATCH /v2/workspaces/nowhere", []option{as("alice"), name}, 404, "resource_not_found", `{"resource":"workspace","id":"nowhere"}`},
		{"nobody sees settings", "GET /sys/config", nil, 401, "missing_token", ``},
		{"a wrong key", "GET /sys/config", []option{key(internalKey + "x")}, 401, "invalid_credentials", ``},
		{"a user sees settings", "GET /sys/config", []option{as("alice")}, 403, "permission_denied", ``},
		{"a user changes logging", "PUT /sys/logging", []option{as("alice"), body(`{"level":"debug"}`)}, 403, "permission_denied", ``},
		{"a user rebuilds", "POST /sys/readmodels/rebuild", []option{as("alice")}, 403, "permission_denied", ``},
		{"nobody verifies", "POST /sys/readmodels/verify", nil, 401, "missing_token", ``},
		{"nobody reads metrics", "GET /metrics", nil, 401, "missing_token", ``},
		{"a super admin reads metrics", "GET /metrics", []option{as("root")}, 403, "permission_denied", ``},
		{"a user tests readiness", "GET /v2/readiness", []option{as("alice")}, 403, "permission_denied", ``},
		{"nobody tests readiness", "GET /v2/readiness", nil, 401, "missing_token", ``},
		{"a super admin asks a service", "GET /v2/events/readiness", []option{as("root")}, 403, "permission_denied", ``},
		{"the internal key as a bearer elsewhere", "GET /sys/config", []option{as(internalKey)}, 401, "invalid_token", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h, id) })
	}
	require.Len(t, h.facts(id), 1)
}

func TestRequestsThatAreRefused(t *testing.T) {
	h := open(t)
	id, _ := h.shop()
	alice := as("alice")
	for _, c := range []refusal{
		{"unknown route", "GET /v2/nothing", []option{alice}, 404, "resource_not_found", `{"resource":"route"}`},
		{"unknown plain route", "GET /nothing", nil, 404, "resource_not_found", `{"resource":"route"}`},
		{"a versioned path without version", "POST /workspaces", []option{alice, body(`{"name":"a"}`)}, 404, "resource_not_found", ``},
		{"an unknown file of the page", "GET /docs/other.js", nil, 404, "resource_not_found", `{"resource":"asset","id":"other.js"}`},
		{"wrong method", "PUT /v2/workspaces/{w}", []option{alice}, 405, "invalid_request", `{"reason":"method_not_allowed"}`},
		{"retired version", "GET /v1/workspaces/{w}", []option{alice}, 410, "invalid_request", `{"reason":"api_version_retired","retiredOn":"2025-12-31","migrateTo":"v2"}`},
		{"not a date", "GET /v2/workspaces/{w}", []option{alice, with("X-Svc-API-Version", "latest")}, 400, "invalid_parameter", `{"parameter":"X-Svc-API-Version"}`},
		{"not a position", "GET /v2/workspaces/{w}", []option{alice, with("x-svc-min-seq", "garbage!")}, 400, "invalid_parameter", `{"parameter":"x-svc-min-seq"}`},
		{"a position out of range", "GET /v2/workspaces/{w}", []option{alice, with("x-svc-min-seq", "18446744073709551616")}, 400, "invalid_parameter", `{"parameter":"x-svc-min-seq"}`},
		{"an earlier version", "GET /v2/workspaces/{w}?version=1", []option{alice}, 404, "resource_not_found", `{"resource":"version","id":"1"}`},
		{"a time before it was there", "GET /v2/workspaces/{w}?at=2025-01-01T00:00:00Z", []option{alice}, 404, "resource_not_found", ``},
		{"an earlier position", "GET /v2/workspaces/{w}?atSeq=x", []option{alice}, 400, "invalid_parameter", ``},
		{"a query that is none", "GET /v2/workspaces/{w}?%zz", []option{alice}, 400, "invalid_parameter", `{"parameter":"query"}`},
		{"bad idempotency key", "POST /v2/workspaces", []option{alice, with("Idempotency-Key", strings.Repeat("k", 256)), body(`{"name":"a"}`)}, 400, "invalid_parameter", `{"parameter":"Idempotency-Key"}`},
		{"unknown service", "GET /v2/readiness?services=events,mail", []option{as("root")}, 400, "invalid_parameter", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h, id) })
	}
	wrong := h.do("PUT", "/v2/workspaces/"+id, alice)
	require.Equal(t, "GET, HEAD, PATCH, DELETE, OPTIONS", wrong.header.Get("Allow"))
	retired := h.do("GET", "/v1/anything")
	require.Equal(t, "Wed, 31 Dec 2025 00:00:00 GMT", retired.header.Get("Sunset"))
	require.Equal(t, `</v2>; rel="successor-version"`, retired.header.Get("Link"))
}

func TestErrorsOfV3AreNested(t *testing.T) {
	h := open(t)
	got := h.do("GET", "/v3/workspaces/nowhere", as("alice"))
	require.Equal(t, http.StatusNotFound, got.status)
	nested := got.fields(t)["error"].(map[string]any)
	require.Equal(t, "resource_not_found", nested["code"])
	require.Equal(t, map[string]any{"resource": "workspace", "id": "nowhere"}, nested["details"])
	require.Equal(t, got.header.Get("X-Correlation-Id"), nested["requestId"])
}

func TestALimitIsShownAndKept(t *testing.T) {
	h := open(t)
	var last answer
	for range 121 { // 61 of them are in one minute
		if last = h.do("POST", "/v2/workspaces", as("alice"), body(`{}`)); last.status == http.StatusTooManyRequests {
			break
		}
	}
	require.Equal(t, http.StatusTooManyRequests, last.status)
	details := last.fields(t)["details"].(map[string]any)
	require.Equal(t, "createWorkspace", details["name"])
	require.NotEmpty(t, last.header.Get("Retry-After"))
	require.Equal(t, "0", last.header.Get("X-RateLimit-Remaining"))
}

// Errors of callers with a right in the workspace are recorded there.
func TestARefusalIsRecordedInTheWorkspace(t *testing.T) {
	h := open(t)
	id, _ := h.shop()
	refused := h.do("PATCH", "/v2/workspaces/"+id, as("bob"), body(`{"name":"a"}`))
	ctx, found := context.WithTimeout(t.Context(), patience)
	defer found()
	var event domain.Recorded
	_ = h.log.Log.Subscribe(ctx, domain.Activity, 1, func(b eventstore.Batch) error {
		if len(b.Events) > 0 {
			event = b.Events[0]
			found()
		}
		return nil
	})
	require.Equal(t, id, event.Stream.Scope)
	require.Equal(t, refused.header.Get("X-Correlation-Id"), event.Meta.CorrelationID)
	failure, _ := event.Data.(activity.Failure)
	require.Equal(t, "permission_denied", failure.Error)
}
