package secrets_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What is secret is in no event, in no log line and in no file; who is to have it gets it.
func TestSecretsOfRuns(t *testing.T) {
	t.Parallel()
	const argument, workspace, setting, reference, short = "hunter22-CANARY", "abcdef+CANARY/1", "config-CANARY-3", "reference-CANARY-4", "xyz"
	w, f := nodetest.NewOwnedService(t), nodetest.NewRemoteServer(t)
	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"`+workspace+`"},"short":{"value":"`+short+`"},"c":{"value":"`+setting+`"}}`)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"{{secret.c}}","hidden":"{{secret.k}}"}}}`)
	p.AddAutomations(t, `
t: {arguments: {p: {type: string, secret: true}, q: {type: string, redact: true}}, do: [{child: {v: '{{p}}'}}, {'set o[{{p}}]': 1}, {emit: {event: e, payload: {a: 'Bearer {{secret.k}}', o: '{{o}}', s: '{{secret.short}}', t: 'x{{secret.short}}', c: '{{config.key}}', b: '{% base64({{p}}) %}', q: '{{q}}'}}}], output: {p: '{{p}}', q: '{{q}}'}}
child: {do: [{set global.kept: '{{v}}'}], output: '{{v}}'}
hears: {when: {events: [e]}, do: [], output: '{{payload}}'}
fails: {when: {endpoint: true}, do: [{fetch: {url: '`+f.URL+`/bad', method: post, headers: {x-key: '{{secret.k}}'}, query: {k: '{{secret.k}}'}, body: {k: '{{config.hidden}}'}}}, {run: {module: code, function: run, parameters: {code: 'throw new Error(args.k)', arguments: {k: '{{secret.k}}'}}}}]}
refs: {when: {endpoint: true}, do: [{run: {module: secrets, function: set, parameters: {name: mine, value: '`+reference+`'}, output: s}}, {run: {module: secrets, function: get, parameters: {name: mine}, output: r}}, {fetch: {url: '`+f.URL+`/ref', headers: {authorization: 'Bearer {{r}}'}}}, {emit: {event: told, payload: {r: '{{r}}'}}}]}`)

	got := p.RunTest(t, 200, `{"p":"`+argument+`","q":"only here"}`)
	require.JSONEq(t, `{"p":"`+argument+`","q":"only here"}`, string(got.Body), "the answer has it")
	ended := got.AwaitEvents(t, 3, nodetest.Executed)
	slices.SortFunc(ended, func(a, b nodetest.Event) int { return strings.Compare(a.At("slug"), b.At("slug")) }) // child, hears, t
	require.Equal(t, `{"v":"REDACTED"}`, ended[0].At("payload"))
	require.Equal(t, `"REDACTED"`, ended[0].At("output"))
	require.JSONEq(t, `{"p":"REDACTED","q":"REDACTED"}`, ended[2].At("payload"))
	e := got.Events(t, "e")[0]
	require.JSONEq(t, `{"a":"Bearer REDACTED","o":{"REDACTED":1},"s":"REDACTED","t":"xxyz","c":"REDACTED","b":"REDACTED","q":"only here"}`, e.At())
	require.JSONEq(t, e.At(), ended[1].At("output"), "listeners get it so")

	failed := p.CallEndpoint(t, 500, "POST", "fails", "")
	require.NotContains(t, string(failed.Body), "CANARY")
	asked, head := f.RequestsTo("/bad")
	require.Equal(t, workspace, head.Get("X-Key"), "fetch sends it")
	require.Contains(t, asked[0], `{"k":"`+workspace+`"}`)
	require.Contains(t, failed.AwaitEvents(t, 1, "runtime.fetch.failed")[0].At("request", "url"), "REDACTED")

	refs := p.CallEndpoint(t, 200, "POST", "refs", "")
	_, head = f.RequestsTo("/ref")
	require.Equal(t, "Bearer "+reference, head.Get("Authorization"))
	require.Contains(t, refs.Events(t, "told")[0].At("r"), "$secret:")

	// What an author writes into a document is no secret: the reference is in the event that tells it was saved.
	nodetest.RequireSecretsHidden(t, p, argument, workspace, setting)
	w.Stop(t)
	nodetest.RequireNoSecret(t, w.Dir, argument, workspace)
}
