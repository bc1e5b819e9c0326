package node_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain/activity"
	"svc/eventstore"
)

// typesOf lists the types of what happened in a workspace.
func (s *service) typesOf(t *testing.T, workspaceID string) (types []string) {
	t.Helper()
	for _, ev := range s.activityOf(t, workspaceID) {
		types = append(types, ev.Data.EventType())
	}
	return types
}

func count(types []string, wanted string) (n int) {
	for _, name := range types {
		if name == wanted {
			n++
		}
	}
	return n
}

func TestAWaitSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	p.does(t, http.StatusCreated, "POST", p.path+"/automations", `{"name":"Wait","slug":"wait",
		"do":[{"set":{"name":"x","value":"{{n}}"}},{"emit":{"event":"before"}},{"wait":{"oneOf":[{"event":"go","filters":{"payload.n":"{{x}}"}}],"timeout":600,"output":"w"}},
		{"emit":{"event":"done","payload":{"n":"{{w.payload.n}}","x":"{{x}}"}}}]}`)
	p.does(t, http.StatusAccepted, "POST", p.path+"/test/wait?async=true", `{"payload":{"n":7}}`)
	require.Eventually(t, func() bool { return slices.Contains(s.typesOf(t, p.id), "runtime.waits.pending") }, 10*time.Second, 10*time.Millisecond)

	s.stop(t)
	s.start(t)
	p.emits(t, `{"type":"go","payload":{"n":1}},{"type":"go","payload":{"n":7}}`)
	require.Eventually(t, func() bool { return count(s.typesOf(t, p.id), "runtime.automations.executed") == 1 }, 20*time.Second, 20*time.Millisecond)
	types := s.typesOf(t, p.id)
	require.Equal(t, 1, count(types, "before"), "what was before the wait is not repeated")
	require.Equal(t, 1, count(types, "done"))
	require.Equal(t, 1, count(types, "runtime.waits.fulfilled"))
	for _, ev := range s.activityOf(t, p.id) {
		if ev.Data.EventType() == "done" {
			require.JSONEq(t, `{"n":7,"x":7}`, string(ev.Body))
		}
	}
	requireHidden(t, p, shownBy(p.me))
}

// The cleanup erases how a tree began that stands in a wait, and nothing else knows of it
// after a restart.
func TestAWaitSurvivesACleanupAndARestart(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
t: {do: [{emit: {event: before}}, {wait: {oneOf: [{event: go, cancelTriggers: true}], timeout: 600, output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}'}}}]}
hears: {when: {events: [go]}, do: []}`)
	p.does(t, http.StatusAccepted, "POST", p.path+"/test/t?async=true", `{}`)
	p.awaits(t, 1, "runtime.waits.pending", "")
	for _, ev := range w.activityOf(t, p.id) {
		if begun, is := ev.Data.(activity.TreeStarted); is {
			begun.StartedAt = "2020-01-01T00:00:00.000Z" // longer ago than any tree runs that never stood
			_, err := w.node.Store().Append(t.Context(), eventstore.Commit{Stream: ev.Stream, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: begun}}})
			require.NoError(t, err)
		}
	}
	done := w.cleans(t, "indices", `{"retention":0,"workspaceIds":["`+p.id+`"]}`)
	require.NotZero(t, done.Expired.Total)
	p.awaits(t, 0, "before,runtime.waits.*", "")
	w.restarts(t, nil)
	p.awaitsAttempts(t, map[string][]int{"t": {1, 1}})
	p.emits(t, `{"type":"go","payload":{"n":7}}`)
	require.Equal(t, "7", p.awaits(t, 1, "done", "")[0].at("n"))
	require.Equal(t, `"t"`, p.awaits(t, 1, executed, "")[0].at("slug"), "the event is the wait's")
}
