package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// keeperApp keeps rows.
const keeperApp = `
add: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: c, data: {id: '{{body.id}}'}}}}]}
list: {when: {endpoint: true}, do: [{run: {module: collections, function: distinct, parameters: {collection: c, field: id}, output: ids}}], output: '{{ids}}'}
later: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {run: {module: collections, function: create, parameters: {collection: c, data: {id: '{{payload.id}}'}}}}]}`

// keeps puts a row into what an instance keeps.
func (p place) keeps(t *testing.T, instance, id string) {
	t.Helper()
	p.calls(t, 200, "POST", instance+".add", `{"id":"`+id+`"}`)
}

// kept are the ids of the rows that an instance keeps, as JSON.
func (p place) kept(t *testing.T, instance string) string {
	t.Helper()
	return string(p.calls(t, 200, "GET", instance+".list", "").body)
}

// renames gives an instance another slug.
func (p place) renames(t *testing.T, from, to string) {
	t.Helper()
	p.does(t, 200, "PATCH", p.path+"/apps/"+from, `{"slug":"`+to+`"}`)
}

func TestARenamedInstanceKeepsItsCollections(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.place(t).has(t, keeperApp).publishes(t, "keeper")
	w.place(t).installs(t, "keeper", "n", "").publishes(t, "outer")
	p := w.place(t).installs(t, "keeper", "a", "").installs(t, "outer", "o", "")
	p.keeps(t, "a", "1")
	p.keeps(t, "o.n", "2")

	p.emits(t, `{"type":"a.begin","payload":{"id":"late"}}`)
	p.awaits(t, 1, "runtime.waits.pending", "")
	p.renames(t, "a", "b")
	p.renames(t, "o", "q")
	require.JSONEq(t, `["1"]`, p.kept(t, "b"))
	require.JSONEq(t, `["2"]`, p.kept(t, "q.n"), "and what is in it keeps its own")
	p.emits(t, `{"type":"a.go"}`)
	p.awaits(t, 1, executed, "payload.slug=a.later")
	require.JSONEq(t, `["1","late"]`, p.kept(t, "b"), "what began before goes on with the same rows")

	p.installs(t, "keeper", "a", "")
	require.JSONEq(t, `[]`, p.kept(t, "a"), "another instance has nothing of it")
	p.keeps(t, "a", "3")
	p.does(t, 200, "DELETE", p.path+"/apps/b", "")
	p.installs(t, "keeper", "b", "")
	require.JSONEq(t, `["1","late"]`, p.kept(t, "b"), "what was removed and comes back finds it again")
	require.JSONEq(t, `["3"]`, p.kept(t, "a"))

	p.emits(t, `{"type":"b.begin","payload":{"id":"later"}}`)
	p.awaits(t, 2, "runtime.waits.pending", "")
	p.renames(t, "b", "c")
	w.stop(t)
	w.start(t)
	require.JSONEq(t, `["1","late"]`, p.kept(t, "c"))
	p.emits(t, `{"type":"c.go"}`)
	p.awaits(t, 1, executed, "payload.slug=b.later")
	require.JSONEq(t, `["1","late","later"]`, p.kept(t, "c"), "a tree that waited goes on where the instance is now")
	require.JSONEq(t, `["3"]`, p.kept(t, "a"))
}

// It is the tree that it was, however the instance is called when it goes on.
func TestATreeOfARenamedInstanceGoesOnOnce(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.place(t).has(t, keeperApp).publishes(t, "keeper")
	p := w.place(t).installs(t, "keeper", "b", "")
	p.emits(t, `{"type":"b.begin","payload":{"id":"late"}}`)
	p.awaits(t, 1, "runtime.waits.pending", "")
	p.renames(t, "b", "c")
	w.restarts(t, nil)
	p.awaitsAttempts(t, map[string][]int{"b.later": {1, 1}})
	w.restarts(t, nil)
	p.awaitsAttempts(t, map[string][]int{"b.later": {1, 1, 1}})
	p.emits(t, `{"type":"c.go"}`)
	ended := p.awaits(t, 1, executed, "payload.slug=b.later")[0]
	require.JSONEq(t, `["late"]`, p.kept(t, "c"))
	run := p.does(t, 200, "GET", p.path+"/runs/"+ended.Source["correlationId"].(string), "").json(t)
	require.Equal(t, "succeeded", run["status"])
}

func TestWhatARestorationBringsBackKeepsItsCollections(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.place(t).has(t, keeperApp).publishes(t, "keeper")
	p := w.place(t)
	before := p.does(t, 201, "POST", p.path+"/apps", `{"appSlug":"keeper","slug":"a"}`).Header.Get("X-Svc-Seq")
	p.keeps(t, "a", "1")
	p.renames(t, "a", "b")
	p.keeps(t, "b", "2")
	p.does(t, 200, "POST", p.path+"/restore", `{"seq":"`+before+`"}`)
	require.JSONEq(t, `["1","2"]`, p.kept(t, "a"))
	p.installs(t, "keeper", "b", "")
	require.JSONEq(t, `[]`, p.kept(t, "b"))
}
