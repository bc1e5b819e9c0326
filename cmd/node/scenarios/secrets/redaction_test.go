package secrets_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestSecretsInPathsAreInNoEvent(t *testing.T) {
	t.Parallel()
	p := nodetest.NewOwnedService(t).NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"WSECRET-CANARY"}}`)
	p.AddAutomations(t, `
hook: {when: {endpoint: 'hook/:token'}, arguments: {pathParams: {type: object, properties: {token: {type: string, secret: true}}}}, do: [{emit: {event: e}}], output: ok}
hears: {when: {events: [e, runtime.webhooks.triggered]}, do: [], output: ok}`)
	for _, path := range []string{"WSECRET-CANARY", "pathsecret-123", "pathsecret%2d12%33"} {
		got := p.CallEndpoint(t, 200, "GET", "hook/"+path, "")
		for _, e := range got.AwaitEvents(t, 2, "runtime.webhooks.triggered", "e") {
			if e.Type != "e" {
				require.Equal(t, `"hook/REDACTED"`, e.At("endpoint"))
			}
		}
		got.AwaitEvents(t, 3, nodetest.Executed)
		require.Equal(t, `"hook/REDACTED"`, got.Events(t, "runtime.interactions.triggered")[0].At("trigger", "value"))
	}
	nodetest.RequireSecretsHidden(t, p, "WSECRET-CANARY", "pathsecret-123", "pathsecret%2d12%33")
}

// Everything that a run triggers knows what it was given in confidence: other trees, what
// its events start, and what goes on after a restart.
func TestSecretArgumentsFollowTheRun(t *testing.T) {
	t.Parallel()
	const secret = "argument-CANARY"
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: {arguments: {p: {type: string, secret: true}}, do: [{set session.pw: '{{p}}'}, {runWorkflow: {workflow: child, wait: false, parameters: {v: '{{p}}'}}}, {emit: {event: later}}, {emit: {event: 'passing', options: {persist: false}}}]}
child: {do: [{emit: {event: deeper}}], output: '{{v}}'}
hears: {when: {events: [later, passing]}, do: [{emit: {event: deepest}}], output: '{{session.pw}}'}
last: {when: {events: [deeper, deepest]}, do: [], output: '{{session.pw}}'}
waits: {when: {events: [later]}, do: [{wait: {oneOf: [{event: go}], timeout: 300}}, {emit: {event: waited}}], output: '{{session.pw}}'}
woken: {when: {events: [waited]}, do: [], output: '{{session.pw}}'}`)
	got := p.RunTest(t, 200, `{"p":"`+secret+`"}`)
	for _, e := range got.AwaitEvents(t, 7, nodetest.Executed) {
		if e.At("slug") != `"t"` {
			require.Equal(t, `"REDACTED"`, e.At("output"), e.At("slug"))
		}
	}
	got.AwaitEvents(t, 1, "runtime.waits.pending")
	w.Stop(t)
	w.Start(t)
	p.Emit(t, `{"type":"go"}`)
	for _, e := range got.AwaitEvents(t, 9, nodetest.Executed)[7:] {
		require.Equal(t, `"REDACTED"`, e.At("output"), e.At("slug"))
	}
	nodetest.RequireSecretsHidden(t, p, secret)
	w.Stop(t)
	nodetest.RequireNoSecret(t, w.Dir, secret)
}

func TestSecretsInNamesAreInNoEvent(t *testing.T) {
	t.Parallel()
	p := nodetest.NewOwnedService(t).NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"WSECRET.CANARY"}}`)
	p.AddAutomations(t, `
