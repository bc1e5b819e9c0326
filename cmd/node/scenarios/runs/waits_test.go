package runs_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/activity"
	"svc/eventstore"
)

func TestAWaitSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, http.StatusCreated, "POST", p.Path+"/automations", `{"name":"Wait","slug":"wait",
		"do":[{"set":{"name":"x","value":"{{n}}"}},{"emit":{"event":"before"}},{"wait":{"oneOf":[{"event":"go","filters":{"payload.n":"{{x}}"}}],"timeout":600,"output":"w"}},
		{"emit":{"event":"done","payload":{"n":"{{w.payload.n}}","x":"{{x}}"}}}]}`)
	p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/wait?async=true", `{"payload":{"n":7}}`)
	require.Eventually(t, func() bool { return slices.Contains(s.ActivityTypes(t, p.ID), "runtime.waits.pending") }, time.Minute, 10*time.Millisecond)

	s.Stop(t)
	s.Start(t)
	p.Emit(t, `{"type":"go","payload":{"n":1}},{"type":"go","payload":{"n":7}}`)
	require.Eventually(t, func() bool { return nodetest.CountOf(s.ActivityTypes(t, p.ID), "runtime.automations.executed") == 1 }, time.Minute, 20*time.Millisecond)
	types := s.ActivityTypes(t, p.ID)
	require.Equal(t, 1, nodetest.CountOf(types, "before"), "what was before the wait is not repeated")
	require.Equal(t, 1, nodetest.CountOf(types, "done"))
	require.Equal(t, 1, nodetest.CountOf(types, "runtime.waits.fulfilled"))
	for _, ev := range s.Activity(t, p.ID) {
		if ev.Data.EventType() == "done" {
			require.JSONEq(t, `{"n":7,"x":7}`, string(ev.Body))
		}
	}
	nodetest.RequireSecretsHidden(t, p, nodetest.TokenIn(p.Auth))
}

// The cleanup erases how a tree began that stands in a wait, and nothing else knows of it
// after a restart.
func TestAWaitSurvivesACleanupAndARestart(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: {do: [{emit: {event: before}}, {wait: {oneOf: [{event: go, cancelTriggers: true}], timeout: 600, output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}'}}}]}
hears: {when: {events: [go]}, do: []}`)
	p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/t?async=true", `{}`)
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	for _, ev := range w.Activity(t, p.ID) {
		if begun, is := ev.Data.(activity.TreeStarted); is {
			begun.StartedAt = "2020-01-01T00:00:00.000Z" // longer ago than any tree runs that never stood
			_, err := w.Node.Store().Log.Append(t.Context(), eventstore.Commit{Stream: ev.Stream, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: begun}}})
			require.NoError(t, err)
		}
	}
	done := w.RunCleanup(t, "indices", `{"retention":0,"workspaceIds":["`+p.ID+`"]}`)
	require.NotZero(t, done.Expired.Total)
	p.AwaitEvents(t, 0, "before,runtime.waits.*", "")
	w.Restart(t, nil)
	awaitsAttempts(t, p, map[string][]int{"t": {1, 1}})
	p.Emit(t, `{"type":"go","payload":{"n":7}}`)
	require.Equal(t, "7", p.AwaitEvents(t, 1, "done", "")[0].At("n"))
	require.Equal(t, `"t"`, p.AwaitEvents(t, 1, nodetest.Executed, "")[0].At("slug"), "the event is the wait's")
}
