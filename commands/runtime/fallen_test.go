package runtime_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/eventstore"
)

// broken lets what automations know of other workspaces panic.
func broken(_ *house, o *runtime.Options) {
	o.Registry = neighbours{known: func() { panic("a fault of ours") }}
}

const falls = `[{"set":{"name":"global.x","value":1}},{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}}]`

func TestATreeThatFallsOverIsRecordedAndEndsNothingElse(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": falls}, broken)
	out, err := h.ends(h.Launch(h.evented()))
	require.NoError(t, err)
	require.Equal(t, automation.InternalFault, out.Err.Name)
	require.NotContains(t, out.Err.Message, "fault of ours")
	require.Equal(t, []string{"runtime.trees.started", "runtime.automations.executed a", "error"}, h.types())
	require.JSONEq(t, `{"x":1}`, h.holds("global"), "what it wrote before")
	told, err := h.failureOf()
	require.NoError(t, err)
	require.Contains(t, told, automation.InternalFault)

	s := h.evented()
	s.Program = h.house.Program("a")
	_, err = h.ends(h.Launch(s))
	require.NoError(t, err, "its lane is free again")
}

func TestATreeThatFallsOverAfterAWaitStandsNowhere(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":0.01}},{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}}]`}, broken)
	out, err := h.ends(h.Launch(h.evented()))
	require.NoError(t, err)
	_, stands, err := h.parked.Get(t.Context(), "w1", out.ExecutionID)
	require.NoError(t, err)
	require.False(t, stands)
}

func TestATreeWhoseFallCannotBeRecordedBreaksOff(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": falls}, broken)
	h.store.refuse(func(c []eventstore.Commit) bool { return tells(c, activity.Executed{}.EventType()) })
	_, err := h.ends(h.Launch(h.evented()))
	require.ErrorIs(t, err, eventstore.ErrUnavailable, "who started it counts that as an attempt")
}

func TestAnInstructionThatFallsOverRaises(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"try":{"do":[{"createUserTopic":{"topic":"x","userIds":["u1"]}}],"catch":[{"set":{"name":"got","value":"{{$error.name}}"}}]}}]`})
	h.runs(h.start()) // nothing makes topics here
	out, err := h.ends(h.Launch(h.evented()))
	require.NoError(t, err)
	require.Nil(t, out.Err)
}

func TestAnInterruptedTreeOfAnInstanceIsToldUnderItsName(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[]`})
	require.NoError(t, h.RecordInterrupted(t.Context(), runtime.BrokenRun{
		WorkspaceID: "w1", CorrelationID: "run1", ExecutionID: "01HZZZZZZZZZZZZZZZZZZZZZZZ", Automation: "shop.a", Instance: "shop", StartedAt: time.Now(),
		Trigger: activity.Trigger{Type: activity.ByEndpoint, Value: "shop.a"},
	}))
	require.Equal(t, []string{"runtime.automations.executed shop.a", "shop.error"}, h.types())
}

// A wait that is not over keeps the events that it is for from starting anything else.
func TestTheWaitsOfAnInterruptedTreeAreOver(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"all":[{"c":{}},{"wait":{"timeout":600}}]}]`, "c": `[{"wait":{"timeout":600}}]`})
	run := h.Launch(h.evented())
	<-run.Parked()
	require.Eventually(t, func() bool { _, waits, _ := h.kept(); return len(waits) == 2 }, patience, tick)
	treeID, waits, _ := h.kept()
	h.BreakOffAll()
	_, err := h.ends(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	broken := runtime.BrokenRun{WorkspaceID: "w1", CorrelationID: "run1", ExecutionID: treeID, Automation: "a", StartedAt: time.Now()}
	require.NoError(t, h.RecordInterrupted(t.Context(), broken))
	require.ElementsMatch(t, waits, h.expired())
	require.Equal(t, []string{"runtime.automations.executed a", "error"}, h.types()[len(h.types())-2:])
	_, stands, err := h.parked.Get(t.Context(), "w1", treeID)
	require.NoError(t, err)
	require.False(t, stands)
}

// Of a wait that ended it was told how.
func TestAWaitThatEndedBeforeItsTreeWasInterruptedEndsOnce(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, documents{"a": `[{"wait":{"timeout":0.05}},{"emit":{"event":"on"}},{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}},{"wait":{"timeout":600}}]`}, func(_ *house, o *runtime.Options) {
		o.Registry = neighbours{known: func() { <-gate }}
	})
	run := h.Launch(h.evented())
	require.Eventually(t, func() bool { return slices.Contains(h.types(), "on") }, patience, tick)
	h.BreakOffAll()
	close(gate)
	_, err := h.ends(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	treeID, waits, _ := h.kept()
	require.Equal(t, waits, h.expired())
	require.NoError(t, h.RecordInterrupted(t.Context(), runtime.BrokenRun{WorkspaceID: "w1", CorrelationID: "run1", ExecutionID: treeID, Automation: "a", StartedAt: time.Now()}))
	require.Equal(t, waits, h.expired())
}

// expired are the waits whose time is over, as the log tells it.
func (h *house) expired() (ids []string) {
	for _, ev := range h.events() {
		if over, is := ev.Event.(activity.WaitExpired); is {
			ids = append(ids, over.ID)
		}
	}
	return ids
}
