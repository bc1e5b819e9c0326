package projections_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/projections"
)

// isProgramPath records events of a run of w1, and returns where the log is.
func isProgramPath(t *testing.T, h *fixture, run string, events ...domain.Event) domain.Position {
	t.Helper()
	c := eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}, Meta: domain.Meta{CorrelationID: run, SessionID: "s1"}}
	for _, ev := range events {
		c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: ev})
	}
	r, err := h.log.Log.Append(t.Context(), c)
	require.NoError(t, err)
	return r.Position
}

func TestARebuiltModelOfRunsIsByteEqual(t *testing.T) {
	h := newFixture(t, projections.Runs{})
	started := func(id string) activity.TreeStarted {
		return activity.TreeStarted{ExecutionID: id, Automation: "pay", Trigger: activity.Trigger{Type: activity.ByEvent, ID: "e" + id}, Attempt: 1, StartedAt: "2026-03-01T10:00:00Z"}
	}
	executed := func(id, parent string) activity.Executed {
		trigger := json.RawMessage(fmt.Sprintf(`{"type":"event","value":"paid","id":"e%s"}`, id))
		return activity.Executed{Slug: "pay", ExecutionID: id, ParentExecutionID: parent, Trigger: trigger, StartedAt: "2026-03-01T10:00:00Z", Duration: 5, Recorded: true}
	}
	wait := activity.WaitPending{ID: "p1", ExecutionID: "x2", Wait: json.RawMessage(`{"oneOf":[{"event":"a","cancelTriggers":true}]}`)}
	first := isProgramPath(t, h, "r1", started("x1"), executed("x9", "x1"), executed("x1", ""))
	isProgramPath(t, h, "r2", started("x2"), wait)
	at := isProgramPath(t, h, "r3", executed("x3", ""))
	require.NoError(t, h.Reach(bounded(t), at))
	whole := func() string {
		v, err := h.Verify(bounded(t), nil)
		require.NoError(t, err)
		require.True(t, v.OK, "%+v", v)
		before, err := h.Hash(projections.Runs{})
		require.NoError(t, err)
		_, err = h.Rebuild(bounded(t), nil)
		require.NoError(t, err)
		after, err := h.Hash(projections.Runs{})
		require.NoError(t, err)
		require.Equal(t, before, after)
		return after
	}
	all := whole()
	at = isProgramPath(t, h, "", activity.Dropped{WorkspaceID: "w1", To: first.Activity})
	require.NoError(t, h.Reach(bounded(t), at))
	require.NotEqual(t, all, whole(), "while what was erased is still there")
	require.NoError(t, h.log.Log.PurgeActivity(t.Context(), "w1", "", first.Activity+1))
	whole()

	var listed []string
	require.NoError(t, h.View(func(r projections.Reader) error {
		return projections.Runs{}.List(r, "w1", projections.RunsQuery{}, func(l projections.ListedRun) bool {
			listed = append(listed, l.CorrelationID+" "+string(l.Status))
			return true
		})
	}))
	require.Equal(t, []string{"r3 succeeded", "r2 waiting"}, listed)
}

// One event may end as many waits as a tree can stand in: that must fit into one
// transaction, whatever they are for.
func TestManyWaitsEndAtOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Runs{})
	var events []domain.Event
	for i := range 1000 {
		events = append(events, activity.WaitPending{
			ID: fmt.Sprintf("p%d", i), ExecutionID: "x1",
			Wait: json.RawMessage(`{"oneOf":[{"event":"a","cancelTriggers":true,"filters":{"x":"` + strings.Repeat("x", 5000) + `"}}]}`),
		})
	}
	for chunk := range slices.Chunk(events, 100) {
		isProgramPath(t, h, "r1", chunk...)
	}
	at := isProgramPath(t, h, "r1", activity.Executed{Slug: "a", ExecutionID: "x1"})
	require.NoError(t, h.Reach(bounded(t), at))
	require.NoError(t, h.View(func(r projections.Reader) error {
		pending, err := projections.Runs{}.Pending(r, "w1", "p999")
		require.NoError(t, err)
		require.False(t, pending)
		wait, ok, err := projections.Runs{}.Cancelling(r, "w1", "p999")
		require.True(t, ok)
		require.Contains(t, string(wait.Wait), "cancelTriggers", "what it was for is still known")
		return err
	}))
}
