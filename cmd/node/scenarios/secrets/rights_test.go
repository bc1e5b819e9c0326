package secrets_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What automations write to the config stays what it is: it is never read as a template.
func TestNothingThatIsSetBecomesATemplateOfTheConfig(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "CONTEXT_CONFIG_MAX_SIZE=2kb")
	app := w.NewWorkspace(t).AddAutomations(t, `
plant: {when: {endpoint: true}, do: [{set: {name: config.x, value: '{{body.v}}'}}]}
reap: {when: {endpoint: true}, do: [], output: '{{config}}'}`)
	app.PublishApp(t, "planter")
	p := w.NewWorkspace(t).AddAutomations(t, `
set: {when: {endpoint: true}, do: [{set: {name: config.x, value: '{{body.v}}'}}]}
push: {when: {endpoint: true}, do: [{set: {name: 'config.list[]', value: '{{body.v}}'}}]}
merge: {when: {endpoint: true}, do: [{set: {name: config.o, type: merge, value: '{{body}}'}}]}
whole: {when: {endpoint: true}, do: [{set: {name: config, value: '{{body}}'}}]}
show: {when: {endpoint: true}, do: [], output: '{{config}}'}`)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"parent-secret"}}`)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"own":"{{secret.k}}","o":{}}}}`)
	p.InstallApp(t, "planter", "a", ``)
	refused := func(t *testing.T, path, body string) {
		t.Helper()
		details := p.RequireRefusal(t, 500, "internal_error", "POST", p.Path+"/webhooks/"+path, body)
		require.Equal(t, "InvalidInstructionError", details["name"], "%s %s", path, body)
	}
	for _, text := range []string{"{{secret.k}}", "{{ secret.k }}", "{{config}}", "a {{config.own}} b", "{{{{secret.k}}}}", "{{\tconfig[own]\n}}", "{{secret.nosuch}}"} {
		quoted := strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(text)
		for _, path := range []string{"set", "push", "merge", "whole"} {
			refused(t, path, `{"v":"`+quoted+`"}`)
			refused(t, path, `{"v":[{"deep":"`+quoted+`"}]}`)
		}
		refused(t, "a.plant", `{"v":"`+quoted+`"}`)
		refused(t, "a.plant", `{"v":[{"deep":"`+quoted+`"}]}`)
	}
	for _, text := range []string{"{{user.id}}", "{{configuration}}", "{{secrets.k}}", "{{sec", "ret.k}}", "{% 1 %}", "{{secret.k", "{{{secret.k}"} {
		p.CallEndpoint(t, 200, "POST", "set", `{"v":"`+text+`"}`)
		p.CallEndpoint(t, 200, "POST", "a.plant", `{"v":"`+text+`"}`)
		require.Contains(t, string(p.CallEndpoint(t, 200, "GET", "show", "").Body), `"x":"`+text+`"`)
		require.JSONEq(t, `{"x":"`+text+`"}`, string(p.CallEndpoint(t, 200, "GET", "a.reap", "").Body))
	}
	p.CallEndpoint(t, 200, "POST", "set", `{"v":{"{{secret.k}}":1}}`)
	require.JSONEq(t, `{"own":"parent-secret","o":{},"x":{"{{secret.k}}":1}}`, string(p.CallEndpoint(t, 200, "GET", "show", "").Body), "keys are no templates")

	details := p.RequireRefusal(t, 500, "internal_error", "POST", p.Path+"/webhooks/set", `{"v":"`+strings.Repeat("x", 3000)+`"}`)
	require.Equal(t, "ContextSizeError", details["name"])
	details = p.RequireRefusal(t, 500, "internal_error", "POST", p.Path+"/webhooks/a.plant", `{"v":"`+strings.Repeat("x", 3000)+`"}`)
	require.Equal(t, "ContextSizeError", details["name"])
}

