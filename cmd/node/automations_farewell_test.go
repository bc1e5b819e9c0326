package node_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leavingApp tells what it knows when it comes and when it goes.
const leavingApp = `
comes: {when: {events: [workspaces.apps.installed]}, do: [{emit: {event: 'came {{config.k}} {{payload.slug}}'}}]}
goes: {when: {events: [workspaces.apps.uninstalled]}, do: [{tells: {}}, {emit: {event: 'went {{config.k}} {{payload.slug}}'}}]}
tells: [{set global.told: 1}]`

// says waits until something was emitted in a place that nobody may look into any more.
func (p place) says(t *testing.T, wanted string) {
	t.Helper()
	require.Eventually(t, func() bool { return count(p.s.emitted(t, p.id), wanted) == 1 }, 30*time.Second, 20*time.Millisecond, "%q in %q", wanted, p.s.typesOf(t, p.id))
}

// leaving publishes an app that tells when it goes, and one around it.
func (w *workshop) leaving(t *testing.T) {
	t.Helper()
	w.place(t).has(t, leavingApp).publishes(t, "leaving")
	w.place(t).installs(t, "leaving", "b", `,"config":{"k":"{{config.k}}"}`).publishes(t, "around")
}

// What listens to the end of its workspace runs to its own end, and every app instance
// hears that it goes, with the config that it had; everything else ends at once.
func TestADeletedWorkspaceSaysGoodbye(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "EVENTS_SCHEDULED_DELETION_DAYS=0")
	w.leaving(t)
	p := w.place(t).installs(t, "leaving", "a", `,"config":{"k":1}`).installs(t, "around", "o", `,"config":{"k":2}`).has(t, fullHouse+`
bye: {when: {events: [workspaces.deleted]}, do: [{set global.left: 1}, {wait: {timeout: 3}}, {runWorkflow: {workflow: alone, wait: false}}, {emit: {event: 'bye {{payload.name}} {{secret.k}}{{global.left}}'}}]}
alone: {do: [{emit: {event: alone}}]}
hears: {when: {events: [alone, workspaces.apps.uninstalled]}, do: [{emit: {event: heard}}]}
stays: {when: {events: [workspaces.deleted]}, do: [{wait: {timeout: 600}}, {emit: {event: stayed}}]}`)
	p.emits(t, `{"type":"begin"}`)
	p.awaits(t, 1, "runtime.waits.pending", "")
	p.does(t, 200, "PATCH", p.path, `{"name":"Shop"}`)
	p.does(t, 200, "DELETE", p.path, "")
	for _, said := range []string{"bye Shop 1", "alone", "a.went 1 a", "o.b.went 2 o.b"} {
		p.says(t, said)
	}
	require.Equal(t, []string{"ExecutionCancelledError"}, p.endings(t, "waits"))
	require.Empty(t, p.endings(t, "bye"))
	require.Empty(t, p.endings(t, "stays"))
	require.NotContains(t, w.emitted(t, p.id), "heard", "nothing more begins there")

	require.Len(t, w.cleans(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`).Deleted.Found, 1)
	require.Eventually(t, func() bool { return len(p.endings(t, "stays")) == 1 }, 20*time.Second, 20*time.Millisecond, "what is erased says nothing more")
	w.cleans(t, "indices", "")
	require.Empty(t, p.dataOf(t))
}

// A goodbye survives a restart, like everything that a recorded event starts.
func TestAGoodbyeSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
bye: {when: {events: [workspaces.deleted]}, do: [{emit: {event: first}}, {wait: {timeout: 2}}, {emit: {event: second}}]}`)
	p.does(t, 200, "DELETE", p.path, "")
	require.Eventually(t, func() bool { return p.dataOf(t)["trees"] == 1 }, 20*time.Second, 10*time.Millisecond)
	w.stop(t)
	w.start(t)
	p.says(t, "second")
	p.says(t, "first")
	require.Empty(t, p.endings(t, "bye"))
}

// An app instance hears that it was removed, as it was before; and one of a copy that it
// is there.
func TestAnAppInstanceHearsThatItComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.leaving(t)
	p := w.place(t).installs(t, "leaving", "a", `,"config":{"k":1}`).installs(t, "leaving", "c", "")
	p.awaits(t, 1, "a.came 1 a", "")
	p.does(t, 200, "PATCH", p.path+"/apps/a", `{"config":{"k":3}}`)
	p.does(t, http.StatusOK, "DELETE", p.path+"/apps/a", "")
	p.says(t, "a.went 3 a")
	require.Equal(t, 0, count(w.emitted(t, p.id), "c.went  c"))

	made := p.does(t, http.StatusCreated, "POST", p.path+"/versions/current/duplicate", "").json(t)
	twin := place{p.s, fmt.Sprintf("/v2/workspaces/%v", made["id"]), made["id"].(string), p.me}
	twin.awaits(t, 1, "c.came  c", "")
}
