package automations_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestErrorsOfRunsOverHTTP(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "EGRESS_ALLOW_PRIVATE=no", "FETCH_ALLOWED_HOSTS=127.0.0.1")
	t.Run("each error has its answer", func(t *testing.T) { t.Parallel(); testErrorAnswers(t, w) })
	t.Run("a secret that is missing raises", func(t *testing.T) { t.Parallel(); testMissingSecrets(t, w) })
	t.Run("messages say what to do", func(t *testing.T) { t.Parallel(); testHelpfulMessages(t, w) })
}

// A message names the place of a fault, and what to do instead.
func testHelpfulMessages(t *testing.T, w *nodetest.OwnedService) {
	t.Helper()
	p := w.NewWorkspace(t)
	bad := p.Do(t, 400, "POST", p.Path+"/automations", "name: a\ndo:\n  - fetch:\n      url: {{config.url}}/path\n      method: get\n", "Content-Type", nodetest.YAMLType)
	require.Equal(t, "invalid_request", bad.Code(t))
	require.Contains(t, bad.JSON(t)["message"], "line 4, column 26: expected a key here")
	details := bad.JSON(t)["details"].(map[string]any)
	require.Equal(t, []any{4.0, 26.0}, []any{details["line"], details["column"]})

	key := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[{"action":["read"],"subject":"workspaces"}]}`).JSON(t)["apiKey"].(string)
	asBearer := p.As(nodetest.Bearer(key)).Do(t, 401, "GET", p.Path, "")
	require.Equal(t, "invalid_token", asBearer.Code(t))
	require.Contains(t, asBearer.JSON(t)["message"], "send it in the x-svc-api-key header")
	p.As(http.Header{"X-Svc-Api-Key": {key}}).Do(t, 200, "GET", p.Path, "")
	require.NotContains(t, string(asBearer.Body), key)
}

// Faults of an automation are 5xx, and nobody who may not read it learns its texts
// (automations 8).
func testErrorAnswers(t *testing.T, w *nodetest.OwnedService) {
	t.Helper()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	p := w.NewWorkspace(t).AddAutomations(t, `
