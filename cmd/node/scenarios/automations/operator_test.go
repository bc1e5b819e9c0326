package automations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Which hosts fetch reaches changes while the service runs, for the very next request.
func TestLiveHostRulesReachFetch(t *testing.T) {
	t.Parallel()
	const reached, refused = `{"ok":true}`, `"FetchForbiddenError"`
	f, w := nodetest.NewRemoteServer(t), nodetest.NewOwnedService(t, "EGRESS_ALLOW_PRIVATE=no")
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{try: {do: [{fetch: {url: '`+f.URL+`/live', output: r}}], catch: [{T: '{{$error.error}}'}]}}]`)
	require.Equal(t, refused, p.RunTest(t, 200, `{}`).Result(t), "as it started")
	served := 0
	for _, now := range []struct {
		name, r string
		env     []string
	}{
		{"allowed for fetch", reached, []string{"FETCH_ALLOWED_HOSTS=127.0.0.1"}},
		{"forbidden for fetch", refused, []string{"FETCH_ALLOWED_HOSTS=127.0.0.1", "FETCH_FORBIDDEN_HOSTS=127.0.0.1"}},
		{"allowed for everybody", reached, []string{"EGRESS_ALLOW_HOSTS=127.0.0.1"}},
		{"denied for everybody", refused, []string{"FETCH_ALLOWED_HOSTS=127.0.0.1", "EGRESS_DENY_HOSTS=127.0.0.0/8"}},
		{"allowed again", reached, []string{"FETCH_ALLOWED_HOSTS=127.0.0.0/8"}},
		{"said by nobody", refused, nil},
	} {
		w.Reload(t, now.env...)
		w.Node.Apply()
		require.JSONEq(t, now.r, p.RunTest(t, 200, `{}`).Result(t), now.name)
		if now.r == reached {
			served++
		}
		asked, _ := f.RequestsTo("/live")
		require.Len(t, asked, served, now.name)
	}
}

// What the operator adds to global is the operator's, as what the platform says there is.
func TestVariablesOfTheOperatorCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := nodetest.NewOwnedService(t, "ADDITIONAL_GLOBAL_VARS_region=eu").NewWorkspace(t).AddAutomations(t, `
child: {do: [], output: us}
whole: {when: {endpoint: true}, do: [{set global: {region: us, mine: 1}}, {delete: {name: global.absent}}], output: ['{{global.region}}', '{{global.mine}}']}
set: {when: {endpoint: true}, do: [{set global.region: us}]}
unset: {when: {endpoint: true}, do: [{set global.region: '{{nothing}}'}]}
below: {when: {endpoint: true}, do: [{set global.region.code: us}]}
named: {when: {endpoint: true}, do: [{set name: region}, {'set global[{{name}}]': us}]}
pushed: {when: {endpoint: true}, do: [{'set global.region[]': us}]}
merged: {when: {endpoint: true}, do: [{set: {name: global.region, value: {code: us}, type: merge}}]}
output: {when: {endpoint: true}, do: [{child: {output: global.region}}]}
delete: {when: {endpoint: true}, do: [{delete: {name: global.region}}]}
kept: {when: {endpoint: true}, do: [{set r: ['{{global.region}}', '{{global.mine}}']}], output: '{{r}}'}`)
	require.JSONEq(t, `["eu",1]`, string(p.CallEndpoint(t, 200, "POST", "whole", "").Body))
	for _, writes := range []string{"set", "unset", "below", "named", "pushed", "merged", "output", "delete"} {
		got := p.CallEndpoint(t, 500, "POST", writes, "")
		told := got.AwaitEvents(t, 1, "error")[0]
		require.Equal(t, []any{"InvalidInstructionError", "InvalidInstructionError"}, []any{got.JSON(t)["details"].(map[string]any)["name"], told.Payload["error"]}, writes)
		require.Contains(t, told.Payload["message"], "cannot be written", writes)
		again := p.Do(t, 200, "POST", p.Path+"/runs/"+got.Correlation()+"/replay", `{}`).JSON(t)
		require.Equal(t, "identical", again["status"], "%s: %v", writes, again)
	}
	require.JSONEq(t, `["eu",1]`, string(p.CallEndpoint(t, 200, "POST", "kept", "").Body))
}

// Secrets of the platform are the platform's, wherever they are given.
func TestSettingsGiveSecretsOfThePlatform(t *testing.T) {
	t.Parallel()
	const prefix = "WORKSPACE_SECRET_guarded_"
	w := nodetest.NewOwnedService(t, prefix+"key=operators", prefix+"svc_ratelimit_automations=1", prefix+"svc_ratelimit_automations_burst=1")
	id := w.Must(t, "POST", "/v2/workspaces", w.Owner, `{"name":"Guarded","slug":"guarded"}`)["id"].(string)
	p := w.Track(nodetest.Workspace{Service: w.Service, Path: "/v2/workspaces/" + id, ID: id, Auth: w.Owner})
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"key":"{{secret.key}}","pace":"{{secret.svc_ratelimit_automations}}"}}}`)
	p.AddAutomations(t, `
t: [{child: {}}, {run: {module: secrets, function: get, parameters: {name: svc_ratelimit_automations}, output: got}}, {T: ['{{secret.key}}', '{% {{secret.svc_ratelimit_automations}} exists %}', '{{config.key}}', '{% {{config.pace}} exists %}', '{{got.error}}']}]
child: []`)
	throttled := func(r nodetest.Run) bool {
		for _, e := range r.AwaitEvents(t, 2, nodetest.Executed) {
			if e.At("throttled") != "" {
				return true
			}
		}
		return false
	}
	got := p.RunTest(t, 200, `{}`)
	require.JSONEq(t, `["operators",false,"operators",false,"forbidden"]`, got.Result(t))
	require.True(t, throttled(got), "its pace is the one that the settings give")

	admin := p.As(nodetest.Bearer(w.SignInAdmin(t)))
	admin.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"svc_ratelimit_automations":{"value":"0"}}`)
	require.False(t, throttled(p.RunTest(t, 200, `{}`)), "what is stored wins")
	admin.Do(t, 200, "DELETE", p.Path+"/security/secrets/svc_ratelimit_automations", "")
	require.True(t, throttled(p.RunTest(t, 200, `{}`)), "and the settings are back without it")
}