t: [{all: [{wait: {oneOf: [{event: 'x.{{secret.k}}'}], timeout: 20, output: r}}, {emit: {event: 'x.{{secret.k}}', target: {userTopic: 'tp-{{secret.k}}', userId: '{{secret.k}}'}}}]}, {createUserTopic: {topic: 'tp-{{secret.k}}', userIds: ['{{secret.k}}']}}, {joinUserTopic: {topic: 'tp-{{secret.k}}', userIds: ['u-{{secret.k}}']}}, {set session.id: 's-{{secret.k}}'}, {emit: {event: switched}}, {run: {module: collections, function: updateSchema, parameters: {collection: 'c-{{secret.k}}', schema: 's-{{secret.k}}', properties: {a: {type: string}}}}}, {T: '{{r.type}}'}]`)
	got := p.RunTest(t, 200, `{}`)
	require.Equal(t, `"x.REDACTED"`, got.Result(t), "who waits for it by its name finds it")
	types := nodetest.TypesOf(got.Events(t))
	require.Contains(t, types, "x.REDACTED")
	require.Equal(t, `"tp-REDACTED"`, p.AwaitEvents(t, 1, "events.userTopics.created", "")[0].At("topic"))
	require.Equal(t, `"c-REDACTED"`, got.AwaitEvents(t, 1, "workspaces.collections.updated")[0].At("collection"))
	nodetest.RequireSecretsHidden(t, p, "WSECRET.CANARY")
}

func TestASecretIsNotLeftWhereSomethingIsCut(t *testing.T) {
	t.Parallel()
	const secret = "WSECRET-CANARY"
	w, f := nodetest.NewOwnedService(t), nodetest.NewRemoteServer(t)
	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"`+secret+`"}}`)
	p.AddAutomations(t, `
cuts: {when: {endpoint: true}, do: [{fetch: {url: '`+f.URL+`/bad', method: post, headers: {content-type: text/plain}, body: '{{body.pad}}{{secret.k}}'}}]}
logs: {when: {endpoint: true}, do: [{run: {module: code, function: run, parameters: {code: 'console.log(args.pad + args.k); throw new Error("x".repeat(1980) + args.k + "y".repeat(100))', arguments: {k: '{{secret.k}}', pad: '{{body.pad}}'}}}}]}`)
	pad := `{"pad":"` + strings.Repeat("x", 10000-13) + `"}`
	told := p.CallEndpoint(t, 200, "POST", "cuts", pad).AwaitEvents(t, 1, "runtime.fetch.failed")[0].At("request", "body")
	require.NotContains(t, told, secret[:4])
	failed := p.CallEndpoint(t, 500, "POST", "logs", pad)
	require.NotContains(t, string(failed.Body), secret[:7])
	text, err := json.Marshal(failed.Failures(t))
	require.NoError(t, err)
	require.NotContains(t, string(text), secret[:7])
	nodetest.RequireSecretsHidden(t, p, secret)
}

// What a publisher keeps secret is not told where its app is installed, nor what an app
// stored of it where others of the workspace find it.
func TestSecretsOfPublishersAreInNoEventOfTheirInstances(t *testing.T) {
	t.Parallel()
	const secret = "publisher-CANARY-9"
	w, f := nodetest.NewOwnedService(t), nodetest.NewRemoteServer(t)
	vendor := w.NewUser(t, "vendor")
	made := w.Must(t, "POST", "/v2/workspaces", vendor, `{"name":"Vendor"}`)
	app := nodetest.Workspace{Service: w.Service, Path: "/v2/workspaces/" + made["id"].(string), ID: made["id"].(string), Auth: vendor}
	app.Do(t, 200, "PATCH", app.Path+"/security/secrets", `{"vendor":{"value":"`+secret+`"}}`)
	app.Do(t, 200, "PATCH", app.Path, `{"config":{"value":{"key":"{{secret.vendor}}"}}}`)
	app.AddAutomations(t, `
bad: {when: {endpoint: true}, do: [{set global.seen: '{{config.key}}'}, {fetch: {url: '`+f.URL+`/bad', headers: {x-key: '{{config.key}}'}}}]}`)
	app.PublishApp(t, "vendorapp")
	p := w.NewWorkspace(t).AddAutomations(t, `
t: [{emit: {event: e, payload: {v: '{{global.seen}}'}}}]`)
	p.InstallApp(t, "vendorapp", "a", ``)
	anyone := nodetest.Workspace{Service: w.Service, Path: p.Path, ID: p.ID, Auth: http.Header{}}
	anyone.Send(t, "GET", p.Path+"/webhooks/a.bad", "")
	require.Equal(t, `"REDACTED"`, p.AwaitEvents(t, 1, "runtime.fetch.failed", "")[0].At("request", "headers", "x-key"))
	_, head := f.RequestsTo("/bad")
	require.Equal(t, secret, head.Get("X-Key"), "who is to have it gets it")
	require.Equal(t, `"REDACTED"`, p.RunTest(t, 200, `{}`).AwaitEvents(t, 1, "e")[0].At("v"))
	nodetest.RequireSecretsHidden(t, p, secret)
}
