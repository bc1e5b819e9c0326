package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/eventstore"
)

// stood runs a tree until it stands in a wait, and lets it go as a node does that stops.
func stood(t *testing.T, h *house, s runtime.Start) (treeID string) {
	t.Helper()
	run := h.Launch(s)
	select {
	case <-run.Parked():
	case <-time.After(patience):
		t.Fatal("the tree does not stand")
	}
	h.BreakOffAll()
	_, err := h.ends(run)
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
			s := h.evented()
			s.Caller = runtime.Caller{Actor: domain.Actor{UserID: "u1", SessionID: "s1"}, Rights: c.rights}
			asked := 0
			out, err := h.ends(h.Resume("w1", stood(t, h, s), 1, h.house, func(context.Context, domain.Actor) (runtime.Caller, error) {
				asked++
				return runtime.Caller{Email: "u1@example.com", Rights: c.rights}, nil
			}))
			require.NoError(t, err)
			require.Nil(t, out.Err)
			require.Equal(t, c.asked, asked)
			require.Equal(t, c.asked == 1, h.holds("global") != `{"acts":"||"}`, h.holds("global"))
		})
	}
}

func TestARunThatWasCancelledWhileNobodyRanItGoesNoFurther(t *testing.T) {
	t.Parallel()
	var since time.Time
	h := open(t, documents{"a": `[{"try":{"do":[{"wait":{"timeout":600}}],"finally":[{"set":{"name":"global.ended","value":true}}]}},{"set":{"name":"global.on","value":true}}]`}, func(_ *house, o *runtime.Options) {
		o.Cancelled = func(_ context.Context, workspaceID, correlationID string, after time.Time) (bool, error) {
			since = after
			return workspaceID == "w1" && correlationID == "run1", nil
		}
	})
	began := time.Now()
	out, err := h.ends(h.Resume("w1", stood(t, h, h.evented()), 1, h.house, func(context.Context, domain.Actor) (runtime.Caller, error) {
		return runtime.Caller{}, nil
	}))
	require.NoError(t, err)
	require.Equal(t, automation.ExecutionCancelled, out.Err.Name)
	require.JSONEq(t, `{"ended":true}`, h.holds("global"))
	require.WithinDuration(t, began, since, 10*time.Second)
	_, stands, err := h.parked.Get(t.Context(), "w1", out.ExecutionID)
	require.NoError(t, err)
	require.False(t, stands)
}

func TestATreeOfACancelledRunIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"set":{"name":"global.on","value":true}}]`}, func(_ *house, o *runtime.Options) {
		o.Cancelled = func(context.Context, string, string, time.Time) (bool, error) { return true, nil }
	})
	h.runs(h.evented()) // the first time nobody can have cancelled it
	s := h.evented()
	s.Attempt = 2
	out, err := h.ends(h.Launch(s))
	require.NoError(t, err)
	require.Equal(t, automation.ExecutionCancelled, out.Err.Name)
	require.Equal(t, 2, executed(h, "a"))
}

// What it was begun as stays open otherwise, and nobody begins it again.
func TestATreeThatIsRefusedWhenItIsBegunAgainIsOver(t *testing.T) {
	t.Parallel()
	for attempt, over := range map[int]int{1: 0, 2: 1} {
		h := open(t, documents{"a": `[]`}, func(h *house, o *runtime.Options) {
			h.settings.Recording, o.Recordings = "errors", unrecorded{t}
		})
		s := h.evented()
		s.Attempt, s.Depth = attempt, 100
		out, err := h.ends(h.Launch(s))
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
func (u unrecorded) Put(context.Context, recording.Kept) error {
	u.t.Error("a record was kept")
	return nil
}

func TestATreeThatBrokeOffAfterAWaitStandsStill(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":5}},{"set":{"name":"global.x","value":1}}]`})
	run := h.Launch(h.evented())
	<-run.Parked()
	h.store.refuse(func([]eventstore.Commit) bool { return true })
	_, err := h.ends(run)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	h.store.refuse(func([]eventstore.Commit) bool { return false })
	var treeID string
	for _, ev := range h.events() {
		if begun, is := ev.Event.(activity.TreeStarted); is {
			treeID = begun.ExecutionID
		}
	}
	require.False(t, h.IsRunning("w1", "run1", treeID), "so that it is taken for a stray")
	out, err := h.ends(h.Resume("w1", treeID, 2, h.house, func(context.Context, domain.Actor) (runtime.Caller, error) {
		return runtime.Caller{}, nil
	}))
	require.NoError(t, err)
	require.Nil(t, out.Err)
	require.JSONEq(t, `{"x":1}`, h.holds("global"))
}
