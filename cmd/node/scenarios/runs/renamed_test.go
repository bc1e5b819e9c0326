package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// keeperApp keeps rows.
const keeperApp = `
add: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: c, data: {id: '{{body.id}}'}}}}]}
list: {when: {endpoint: true}, do: [{run: {module: collections, function: distinct, parameters: {collection: c, field: id}, output: ids}}], output: '{{ids}}'}
later: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {run: {module: collections, function: create, parameters: {collection: c, data: {id: '{{payload.id}}'}}}}]}`

// insertRow inserts a row into the collection of an instance.
func insertRow(t *testing.T, p nodetest.Workspace, instance, id string) {
	t.Helper()
	p.CallEndpoint(t, 200, "POST", instance+".add", `{"id":"`+id+`"}`)
}

// storedRowIDs returns the ids of the rows of an instance, as JSON.
func storedRowIDs(t *testing.T, p nodetest.Workspace, instance string) string {
	t.Helper()
	return string(p.CallEndpoint(t, 200, "GET", instance+".list", "").Body)
}

// renameInstance gives an instance another slug.
func renameInstance(t *testing.T, p nodetest.Workspace, from, to string) {
	t.Helper()
	p.Do(t, 200, "PATCH", p.Path+"/apps/"+from, `{"slug":"`+to+`"}`)
}

func TestARenamedInstanceKeepsItsCollections(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	w.NewWorkspace(t).AddAutomations(t, keeperApp).PublishApp(t, "keeper")
	w.NewWorkspace(t).InstallApp(t, "keeper", "n", "").PublishApp(t, "outer")
	p := w.NewWorkspace(t).InstallApp(t, "keeper", "a", "").InstallApp(t, "outer", "o", "")
	insertRow(t, p, "a", "1")
	insertRow(t, p, "o.n", "2")

	p.Emit(t, `{"type":"a.begin","payload":{"id":"late"}}`)
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	renameInstance(t, p, "a", "b")
	renameInstance(t, p, "o", "q")
	require.JSONEq(t, `["1"]`, storedRowIDs(t, p, "b"))
	require.JSONEq(t, `["2"]`, storedRowIDs(t, p, "q.n"), "and what is in it keeps its own")
	p.Emit(t, `{"type":"a.go"}`)
	p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=a.later")
	require.JSONEq(t, `["1","late"]`, storedRowIDs(t, p, "b"), "what began before goes on with the same rows")

	p.InstallApp(t, "keeper", "a", "")
	require.JSONEq(t, `[]`, storedRowIDs(t, p, "a"), "another instance has nothing of it")
	insertRow(t, p, "a", "3")
	p.Do(t, 200, "DELETE", p.Path+"/apps/b", "")
	p.InstallApp(t, "keeper", "b", "")
	require.JSONEq(t, `["1","late"]`, storedRowIDs(t, p, "b"), "what was removed and comes back finds it again")
	require.JSONEq(t, `["3"]`, storedRowIDs(t, p, "a"))

	p.Emit(t, `{"type":"b.begin","payload":{"id":"later"}}`)
	p.AwaitEvents(t, 2, "runtime.waits.pending", "")
	renameInstance(t, p, "b", "c")
	w.Stop(t)
	w.Start(t)
	require.JSONEq(t, `["1","late"]`, storedRowIDs(t, p, "c"))
	p.Emit(t, `{"type":"c.go"}`)
	p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=b.later")
	require.JSONEq(t, `["1","late","later"]`, storedRowIDs(t, p, "c"), "a tree that waited goes on where the instance is now")
	require.JSONEq(t, `["3"]`, storedRowIDs(t, p, "a"))
}

// It is the tree that it was, however the instance is called when it goes on.
func TestATreeOfARenamedInstanceGoesOnOnce(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	w.NewWorkspace(t).AddAutomations(t, keeperApp).PublishApp(t, "keeper")
	p := w.NewWorkspace(t).InstallApp(t, "keeper", "b", "")
	p.Emit(t, `{"type":"b.begin","payload":{"id":"late"}}`)
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	renameInstance(t, p, "b", "c")
	w.Restart(t, nil)
	awaitsAttempts(t, p, map[string][]int{"b.later": {1, 1}})
	w.Restart(t, nil)
	awaitsAttempts(t, p, map[string][]int{"b.later": {1, 1, 1}})
	p.Emit(t, `{"type":"c.go"}`)
	ended := p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=b.later")[0]
	require.JSONEq(t, `["late"]`, storedRowIDs(t, p, "c"))
	run := p.Do(t, 200, "GET", p.Path+"/runs/"+ended.Source["correlationId"].(string), "").JSON(t)
	require.Equal(t, "succeeded", run["status"])
}

func TestWhatARestorationBringsBackKeepsItsCollections(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	w.NewWorkspace(t).AddAutomations(t, keeperApp).PublishApp(t, "keeper")
	p := w.NewWorkspace(t)
	before := p.Do(t, 201, "POST", p.Path+"/apps", `{"appSlug":"keeper","slug":"a"}`).Header.Get("X-Svc-Seq")
	insertRow(t, p, "a", "1")
	renameInstance(t, p, "a", "b")
	insertRow(t, p, "b", "2")
	p.Do(t, 200, "POST", p.Path+"/restore", `{"seq":"`+before+`"}`)
	require.JSONEq(t, `["1","2"]`, storedRowIDs(t, p, "a"))
	p.InstallApp(t, "keeper", "b", "")
	require.JSONEq(t, `[]`, storedRowIDs(t, p, "b"))
}
