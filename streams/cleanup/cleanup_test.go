package cleanup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/subscription"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams/cleanup"
)

func TestEventsAreErasedAfterTheirTime(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exists("w1")
	h.recordActivity("w1", emitted("a"), interaction, delivered("w1", "d1"), emitted("b"))
	h.recordActivity("w3", delivered("w3", "d3"))
	old := h.recordActivity("w2", many(400, emitted("a"))...)
	h.recordActivity("w1", emitted("young"), interaction, delivered("w1", "d1"))
	h.recordActivity(domain.Platform, emitted("young"))
	state := h.state()
	terms := keepAll
	terms.Retention = day
	h.now = old.At.Add(day + 1)

	terms.DryRun = true
	would := h.runIndices(terms)
	require.EqualValues(t, 403, would.Expired.Total)
	require.Equal(t, domain.FormatTime(h.now.Add(-day)), *would.Expired.Before)
	require.Equal(t, 400, h.known("w2"))

	terms.DryRun = false
	done := h.runIndices(terms)
	require.EqualValues(t, 403, done.Expired.Total)
	require.Empty(t, done.Errors)
	require.Zero(t, h.known("w2"))
	told := slices.Repeat([]string{"events.dropped"}, 4)
	require.Equal(t, told, h.activityTypes("w2"), "a hundred at a time")
	require.Equal(t, []string{"events.dropped"}, h.activityTypes("w3"))
	require.Equal(t, []string{"young", "runtime.interactions.triggered", "webhooks.deliveries.attempted", "events.dropped"}, h.activityTypes("w1"))
	require.Equal(t, 2, h.known("w1"))
	require.Equal(t, []string{"young", "events.cleaned"}, h.activityTypes(domain.Platform))
	require.Equal(t, state, h.state())
	h.isWhole()

	again := h.runIndices(terms)
	require.Zero(t, again.Expired.Total)
	require.Equal(t, told, h.activityTypes("w2"), "nothing is said twice")
}

func TestSmallWorkspacesThatNobodyUsesLoseTheirEvents(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, id := range []string{"idle", "large", "active", "quiet"} {
		h.exists(id)
	}
	h.recordActivity("large", many(9, emitted("a"))...)
	h.recordActivity(domain.Platform, emitted("a"))
	h.recordActivity("idle", emitted("a"), emitted("shop.error"))
	h.recordActivity("active", emitted("a"))
	h.now = h.recordActivity("active", emitted("a")).At.Add(40 * day)
	h.recordActivity("idle", activity.Failure{Error: "e", Message: "m"})
	state := h.state()
	terms := keepAll
	terms.MaxEvents, terms.Inactivity = 9, 40*day

	terms.DryRun = true
	found := &activity.Inactive{Found: []activity.Idle{{WorkspaceID: "idle", InactivityDays: 40, EventsCount: 4}}, DeletedEvents: 3}
	require.Equal(t, found, h.runIndices(terms).Inactive)
	require.Equal(t, 3, h.known("idle"))
	terms.WorkspaceIDs = []string{"large"}
	require.Empty(t, h.runIndices(terms).Inactive.Found, "it has ten events with the one that made it")
	terms.MaxEvents = 10
	require.Len(t, h.runIndices(terms).Inactive.Found, 1)

	terms.DryRun, terms.WorkspaceIDs, terms.MaxEvents = false, nil, 9
	require.Equal(t, found, h.runIndices(terms).Inactive)
	require.Equal(t, []string{"events.dropped"}, h.activityTypes("idle"))
	require.Equal(t, 9, h.known("large"))
	require.Equal(t, 2, h.known("active"))
	require.Equal(t, state, h.state())
	h.isWhole()
	require.Empty(t, h.runIndices(terms).Inactive.Found)
}

// What is counted as expired is not counted again for another reason.
func TestADryRunCountsWhatARunErases(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exists("w1")
	h.recordActivity("w1", emitted("a"), emitted("a"))
	middle := h.recordActivity("w1", emitted("b"))
	h.now = h.recordActivity("w1", emitted("c")).At.Add(day)
	terms := cleanup.Terms{Retention: h.now.Sub(middle.At) - 1, MaxEvents: 5, Inactivity: time.Hour, DryRun: true}
	would := h.runIndices(terms)
	require.EqualValues(t, 3, would.Expired.Total)
	require.EqualValues(t, 1, would.Inactive.DeletedEvents)
	terms.DryRun = false
	did := h.runIndices(terms)
	would.DryRun, would.Duration, did.Duration = false, 0, 0
	require.Equal(t, would, did)
}

