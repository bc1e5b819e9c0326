package secrets_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// A secret that an automation writes into its config works there, and no event tells it:
// neither that one, nor those of whoever changes something else.
func TestASecretThatIsWrittenIntoConfigIsNotTold(t *testing.T) {
	t.Parallel()
	const argument, workspace = "hunter22-CANARY", "abcdef-CANARY"
	w := nodetest.NewOwnedService(t)
	const keeps = `
keeps: {when: {endpoint: true}, arguments: {body: {type: object, properties: {p: {type: string, secret: true}}}}, do: [{set config.kept: {p: 'Bearer {{body.p}}'}}, {set config.plain: 1}], output: '{{config.kept.p}}'}
reads: {when: {endpoint: true}, do: [], output: '{{config.kept.p}}'}`
	w.NewWorkspace(t).AddAutomations(t, keeps).PublishApp(t, "keeper")
	p := w.NewWorkspace(t).AddAutomations(t, keeps+`
own: {when: {endpoint: true}, do: [{set config.own: '{{secret.k}}'}], output: '{{config.own}}'}`)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"`+workspace+`"}}`)
	p.InstallApp(t, "keeper", "a", "")

	for _, prefix := range []string{"", "a."} {
		require.Equal(t, "Bearer "+argument, string(p.CallEndpoint(t, 200, "POST", prefix+"keeps", `{"p":"`+argument+`"}`).Body))
		require.Equal(t, "Bearer "+argument, string(p.CallEndpoint(t, 200, "POST", prefix+"reads", "").Body))
	}
	require.Equal(t, workspace, string(p.CallEndpoint(t, 200, "POST", "own", "").Body))
	p.Do(t, 200, "PATCH", p.Path+"/config", `{"value":{"kept":{"p":"Bearer `+argument+`"},"more":1}}`)
	p.Do(t, 200, "PATCH", p.Path+"/apps/a", `{"config":{"kept":{"p":"Bearer `+argument+`"},"more":1}}`)

	configured := p.AwaitEvents(t, 4, "workspaces.configured", "")
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"plain":1,"own":"REDACTED"}`, configured[2].At("config", "value"))
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"more":1}`, configured[3].At("config", "value"))
	instance := p.AwaitEvents(t, 3, "workspaces.apps.configured", "")
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"plain":1}`, instance[1].At("appInstance", "config"))
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"more":1}`, instance[2].At("appInstance", "config"))
	for _, e := range append(configured, instance...) {
		require.NotContains(t, e.At(), "CANARY", e.Type)
	}
	require.Equal(t, "Bearer "+argument, string(p.CallEndpoint(t, 200, "POST", "a.reads", "").Body))
}

// Nor does an event tell it when the config comes back: by undoing what was made of it, or
// in a copy of an earlier version.
func TestASecretThatComesBackIntoConfigIsNotTold(t *testing.T) {
	t.Parallel()
	const secret = "abcdef-CANARY"
	w := nodetest.NewOwnedService(t)
	const keeps = `
keeps: {when: {endpoint: true}, arguments: {body: {type: object, properties: {p: {type: string, secret: true}}}}, do: [{set config.kept: {p: '{{body.p}}'}}], output: '{{config.kept.p}}'}`
	w.NewWorkspace(t).AddAutomations(t, keeps).PublishApp(t, "keeper")
	p := w.NewWorkspace(t).AddAutomations(t, keeps).InstallApp(t, "keeper", "a", "")
	for _, endpoint := range []string{"keeps", "a.keeps"} {
		require.Equal(t, secret, string(p.CallEndpoint(t, 200, "POST", endpoint, `{"p":"`+secret+`"}`).Body))
	}
	version := p.Do(t, http.StatusCreated, "POST", p.Path+"/versions", `{"description":"with it"}`).JSON(t)["name"]

	for _, path := range []string{"/config", "/apps/a"} {
		field := map[string]string{"/config": "value", "/apps/a": "config"}[path]
		p.Do(t, 200, "PATCH", p.Path+path, `{"`+field+`":{"kept":{"p":"public"}}}`)
		history := p.Do(t, 200, "GET", p.Path+"/history?limit=1", "").List(t)
		p.Do(t, 200, "POST", p.Path+"/undo", nodetest.UndoBody(history[0]["seq"].(string)))
		p.Do(t, 200, "PATCH", p.Path+path, `{"`+field+`":{"kept":{"p":"`+secret+`"},"more":1}}`)
	}
	made := p.Do(t, http.StatusCreated, "POST", fmt.Sprintf("%s/versions/%v/duplicate", p.Path, version), "").JSON(t)
	twin := nodetest.Workspace{Service: p.Service, Path: fmt.Sprintf("/v2/workspaces/%v", made["id"]), ID: made["id"].(string), Auth: p.Auth}
	twin.Do(t, 200, "PATCH", twin.Path+"/config", `{"value":{"kept":{"p":"`+secret+`"},"more":1}}`)
	twin.Do(t, 200, "PATCH", twin.Path+"/apps/a", `{"config":{"kept":{"p":"`+secret+`"},"more":1}}`)

	p.AwaitEvents(t, 3, "workspaces.apps.configured", "")
	twin.AwaitEvents(t, 1, "workspaces.apps.configured", "")
	for _, q := range []nodetest.Workspace{p, twin} {
		told, err := q.FindEvents(t.Context(), "")
		require.NoError(t, err)
		for _, e := range told {
			require.NotContains(t, e.At(), "CANARY", e.Type)
		}
	}
}
