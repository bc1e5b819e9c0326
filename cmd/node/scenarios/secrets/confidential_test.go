package secrets_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// says emits all secrets that an automation has. Its input p is declared as one.
const says = `{emit: {event: said, payload: {k: 'Bearer {{secret.k}}', c: '{{config.key}}', p: '{{p}}', b: '{% base64({{secret.k}}) %}', all: ['{{secret}}', '{{config}}']}}}`

// confidential are scenarios of the runtime, each of which has the secrets of a confidant.
var confidential = map[string]func(*testing.T, *nodetest.OwnedService, secretWorkspace, *nodetest.Clock){
	"endpoints": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		c.AddAutomations(t, `
hook: {when: {endpoint: 'hook/:p'}, arguments: {pathParams: {type: object, properties: {p: {type: string, secret: true}}}, headers: {type: object, properties: {x-key: {type: string, secret: true}}}}, do: [{set p: '{{pathParams.p}}'}, `+says+`, {nope: {v: '{{secret.k}}'}}]}
piecewise: {when: {endpoint: true}, do: [{set $http.chunk: {k: 1}}, {fetch: {url: 'x{{secret.k}}'}}]}
answers: {when: {endpoint: true}, do: [`+says+`], output: '{{secret.k}}'}`)
		got := c.CallEndpoint(t, 500, "POST", "hook/"+inputCanary+"?k="+workspaceCanary, `{"k":"`+workspaceCanary+`"}`, "X-Key", inputCanary)
		nodetest.RequireNoSecretIn(t, "a refusal", string(got.Body), inputCanary, workspaceCanary)
		last := c.Service.SendAs(t, "GET", c.Path+"/webhooks/piecewise", "", c.Auth, "")
		require.Contains(t, string(last.Body), "InvalidInstructionError")
		nodetest.RequireNoSecretIn(t, "the last piece", string(last.Body), workspaceCanary)
		require.Equal(t, workspaceCanary, string(c.CallEndpoint(t, 200, "GET", "answers", "").Body), "the answer itself is the automation's")
	},
	"tests": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		c.AddAutomations(t, `
t: {validateArguments: true, arguments: {p: {type: string, secret: true, pattern: '^input', maxLength: 20}, o: {type: object, properties: {p: {type: string, secret: true, enum: [a]}}}}, do: [`+says+`, {child: {v: '{{p}}'}}, {fetch: {url: '{{p}}'}}]}
child: {do: [{set session.p: '{{v}}'}, {emit: {event: childs, payload: {v: '{{session.p}}'}}}], output: 'x{{v}}x'}`)
		c.RunTest(t, 500, `{"p":"`+inputCanary+`"}`)
		for _, payload := range []string{`{"p":"x` + inputCanary + `"}`, `{"p":"` + inputCanary + strings.Repeat("x", 20) + `"}`, `{"o":{"p":"` + inputCanary + `"}}`, `{"o":{"p":["` + workspaceCanary + `"]}}`} {
			got := c.RunTest(t, 400, payload)
			require.Equal(t, "InvalidArgumentsError", got.JSON(t)["details"].(map[string]any)["name"])
			nodetest.RequireNoSecretIn(t, "a refusal", string(got.Body), inputCanary, workspaceCanary)
		}
	},
	"runs and their trees": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		c.AddAutomations(t, `
t: {arguments: {p: {type: string, secret: true}}, do: [`+says+`, {runWorkflow: {workflow: other, wait: false, parameters: {v: '{{p}}{{secret.k}}'}}}, {try: {do: [{fails: {p: '{{p}}'}}]}}, {wait: {oneOf: [{event: '{{secret.k}}'}], timeout: 1}}, {emit: {event: '{{secret.k}}'}}, {rateLimit: {name: '{{p}}', consumer: '{{secret.k}}', limit: 0, window: 60, break: true}}]}
other: {do: [{createUserTopic: {topic: '{{v}}', userIds: ['{{v}}']}}], output: '{{v}}'}
fails: {do: [{emit: {event: said, payload: ['{{p}}']}}, {'{{p}}': {}}]}
hears: {when: {events: [said]}, do: [{'conditions': {'{{payload.p}} == 1': []}}], output: '{{payload}}'}`)
		c.RunTest(t, 429, `{"p":"`+inputCanary+`"}`).AwaitEvents(t, 4, nodetest.Executed)
	},
	"replays": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		f := nodetest.NewRemoteServer(t)
		const made = `{run: {module: code, function: run, parameters: {code: 'return ["header", "CANARY-4"].join("-")'}, output: h}}`
		c.AddAutomations(t, `t: {arguments: {p: {type: string, secret: true}}, do: [`+made+`, `+says+`, {fetch: {url: '`+f.URL+`/a?k={{secret.k}}', headers: {authorization: 'Bearer {{h}}', x-p: '{{p}}'}, output: r}}, {set session.k: '{{secret.k}}{{p}}'}], output: {k: '{{secret.k}}', p: '{{p}}'}}`)
		r := c.RunRecorded(t, 200, `{"p":"`+inputCanary+`"}`)
		require.Equal(t, "identical", r.Replay(t, `{}`).Status)
		_, head := f.RequestsTo("/a")
		require.Equal(t, "Bearer "+headerCanary, head.Get("Authorization"))
		c.Do(t, 200, "DELETE", c.Path+"/automations/t", "")
		c.AddAutomations(t, `t: {arguments: {p: {type: string, secret: true}}, do: [`+made+`, {emit: {event: other, payload: {k: '{{secret.k}}', p: '{{p}}'}}}, {fetch: {url: '`+f.URL+`/b?k={{secret.k}}', method: post, headers: {authorization: 'Bearer {{h}}', x-p: '{{p}}{{secret.k}}'}, body: '{{p}}', output: r}}, {set session.k: '{{p}}'}, {fetch: {url: '{{p}}'}}], output: {k: '{{secret.k}}!', p: '{{p}}!'}}`)
		got := r.Replay(t, `{"document":"current"}`)
		require.Equal(t, "different", got.Status)
		require.NotEmpty(t, got.Differences)
	},
	"runs that are cancelled": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		c.AddAutomations(t, `t: {when: {endpoint: true}, arguments: {body: {type: object, properties: {p: {type: string, secret: true}}}}, do: [{set p: '{{body.p}}'}, {try: {do: [{wait: {oneOf: [{event: go, filters: {payload.k: '{{secret.k}}', payload.p: {$in: ['{{p}}']}}, cancelTriggers: true}, {event: 'go.{{p}}'}], timeout: 60}}], finally: [`+says+`]}}], output: '{{p}}'}`)
		answered := make(chan nodetest.Answer, 1)
		go func() { // ends with the run
			got, _ := c.Service.Request(t.Context(), http.MethodPost, c.Path+"/webhooks/t", c.Auth, `{"p":"`+inputCanary+`"}`)
			answered <- got
		}()
		waits := c.AwaitEvents(t, 1, "runtime.waits.pending", "")[0]
		c.Emit(t, `{"type":"go","payload":{"n":1}}`)
		c.Do(t, 200, "POST", c.Path+"/runs/"+waits.Source["correlationId"].(string)+"/cancel", "")
		got := <-answered
		require.Equal(t, http.StatusConflict, got.StatusCode)
		nodetest.RequireNoSecretIn(t, "a refusal", string(got.Body), inputCanary, workspaceCanary)
		c.AwaitEvents(t, 1, "said", "")
	},
	"schedules": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, at *nodetest.Clock) {
		c.AddAutomations(t, `tick: {when: {schedules: ['* * * * *']}, arguments: {p: {type: string, secret: true}}, do: [`+says+`, {fetch: {url: '{{secret.k}}'}}], output: '{{config.key}}'}`)
		c.AwaitEvents(t, 1, "runtime.schedules.created", "")
		at.NextMinute()
		c.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=tick")
		c.Do(t, 200, "DELETE", c.Path+"/automations/tick", "")
	},
	"fetches": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		f := nodetest.NewRemoteServer(t)
		c.AddAutomations(t, `
t: {arguments: {p: {type: string, secret: true}}, do: [{run: {module: code, function: run, parameters: {code: 'return ["header", "CANARY-4"].join("-")'}, output: h}},
  {fetch: {url: '`+f.URL+`/bad?k={{secret.k}}', method: post, headers: {authorization: 'Bearer {{h}}', cookie: 'a={{h}}', x-svc-api-key: '{{h}}', x-k: '{{config.key}}'}, query: {p: '{{p}}'}, body: {p: ['{{p}}'], '{{p}}': 1}}},
  {fetch: {url: '`+f.URL+`/bad', method: post, headers: {content-type: application/x-www-form-urlencoded}, body: {c: '{{config.key}}'}, auth: {basic: {user: u, password: '{{p}}'}}}},
  {fetch: {url: '`+strings.Replace(f.URL, "http://", "http://u:{{secret.k}}@", 1)+`/bad', method: post, multipart: [{fieldname: f, value: '{{p}}', filename: '{{secret.k}}'}]}},
  {fetch: {url: '`+f.URL+`/sse', stream: {event: chunk, payload: {p: '{{p}}', k: '{{secret.k}}'}}}},
  {try: {do: [{fetch: {url: 'http://127.0.0.1:1/{{secret.k}}?{{p}}'}}], catch: [{emit: {event: caught, payload: {e: '{{$error}}'}}}]}},
  {fetch: {url: '{{global.apiUrl}}/me', output: me}}, {fetch: {url: '{{global.apiUrl}}/workspaces/{{global.workspaceId}}/webhooks/none/{{secret.k}}', headers: {authorization: 'Bearer {{h}}'}}}, {auth: {output: j}}, {emit: {event: jwt, payload: {j: '{{j}}'}}},
  {fetch: {url: 'http://nowhere.invalid/{{p}}', headers: {authorization: '{{h}}'}}}]}`)
		c.RunTest(t, 502, `{"p":"`+inputCanary+`"}`).AwaitEvents(t, 6, "runtime.fetch.failed")
		_, head := f.RequestsTo("/sse")
		require.NotNil(t, head)
	},
	"apps": func(t *testing.T, w *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		app := w.NewWorkspace(t)
		app.Do(t, 200, "PATCH", app.Path, `{"config":{"schema":{"token":{"type":"string","secret":true},"additionalProperties":true}}}`)
		app.AddAutomations(t, `
uses: {when: {endpoint: true, events: [ask]}, do: [{emit: {event: told, payload: {t: '{{config.token}}', k: '{{config.k}}', all: '{{config}}'}}}, {emit: {event: '{{config.token}}'}}, {'set config.said[{{config.token}}]': 1}], output: '{{config.token}}'}
fails: [{fetch: {url: '{{config.token}}{{config.k}}'}}]`)
		slug := strings.ToLower("app" + strings.Map(letters, c.ID))
		app.PublishApp(t, slug)
		c.InstallApp(t, slug, "a", `,"config":{"token":"`+instanceCanary+`","k":"{{secret.k}}"}`)
		c.AddAutomations(t, `
t: [{a.uses: {output: r}}, {emit: {event: mine, payload: {r: '{{r}}'}}}, {a.fails: {}}]
hears: {when: {events: [a.told]}, do: [], output: '{{payload}}'}`)
		c.RunTest(t, 500, `{}`).AwaitEvents(t, 4, nodetest.Executed)
		require.Equal(t, instanceCanary, string(c.CallEndpoint(t, 200, "GET", "a.uses", "").Body))
		c.Emit(t, `{"type":"a.ask"}`)
		c.AwaitEvents(t, 3, nodetest.Executed, "payload.slug=hears")
	},
	"collections": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		const rows = `{run: {module: collections, parameters: {collection: '{{secret.k}}', `
		c.AddAutomations(t, `
t: {arguments: {p: {type: string, secret: true}}, do: [{'set fields[{{p}}]': {type: string, description: '{{p}}'}}, {set fields.k: {type: string}}, {set fields.n: {type: number}}, {'set row[{{p}}]': '{{secret.k}}'}, {set row.k: '{{p}}'},
  `+rows+`properties: '{{fields}}', uniques: [[k]], indexes: [['{{p}}']]}, function: updateSchema}}, `+rows+`data: '{{row}}'}, function: create}},
  `+rows+`query: {k: '{{p}}'}}, function: findMany, output: found}}, {emit: {event: found, payload: {f: '{{found}}'}}},
  `+rows+`data: {k: '{{p}}'}}, function: create, onError: emit}}, `+rows+`data: {n: '{{p}}'}}, function: create, onError: emit}}, `+rows+`data: {k: x, '{{secret.k}}': '{{p}}'}}, function: create, output: more}},
  `+rows+`query: {k: {$regex: '({{p}}'}}}, function: findMany, onError: continue, output: e}}, {emit: {event: e, payload: {e: '{{e}}', m: '{{more}}'}}}, `+rows+`x: 1}, function: '{{p}}'}}], output: '{{found}}'}`)
		c.RunTest(t, 500, `{"p":"`+inputCanary+`"}`).AwaitEvents(t, 1, "found")
	},
	"code": func(t *testing.T, _ *nodetest.OwnedService, c secretWorkspace, _ *nodetest.Clock) {
		const code = `run: {module: code, function: run, parameters: {arguments: {k: '{{secret.k}}', p: '{{p}}', c: '{{config.key}}'}, code: `
		c.Do(t, 200, "PATCH", c.Path+"/config", `{"value":{"key":"{{secret.c}}","functions":{"f":{"code":"return p","parameters":{"p":{"type":"string","pattern":"^x"}}}}}}`)
		c.AddAutomations(t, `
t: {arguments: {p: {type: string, secret: true}}, do: [{`+code+`'console.log(k, {p}); return [k, p, {[c]: 1}]'}, output: r}}, {emit: {event: said, payload: {r: '{{r}}'}}},
  {`+code+`'console.error(p); throw new TypeError(k + p + c)'}, onError: emit}}, {`+code+`'return k +'}, onError: emit}}, {`+code+`'throw {k, toString() { return p }}'}, onError: continue, output: e}}, {emit: {event: e, payload: {e: '{{e}}'}}},
  {run: {module: code, function: call, parameters: {name: f, arguments: {p: '{{p}}'}}, onError: emit}}, {run: {module: code, function: call, parameters: {name: '{{p}}'}}}]}`)
		c.RunTest(t, 500, `{"p":"`+inputCanary+`"}`).AwaitEvents(t, 1, "e")
	},
}

// letters keeps those of a text.
func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return 'x'
}

// Whatever automations do with secrets, nobody is told one.
func TestNobodyIsToldSecretsOfAutomations(t *testing.T) {
	t.Parallel()
	at := &nodetest.Clock{}
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes", "RUN_RECORDING=all")
	s.Clock = at.Now
	w := nodetest.StartOwnedService(t, s)
	t.Run("each", func(t *testing.T) {
		for name, scenario := range confidential {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newSecretWorkspace(t, w)
				scenario(t, w, c, at)
				c.requireSecretsHidden(t)
			})
		}
	})
	w.RequireNoCredential(t)
	w.Stop(t)
	kept, err := os.ReadDir(w.Dir)
	require.NoError(t, err)
	for _, part := range kept {
		if name := part.Name(); name != "keys" && name != "rows" { // what is written to a row is for who reads the row
			nodetest.RequireNoSecret(t, filepath.Join(w.Dir, name), workspaceCanary, configCanary, inputCanary)
		}
	}
}
