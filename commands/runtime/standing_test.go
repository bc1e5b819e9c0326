package runtime_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// beside is an automation that waits and, beside that, calls another one.
func beside(wait string) documents {
	return documents{
		"a": `[{"all":[{"wait":{"timeout":` + wait + `}},{"c":{}}]}]`,
		"c": `[{"set":{"name":"global.c","value":true}}]`,
	}
}

// stored tells of the tree that began last in which waits it is kept, and whether it is
// kept as one that does nothing else.
func (h *house) kept() (treeID string, waits []string, only bool) {
	for _, ev := range h.events() {
		if begun, is := ev.Event.(activity.TreeStarted); is {
			treeID = begun.ExecutionID
		}
	}
	state, _, err := h.parked.Get(h.t.Context(), "w1", treeID)
	require.NoError(h.t, err)
	waits, only = runtime.ParkedWaits(state)
	return treeID, waits, only
}

// resumed goes on with a tree.
func (h *house) again(treeID string, attempt int) *runtime.Handle {
	return h.Resume("w1", treeID, attempt, h.house, func(context.Context, domain.Actor) (runtime.Caller, error) { return runtime.Caller{}, nil })
}

func TestAStateTellsWhetherItsTreeDoesNothingButWait(t *testing.T) {
	t.Parallel()
	h := open(t, beside("600"))
	h.rate = throttle.Rate{PerSecond: 0.01, Burst: 1} // the first is free
	run := h.Launch(h.evented())
	<-run.Parked()
	_, waits, only := h.kept()
	require.Len(t, waits, 1)
	require.False(t, only, "it also calls")

	h = open(t, documents{"a": `[{"wait":{"timeout":600}}]`})
	run = h.Launch(h.evented())
	<-run.Parked()
	_, waits, only = h.kept()
	require.True(t, only)
	require.Equal(t, []string{h.events()[1].Event.(activity.WaitPending).ID}, waits)

	_, only = runtime.ParkedWaits([]byte(`{"waits":`))
	require.False(t, only, "nobody can tell")
}

func TestATreeWithNothingLeftButItsWaitsIsKeptAsThat(t *testing.T) {
	t.Parallel()
	h := open(t, beside("2"))
	h.rate = throttle.Rate{PerSecond: 4, Burst: 1}
	run := h.Launch(h.evented())
	<-run.Parked()
	var treeID string
	require.Eventually(t, func() (only bool) {
		treeID, _, only = h.kept()
		return only && strings.Contains(strings.Join(h.types(), "\n"), "executed c")
	}, patience, tick)
	require.JSONEq(t, `{"c":true}`, h.holds("global"), "what was written is kept before")
	h.BreakOffAll()
	_, err := h.ends(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	h.Reopen("another process")
	out, err := h.ends(h.again(treeID, 1))
	require.NoError(t, err)
	require.Nil(t, out.Err)
	require.Equal(t, 1, strings.Count(strings.Join(h.types(), "\n"), "executed c"), "it had ended")
}

// A branch that goes on after its wait, and ends while another one waits, is over too.
func TestATreeIsKeptAgainWhenABranchEnds(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"all":[{"wait":{"timeout":600}},{"repeat":{"until":1,"do":[{"wait":{"timeout":0.1}},{"set":{"name":"global.x","value":1}}]}}]}]`})
	run := h.Launch(h.evented())
	<-run.Parked()
	require.Eventually(t, func() bool {
		_, waits, only := h.kept()
		return only && len(waits) == 1
	}, patience, tick)
	require.JSONEq(t, `{"x":1}`, h.holds("global"))
}

// Else one that ends the process at once would go on without end.
func TestATreeGoesOnOnlyOnceThatIsOnTheLog(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":5}},{"set":{"name":"global.x","value":1}}]`})
	treeID := stood(t, h, h.evented())
	h.store.refuse(func(c []eventstore.Commit) bool { return tells(c, activity.TreeStarted{}.EventType()) })
	run := h.again(treeID, 2)
	_, err := h.ends(run)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.False(t, closed(run.Started()))
	require.JSONEq(t, `{}`, h.holds("global"))

	h.store.refuse(func([]eventstore.Commit) bool { return false })
	run = h.again(treeID, 2)
	select {
	case <-run.Started():
	case <-time.After(patience):
		t.Fatal("the tree does not go on")
	}
	_, err = h.ends(run)
	require.NoError(t, err)
	require.JSONEq(t, `{"x":1}`, h.holds("global"))
}

func TestWhetherANodeHoldsATree(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":600}}]`})
	run := h.Launch(h.evented())
	<-run.Parked()
	treeID, _, _ := h.kept()
	require.True(t, h.IsRunning("w1", "run1", treeID))
	require.False(t, h.IsRunning("w1", "run2", treeID))
	run.BreakOff(t.Context())
	_, err := h.ends(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	require.False(t, h.IsRunning("w1", "run1", treeID))
}
