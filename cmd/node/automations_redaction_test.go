package node_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsInPathsAreInNoEvent(t *testing.T) {
	t.Parallel()
	p := newWorkshop(t).place(t)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"k":{"value":"WSECRET-CANARY"}}`)
	p.has(t, `
hook: {when: {endpoint: 'hook/:token'}, arguments: {pathParams: {type: object, properties: {token: {type: string, secret: true}}}}, do: [{emit: {event: e}}], output: ok}
hears: {when: {events: [e, runtime.webhooks.triggered]}, do: [], output: ok}`)
	for _, path := range []string{"WSECRET-CANARY", "pathsecret-123", "pathsecret%2d12%33"} {
		got := p.calls(t, 200, "GET", "hook/"+path, "")
		for _, e := range got.awaits(t, 2, "runtime.webhooks.triggered", "e") {
			if e.Type != "e" {
				require.Equal(t, `"hook/REDACTED"`, e.at("endpoint"))
			}
		}
		got.awaits(t, 3, executed)
		require.Equal(t, `"hook/REDACTED"`, got.events(t, "runtime.interactions.triggered")[0].at("trigger", "value"))
	}
	requireHidden(t, p, "WSECRET-CANARY", "pathsecret-123", "pathsecret%2d12%33")
}

// Everything that a run triggers knows what it was given in confidence: other trees, what
// its events start, and what goes on after a restart.
func TestSecretArgumentsFollowTheRun(t *testing.T) {
	t.Parallel()
	const secret = "argument-CANARY"
	w := newWorkshop(t)
	p := w.place(t).has(t, `
t: {arguments: {p: {type: string, secret: true}}, do: [{set session.pw: '{{p}}'}, {runWorkflow: {workflow: child, wait: false, parameters: {v: '{{p}}'}}}, {emit: {event: later}}, {emit: {event: 'passing', options: {persist: false}}}]}
child: {do: [{emit: {event: deeper}}], output: '{{v}}'}
hears: {when: {events: [later, passing]}, do: [{emit: {event: deepest}}], output: '{{session.pw}}'}
last: {when: {events: [deeper, deepest]}, do: [], output: '{{session.pw}}'}
waits: {when: {events: [later]}, do: [{wait: {oneOf: [{event: go}], timeout: 300}}, {emit: {event: waited}}], output: '{{session.pw}}'}
woken: {when: {events: [waited]}, do: [], output: '{{session.pw}}'}`)
	got := p.tries(t, 200, `{"p":"`+secret+`"}`)
	for _, e := range got.awaits(t, 7, executed) {
		if e.at("slug") != `"t"` {
			require.Equal(t, `"REDACTED"`, e.at("output"), e.at("slug"))
		}
	}
	got.awaits(t, 1, "runtime.waits.pending")
	w.stop(t)
	w.start(t)
	p.emits(t, `{"type":"go"}`)
	for _, e := range got.awaits(t, 9, executed)[7:] {
		require.Equal(t, `"REDACTED"`, e.at("output"), e.at("slug"))
	}
	requireHidden(t, p, secret)
	w.stop(t)
	requireNoSecret(t, w.dir, secret)
}

func TestSecretsInNamesAreInNoEvent(t *testing.T) {
	t.Parallel()
	p := newWorkshop(t).place(t)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"k":{"value":"WSECRET.CANARY"}}`)
	p.has(t, `
t: [{all: [{wait: {oneOf: [{event: 'x.{{secret.k}}'}], timeout: 20, output: r}}, {emit: {event: 'x.{{secret.k}}', target: {userTopic: 'tp-{{secret.k}}', userId: '{{secret.k}}'}}}]}, {createUserTopic: {topic: 'tp-{{secret.k}}', userIds: ['{{secret.k}}']}}, {joinUserTopic: {topic: 'tp-{{secret.k}}', userIds: ['u-{{secret.k}}']}}, {set session.id: 's-{{secret.k}}'}, {emit: {event: switched}}, {run: {module: collections, function: updateSchema, parameters: {collection: 'c-{{secret.k}}', schema: 's-{{secret.k}}', properties: {a: {type: string}}}}}, {T: '{{r.type}}'}]`)
	got := p.tries(t, 200, `{}`)
	require.Equal(t, `"x.REDACTED"`, got.r(t), "who waits for it by its name finds it")
	types := typesOf(got.events(t))
	require.Contains(t, types, "x.REDACTED")
	require.Equal(t, `"tp-REDACTED"`, p.awaits(t, 1, "events.userTopics.created", "")[0].at("topic"))
	require.Equal(t, `"c-REDACTED"`, got.awaits(t, 1, "workspaces.collections.updated")[0].at("collection"))
	requireHidden(t, p, "WSECRET.CANARY")
}

