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

// keeps puts a row into what an instance keeps.
func keeps(t *testing.T, p nodetest.Place, instance, id string) {
	t.Helper()
	p.Calls(t, 200, "POST", instance+".add", `{"id":"`+id+`"}`)
}

// kept are the ids of the rows that an instance keeps, as JSON.
func kept(t *testing.T, p nodetest.Place, instance string) string {
	t.Helper()
	return string(p.Calls(t, 200, "GET", instance+".list", "").Body)
}

// renames gives an instance another slug.
func renames(t *testing.T, p nodetest.Place, from, to string) {
	t.Helper()
	p.Does(t, 200, "PATCH", p.Path+"/apps/"+from, `{"slug":"`+to+`"}`)
}

func TestARenamedInstanceKeepsItsCollections(t *testing.T) {
	t.Parallel()
	w := nodetest.NewWorkshop(t)
	w.Place(t).Has(t, keeperApp).Publishes(t, "keeper")
	w.Place(t).Installs(t, "keeper", "n", "").Publishes(t, "outer")
	p := w.Place(t).Installs(t, "keeper", "a", "").Installs(t, "outer", "o", "")
	keeps(t, p, "a", "1")
	keeps(t, p, "o.n", "2")

	p.Emits(t, `{"type":"a.begin","payload":{"id":"late"}}`)
	p.Awaits(t, 1, "runtime.waits.pending", "")
	renames(t, p, "a", "b")
	renames(t, p, "o", "q")
	require.JSONEq(t, `["1"]`, kept(t, p, "b"))
	require.JSONEq(t, `["2"]`, kept(t, p, "q.n"), "and what is in it keeps its own")
	p.Emits(t, `{"type":"a.go"}`)
	p.Awaits(t, 1, nodetest.Executed, "payload.slug=a.later")
	require.JSONEq(t, `["1","late"]`, kept(t, p, "b"), "what began before goes on with the same rows")

	p.Installs(t, "keeper", "a", "")
	require.JSONEq(t, `[]`, kept(t, p, "a"), "another instance has nothing of it")
	keeps(t, p, "a", "3")
	p.Does(t, 200, "DELETE", p.Path+"/apps/b", "")
	p.Installs(t, "keeper", "b", "")
	require.JSONEq(t, `["1","late"]`, kept(t, p, "b"), "what was removed and comes back finds it again")
	require.JSONEq(t, `["3"]`, kept(t, p, "a"))

	p.Emits(t, `{"type":"b.begin","payload":{"id":"later"}}`)
	p.Awaits(t, 2, "runtime.waits.pending", "")
	renames(t, p, "b", "c")
	w.Stop(t)
	w.Start(t)
	require.JSONEq(t, `["1","late"]`, kept(t, p, "c"))
	p.Emits(t, `{"type":"c.go"}`)
	p.Awaits(t, 1, nodetest.Executed, "payload.slug=b.later")
	require.JSONEq(t, `["1","late","later"]`, kept(t, p, "c"), "a tree that waited goes on where the instance is now")
	require.JSONEq(t, `["3"]`, kept(t, p, "a"))
}

// It is the tree that it was, however the instance is called when it goes on.
func TestATreeOfARenamedInstanceGoesOnOnce(t *testing.T) {
	t.Parallel()
	w := nodetest.NewWorkshop(t)
	w.Place(t).Has(t, keeperApp).Publishes(t, "keeper")
	p := w.Place(t).Installs(t, "keeper", "b", "")
	p.Emits(t, `{"type":"b.begin","payload":{"id":"late"}}`)
	p.Awaits(t, 1, "runtime.waits.pending", "")
	renames(t, p, "b", "c")
	w.Restarts(t, nil)
	awaitsAttempts(t, p, map[string][]int{"b.later": {1, 1}})
	w.Restarts(t, nil)
	awaitsAttempts(t, p, map[string][]int{"b.later": {1, 1, 1}})
	p.Emits(t, `{"type":"c.go"}`)
	ended := p.Awaits(t, 1, nodetest.Executed, "payload.slug=b.later")[0]
	require.JSONEq(t, `["late"]`, kept(t, p, "c"))
	run := p.Does(t, 200, "GET", p.Path+"/runs/"+ended.Source["correlationId"].(string), "").JSON(t)
	require.Equal(t, "succeeded", run["status"])
}

func TestWhatARestorationBringsBackKeepsItsCollections(t *testing.T) {
	t.Parallel()
	w := nodetest.NewWorkshop(t)
	w.Place(t).Has(t, keeperApp).Publishes(t, "keeper")
	p := w.Place(t)
	before := p.Does(t, 201, "POST", p.Path+"/apps", `{"appSlug":"keeper","slug":"a"}`).Header.Get("X-Svc-Seq")
	keeps(t, p, "a", "1")
	renames(t, p, "a", "b")
	keeps(t, p, "b", "2")
	p.Does(t, 200, "POST", p.Path+"/restore", `{"seq":"`+before+`"}`)
	require.JSONEq(t, `["1","2"]`, kept(t, p, "a"))
	p.Installs(t, "keeper", "b", "")
	require.JSONEq(t, `[]`, kept(t, p, "b"))
}