list: {do: [], output: {listed: 1}}
args: {when: {endpoint: true}, validateArguments: true, arguments: {body: {type: object, properties: {n: {type: number}}}}, do: []}
passes: {when: {endpoint: true}, do: [{strict: {n: x}}]}
strict: {validateArguments: true, arguments: {n: {type: number}}, do: []}
status: {when: {endpoint: true}, do: [{set $http.status: '{{body.n}}'}]}
path: {when: {endpoint: true}, do: [{set a: '{{{{body.p}}}}'}]}
expr: {when: {endpoint: true}, do: [{set a: '{% round({{body.x}}) %}'}]}
gone: {when: {endpoint: true}, do: [{lst: {}}]}
ftch: {when: {endpoint: true}, do: [{fetc: {url: x}}]}
module: {when: {endpoint: true}, do: [{run: {module: '{{body.m}}', function: '{{body.f}}'}}]}
deep: {when: {endpoint: true}, do: [{deep: {}}]}
event: {when: {endpoint: true}, do: [{emit: {event: '{{body.e}}'}}]}
large: {when: {endpoint: true}, do: [{emit: {event: e, payload: '{{body}}'}}]}
far: {when: {endpoint: true}, do: [{fetch: {url: 'http://127.0.0.1:1/author-text'}}]}
slow: {when: {endpoint: true}, do: [{fetch: {url: '`+silent.URL+`', timeout: 1}}]}
barred: {when: {endpoint: true}, do: [{fetch: {url: 'http://127.0.0.2:1/'}}]}
secret: {when: {endpoint: true}, do: [{emit: {event: sent, payload: {a: 'Bearer {{secret.nope}}'}}}]}
limit: {when: {endpoint: true}, do: [{rateLimit: {name: l, limit: 0, window: 60, break: true}}]}
context: {when: {endpoint: true}, do: [{set user.x: '{{body}}'}]}
config: {when: {endpoint: true}, do: [{set config.x: 1}]}
unique: {when: {endpoint: true}, do: [{run: {module: collections, function: updateSchema, parameters: {collection: c, properties: {n: {type: number}}, uniques: [[n]]}}}, {run: {module: collections, function: create, parameters: {collection: c, data: {n: 1}}}}]}
empty: {when: {endpoint: true}, do: [{run: {module: collections, function: deleteMany, parameters: {collection: c, query: {}}}}]}
code: {when: {endpoint: true}, do: [{run: {module: code, function: run, parameters: {code: 'throw new Error("author-text")'}}}]}
endless: {when: {endpoint: true}, do: [{run: {module: code, function: run, parameters: {code: 'for(;;){}', timeout: 200}}}]}
pieces: {when: {endpoint: true}, do: [{set $http.chunk: {i: 1}}, {author-text: {}}]}`)
	p.CallEndpoint(t, 200, "POST", "unique", `{}`)
	p.Do(t, 200, "POST", p.Path+"/writeLock", `{"reason":"by hand"}`)
	requireError(t, p.CallEndpoint(t, 423, "POST", "config", `{}`), "resource_locked", "ResourceLockedError", "locked")
	p.Do(t, 200, "DELETE", p.Path+"/writeLock", "")

	nobody := p.As(nil)
	long := `{"x":"` + strings.Repeat("x", 200_000) + `"}`
	for _, c := range []struct {
		endpoint, body string
		status         int
		code, name     string
		message        string // what who may read the automation is shown
	}{
		{"args", `{"n":"1"}`, 400, "invalid_request", "InvalidArgumentsError", "Invalid arguments"},
		{"passes", ``, 500, "internal_error", "InvalidArgumentsError", "Invalid arguments"},
		{"status", `{"n":199}`, 500, "internal_error", "InvalidInstructionError", "$http.status"},
		{"path", `{"p":"a."}`, 500, "internal_error", "InvalidVariableNameError", "a."},
		{"expr", `{"x":"a"}`, 500, "internal_error", "InvalidExpressionSyntax", "round"},
		{"gone", ``, 500, "internal_error", "ObjectNotFoundError", `Automation "lst" not found; did you mean "list"?`},
		{"ftch", ``, 500, "internal_error", "ObjectNotFoundError", `Automation "fetc" not found; did you mean "fetch"?`},
		{"module", `{"m":"collection","f":"x"}`, 500, "internal_error", "ObjectNotFoundError", `Module "collection" not found; did you mean "collections"?`},
		{"module", `{"m":"crypto","f":"sha265"}`, 500, "internal_error", "ObjectNotFoundError", `Module crypto has no function "sha265"; did you mean "sha256"?`},
		{"deep", ``, 500, "internal_error", "TooManyCallError", ""},
		{"event", `{"e":"a/b"}`, 500, "internal_error", "InvalidEventError", ""},
		{"large", long, 500, "internal_error", "EventValidationError", ""},
		{"far", ``, 502, "upstream_failed", "FetchError", ""},
		{"slow", ``, 504, "gateway_timeout", "FetchError", ""},
		{"barred", ``, 500, "internal_error", "FetchForbiddenError", ""},
		{"secret", ``, 500, "internal_error", "SecretMissingError", `"nope"`},
		{"limit", ``, 429, "rate_limit_exceeded", "RateLimitExceededError", ""},
		{"context", long, 500, "internal_error", "ContextSizeError", ""},
		{"unique", ``, 422, "validation_failed", "CollectionError", ""},
		{"empty", ``, 500, "internal_error", "CollectionError", ""},
		{"code", ``, 500, "internal_error", "CustomCodeError", "author-text"},
		{"endless", ``, 504, "gateway_timeout", "CustomCodeError", ""},
	} {
		got := p.CallEndpoint(t, c.status, "POST", c.endpoint, c.body)
		requireError(t, got, c.code, c.name, c.message)
		require.Equal(t, c.name, got.AwaitEvents(t, 1, "error")[0].Payload["error"], c.endpoint)

		unread := nobody.CallEndpoint(t, c.status, "POST", c.endpoint, c.body)
		require.Equal(t, c.code, unread.Code(t), c.endpoint)
		require.NotEmpty(t, unread.JSON(t)["requestId"])
		if c.status < 500 {
			continue
		}
		require.Equal(t, "The automation failed.", unread.JSON(t)["message"], c.endpoint)
		shown := map[string]any{"name": c.name}
		if c.status == 500 {
			shown["reason"] = "automation_failed"
		}
		require.Equal(t, shown, unread.JSON(t)["details"], c.endpoint)
	}
	require.Empty(t, p.CallEndpoint(t, 500, "POST", "secret", "").Events(t, "sent"), "nothing is sent with the reference in it")

	whole := p.RequireRefusal(t, 500, "internal_error", "POST", p.Path+"/test/code", `{}`)
	require.Equal(t, []any{"exception", "code", "do[0].run"}, []any{whole["reason"], whole["automation"], whole["instruction"]}, "who tests is shown everything")
	last := func(who nodetest.Workspace) string {
		body := strings.TrimSpace(string(who.Service.SendAs(t, "GET", p.Path+"/webhooks/pieces", "", who.Auth, "").Body))
		return body[strings.LastIndex(body, "data: "):]
	}
	require.Contains(t, last(p), "author-text")
	require.NotContains(t, last(nobody), "author-text", "a stream hides the same")
	require.Contains(t, last(nobody), `"message":"The automation failed."`)

	p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/webhooks/nope", "")
	missing := p.Do(t, 404, "POST", p.Path+"/test/lst", `{}`)
	require.Equal(t, `Automation "lst" not found; did you mean "list"?`, missing.JSON(t)["message"])
}

// requireError checks the error of a run as its caller is answered it.
func requireError(t *testing.T, r nodetest.Run, code, name, message string) {
	t.Helper()
	require.Equal(t, code, r.Code(t), "%s", r.Body)
	require.Equal(t, name, r.JSON(t)["details"].(map[string]any)["name"], "%s", r.Body)
	require.Contains(t, r.JSON(t)["message"], message)
}

// A secret without a value raises wherever it is used, and may be asked for.
func testMissingSecrets(t *testing.T, w *nodetest.OwnedService) {
	t.Helper()
	f := nodetest.NewRemoteServer(t)
	app := w.NewWorkspace(t).AddAutomations(t, `