func TestDeletedWorkspacesAreErased(t *testing.T) {
	t.Parallel()
	h := open(t)
	at := time.Now().UTC().Truncate(time.Millisecond)
	for _, id := range []string{"gone", "going", "back"} {
		gone := workspace.Deleted{ID: id, DeletedAt: at, RestorableUntil: at.Add(30 * day)}
		if id == "going" {
			gone.RestorableUntil = at.Add(50 * day)
		}
		events := []domain.Event{gone}
		if id == "back" {
			events = append(events, workspace.Undeleted{ID: id})
		}
		h.exists(id, events...)
		h.recordApart(id, "x", emitted("a"), delivered(id, "d-"+id))
	}
	state := h.state()
	h.now = at.Add(30*day - 1)
	require.Empty(t, h.runIndices(keepAll).Deleted.Found)
	h.now = at.Add(30 * day)
	terms := keepAll
	terms.DryRun = true
	found := &activity.Deleted{Found: []activity.Gone{{WorkspaceID: "gone", DeletedAt: at.Format(domain.Timestamp)}}, DeletedEvents: 1}
	require.Equal(t, found, h.runIndices(terms).Deleted)
	require.Equal(t, found, h.runIndices(keepAll).Deleted)
	require.Equal(t, []string{"events.dropped"}, h.activityTypes("gone"))
	for id, left := range map[string]bool{"gone": false, "going": true, "back": true} {
		holds, err := h.store.HasWorkspaceData(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, left, holds, id)
	}
	require.Empty(t, h.runIndices(keepAll).Deleted.Found, "it is done once")
	require.Equal(t, state, h.state())
	h.isWhole()
}

func TestDeliveriesAreForgottenAfterThirtyDays(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.recordActivity("w1", emitted("a"), delivered("w1", "d1"), delivered("w1", "d2"))
	old := h.recordActivity("w2", delivered("w2", "d3"))
	h.recordActivity("w1", delivered("w1", "d2"))
	h.now = old.At.Add(30*day + 1)
	h.runIndices(keepAll)
	require.Equal(t, []string{"a", "webhooks.deliveries.attempted", "events.deliveries.dropped"}, h.activityTypes("w1"))
	livetest.Fresh(t, h.models)
	var left []string
	require.NoError(t, h.models.View(func(r projections.Reader) error {
		return projections.Deliveries{}.List(r, "sub-w1", time.Time{}, func(d projections.DeliveryListed) bool {
			left = append(left, d.ID)
			return true
		})
	}))
	require.Equal(t, []string{"d2"}, left)
	require.Equal(t, 1, h.known("w1"))
	h.isWhole()
}

func TestPayloadsAreStripped(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, id := range []string{"w1", "w2"} {
		h.recordApart(id, "12345", emitted("a"))
	}
	h.now = time.Now().Add(14*day + time.Minute)
	terms := keepAll
	off, err := h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Equal(t, &activity.Stripped{}, off.Stripped)
	terms.Executions, terms.DryRun, terms.WorkspaceIDs = 14*day, true, []string{"w1", "w3"}
	before := domain.FormatTime(h.now.Add(-14 * day))
	would, err := h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Equal(t, &activity.Stripped{Before: &before, Count: 1, FreedBytes: 33}, would.Stripped)
	terms.DryRun, terms.WorkspaceIDs = false, nil
	done, err := h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Equal(t, &activity.Stripped{Before: &before, Count: 2, FreedBytes: 66}, done.Stripped)
	done, err = h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Zero(t, done.Count)
	require.Equal(t, []string{"events.cleaned", "events.cleaned", "events.cleaned"}, h.activityTypes(domain.Platform))
}

// What the read models forgot and nobody purged is purged by the next run.
func TestARunThatWasBrokenOffIsFinished(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exists("w1")
	h.now = h.recordActivity("w1", emitted("a"), emitted("b")).At.Add(40 * day)
	terms := keepAll
	terms.MaxEvents, terms.Inactivity = 50, 30*day
	h.log.down = true
	done := h.runIndices(terms)
	require.True(t, slices.ContainsFunc(done.Errors, func(f activity.Fault) bool {
		return f.Part == "inactiveWorkspaces" && f.Message == errDown.Error()
	}), "%v", done.Errors)
	require.Zero(t, h.known("w1"))
	require.Equal(t, []string{"a", "b", "events.dropped"}, h.activityTypes("w1"))
	h.isWhole()

	h.log.down = false
	terms.DryRun = true
	h.runIndices(terms)
	require.Len(t, h.activityTypes("w1"), 3, "a dry run erases nothing")
	terms.DryRun = false
	require.Empty(t, h.runIndices(terms).Errors)
	require.Equal(t, []string{"events.dropped"}, h.activityTypes("w1"))
	h.isWhole()
}

