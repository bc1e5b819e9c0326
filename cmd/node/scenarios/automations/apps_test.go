package automations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// innerApp is an app that is in outer, which is in a workspace as a.
const innerApp = `
show: {when: {endpoint: true, events: [asked]}, do: [], output: {k: '{{config.k}}', own: '{{config.own}}', said: '{{config.said}}', secret: '{{secret.k}}', app: '{{run.appSlug}}', at: '{{run.appInstanceFullSlug}}', parent: '{{run.parentAppSlug}}'}}
hidden: {private: true, when: {endpoint: true}, do: [], output: 1}
says: {when: {events: [y]}, do: [{emit: {event: x, payload: {depth: '{{run.depth}}'}, output: ev}}], output: '{{ev.type}}'}
fails: [{nope: {}}]
waits: [{emit: {event: q}}, {wait: {oneOf: [{event: r}], timeout: 10, output: w}}, {T: '{{w.type}}'}]
broken: {when: {events: [workspaces.automations.created, foreign, error]}, do: []}
born: {when: {events: [workspaces.apps.installed, workspaces.apps.configured]}, do: [], output: '{{type}}'}
keeps: [{set global.fromApp: 1}, {set config.said: kept}, {T: '{{config.said}}'}]`

func TestAppsOfAutomations(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "APP_CONFIG_inner_own=operator")
	app := w.NewWorkspace(t).AddAutomations(t, innerApp)
	app.Do(t, 200, "PATCH", app.Path, `{"config":{"value":{"said":"app","k":"app"}}}`)
	app.Do(t, 200, "PATCH", app.Path+"/security/secrets", `{"k":{"value":"of the app"}}`)
	app.PublishApp(t, "inner")
	outer := w.NewWorkspace(t).InstallApp(t, "inner", "b", `,"config":{"k":"{{config.k}}"}`).AddAutomations(t, `
through: {when: {endpoint: true}, do: [{b.show: {output: r}}]}`)
	outer.PublishApp(t, "outer")

	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"k":1}}}`)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"of the workspace"}}`)
	p.InstallApp(t, "inner", "a", `,"config":{"k":"{{config.k}}","s":"{{secret.k}}"}`)
	p.InstallApp(t, "outer", "o", `,"config":{"k":"{{config.k}}"}`)
	p.AddAutomations(t, `
t: [{a.show: {output: r}}]
private: {when: {endpoint: true}, do: [{a.hidden: {}}]}
deep: {when: {endpoint: true}, do: [{o.b.show: {}}]}
fails: {when: {endpoint: true}, do: [{a.fails: {}}]}
waits: {when: {endpoint: true}, do: [{a.waits: {output: w}}], output: '{{w}}'}
answers: {when: {events: [a.q]}, do: [{emit: {event: r}}, {emit: {event: a.r}}]}
heard: {when: {events: [a.x]}, do: [], output: '{{payload.depth}}'}
keeps: {when: {endpoint: true}, do: [{a.keeps: {output: k}}], output: ['{{k.r}}', '{{global.fromApp}}', '{{config}}']}`)

	t.Run("config cascades, and nothing else is seen", func(t *testing.T) {
		require.JSONEq(t, `{"k":1,"own":"operator","said":"app","app":"inner","at":"a"}`, p.RunTest(t, 200, `{}`).Result(t))
		require.JSONEq(t, `{"r":{"k":1,"own":"operator","said":"app","app":"inner","at":"o.b","parent":"outer"}}`, string(p.CallEndpoint(t, 200, "GET", "o.through", "").Body))
		require.Contains(t, string(p.CallEndpoint(t, 200, "GET", "o.b.show", "").Body), `"k":1`)
		require.Contains(t, string(p.CallEndpoint(t, 200, "GET", "a.show", "").Body), `"k":1`)
	})
	t.Run("what is hidden is not there", func(t *testing.T) {
		for _, path := range []string{"private", "deep"} {
			got := p.CallEndpoint(t, 500, "GET", path, "")
			require.Equal(t, "ObjectNotFoundError", got.JSON(t)["details"].(map[string]any)["name"])
		}
		require.Equal(t, "1", string(p.CallEndpoint(t, 200, "GET", "a.hidden", "").Body), "its endpoint is served all the same")
		p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/webhooks/show", "")
		p.RequireRefusal(t, 404, "resource_not_found", "POST", p.Path+"/test/a.show", `{}`)
	})
	t.Run("events have the prefix of the instance", func(t *testing.T) {
		made, _ := p.Emit(t, `{"type":"a.y"},{"type":"y"},{"type":"foreign"},{"type":"x"}`)
		said := p.AwaitEvents(t, 1, "a.x", "")[0]
		require.Equal(t, []any{"inner", "a", "a.says"}, []any{said.Source["appSlug"], said.Source["appInstanceFullSlug"], said.Source["automationSlug"]})
		ended := p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=a.says")[0]
		require.JSONEq(t, `{"type":"event","value":"a.y","id":"`+made[0].ID+`","appInstanceSlug":"a"}`, ended.At("trigger"))
		require.Equal(t, "1", p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=heard")[0].At("output"))
		require.Empty(t, p.AwaitEvents(t, 0, nodetest.Executed, "payload.slug=a.broken"), "neither unprefixed nor native events of others reach it")
	})
	t.Run("errors and waits too", func(t *testing.T) {
		got := p.CallEndpoint(t, 500, "GET", "fails", "")
		told := got.AwaitEvents(t, 1, "a.error")[0]
		require.Equal(t, "ObjectNotFoundError", told.Payload["error"])
		require.Empty(t, got.Events(t, "error"))
		require.JSONEq(t, `{"r":"r"}`, string(p.CallEndpoint(t, 200, "GET", "waits", "").Body))
	})
	t.Run("an instance hears of itself", func(t *testing.T) {
		require.Equal(t, `"workspaces.apps.installed"`, p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=a.born")[0].At("output"))
		p.Do(t, 200, "PATCH", p.Path+"/apps/a", `{"config":{"k":2}}`)
		require.Equal(t, `"workspaces.apps.configured"`, p.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=a.born")[1].At("output"))
		require.Contains(t, p.RunTest(t, 200, `{}`).Result(t), `"k":2`)
	})
	t.Run("it writes its own config", func(t *testing.T) {
		require.JSONEq(t, `["kept",1,{"k":1}]`, string(p.CallEndpoint(t, 200, "GET", "keeps", "").Body))
		require.Equal(t, `"kept"`, nodetest.Event{Payload: p.Do(t, 200, "GET", p.Path+"/apps/a/config", "").JSON(t)}.At("said"))
	})
	t.Run("a disabled instance does not exist", func(t *testing.T) {
		p.Do(t, 200, "PATCH", p.Path+"/apps/a", `{"disabled":true}`)
		require.Equal(t, "ObjectNotFoundError", p.RunTest(t, 500, `{}`).JSON(t)["details"].(map[string]any)["name"])
		p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/webhooks/a.show", "")
	})
}

// The whole config of the parent is passed on, at every level.
func TestAWholeConfigCascades(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	app := w.NewWorkspace(t).AddAutomations(t, `show: {do: [], output: '{{config.k}}'}`)
	app.PublishApp(t, "inner")
	outer := w.NewWorkspace(t).InstallApp(t, "inner", "b", `,"config":"{{config}}"`).AddAutomations(t, `show: {do: [{b.show: {output: r}}], output: '{{r}}'}`)
	outer.PublishApp(t, "outer")
	p := w.NewWorkspace(t).InstallApp(t, "outer", "o", `,"config":"{{config}}"`).AddAutomations(t, `t: [{o.show: {output: r}}]`)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"k":1}}}`)
	require.Equal(t, "1", p.RunTest(t, 200, `{}`).Result(t))
}
