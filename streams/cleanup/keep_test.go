package cleanup_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
	"svc/projections/livetest"
)

// began, stands and ended are the life of a tree with one wait, which keeps events from
// starting anything else.
var (
	began = activity.TreeStarted{
		ExecutionID: "x1", Automation: "pay", Trigger: activity.Trigger{Type: activity.ByEvent, ID: "e1"}, Attempt: 2, Replica: "n1", StartedAt: "2020-01-01T00:00:00.000Z",
	}
	stands = activity.WaitPending{
		ID: "wait1", ExecutionID: "x1", ExpiresAt: "2090-01-01T00:00:00.000Z", Wait: json.RawMessage(`{"oneOf":[{"event":"go","cancelTriggers":true}]}`),
	}
	ended = activity.Executed{Slug: "pay", ExecutionID: "x1", Trigger: json.RawMessage(`{"type":"event","id":"e1"}`)}
)

// runs records activity events of one run.
func (h *house) runs(events ...domain.Event) (last time.Time) {
	h.t.Helper()
	for _, ev := range events {
		r, err := h.store.Log.Append(h.t.Context(), eventstore.Commit{
			Stream: domain.StreamID{Scope: "w1"}, Meta: domain.Meta{CorrelationID: "run1", UserID: "u1"}, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
		})
		require.NoError(h.t, err)
		said, ok, err := h.store.Log.Read(h.t.Context(), domain.Activity, r.Position.Activity)
		require.NoError(h.t, err)
		require.True(h.t, ok)
		last = said.At
	}
	return last
}

// standing is how a run is as the read models have it, its open trees, and how many waits
// keep events from starting anything else.
func (h *house) standing() (status projections.RunStatus, open []projections.UnfinishedTree, cancelling int) {
	h.t.Helper()
	livetest.Fresh(h.t, h.models)
	require.NoError(h.t, h.models.View(func(r projections.Reader) error {
		run, _, err := projections.Runs{}.Get(r, "w1", "run1")
		require.NoError(h.t, err)
		status = run.Status
		require.NoError(h.t, projections.Runs{}.Waits(r, "w1", 0, func(_ string, end uint64) (bool, error) {
			if end == 0 {
				cancelling++
			}
			return true, nil
		}))
		return projections.Runs{}.Unfinished(r, func(t projections.UnfinishedTree) bool {
			open = append(open, t)
			return true
		})
	}))
	return status, open, cancelling
}

// A tree may wait for longer than events are kept, and nodes come and go meanwhile.
func TestATreeThatStandsInAWaitOutlivesItsBeginning(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.jobs.Apart = payloads{store: h.store, stands: "x1"}
	terms := keepAll
	terms.Retention, terms.WorkspaceIDs = day, []string{"w1"}
	h.now = h.runs(began, stands, emitted("a")).Add(day + 1)
	for _, total := range []int{2, 0} { // what was said again is old, too, some day
		require.EqualValues(t, total, h.cleans(terms).Expired.Total, "readers are shown neither that it began nor that it was said again")
		require.Equal(t, []string{"runtime.trees.started", "runtime.waits.kept", "events.dropped"}, h.kept("w1"))
		h.isWhole()
		status, trees, cancelling := h.standing()
		require.Equal(t, projections.RunWaiting, status)
		require.Len(t, trees, 1)
		require.Equal(t, began.ExecutionID, trees[0].ExecutionID)
		require.Equal(t, began.Attempt, trees[0].Attempt)
		require.Equal(t, began.Replica, trees[0].Replica)
		require.Equal(t, "u1", trees[0].Event().Source.UserID)
		require.Equal(t, 1, cancelling)
		require.Zero(t, h.known("w1"))
		h.now = time.Now().Add(day + time.Minute)
	}
	h.runs(activity.WaitFulfilled{ID: "wait1"}, ended)
	status, trees, cancelling := h.standing()
	require.Equal(t, projections.RunSucceeded, status)
	require.Empty(t, trees)
	require.Zero(t, cancelling)
	h.isWhole()
	h.now = time.Now().Add(day + time.Minute)
	h.cleans(terms)
	require.NotContains(t, h.kept("w1"), "runtime.trees.started")
	h.isWhole()
}

// What ends while it is said again that it began is over nevertheless.
func TestATreeThatEndsMeanwhileIsOver(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.jobs.Apart = payloads{store: h.store, stands: "x1"}
	terms := keepAll
	terms.Retention = day
	h.now = h.runs(began, stands).Add(day + 1)
	h.log.first = func() { h.runs(activity.WaitFulfilled{ID: "wait1"}, ended) }
	h.cleans(terms)
	require.Contains(t, h.kept("w1"), "runtime.waits.kept")
	status, trees, cancelling := h.standing()
	require.Equal(t, projections.RunSucceeded, status)
	require.Empty(t, trees)
	require.Zero(t, cancelling)
	h.isWhole()
}

// Nothing goes on in a workspace that cannot come back.
func TestNothingOfADeletedWorkspaceIsKept(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.jobs.Apart = payloads{store: h.store, stands: "x1"}
	h.exists("w1", workspace.Deleted{ID: "w1", DeletedAt: h.now, RestorableUntil: h.now.Add(30 * day)})
	h.runs(began, stands)
	h.now = h.now.Add(31 * day)
	h.cleans(keepAll)
	require.Equal(t, []string{"events.dropped"}, h.kept("w1"))
	_, trees, _ := h.standing()
	require.Empty(t, trees)
}
