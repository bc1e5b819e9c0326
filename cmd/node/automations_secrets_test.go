package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is secret is in no event, in no log line and in no file; who is to have it gets it.
func TestSecretsOfRuns(t *testing.T) {
	t.Parallel()
	const argument, workspace, setting, reference, short = "hunter22-CANARY", "abcdef+CANARY/1", "config-CANARY-3", "reference-CANARY-4", "xyz"
	w, f := newWorkshop(t), newFar(t)
	p := w.place(t)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"k":{"value":"`+workspace+`"},"short":{"value":"`+short+`"},"c":{"value":"`+setting+`"}}`)
	p.does(t, 200, "PATCH", p.path, `{"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"{{secret.c}}","hidden":"{{secret.k}}"}}}`)
	p.has(t, `
t: {arguments: {p: {type: string, secret: true}, q: {type: string, redact: true}}, do: [{child: {v: '{{p}}'}}, {'set o[{{p}}]': 1}, {emit: {event: e, payload: {a: 'Bearer {{secret.k}}', o: '{{o}}', s: '{{secret.short}}', t: 'x{{secret.short}}', c: '{{config.key}}', b: '{% base64({{p}}) %}', q: '{{q}}'}}}], output: {p: '{{p}}', q: '{{q}}'}}
child: {do: [{set global.kept: '{{v}}'}], output: '{{v}}'}
hears: {when: {events: [e]}, do: [], output: '{{payload}}'}
fails: {when: {endpoint: true}, do: [{fetch: {url: '`+f.URL+`/bad', method: post, headers: {x-key: '{{secret.k}}'}, query: {k: '{{secret.k}}'}, body: {k: '{{config.hidden}}'}}}, {run: {module: code, function: run, parameters: {code: 'throw new Error(args.k)', arguments: {k: '{{secret.k}}'}}}}]}
refs: {when: {endpoint: true}, do: [{run: {module: secrets, function: set, parameters: {name: mine, value: '`+reference+`'}, output: s}}, {run: {module: secrets, function: get, parameters: {name: mine}, output: r}}, {fetch: {url: '`+f.URL+`/ref', headers: {authorization: 'Bearer {{r}}'}}}, {emit: {event: told, payload: {r: '{{r}}'}}}]}`)

	got := p.tries(t, 200, `{"p":"`+argument+`","q":"only here"}`)
	require.JSONEq(t, `{"p":"`+argument+`","q":"only here"}`, string(got.body), "the answer has it")
	ended := got.awaits(t, 3, executed)
	require.Equal(t, `{"v":"REDACTED"}`, ended[0].at("payload"))
	require.Equal(t, `"REDACTED"`, ended[0].at("output"))
	require.JSONEq(t, `{"p":"REDACTED","q":"REDACTED"}`, ended[1].at("payload"))
	e := got.events(t, "e")[0]
	require.JSONEq(t, `{"a":"Bearer REDACTED","o":{"REDACTED":1},"s":"REDACTED","t":"xxyz","c":"REDACTED","b":"REDACTED","q":"only here"}`, e.at())
	require.JSONEq(t, e.at(), ended[2].at("output"), "listeners get it so")

	failed := p.calls(t, 400, "POST", "fails", "")
	require.NotContains(t, string(failed.body), "CANARY")
	asked, head := f.seen("/bad")
	require.Equal(t, workspace, head.Get("X-Key"), "fetch sends it")
	require.Contains(t, asked[0], `{"k":"`+workspace+`"}`)
	require.Contains(t, failed.awaits(t, 1, "runtime.fetch.failed")[0].at("request", "url"), "REDACTED")

	refs := p.calls(t, 200, "POST", "refs", "")
	_, head = f.seen("/ref")
	require.Equal(t, "Bearer "+reference, head.Get("Authorization"))
	require.Contains(t, refs.events(t, "told")[0].at("r"), "$secret:")

	// What an author writes into a document is no secret: the reference is in the event that tells it was saved.
	requireHidden(t, p, argument, workspace, setting)
	w.stop(t)
	requireNoSecret(t, w.dir, argument, workspace)
}
