package runs_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// leavingApp tells what it knows when it comes and when it goes.
const leavingApp = `
comes: {when: {events: [workspaces.apps.installed]}, do: [{emit: {event: 'came {{config.k}} {{payload.slug}}'}}]}
goes: {when: {events: [workspaces.apps.uninstalled]}, do: [{tells: {}}, {emit: {event: 'went {{config.k}} {{payload.slug}}'}}]}
tells: [{set global.told: 1}]`

// awaitsSaid waits until something was emitted in a place that nobody may look into any more.
func awaitsSaid(t *testing.T, p nodetest.Place, wanted string) {
	t.Helper()
	require.Eventually(t, func() bool { return nodetest.CountOf(p.Service.Emitted(t, p.ID), wanted) == 1 }, time.Minute, 20*time.Millisecond, "%q in %q", wanted, p.Service.TypesOf(t, p.ID))
}

// leaving publishes an app that tells when it goes, and one around it.
func leaving(t *testing.T, w *nodetest.Workshop) {
	t.Helper()
	w.Place(t).Has(t, leavingApp).Publishes(t, "leaving")
	w.Place(t).Installs(t, "leaving", "b", `,"config":{"k":"{{config.k}}"}`).Publishes(t, "around")
}

// What listens to the end of its workspace runs to its own end, and every app instance
// hears that it goes, with the config that it had; everything else ends at once.
func TestADeletedWorkspaceSaysGoodbye(t *testing.T) {
	t.Parallel()
	w := nodetest.NewWorkshop(t, "EVENTS_SCHEDULED_DELETION_DAYS=0")
	leaving(t, w)
	p := w.Place(t).Installs(t, "leaving", "a", `,"config":{"k":1}`).Installs(t, "around", "o", `,"config":{"k":2}`).Has(t, fullHouse+`
bye: {when: {events: [workspaces.deleted]}, do: [{set global.left: 1}, {wait: {timeout: 3}}, {runWorkflow: {workflow: alone, wait: false}}, {emit: {event: 'bye {{payload.name}} {% {{secret.k}} or "" %}{{global.left}}'}}]}
alone: {do: [{emit: {event: alone}}]}
hears: {when: {events: [alone, workspaces.apps.uninstalled]}, do: [{emit: {event: heard}}]}
stays: {when: {events: [workspaces.deleted]}, do: [{wait: {timeout: 600}}, {emit: {event: stayed}}]}`)
	p.Emits(t, `{"type":"begin"}`)
	p.Awaits(t, 1, "runtime.waits.pending", "")
	p.Does(t, 200, "PATCH", p.Path, `{"name":"Shop"}`)
	p.Does(t, 200, "DELETE", p.Path, "")
	for _, said := range []string{"bye Shop 1", "alone", "a.went 1 a", "o.b.went 2 o.b"} {
		awaitsSaid(t, p, said)
	}
	require.Equal(t, []string{"ExecutionCancelledError"}, endings(t, p, "waits"))
	require.Empty(t, endings(t, p, "bye"))
	require.Empty(t, endings(t, p, "stays"))
	require.NotContains(t, w.Emitted(t, p.ID), "heard", "nothing more begins there")

	require.Len(t, w.Cleans(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`).Deleted.Found, 1)
	require.Eventually(t, func() bool { return len(endings(t, p, "stays")) == 1 }, time.Minute, 20*time.Millisecond, "what is erased says nothing more")
	w.Cleans(t, "indices", "")
	require.Empty(t, dataOf(t, p))
}

// A goodbye survives a restart, like everything that a recorded event starts.
func TestAGoodbyeSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := nodetest.NewWorkshop(t)
	p := w.Place(t).Has(t, `
bye: {when: {events: [workspaces.deleted]}, do: [{emit: {event: first}}, {wait: {timeout: 2}}, {emit: {event: second}}]}`)
	p.Does(t, 200, "DELETE", p.Path, "")
	require.Eventually(t, func() bool { return dataOf(t, p)["trees"] == 1 }, time.Minute, 10*time.Millisecond)
	w.Stop(t)
	w.Start(t)
	awaitsSaid(t, p, "second")
	awaitsSaid(t, p, "first")
	require.Empty(t, endings(t, p, "bye"))
}

// An app instance hears that it was removed, as it was before; and one of a copy that it
// is there.
func TestAnAppInstanceHearsThatItComesAndGoes(t *testing.T) {
	t.Parallel()
	w := nodetest.NewWorkshop(t)
	leaving(t, w)
	p := w.Place(t).Installs(t, "leaving", "a", `,"config":{"k":1}`).Installs(t, "leaving", "c", "")
	p.Awaits(t, 1, "a.came 1 a", "")
	p.Does(t, 200, "PATCH", p.Path+"/apps/a", `{"config":{"k":3}}`)
	p.Does(t, http.StatusOK, "DELETE", p.Path+"/apps/a", "")
	awaitsSaid(t, p, "a.went 3 a")
	require.Equal(t, 0, nodetest.CountOf(w.Emitted(t, p.ID), "c.went  c"))

	made := p.Does(t, http.StatusCreated, "POST", p.Path+"/versions/current/duplicate", "").JSON(t)
	twin := nodetest.Place{Service: p.Service, Path: fmt.Sprintf("/v2/workspaces/%v", made["id"]), ID: made["id"].(string), Me: p.Me}
	twin.Awaits(t, 1, "c.came  c", "")
}