func TestASecretIsNotLeftWhereSomethingIsCut(t *testing.T) {
	t.Parallel()
	const secret = "WSECRET-CANARY"
	w, f := newWorkshop(t), newFar(t)
	p := w.place(t)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"k":{"value":"`+secret+`"}}`)
	p.has(t, `
cuts: {when: {endpoint: true}, do: [{fetch: {url: '`+f.URL+`/bad', method: post, headers: {content-type: text/plain}, body: '{{body.pad}}{{secret.k}}'}}]}
logs: {when: {endpoint: true}, do: [{run: {module: code, function: run, parameters: {code: 'console.log(args.pad + args.k); throw new Error("x".repeat(1980) + args.k + "y".repeat(100))', arguments: {k: '{{secret.k}}', pad: '{{body.pad}}'}}}}]}`)
	pad := `{"pad":"` + strings.Repeat("x", 10000-13) + `"}`
	told := p.calls(t, 200, "POST", "cuts", pad).awaits(t, 1, "runtime.fetch.failed")[0].at("request", "body")
	require.NotContains(t, told, secret[:4])
	failed := p.calls(t, 400, "POST", "logs", pad)
	require.NotContains(t, string(failed.body), secret[:7])
	text, err := json.Marshal(failed.failures(t))
	require.NoError(t, err)
	require.NotContains(t, string(text), secret[:7])
	requireHidden(t, p, secret)
}

// What a publisher keeps secret is not told where its app is installed, nor what an app
// stored of it where others of the workspace find it.
func TestSecretsOfPublishersAreInNoEventOfTheirInstances(t *testing.T) {
	t.Parallel()
	const secret = "publisher-CANARY-9"
	w, f := newWorkshop(t), newFar(t)
	vendor := w.person(t, "vendor")
	made := w.must(t, "POST", "/v2/workspaces", vendor, `{"name":"Vendor"}`)
	app := place{w.service, "/v2/workspaces/" + made["id"].(string), made["id"].(string), vendor}
	app.does(t, 200, "PATCH", app.path+"/security/secrets", `{"vendor":{"value":"`+secret+`"}}`)
	app.does(t, 200, "PATCH", app.path, `{"config":{"value":{"key":"{{secret.vendor}}"}}}`)
	app.has(t, `
bad: {when: {endpoint: true}, do: [{set global.seen: '{{config.key}}'}, {fetch: {url: '`+f.URL+`/bad', headers: {x-key: '{{config.key}}'}}}]}`)
	app.publishes(t, "vendorapp")
	p := w.place(t).has(t, `
t: [{emit: {event: e, payload: {v: '{{global.seen}}'}}}]`)
	p.installs(t, "vendorapp", "a", ``)
	anyone := place{w.service, p.path, p.id, http.Header{}}
	anyone.ask(t, "GET", p.path+"/webhooks/a.bad", "")
	require.Equal(t, `"REDACTED"`, p.awaits(t, 1, "runtime.fetch.failed", "")[0].at("request", "headers", "x-key"))
	_, head := f.seen("/bad")
	require.Equal(t, secret, head.Get("X-Key"), "who is to have it gets it")
	require.Equal(t, `"REDACTED"`, p.tries(t, 200, `{}`).awaits(t, 1, "e")[0].at("v"))
	requireHidden(t, p, secret)
}
