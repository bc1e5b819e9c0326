package automations_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Pages of other sites may call endpoints and read their answers, refusals too, but never
// as the person who sits before the browser.
func TestEndpointsAnswerEveryOrigin(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "CORS_ADDITIONAL_ALLOWED_ORIGINS=https://trusted.example")
	p := w.NewWorkspace(t).AddAutomations(t, `
open: {when: {endpoint: true}, do: [{set $http.headers: {x-own: 1, access-control-allow-origin: 'https://only.example'}}], output: {k: 1}}
chunks: {when: {endpoint: true}, do: [{set $http.chunk: 1}], output: {}}`)
	from := func(origin string) http.Header { return http.Header{"Origin": {origin}} }
	const stranger = "https://elsewhere.example"
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		asked := nodetest.WithHeader(nodetest.WithHeader(from(stranger), "Access-Control-Request-Method", method), "Access-Control-Request-Headers", "content-type,x-signature")
		preflight := p.Service.SendAs(t, "OPTIONS", p.Path+"/webhooks/open", "", asked, "")
		require.Equal(t, 204, preflight.StatusCode)
		require.Equal(t, "*", preflight.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, preflight.Header.Get("Access-Control-Allow-Headers"), "*")
		require.Empty(t, preflight.Header.Get("Access-Control-Allow-Credentials"))
		for path, status := range map[string]int{"open": 200, "chunks": 200, "nowhere": 404} {
			got := p.Service.SendAs(t, method, p.Path+"/webhooks/"+path, "", from(stranger), "")
			require.Equal(t, status, got.StatusCode)
			require.Equal(t, []string{"*"}, got.Header.Values("Access-Control-Allow-Origin"), "%s %s", method, path)
			require.Equal(t, "*", got.Header.Get("Access-Control-Expose-Headers"), "headers of the automation, too")
			require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"))
			require.Contains(t, got.Header.Values("Vary"), "Origin", "a cache must not give it to whom we trust")
		}
	}
	trusted := p.Service.SendAs(t, "GET", p.Path+"/webhooks/open", "", from("https://trusted.example"), "")
	require.Equal(t, "https://trusted.example", trusted.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", trusted.Header.Get("Access-Control-Allow-Credentials"))
	for _, path := range []string{"/runs", "/events", "/test/open"} {
		require.Empty(t, p.Service.Call(t, "GET", p.Path+path, from(stranger), "").Header.Get("Access-Control-Allow-Origin"), path)
	}
}

// JSON is any JSON: only what is broken is refused.
func TestEndpointsTakeAnyJSON(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t).AddAutomations(t, `e: {when: {endpoint: true}, do: [], output: {b: '{{body}}', raw: '{{rawBody}}'}}`)
	for sent, want := range map[string]string{
		`[1, {"a": null}]`: `{"b":[1,{"a":null}],"raw":"[1, {\"a\": null}]"}`, `"x"`: `{"b":"x","raw":"\"x\""}`,
		`7`: `{"b":7,"raw":"7"}`, `true`: `{"b":true,"raw":"true"}`, ` null`: `{"b":null,"raw":" null"}`, `{"z":1}`: `{"b":{"z":1},"raw":"{\"z\":1}"}`,
	} {
		for _, media := range []string{"application/json", "application/cloudevents-batch+json"} {
			require.JSONEq(t, want, string(p.CallEndpoint(t, 200, "POST", "e", sent, "Content-Type", media).Body), "%s %s", media, sent)
		}
	}
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, broken := range []string{`[1,]`, `[`, `nil`, `1 2`, ` `, "\"\xff\"", `[{"a":1,"a":2}]`, `"\ud800"`, deep} {
		p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/webhooks/e", broken)
	}
}

// What is wrong with a request is told as everywhere else.
func TestBadCallsOfEndpointsAndTests(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [], output: {r: '{{a}}'}}`)
	for _, query := range []string{"?q=a;b", "?q=%zz", "?%=1"} {
		require.Equal(t, "query", p.RequireRefusal(t, 400, "invalid_parameter", "GET", p.Path+"/webhooks/t"+query, "")["parameter"])
	}
	faults := func(body string) any {
		t.Helper()
		return p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/test/t", body)["errors"]
	}
	require.Equal(t, []any{map[string]any{"field": "paylod", "message": "unknown field"}}, faults(`{"paylod":{}}`))
	require.Equal(t, []any{map[string]any{"field": "payload.a", "message": "given twice"}}, faults(`{"payload":{"a":1,"a":2}}`))
	for _, payload := range []string{`[]`, `"x"`, `1`, `false`} {
		require.Equal(t, []any{map[string]any{"field": "payload", "message": "must be an object"}}, faults(`{"payload":`+payload+`}`), payload)
	}
	for _, body := range []string{`[]`, `"x"`, `7`, `null`, `{`} {
		p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/test/t", body)
	}
	for _, body := range []string{``, `{}`, `{"payload":null}`, `{"payload":{}}`} {
		require.JSONEq(t, `{}`, string(p.Do(t, 200, "POST", p.Path+"/test/t", body).Body), body)
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		p.RequireRefusal(t, 415, "invalid_request", "POST", p.Path+"/test/t", `{"payload":{"a":1}}`, "Content-Type", media)
	}
}

// An endpoint that does not answer says the same whatever there is: not even whose slug a
// slug is.
func TestAnUnknownEndpointTellsNothing(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
hidden: {private: true, when: {endpoint: true}, do: [], output: served}
off: {disabled: true, when: {endpoint: true}, do: []}`)
	p.Do(t, 200, "PATCH", p.Path, `{"slug":"known"}`)
	for _, endpoint := range []string{"none", "off"} {
		for _, named := range []string{"slug:known", "slug:unknown", p.ID, "unknown"} {
			got := p.Service.Call(t, "GET", "/v2/workspaces/"+named+"/webhooks/"+endpoint, nil, "")
			require.Equal(t, 404, got.StatusCode, "%s %s", named, endpoint)
			answer := got.JSON(t)
			require.Equal(t, "resource_not_found", answer["error"])
			require.Equal(t, map[string]any{"workspaceId": named, "endpoint": endpoint}, answer["details"])
		}
	}
	require.Equal(t, "served", string(p.CallEndpoint(t, 200, "GET", "hidden", "").Body), "who declares an endpoint wants it called, private or not")
}
