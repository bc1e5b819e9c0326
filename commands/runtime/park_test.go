package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/commands/runtime"
	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/feed"
	"svc/eventstore"
)

// runUntilParked runs a tree until it stands in a wait, and lets it go as a node does that stops.
func runUntilParked(t *testing.T, h *testRuntime, s runtime.Start) (treeID string) {
	t.Helper()
	run := h.Launch(s)
	select {
	case <-run.Parked():
	case <-time.After(patience):
		t.Fatal("the tree does not stand")
	}
	h.BreakOffAll()
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	h.Reopen("another process")
	for _, ev := range h.events() {
		if begun, is := ev.Event.(activity.TreeStarted); is {
			treeID = begun.ExecutionID
		}
	}
	return treeID
}

func TestATreeActsForWhomItActedBeforeItStood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rights *access.Rights
		asked  int
	}{
		"the workspace itself": {nil, 0},
		"somebody":             {access.OutsideRights(access.Principal{UserID: "u1", Super: true}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, documents{"a": `[{"wait":{"timeout":5}},{"set":{"name":"global.acts","value":"{{run.authenticatedWorkspaceId}}|{{user.email}}|{{run.permissions}}"}}]`})
			s := h.eventStart()
			s.Caller = runtime.Caller{Actor: domain.Actor{UserID: "u1", SessionID: "s1"}, Rights: c.rights}
			asked := 0
			out, err := h.waitEnd(h.Resume("w1", runUntilParked(t, h, s), 1, h.programSet, func(context.Context, domain.Actor) (runtime.Caller, error) {
				asked++
				return runtime.Caller{Email: "u1@example.com", Rights: c.rights}, nil
			}))
			require.NoError(t, err)
			require.Nil(t, out.Err)
			require.Equal(t, c.asked, asked)
			require.Equal(t, c.asked == 1, h.contextJSON("global") != `{"acts":"||"}`, h.contextJSON("global"))
		})
	}
}

func TestARunThatWasCancelledWhileNobodyRanItGoesNoFurther(t *testing.T) {
	t.Parallel()
	var since time.Time
	h := open(t, documents{"a": `[{"try":{"do":[{"wait":{"timeout":600}}],"finally":[{"set":{"name":"global.ended","value":true}}]}},{"set":{"name":"global.on","value":true}}]`}, func(_ *testRuntime, o *runtime.Options) {
		o.Cancelled = func(_ context.Context, workspaceID, correlationID string, after time.Time) (bool, error) {
			since = after
			return workspaceID == "w1" && correlationID == "run1", nil
		}
	})
	began := time.Now()
	out, err := h.waitEnd(h.Resume("w1", runUntilParked(t, h, h.eventStart()), 1, h.programSet, func(context.Context, domain.Actor) (runtime.Caller, error) {
		return runtime.Caller{}, nil
	}))
	require.NoError(t, err)
	require.Equal(t, automation.ExecutionCancelled, out.Err.Name)
	require.JSONEq(t, `{"ended":true}`, h.contextJSON("global"))
	require.WithinDuration(t, began, since, time.Minute)
	_, stands, err := h.parked.Get(t.Context(), "w1", out.ExecutionID)
	require.NoError(t, err)
	require.False(t, stands)
}

func TestATreeOfACancelledRunIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"set":{"name":"global.on","value":true}}]`}, func(_ *testRuntime, o *runtime.Options) {
		o.Cancelled = func(context.Context, string, string, time.Time) (bool, error) { return true, nil }
	})
	h.mustRun(h.eventStart()) // the first time nobody can have cancelled it
	s := h.eventStart()
	s.Attempt = 2
	out, err := h.waitEnd(h.Launch(s))
	require.NoError(t, err)
	require.Equal(t, automation.ExecutionCancelled, out.Err.Name)
	require.Equal(t, 2, executed(h, "a"))
}

// What it was begun as stays open otherwise, and nobody begins it again.
func TestATreeThatIsRefusedWhenItIsBegunAgainIsOver(t *testing.T) {
	t.Parallel()
	for attempt, over := range map[int]int{1: 0, 2: 1} {
		h := open(t, documents{"a": `[]`}, func(h *testRuntime, o *runtime.Options) {
			h.settings.Recording, o.Recordings = "errors", unrecorded{t}
		})
		s := h.eventStart()
		s.Attempt, s.Depth = attempt, 100
		out, err := h.waitEnd(h.Launch(s))
		require.NoError(t, err)
		require.Equal(t, automation.TooManyCalls, out.Err.Name)
		require.Equal(t, over, executed(h, "a"), attempt)
		require.Contains(t, h.types(), "error")
		for _, ev := range h.events() {
			if x, is := ev.Event.(activity.Executed); is {
				require.Nil(t, x.Recorded, "nothing of it can be replayed")
			}
		}
	}
}

// unrecorded keeps no record.
type unrecorded struct{ t *testing.T }

// Put implements runtime.Recordings.
func (u unrecorded) Put(context.Context, recording.StoredRecording) error {
	u.t.Error("a record was kept")
	return nil
}

func TestATreeThatBrokeOffAfterAWaitStandsStill(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":5}},{"set":{"name":"global.x","value":1}}]`})
	run := h.Launch(h.eventStart())
	<-run.Parked()
	h.store.refuse(func([]eventstore.Commit) bool { return true })
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	h.store.refuse(func([]eventstore.Commit) bool { return false })
	var treeID string
	for _, ev := range h.events() {
		if begun, is := ev.Event.(activity.TreeStarted); is {
			treeID = begun.ExecutionID
		}
	}
	require.False(t, h.IsRunning("w1", "run1", treeID), "so that it is taken for a stray")
	out, err := h.waitEnd(h.Resume("w1", treeID, 2, h.programSet, func(context.Context, domain.Actor) (runtime.Caller, error) {
		return runtime.Caller{}, nil
	}))
	require.NoError(t, err)
	require.Nil(t, out.Err)
	require.JSONEq(t, `{"x":1}`, h.contextJSON("global"))
}

// waitAndCall is an automation that waits and, beside that, calls another one.
func waitAndCall(wait string) documents {
	return documents{
		"a": `[{"all":[{"wait":{"timeout":` + wait + `}},{"c":{}}]}]`,
		"c": `[{"set":{"name":"global.c","value":true}}]`,
	}
}

// parkedState tells of the tree that began last in which waits it is kept, and whether it is
// kept as one that does nothing else.
func (h *testRuntime) parkedState() (treeID string, waits []string, only bool) {
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

// again resumes a run.
func (h *testRuntime) again(treeID string, attempt int) *runtime.Handle {
	return h.Resume("w1", treeID, attempt, h.programSet, func(context.Context, domain.Actor) (runtime.Caller, error) { return runtime.Caller{}, nil })
}

func TestAStateTellsWhetherItsTreeDoesNothingButWait(t *testing.T) {
	t.Parallel()
	h := open(t, waitAndCall("600"))
	h.rate = throttle.Rate{PerSecond: 0.01, Burst: 1} // the first is free
	run := h.Launch(h.eventStart())
	<-run.Parked()
	_, waits, only := h.parkedState()
	require.Len(t, waits, 1)
	require.False(t, only, "it also calls")

	h = open(t, documents{"a": `[{"wait":{"timeout":600}}]`})
	run = h.Launch(h.eventStart())
	<-run.Parked()
	_, waits, only = h.parkedState()
	require.True(t, only)
	require.Equal(t, []string{h.events()[1].Event.(activity.WaitPending).ID}, waits)

	_, only = runtime.ParkedWaits([]byte(`{"waits":`))
	require.False(t, only, "nobody can tell")
}

func TestATreeWithNothingLeftButItsWaitsIsKeptAsThat(t *testing.T) {
	t.Parallel()
	h := open(t, waitAndCall("2"))
	h.rate = throttle.Rate{PerSecond: 4, Burst: 1}
	run := h.Launch(h.eventStart())
	<-run.Parked()
	var treeID string
	require.Eventually(t, func() (only bool) {
		treeID, _, only = h.parkedState()
		return only && strings.Contains(strings.Join(h.types(), "\n"), "executed c")
	}, patience, tick)
	require.JSONEq(t, `{"c":true}`, h.contextJSON("global"), "what was written is kept before")
	h.BreakOffAll()
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	h.Reopen("another process")
	out, err := h.waitEnd(h.again(treeID, 1))
	require.NoError(t, err)
	require.Nil(t, out.Err)
	require.Equal(t, 1, strings.Count(strings.Join(h.types(), "\n"), "executed c"), "it had ended")
}

// A branch that goes on after its wait, and ends while another one waits, is over too.
func TestATreeIsKeptAgainWhenABranchEnds(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"all":[{"wait":{"timeout":600}},{"repeat":{"until":1,"do":[{"wait":{"timeout":0.1}},{"set":{"name":"global.x","value":1}}]}}]}]`})
	run := h.Launch(h.eventStart())
	<-run.Parked()
	require.Eventually(t, func() bool {
		_, waits, only := h.parkedState()
		return only && len(waits) == 1
	}, patience, tick)
	require.JSONEq(t, `{"x":1}`, h.contextJSON("global"))
}

// Else one that ends the process at once would go on without end.
func TestATreeGoesOnOnlyOnceThatIsOnTheLog(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":5}},{"set":{"name":"global.x","value":1}}]`})
	treeID := runUntilParked(t, h, h.eventStart())
	h.store.refuse(func(c []eventstore.Commit) bool { return containsEvent(c, activity.TreeStarted{}.EventType()) })
	run := h.again(treeID, 2)
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.False(t, closed(run.Started()))
	require.JSONEq(t, `{}`, h.contextJSON("global"))

	h.store.refuse(func([]eventstore.Commit) bool { return false })
	run = h.again(treeID, 2)
	select {
	case <-run.Started():
	case <-time.After(patience):
		t.Fatal("the tree does not go on")
	}
	_, err = h.waitEnd(run)
	require.NoError(t, err)
	require.JSONEq(t, `{"x":1}`, h.contextJSON("global"))
}

