package automations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// An instance whose config is a template as a whole has none of its own to write to.
func TestATemplateOfAConfigIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	w.NewWorkspace(t).AddAutomations(t, `
sets: {when: {endpoint: true}, do: [{set config.seen: 1}]}
merges: {when: {endpoint: true}, do: [{set: {name: config, value: {seen: 1}, type: merge}}]}
replaces: {when: {endpoint: true}, do: [{set config: {seen: 1}}]}
below: {when: {endpoint: true}, do: [{set config.k.x: 1}]}
joins: {when: {endpoint: true}, do: [{set: {name: config.k, value: {x: 1}, type: merge}}]}
deletes: {when: {endpoint: true}, do: [{delete: {name: config.k}}]}
catches: {when: {endpoint: true}, do: [{try: {do: [{set config.seen: 1}], catch: [{set e: '{{$error.error}}'}]}}], output: ['{{e}}', '{{config.k}}', '{{config.seen}}']}
shows: {when: {endpoint: true}, do: [], output: '{{config}}'}`).PublishApp(t, "passed")
	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"k":1}}}`)
	p.InstallApp(t, "passed", "a", `,"config":"{{config}}"`)
	for _, writes := range []string{"sets", "merges", "replaces", "deletes"} {
		got := p.CallEndpoint(t, 500, "POST", "a."+writes, "")
		require.Equal(t, "InvalidInstructionError", got.JSON(t)["details"].(map[string]any)["name"], writes)
		told := got.AwaitEvents(t, 1, "a.error")[0]
		require.Equal(t, "InvalidInstructionError", told.Payload["error"], writes)
		require.Contains(t, told.Payload["message"], "is a template", writes)
		require.JSONEq(t, `{"k":1}`, string(p.CallEndpoint(t, 200, "GET", "a.shows", "").Body), writes)
	}
	require.JSONEq(t, `["InvalidInstructionError",1,null]`, string(p.CallEndpoint(t, 200, "POST", "a.catches", "").Body))
	require.Equal(t, `"{{config}}"`, nodetest.Event{Payload: p.Do(t, 200, "GET", p.Path+"/apps/a", "").JSON(t)}.At("config", "template"))
	require.Empty(t, p.AwaitEvents(t, 0, "workspaces.apps.configured", ""), "nothing was changed")

	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"k":2}}}`)
	require.JSONEq(t, `{"k":2}`, string(p.CallEndpoint(t, 200, "GET", "a.shows", "").Body), "it still follows the workspace")
	p.InstallApp(t, "passed", "b", `,"config":{"k":"{{config.k}}"}`)
	p.CallEndpoint(t, 200, "POST", "b.sets", "")
	require.JSONEq(t, `{"k":2,"seen":1}`, string(p.CallEndpoint(t, 200, "GET", "b.shows", "").Body), "templates within a config do not stand in the way")

	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"o":{"a":1}}}}`)
	p.InstallApp(t, "passed", "c", `,"config":{"k":"{{config.o}}"}`)
	for _, below := range []string{"below", "joins"} {
		p.CallEndpoint(t, 500, "POST", "c."+below, "")
		require.JSONEq(t, `{"k":{"a":1}}`, string(p.CallEndpoint(t, 200, "GET", "c.shows", "").Body), "what is below one is not written")
	}
	p.CallEndpoint(t, 200, "POST", "c.deletes", "")
	require.JSONEq(t, `{}`, string(p.CallEndpoint(t, 200, "GET", "c.shows", "").Body), "the whole of it is")
}

// Endpoints are reached wherever blanks are in their paths, and where they are said to be.
func TestEndpointsWithBlanks(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	const greeter = `
hi: {when: {endpoint: true}, do: [], output: '{{run.appInstanceFullSlug}}'}
'in a folder/two words': {when: {endpoint: true}, do: [], output: folder}
one: {when: {endpoint: 'u/:id'}, do: [], output: '{{pathParams.id}}'}
first: {when: {endpoint: ':id'}, do: [], output: 'first {{pathParams.id}}'}
odd: {when: {endpoint: '50% off*/é:stream'}, do: [], output: odd}
rest: {when: {endpoint: 'f/*p'}, do: [], output: '{{pathParams.p}}'}`
	w.NewWorkspace(t).AddAutomations(t, greeter).PublishApp(t, "greeter")
	w.NewWorkspace(t).InstallApp(t, "greeter", "In Side", "").PublishApp(t, "outer")
	p := w.NewWorkspace(t).AddAutomations(t, `
'two words': {when: {endpoint: true}, do: [], output: own}
t: [{repeat: {on: '{{global.endpoints}}', do: [{fetch: {url: '{{item.value}}', outputMode: detailed_response, output: got}}, {'set r[{{item.key}}]': '{{got.status}} {{got.body}}'}]}}]
url: {do: [], output: '{{global.endpoints["My App.rest"]}}'}`)
	p.InstallApp(t, "greeter", "My App", "").InstallApp(t, "outer", "Out Side", "")

	for path, body := range map[string]string{
		"My%20App.hi": "My App", "Out%20Side.In%20Side.hi": "Out Side.In Side", "%4Dy%20App%2Ehi": "My App",
		"My%20App.in%20a%20folder/two%20words": "folder", "two%20words": "own",
		"My%20App.u/a%2Fb": "a/b", "My%20App.f/a%20b/c": "a b/c", "My%20App.a%2Fb%25": "first a/b%", "My%20App.%E2%82%AC": "first €",
		"My%20App.50%25%20off*/%C3%A9:stream": "odd",
	} {
		require.Equal(t, body, string(p.CallEndpoint(t, 200, "GET", path, "").Body), path)
	}
	for _, path := range []string{"My+App.u/x", "My%20App.", "My%20App./hi", "My%20App/hi", "My%2520App.u/x", "In%20Side.u/x", "My%20App.In%20Side.u/x"} {
		p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/webhooks/"+path, "")
	}
	require.JSONEq(t, `{
		"two words": "200 own", "My App.first": "200 first :id", "My App.hi": "200 My App", "My App.in a folder/two words": "200 folder", "My App.odd": "200 odd",
		"My App.one": "200 :id", "My App.rest": "200 *p",
		"Out Side.In Side.first": "200 first :id", "Out Side.In Side.hi": "200 Out Side.In Side", "Out Side.In Side.in a folder/two words": "200 folder",
		"Out Side.In Side.odd": "200 odd", "Out Side.In Side.one": "200 :id", "Out Side.In Side.rest": "200 *p"}`, p.RunTest(t, 200, `{}`).Result(t))
	listed := p.Do(t, 200, "POST", p.Path+"/test/url", `{}`)
	require.Equal(t, "http://localhost:"+p.Service.Port()+p.Path+"/webhooks/My%20App.f/*p", string(listed.Body), "parameters stay readable")
}
