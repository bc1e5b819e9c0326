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

// awaitEmitted waits until an event was emitted in a workspace that cannot be read any more.
func awaitEmitted(t *testing.T, p nodetest.Workspace, wanted string) {
	t.Helper()
	require.Eventually(t, func() bool { return nodetest.CountOf(p.Service.EmittedTypes(t, p.ID), wanted) == 1 }, time.Minute, 20*time.Millisecond, "%q in %q", wanted, p.Service.ActivityTypes(t, p.ID))
}

// publishEndingApps publishes an app that emits an event when it is uninstalled, and one that has an instance of it.
func publishEndingApps(t *testing.T, w *nodetest.OwnedService) {
	t.Helper()
	w.NewWorkspace(t).AddAutomations(t, leavingApp).PublishApp(t, "leaving")
	w.NewWorkspace(t).InstallApp(t, "leaving", "b", `,"config":{"k":"{{config.k}}"}`).PublishApp(t, "around")
}

// What listens to the end of its workspace runs to its own end, and every app instance
// hears that it goes, with the config that it had; everything else ends at once.
func TestADeletedWorkspaceSaysGoodbye(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "EVENTS_SCHEDULED_DELETION_DAYS=0")
	publishEndingApps(t, w)
	p := w.NewWorkspace(t).InstallApp(t, "leaving", "a", `,"config":{"k":1}`).InstallApp(t, "around", "o", `,"config":{"k":2}`).AddAutomations(t, fullHouse+`
bye: {when: {events: [workspaces.deleted]}, do: [{set global.left: 1}, {wait: {timeout: 3}}, {runWorkflow: {workflow: alone, wait: false}}, {emit: {event: 'bye {{payload.name}} {% {{secret.k}} or "" %}{{global.left}}'}}]}
alone: {do: [{emit: {event: alone}}]}
hears: {when: {events: [alone, workspaces.apps.uninstalled]}, do: [{emit: {event: heard}}]}
stays: {when: {events: [workspaces.deleted]}, do: [{wait: {timeout: 600}}, {emit: {event: stayed}}]}`)
	p.Emit(t, `{"type":"begin"}`)
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	p.Do(t, 200, "PATCH", p.Path, `{"name":"Shop"}`)
	p.Do(t, 200, "DELETE", p.Path, "")
	for _, said := range []string{"bye Shop 1", "alone", "a.went 1 a", "o.b.went 2 o.b"} {
		awaitEmitted(t, p, said)
	}
	require.Equal(t, []string{"ExecutionCancelledError"}, endings(t, p, "waits"))
	require.Empty(t, endings(t, p, "bye"))
	require.Empty(t, endings(t, p, "stays"))
	require.NotContains(t, w.EmittedTypes(t, p.ID), "heard", "nothing more begins there")

	require.Len(t, w.RunCleanup(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`).Deleted.Found, 1)
	require.Eventually(t, func() bool { return len(endings(t, p, "stays")) == 1 }, time.Minute, 20*time.Millisecond, "what is erased says nothing more")
	w.RunCleanup(t, "indices", "")
	require.Empty(t, dataOf(t, p))
}

// A goodbye survives a restart, like everything that a recorded event starts.
func TestAGoodbyeSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
bye: {when: {events: [workspaces.deleted]}, do: [{emit: {event: first}}, {wait: {timeout: 2}}, {emit: {event: second}}]}`)
	p.Do(t, 200, "DELETE", p.Path, "")
	require.Eventually(t, func() bool { return dataOf(t, p)["trees"] == 1 }, time.Minute, 10*time.Millisecond)
	w.Stop(t)
	w.Start(t)
	awaitEmitted(t, p, "second")
	awaitEmitted(t, p, "first")
	require.Empty(t, endings(t, p, "bye"))
}

// An app instance hears that it was removed, as it was before; and one of a copy that it
// is there.
func TestAnAppInstanceHearsThatItComesAndGoes(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	publishEndingApps(t, w)
	p := w.NewWorkspace(t).InstallApp(t, "leaving", "a", `,"config":{"k":1}`).InstallApp(t, "leaving", "c", "")
	p.AwaitEvents(t, 1, "a.came 1 a", "")
	p.Do(t, 200, "PATCH", p.Path+"/apps/a", `{"config":{"k":3}}`)
	p.Do(t, http.StatusOK, "DELETE", p.Path+"/apps/a", "")
	awaitEmitted(t, p, "a.went 3 a")
	require.Equal(t, 0, nodetest.CountOf(w.EmittedTypes(t, p.ID), "c.went  c"))

	made := p.Do(t, http.StatusCreated, "POST", p.Path+"/versions/current/duplicate", "").JSON(t)
	twin := nodetest.Workspace{Service: p.Service, Path: fmt.Sprintf("/v2/workspaces/%v", made["id"]), ID: made["id"].(string), Auth: p.Auth}
	twin.AwaitEvents(t, 1, "c.came  c", "")
}