sends: [{fetch: {url: '`+f.URL+`/app', headers: {authorization: 'Bearer {{config.token}}'}}}]
reads: {do: [], output: {secret: '{{secret.k}}', plain: '{{config.plain}}'}}`)
	app.PublishApp(t, "mailer")
	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"is-there-CANARY"},"dotted.name":{"value":"dotted-CANARY"}}`)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"good":"{{secret.k}}","bad":{"deep":["x {{secret.nope}}"]},"again":"{{config.bad}}","plain":1,"functions":{"f":{"code":"return '{{secret.nope}}'"},"g":{"code":"return 1"}}}}}`)
	p.InstallApp(t, "mailer", "m", `,"config":{"token":"{{secret.later}}","plain":2}`)
	p.AddAutomations(t, `
t: [{set: '{{x}}'}]
text: {when: {endpoint: true}, do: [{fetch: {url: '`+f.URL+`/own', headers: {authorization: 'Bearer {{secret.nope}}'}}}]}
alone: {when: {endpoint: true}, do: [{set global.kept: '{{secret.nope}}'}], output: 1}
output: {when: {endpoint: true}, do: [], output: {v: '{{secret.nope}}'}}
compared: {when: {endpoint: true}, do: [{conditions: {'{{secret.nope}} == {{body.token}}': [{set r: let in}]}}], output: '{{r}}'}
setting: {when: {endpoint: true}, do: [{set a: '{{config.bad.deep[0]}}'}]}
through: {when: {endpoint: true}, do: [{set a: '{{config.again}}'}]}
whole: {when: {endpoint: true}, do: [{set a: '{{config}}'}]}
called: {when: {endpoint: true}, do: [{run: {module: code, function: call, parameters: {name: f}}}]}
instance: {when: {endpoint: true}, do: [{m.sends: {}}]}
caught: {when: {endpoint: true}, do: [{try: {do: [{set a: '{{secret.nope}}'}], catch: [{set r: '{{$error}}'}]}}], output: '{{r}}'}
asks: {when: {endpoint: true}, do: [{conditions: {'{{secret.nope}} exists': [{set a: yes}], '{{secret.nope}}': [{set a: yes}], 'isString({{config.bad.deep[0]}})': [{set a: yes}], default: [{set a: none}]}}, {m.reads: {output: app}}, {run: {module: code, function: call, parameters: {name: g}, output: g}}],
  output: {a: '{{a}}', or: '{% {{secret.nope}} or "d" %}', good: '{{config.good}}', plain: '{{config.plain}}', dotted: '{{secret.dotted.name}}', app: '{{app}}', g: '{{g}}', indirect: '{{{{body.p}}}}', text: '{{body.text}}'}}`)
	for _, endpoint := range []string{"text", "alone", "output", "compared", "setting", "through", "whole", "called", "instance"} {
		got := p.CallEndpoint(t, 500, "POST", endpoint, `{}`)
		name, event := "nope", "error"
		if endpoint == "instance" {
			name, event = "later", "m.error"
		}
		requireError(t, got, "internal_error", "SecretMissingError", `secret "`+name+`" has no value`)
		require.Equal(t, `"`+name+`"`, got.AwaitEvents(t, 1, event)[0].At("details", "name"), endpoint)
		again := p.Do(t, 200, "POST", p.Path+"/runs/"+got.Correlation()+"/replay", `{}`).JSON(t)
		require.Equal(t, "identical", again["status"], "%s: %v", endpoint, again)
	}
	require.JSONEq(t, `{"error":"SecretMissingError","message":"secret \"nope\" has no value; set it with PATCH {w}/security/secrets","details":{"name":"nope"}}`, string(p.CallEndpoint(t, 200, "POST", "caught", `{}`).Body))
	require.JSONEq(t, `{"a":"none","or":"d","good":"is-there-CANARY","plain":1,"dotted":"dotted-CANARY","app":{"plain":2},"g":1,"text":"{{secret.k}}"}`,
		string(p.CallEndpoint(t, 200, "POST", "asks", `{"p":"secret.k","text":"{{secret.k}}"}`).Body))
	for _, path := range []string{"/own", "/app"} {
		asked, _ := f.RequestsTo(path)
		require.Empty(t, asked, "nothing is sent with the reference in it")
	}
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"later":{"value":"now-there-CANARY"}}`)
	p.CallEndpoint(t, 200, "POST", "instance", `{}`)
	_, head := f.RequestsTo("/app")
	require.Equal(t, "Bearer now-there-CANARY", head.Get("Authorization"))
	nodetest.RequireSecretsHidden(t, p, "is-there-CANARY", "now-there-CANARY")
}