// References to settings bring a bounded amount.
func TestAConfigThatGrowsByItsReferencesIsRefused(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t).AddAutomations(t, `show: {when: {endpoint: true}, do: [], output: '{{config.n}}'}`)
	large := strings.Repeat("x", 30_000)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"n":1,"a":"`+large+`","b":"`+strings.Repeat("{{config.a}}", 20)+`"}}}`)
	require.Equal(t, "1", string(p.CallEndpoint(t, 200, "GET", "show", "").Body))
	for _, b := range []string{`"` + strings.Repeat("{{config.a}}", 500) + `"`, `[` + strings.Repeat(`"{{config.a}}",`, 499) + `1]`} {
		p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"n":1,"a":"`+large+`","b":`+b+`}}}`)
		details := p.RequireRefusal(t, 500, "internal_error", "GET", p.Path+"/webhooks/show", "")
		require.Equal(t, "ContextSizeError", details["name"])
	}
}

// A workspace that calls the platform by itself may execute its automations; an app in it
// has the name of the workspace alone.
func TestWhatTokensOfAWorkspaceOpen(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	const calls = `
asks: {when: {endpoint: true}, do: [{fetch: {url: '{{global.apiUrl}}/{{body.path}}', method: '{{body.method}}', body: '{{body.body}}', auth: {svc: {forwardWorkspaceAuth: true}}, outputMode: detailed_response, output: r}}], output: ['{{r.status}}', '{{r.body}}']}
takes: {when: {endpoint: true}, do: [{fetch: {url: '{{global.apiUrl}}/workspaces/{{global.workspaceId}}', svcApiKey: {name: helper}, outputMode: detailed_response, output: r}}], output: '{{r.status}}'}`
	w.NewWorkspace(t).AddAutomations(t, calls).PublishApp(t, "asker")
	p := w.NewWorkspace(t).AddAutomations(t, calls+`
guarded: {when: {endpoint: true}, authorizations: {action: sell}, do: [], output: '{{run.authenticatedWorkspaceId}}'}
open: {when: {endpoint: true}, do: [], output: '{{run.authenticatedWorkspaceId}}'}`)
	p.SetSecurity(t, `{"roles":{"helper":{"auth":{"apiKey":{}}}},"rules":[{"role":"helper","action":"read","subject":"workspaces"}]}`)
	p.InstallApp(t, "asker", "a", "")
	other := w.NewWorkspace(t).AddAutomations(t, `
guarded: {when: {endpoint: true}, authorizations: {action: sell}, do: []}
open: {when: {endpoint: true}, do: [], output: '{{run.authenticatedWorkspaceId}}'}`)
	for _, tc := range []struct {
		method, path string
		itself, app  string // what the answer has
	}{
		{"get", "workspaces/" + p.ID + "/webhooks/open", `[200,"` + p.ID + `"`, `[200,"` + p.ID + `"`},
		{"get", "workspaces/" + p.ID + "/webhooks/guarded", `[200,"` + p.ID + `"`, "permission_denied"},
		{"get", "workspaces/" + other.ID + "/webhooks/open", `[200,"` + p.ID + `"`, `[200,"` + p.ID + `"`},
		{"get", "workspaces/" + other.ID + "/webhooks/guarded", "permission_denied", "permission_denied"},
		{"get", "workspaces/" + p.ID, "permission_denied", "workspace_access_denied"},
		{"patch", "workspaces/" + p.ID, "permission_denied", "workspace_access_denied"},
		{"get", "workspaces/" + p.ID + "/security/secrets", "permission_denied", "workspace_access_denied"},
		{"post", "workspaces/" + p.ID + "/automations", "permission_denied", "workspace_access_denied"},
		{"post", "workspaces/" + p.ID + "/test/open", "permission_denied", "workspace_access_denied"},
		{"post", "workspaces/" + p.ID + "/permissions", "permission_denied", "workspace_access_denied"},
		{"get", "workspaces/" + other.ID, "workspace_access_denied", "workspace_access_denied"},
		{"get", "workspaces", "[200,[]", "[200,[]"}, // it lists what it may read
		{"get", "me", "missing_token", "missing_token"},
	} {
		body := `{"method":"` + tc.method + `","path":"` + tc.path + `","body":{}}`
		require.Contains(t, string(p.Anonymous().CallEndpoint(t, 200, "POST", "asks", body).Body), tc.itself, "%s %s", tc.method, tc.path)
		require.Contains(t, string(p.CallEndpoint(t, 200, "POST", "a.asks", body).Body), tc.app, "%s %s by the app", tc.method, tc.path)
	}
	require.Equal(t, "200", string(p.Anonymous().CallEndpoint(t, 200, "POST", "takes", "{}").Body))
	details := p.RequireRefusal(t, 500, "internal_error", "POST", p.Path+"/webhooks/a.takes", "{}")
	require.Equal(t, "InvalidInstructionError", details["name"], "the roles are not for apps")
}