func TestWhetherANodeHoldsATree(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":600}}]`})
	run := h.Launch(h.eventStart())
	<-run.Parked()
	treeID, _, _ := h.parkedState()
	require.True(t, h.IsRunning("w1", "run1", treeID))
	require.False(t, h.IsRunning("w1", "run2", treeID))
	run.BreakOff(t.Context())
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	require.False(t, h.IsRunning("w1", "run1", treeID))
}

// waiting returns so many branches that wait at the same time.
func waiting(n int) documents {
	return documents{"a": fmt.Sprintf(`[{"repeat":{"until":%d,"batch":{"size":%d},"do":[{"wait":{"timeout":0.2}}]}}]`, n, n)}
}

func TestATreeStandsInSoManyWaitsAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, waiting(1000))
	h.mustRun(h.eventStart())

	h = open(t, waiting(1001))
	out, err := h.waitEnd(h.Launch(h.eventStart()))
	require.NoError(t, err)
	require.NotNil(t, out.Err)
	require.Equal(t, automation.InvalidInstruction, out.Err.Name)
	require.InDelta(t, 1000, out.Err.Details.At("limit"), 0)
}

func TestWhatATreeWaitsForIsBoundedTogether(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 90_000)
	h := open(t, documents{"a": fmt.Sprintf(`[{"repeat":{"until":60,"batch":{"size":60},"do":[{"wait":{"oneOf":[{"event":"e","filters":{"x":%q}}],"timeout":0.2}}]}}]`, long)}, nothingComes)
	out, err := h.waitEnd(h.Launch(h.eventStart()))
	require.NoError(t, err)
	require.NotNil(t, out.Err)
	require.Equal(t, automation.InvalidInstruction, out.Err.Name)
	require.InDelta(t, 5_000_000, out.Err.Details.At("limit"), 0)
}

// nothingComes lets waits wait until their time is over.
func nothingComes(_ *testRuntime, o *runtime.Options) {
	o.Effects.Await = func(ctx context.Context, _ string, w runtime.Awaited, _ func(*feed.Event) bool) (*feed.Event, error) {
		within, cancel := context.WithDeadline(ctx, w.Before)
		defer cancel()
		<-within.Done()
		return nil, ctx.Err()
	}
}
