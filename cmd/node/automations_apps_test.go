package node_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// publishes makes an app of a place.
func (p place) publishes(t *testing.T, slug string) {
	t.Helper()
	p.does(t, 200, "PATCH", p.path, `{"description":"An app","photo":"/a.png"}`)
	p.does(t, http.StatusCreated, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":%q}`, p.id, slug))
}

// installs adds an app to a place, with more members of the instance.
func (p place) installs(t *testing.T, app, slug, more string) place {
	t.Helper()
	p.does(t, http.StatusCreated, "POST", p.path+"/apps", fmt.Sprintf(`{"appSlug":%q,"slug":%q%s}`, app, slug, more))
	return p
}

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
	w := newWorkshop(t, "APP_CONFIG_inner_own=operator")
	app := w.place(t).has(t, innerApp)
	app.does(t, 200, "PATCH", app.path, `{"config":{"value":{"said":"app","k":"app"}}}`)
	app.does(t, 200, "PATCH", app.path+"/security/secrets", `{"k":{"value":"of the app"}}`)
	app.publishes(t, "inner")
	outer := w.place(t).installs(t, "inner", "b", `,"config":{"k":"{{config.k}}"}`).has(t, `
through: {when: {endpoint: true}, do: [{b.show: {output: r}}]}`)
	outer.publishes(t, "outer")

	p := w.place(t)
	p.does(t, 200, "PATCH", p.path, `{"config":{"value":{"k":1}}}`)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"k":{"value":"of the workspace"}}`)
	p.installs(t, "inner", "a", `,"config":{"k":"{{config.k}}","s":"{{secret.k}}"}`)
	p.installs(t, "outer", "o", `,"config":{"k":"{{config.k}}"}`)
	p.has(t, `
t: [{a.show: {output: r}}]
private: {when: {endpoint: true}, do: [{a.hidden: {}}]}
deep: {when: {endpoint: true}, do: [{o.b.show: {}}]}
fails: {when: {endpoint: true}, do: [{a.fails: {}}]}
waits: {when: {endpoint: true}, do: [{a.waits: {output: w}}], output: '{{w}}'}
answers: {when: {events: [a.q]}, do: [{emit: {event: r}}, {emit: {event: a.r}}]}
heard: {when: {events: [a.x]}, do: [], output: '{{payload.depth}}'}
keeps: {when: {endpoint: true}, do: [{a.keeps: {output: k}}], output: ['{{k.r}}', '{{global.fromApp}}', '{{config}}']}`)

	t.Run("config cascades, and nothing else is seen", func(t *testing.T) {
		require.JSONEq(t, `{"k":1,"own":"operator","said":"app","app":"inner","at":"a"}`, p.tries(t, 200, `{}`).r(t))
		require.JSONEq(t, `{"r":{"k":1,"own":"operator","said":"app","app":"inner","at":"o.b","parent":"outer"}}`, string(p.calls(t, 200, "GET", "o.through", "").body))
		require.Contains(t, string(p.calls(t, 200, "GET", "o.b.show", "").body), `"k":1`)
		require.Contains(t, string(p.calls(t, 200, "GET", "a.show", "").body), `"k":1`)
	})
	t.Run("what is hidden is not there", func(t *testing.T) {
		for _, path := range []string{"private", "deep"} {
			got := p.calls(t, 400, "GET", path, "")
			require.Equal(t, "ObjectNotFoundError", got.json(t)["details"].(map[string]any)["name"])
		}
		require.Equal(t, "1", string(p.calls(t, 200, "GET", "a.hidden", "").body), "its endpoint is served all the same")
		p.refuses(t, 404, "resource_not_found", "GET", p.path+"/webhooks/show", "")
		p.refuses(t, 404, "resource_not_found", "POST", p.path+"/test/a.show", `{}`)
	})
	t.Run("events have the prefix of the instance", func(t *testing.T) {
		made, _ := p.emits(t, `{"type":"a.y"},{"type":"y"},{"type":"foreign"},{"type":"x"}`)
		said := p.awaits(t, 1, "a.x", "")[0]
		require.Equal(t, []any{"inner", "a", "a.says"}, []any{said.Source["appSlug"], said.Source["appInstanceFullSlug"], said.Source["automationSlug"]})
		ended := p.awaits(t, 1, executed, "payload.slug=a.says")[0]
		require.JSONEq(t, `{"type":"event","value":"a.y","id":"`+made[0].ID+`","appInstanceSlug":"a"}`, ended.at("trigger"))
		require.Equal(t, "1", p.awaits(t, 1, executed, "payload.slug=heard")[0].at("output"))
		require.Empty(t, p.awaits(t, 0, executed, "payload.slug=a.broken"), "neither unprefixed nor native events of others reach it")
	})
	t.Run("errors and waits too", func(t *testing.T) {
		got := p.calls(t, 400, "GET", "fails", "")
		told := got.awaits(t, 1, "a.error")[0]
		require.Equal(t, "ObjectNotFoundError", told.Payload["error"])
		require.Empty(t, got.events(t, "error"))
		require.JSONEq(t, `{"r":"a.r"}`, string(p.calls(t, 200, "GET", "waits", "").body))
	})
	t.Run("an instance hears of itself", func(t *testing.T) {
		require.Equal(t, `"workspaces.apps.installed"`, p.awaits(t, 1, executed, "payload.slug=a.born")[0].at("output"))
		p.does(t, 200, "PATCH", p.path+"/apps/a", `{"config":{"k":2}}`)
		require.Equal(t, `"workspaces.apps.configured"`, p.awaits(t, 2, executed, "payload.slug=a.born")[1].at("output"))
		require.Contains(t, p.tries(t, 200, `{}`).r(t), `"k":2`)
	})
	t.Run("it writes its own config", func(t *testing.T) {
		require.JSONEq(t, `["kept",1,{"k":1}]`, string(p.calls(t, 200, "GET", "keeps", "").body))
		require.Equal(t, `"kept"`, shownEvent{Payload: p.does(t, 200, "GET", p.path+"/apps/a/config", "").json(t)}.at("said"))
	})
	t.Run("a disabled instance does not exist", func(t *testing.T) {
		p.does(t, 200, "PATCH", p.path+"/apps/a", `{"disabled":true}`)
		require.Equal(t, "ObjectNotFoundError", p.tries(t, 400, `{}`).json(t)["details"].(map[string]any)["name"])
		p.refuses(t, 404, "resource_not_found", "GET", p.path+"/webhooks/a.show", "")
	})
}

// The whole config of the parent is passed on, at every level.
func TestAWholeConfigCascades(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	app := w.place(t).has(t, `show: {do: [], output: '{{config.k}}'}`)
	app.publishes(t, "inner")
	outer := w.place(t).installs(t, "inner", "b", `,"config":"{{config}}"`).has(t, `show: {do: [{b.show: {output: r}}], output: '{{r}}'}`)
	outer.publishes(t, "outer")
	p := w.place(t).installs(t, "outer", "o", `,"config":"{{config}}"`).has(t, `t: [{o.show: {output: r}}]`)
	p.does(t, 200, "PATCH", p.path, `{"config":{"value":{"k":1}}}`)
	require.Equal(t, "1", p.tries(t, 200, `{}`).r(t))
}