// Answers of endpoints come from the origin of the API: what browsers would execute there
// is put in a sandbox, and what they would keep for the whole origin is left out.
func TestAnswersOfEndpointsDoNothingToTheOrigin(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "CORS_ADDITIONAL_ALLOWED_ORIGINS=https://trusted.example")
	p := w.NewWorkspace(t).AddAutomations(t, `
answers: {when: {endpoint: true}, do: [{set $http: {headers: '{{body}}'}}], output: <script>}
chunks: {when: {endpoint: true}, do: [{set $http: {headers: '{{body}}'}}, {set $http.chunk: 1}], output: {}}`)
	heads := func(t *testing.T, path, headers, origin string) http.Header {
		t.Helper()
		h := p.Auth.Clone()
		h.Set("Origin", origin)
		got := p.Service.SendAs(t, "POST", p.Path+"/webhooks/"+path, "application/json", h, headers) // of types that no document names
		require.Equal(t, 200, got.StatusCode, "%s", got.Body)
		return got.Header
	}
	const sandbox = "sandbox allow-scripts allow-forms"
	for _, kind := range []string{
		"text/html", " text/html", "TEXT/HTML; charset=utf-8", "image/svg+xml", "application/xhtml+xml", "text/plain, text/html", "x", "text/javascript",
		"multipart/x-mixed-replace; boundary=x", "application/pdf", "text/plain", "application/json; charset=utf-8", "application/octet-stream", "image/png", "",
	} {
		h := heads(t, "answers", `{"content-type":"`+kind+`"}`, "")
		require.Equal(t, sandbox, h.Get("Content-Security-Policy"), kind)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, strings.TrimSpace(h.Get("Content-Type")), h.Get("Content-Type"))
	}
	require.Equal(t, sandbox, heads(t, "chunks", `{}`, "").Get("Content-Security-Policy"))
	weaker := heads(t, "answers", `{"content-type":"text/html","content-security-policy":"sandbox allow-same-origin allow-scripts"}`, "")
	require.Equal(t, []string{sandbox, "sandbox allow-same-origin allow-scripts"}, weaker.Values("Content-Security-Policy"), "both hold")

	const wide = `{"service-worker-allowed":"/","clear-site-data":"\"*\"","nel":"{}","report-to":"{}","strict-transport-security":"max-age=0","public-key-pins":"x",
		"alt-svc":"h2=\"x\"","access-control-allow-credentials":"true","set-cookie":"a=b","x-kept":"1","vary":"X-Kept","access-control-allow-origin":"*",
		"refresh":"0; url=/v2/logout","link":"</v2/me>; rel=preload","speculation-rules":"\"/rules\"","reporting-endpoints":"x=\"/\"","origin-agent-cluster":"?1",
		"x-accel-redirect":"/internal","sourcemap":"/x","www-authenticate":"Bearer realm=x, basic realm=y","content-security-policy-report-only":"default-src x"}`
	for _, path := range []string{"answers", "chunks"} {
		h := heads(t, path, wide, "https://other.example")
		for _, name := range []string{
			"Service-Worker-Allowed", "Clear-Site-Data", "Nel", "Report-To", "Strict-Transport-Security", "Public-Key-Pins", "Alt-Svc",
			"Access-Control-Allow-Credentials", "Set-Cookie", "Refresh", "Link", "Speculation-Rules", "Reporting-Endpoints", "Origin-Agent-Cluster",
			"X-Accel-Redirect", "Sourcemap", "Www-Authenticate", "Content-Security-Policy-Report-Only",
		} {
			require.Empty(t, h.Values(name), "%s of %s", name, path)
		}
		require.Equal(t, []string{"1", "*"}, []string{h.Get("X-Kept"), h.Get("Access-Control-Allow-Origin")}, path)
		require.Subset(t, h.Values("Vary"), []string{"Origin", "X-Kept"}, path)
		trusted := heads(t, path, wide, "https://trusted.example")
		require.Equal(t, []string{"https://trusted.example"}, trusted.Values("Access-Control-Allow-Origin"), "as the operator says: %s", path)
	}
}
