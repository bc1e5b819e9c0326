package node_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A secret that an automation writes into its config works there, and no event tells it:
// neither that one, nor those of whoever changes something else.
func TestASecretThatIsWrittenIntoConfigIsNotTold(t *testing.T) {
	t.Parallel()
	const argument, workspace = "hunter22-CANARY", "abcdef-CANARY"
	w := newWorkshop(t)
	const keeps = `
keeps: {when: {endpoint: true}, arguments: {body: {type: object, properties: {p: {type: string, secret: true}}}}, do: [{set config.kept: {p: 'Bearer {{body.p}}'}}, {set config.plain: 1}], output: '{{config.kept.p}}'}
reads: {when: {endpoint: true}, do: [], output: '{{config.kept.p}}'}`
	w.place(t).has(t, keeps).publishes(t, "keeper")
	p := w.place(t).has(t, keeps+`
own: {when: {endpoint: true}, do: [{set config.own: '{{secret.k}}'}], output: '{{config.own}}'}`)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"k":{"value":"`+workspace+`"}}`)
	p.installs(t, "keeper", "a", "")

	for _, prefix := range []string{"", "a."} {
		require.Equal(t, "Bearer "+argument, string(p.calls(t, 200, "POST", prefix+"keeps", `{"p":"`+argument+`"}`).body))
		require.Equal(t, "Bearer "+argument, string(p.calls(t, 200, "POST", prefix+"reads", "").body))
	}
	require.Equal(t, workspace, string(p.calls(t, 200, "POST", "own", "").body))
	p.does(t, 200, "PATCH", p.path+"/config", `{"value":{"kept":{"p":"Bearer `+argument+`"},"more":1}}`)
	p.does(t, 200, "PATCH", p.path+"/apps/a", `{"config":{"kept":{"p":"Bearer `+argument+`"},"more":1}}`)

	configured := p.awaits(t, 4, "workspaces.configured", "")
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"plain":1,"own":"REDACTED"}`, configured[2].at("config", "value"))
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"more":1}`, configured[3].at("config", "value"))
	instance := p.awaits(t, 3, "workspaces.apps.configured", "")
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"plain":1}`, instance[1].at("appInstance", "config"))
	require.JSONEq(t, `{"kept":{"p":"REDACTED"},"more":1}`, instance[2].at("appInstance", "config"))
	for _, e := range append(configured, instance...) {
		require.NotContains(t, e.at(), "CANARY", e.Type)
	}
	require.Equal(t, "Bearer "+argument, string(p.calls(t, 200, "POST", "a.reads", "").body))
}

// Nor does an event tell it when the config comes back: by undoing what was made of it, or
// in a copy of an earlier version.
func TestASecretThatComesBackIntoConfigIsNotTold(t *testing.T) {
	t.Parallel()
	const secret = "abcdef-CANARY"
	w := newWorkshop(t)
	const keeps = `
keeps: {when: {endpoint: true}, arguments: {body: {type: object, properties: {p: {type: string, secret: true}}}}, do: [{set config.kept: {p: '{{body.p}}'}}], output: '{{config.kept.p}}'}`
	w.place(t).has(t, keeps).publishes(t, "keeper")
	p := w.place(t).has(t, keeps).installs(t, "keeper", "a", "")
	for _, endpoint := range []string{"keeps", "a.keeps"} {
		require.Equal(t, secret, string(p.calls(t, 200, "POST", endpoint, `{"p":"`+secret+`"}`).body))
	}
	version := p.does(t, http.StatusCreated, "POST", p.path+"/versions", `{"description":"with it"}`).json(t)["name"]

	for _, path := range []string{"/config", "/apps/a"} {
		field := map[string]string{"/config": "value", "/apps/a": "config"}[path]
		p.does(t, 200, "PATCH", p.path+path, `{"`+field+`":{"kept":{"p":"public"}}}`)
		history := p.does(t, 200, "GET", p.path+"/history?limit=1", "").list(t)
		p.does(t, 200, "POST", p.path+"/undo", undo(history[0]["seq"].(string)))
		p.does(t, 200, "PATCH", p.path+path, `{"`+field+`":{"kept":{"p":"`+secret+`"},"more":1}}`)
	}
	made := p.does(t, http.StatusCreated, "POST", fmt.Sprintf("%s/versions/%v/duplicate", p.path, version), "").json(t)
	twin := place{p.s, fmt.Sprintf("/v2/workspaces/%v", made["id"]), made["id"].(string), p.me}
	twin.does(t, 200, "PATCH", twin.path+"/config", `{"value":{"kept":{"p":"`+secret+`"},"more":1}}`)
	twin.does(t, 200, "PATCH", twin.path+"/apps/a", `{"config":{"kept":{"p":"`+secret+`"},"more":1}}`)

	p.awaits(t, 3, "workspaces.apps.configured", "")
	twin.awaits(t, 1, "workspaces.apps.configured", "")
	for _, q := range []place{p, twin} {
		told, err := q.recorded(t.Context(), "")
		require.NoError(t, err)
		for _, e := range told {
			require.NotContains(t, e.at(), "CANARY", e.Type)
		}
	}
}