func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	h := open(t)
	other := *h.jobs
	other.Record = func(ctx context.Context, _ string, _ domain.Event) error { // while it runs
		_, err := h.jobs.Executions(ctx, keepAll)
		return err
	}
	began := domain.FormatTime(h.now)
	_, err := other.Indices(t.Context(), keepAll)
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.CodeLocked, refusal.Code)
	require.Equal(t, map[string]any{"reason": "cleanup", "job": "indices", "lockedBy": "internal", "lockedAt": began}, refusal.Details)
	h.runIndices(keepAll)
}

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
func (h *fixture) runs(events ...domain.Event) (last time.Time) {
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

// runState is how a run is as the read models have it, its open trees, and how many waits
// keep events from starting anything else.
func (h *fixture) runState() (status projections.RunStatus, open []projections.UnfinishedTree, cancelling int) {
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
	h.jobs.Data = payloads{store: h.store, stands: "x1"}
	terms := keepAll
	terms.Retention, terms.WorkspaceIDs = day, []string{"w1"}
	h.now = h.runs(began, stands, emitted("a")).Add(day + 1)
	for _, total := range []int{2, 0} { // what was said again is old, too, some day
		require.EqualValues(t, total, h.runIndices(terms).Expired.Total, "readers are shown neither that it began nor that it was said again")
		require.Equal(t, []string{"runtime.trees.started", "runtime.waits.kept", "events.dropped"}, h.activityTypes("w1"))
		h.isWhole()
		status, trees, cancelling := h.runState()
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
	status, trees, cancelling := h.runState()
	require.Equal(t, projections.RunSucceeded, status)
	require.Empty(t, trees)
	require.Zero(t, cancelling)
	h.isWhole()
	h.now = time.Now().Add(day + time.Minute)
	h.runIndices(terms)
	require.NotContains(t, h.activityTypes("w1"), "runtime.trees.started")
	h.isWhole()
}

// What ends while it is said again that it began is over nevertheless.
func TestATreeThatEndsMeanwhileIsOver(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.jobs.Data = payloads{store: h.store, stands: "x1"}
	terms := keepAll
	terms.Retention = day
	h.now = h.runs(began, stands).Add(day + 1)
	h.log.first = func() { h.runs(activity.WaitFulfilled{ID: "wait1"}, ended) }
	h.runIndices(terms)
	require.Contains(t, h.activityTypes("w1"), "runtime.waits.kept")
	status, trees, cancelling := h.runState()
	require.Equal(t, projections.RunSucceeded, status)
	require.Empty(t, trees)
	require.Zero(t, cancelling)
	h.isWhole()
}

// Nothing goes on in a workspace that cannot come back.
func TestNothingOfADeletedWorkspaceIsKept(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.jobs.Data = payloads{store: h.store, stands: "x1"}
	h.exists("w1", workspace.Deleted{ID: "w1", DeletedAt: h.now, RestorableUntil: h.now.Add(30 * day)})
	h.runs(began, stands)
	h.now = h.now.Add(31 * day)
	h.runIndices(keepAll)
	require.Equal(t, []string{"events.dropped"}, h.activityTypes("w1"))
	_, trees, _ := h.runState()
	require.Empty(t, trees)
}

// A lot is forgotten piece by piece, and purged at once.
func TestMuchIsErasedInPieces(t *testing.T) {
	t.Parallel()
	h := open(t)
	for range 5 {
		h.recordActivity("w1", many(450, emitted("a"))...)
	}
	h.recordActivity("w2", emitted("a"))
	h.now = h.recordActivity("w1", delivered("w1", "d1"), emitted("last")).At.Add(1)
	terms := keepAll
	terms.Retention, terms.WorkspaceIDs = 0, []string{"w1", "nowhere"}
	done := h.runIndices(terms)
	require.EqualValues(t, 2251, done.Expired.Total)
	require.Equal(t, slices.Repeat([]string{"events.dropped"}, 23), h.activityTypes("w1"))
	require.Equal(t, []string{"a"}, h.activityTypes("w2"), "it was not asked for")
	h.isWhole()
}

// Events that tell of very much are forgotten piece by piece as well.
func TestManyDeliveriesInFewEventsAreErasedInPieces(t *testing.T) {
	t.Parallel()
	h := open(t)
	const events = 40
	for i := range events {
		var all subscription.Attempted
		for j := range subscription.MaxRecords {
			one := delivered("w1", fmt.Sprintf("d%02d-%03d", i, j)).(subscription.Attempted)
			all.Records = append(all.Records, one.Records...)
		}
		h.recordActivity("w1", all)
	}
	h.now = h.recordActivity("w1", emitted("last")).At.Add(31 * day)
	h.runIndices(keepAll)
	told := h.activityTypes("w1")
	require.Equal(t, "last", told[0], "it is no delivery")
	require.GreaterOrEqual(t, len(told), events/2, "not all at once")
	h.isWhole()
	require.NoError(t, h.models.View(func(r projections.Reader) error {
		return projections.Deliveries{}.List(r, "sub-w1", time.Time{}, func(d projections.DeliveryListed) bool {
			t.Errorf("%s is left", d.ID)
			return false
		})
	}))
}

// Everything that the index keeps of an event is forgotten, for many workspaces at once.
func TestManyWorkspacesAreErasedTogether(t *testing.T) {
	t.Parallel()
	h := open(t)
	var ids []string
	for i := range 130 {
		ids = append(ids, fmt.Sprintf("w%03d", i))
		h.exists(ids[i])
		h.now = h.recordApart(ids[i], "x", interaction, emitted("pay.usage"), activity.Failure{Error: "e"}).At.Add(40 * day)
	}
	terms := keepAll
	terms.MaxEvents, terms.Inactivity = 50, 30*day
	done := h.runIndices(terms)
	require.Len(t, done.Inactive.Found, len(ids))
	require.EqualValues(t, 3*len(ids), done.Inactive.DeletedEvents)
	require.Empty(t, done.Errors)
	for _, id := range []string{ids[0], ids[99], ids[129]} {
		require.Zero(t, h.known(id))
		holds, err := h.store.HasWorkspaceData(t.Context(), id)
		require.NoError(t, err)
		require.False(t, holds, "payloads belong to events")
	}
	h.isWhole()
}

// What nobody is shown is erased as well, and the read models forget it.
func TestTreesThatNobodyIsShownAreErased(t *testing.T) {
	t.Parallel()
	h := open(t)
	began := activity.TreeStarted{ExecutionID: "x1", Automation: "pay", Trigger: activity.Trigger{Type: activity.ByEvent, ID: "e1"}, Attempt: 1}
	old := h.recordActivity("w1", began)
	terms := keepAll
	terms.Retention = day
	h.now = old.At.Add(day + 1)
	require.Zero(t, h.runIndices(terms).Expired.Total, "no reader loses anything")
	require.Equal(t, []string{"events.dropped"}, h.activityTypes("w1"))
	livetest.Fresh(t, h.models)
	require.NoError(t, h.models.View(func(r projections.Reader) error {
		attempts, ended, err := projections.Runs{}.Ended(r, "w1", "e1", "pay")
		require.Zero(t, attempts)
		require.False(t, ended)
		return err
	}))
	h.isWhole()
}

// Many nodes find the same job due at the same moment: one of them runs it.
func TestOneOfManyNodesRunsAJob(t *testing.T) {
	t.Parallel()
	h := open(t)
	plan := cleanup.Plan{Enabled: true, Indices: "0 0 * * 0", Executions: "30 3 * * *", Zone: time.UTC}
	var err error
	h.now, err = time.Parse(time.RFC3339, "2026-11-14T12:00:00Z")
	require.NoError(t, err)
	node := func() cleanup.Schedule {
		jobs := *h.jobs
		return cleanup.Schedule{Jobs: &jobs, RunTimes: h.memory, Plan: func() cleanup.Plan { return plan }}
	}
	require.NoError(t, node().RunDue(t.Context()))
	for week := range 3 {
		h.now = h.now.AddDate(0, 0, 7)
		var nodes sync.WaitGroup
		for range 6 {
			nodes.Go(func() {
				if err := node().RunDue(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
		require.NoError(t, node().RunDue(t.Context()), "who found the lease held looks again")
		require.Len(t, h.activityTypes(domain.Platform), 2*(week+1), "both jobs, once a week")
	}
}
