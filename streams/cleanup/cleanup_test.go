package cleanup_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams/cleanup"
)

func TestEventsAreErasedAfterTheirTime(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exists("w1")
	h.happens("w1", emitted("a"), interaction, delivered("w1", "d1"), emitted("b"))
	h.happens("w3", delivered("w3", "d3"))
	old := h.happens("w2", many(400, emitted("a"))...)
	h.happens("w1", emitted("young"), interaction, delivered("w1", "d1"))
	h.happens(domain.Platform, emitted("young"))
	state := h.state()
	terms := keepAll
	terms.Retention = day
	h.now = old.At.Add(day + 1)

	terms.DryRun = true
	would := h.cleans(terms)
	require.EqualValues(t, 403, would.Expired.Total)
	require.Equal(t, h.now.Add(-day).UTC().Format(domain.Timestamp), *would.Expired.Before)
	require.Equal(t, 400, h.known("w2"))

	terms.DryRun = false
	done := h.cleans(terms)
	require.EqualValues(t, 403, done.Expired.Total)
	require.Empty(t, done.Errors)
	require.Zero(t, h.known("w2"))
	told := slices.Repeat([]string{"events.dropped"}, 4)
	require.Equal(t, told, h.kept("w2"), "a hundred at a time")
	require.Equal(t, []string{"events.dropped"}, h.kept("w3"))
	require.Equal(t, []string{"young", "runtime.interactions.triggered", "webhooks.deliveries.attempted", "events.dropped"}, h.kept("w1"))
	require.Equal(t, 2, h.known("w1"))
	require.Equal(t, []string{"young", "events.cleaned"}, h.kept(domain.Platform))
	require.Equal(t, state, h.state())
	h.isWhole()

	again := h.cleans(terms)
	require.Zero(t, again.Expired.Total)
	require.Equal(t, told, h.kept("w2"), "nothing is said twice")
}

func TestSmallWorkspacesThatNobodyUsesLoseTheirEvents(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, id := range []string{"idle", "large", "active", "quiet"} {
		h.exists(id)
	}
	h.happens("large", many(9, emitted("a"))...)
	h.happens(domain.Platform, emitted("a"))
	h.happens("idle", emitted("a"), emitted("shop.error"))
	h.happens("active", emitted("a"))
	h.now = h.happens("active", emitted("a")).At.Add(40 * day)
	h.happens("idle", activity.Failure{Error: "e", Message: "m"})
	state := h.state()
	terms := keepAll
	terms.MaxEvents, terms.Inactivity = 9, 40*day

	terms.DryRun = true
	found := &activity.Inactive{Found: []activity.Idle{{WorkspaceID: "idle", InactivityDays: 40, EventsCount: 4}}, DeletedEvents: 3}
	require.Equal(t, found, h.cleans(terms).Inactive)
	require.Equal(t, 3, h.known("idle"))
	terms.WorkspaceIDs = []string{"large"}
	require.Empty(t, h.cleans(terms).Inactive.Found, "it has ten events with the one that made it")
	terms.MaxEvents = 10
	require.Len(t, h.cleans(terms).Inactive.Found, 1)

	terms.DryRun, terms.WorkspaceIDs, terms.MaxEvents = false, nil, 9
	require.Equal(t, found, h.cleans(terms).Inactive)
	require.Equal(t, []string{"events.dropped"}, h.kept("idle"))
	require.Equal(t, 9, h.known("large"))
	require.Equal(t, 2, h.known("active"))
	require.Equal(t, state, h.state())
	h.isWhole()
	require.Empty(t, h.cleans(terms).Inactive.Found)
}

// What is counted as expired is not counted again for another reason.
func TestADryRunCountsWhatARunErases(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exists("w1")
	h.happens("w1", emitted("a"), emitted("a"))
	middle := h.happens("w1", emitted("b"))
	h.now = h.happens("w1", emitted("c")).At.Add(day)
	terms := cleanup.Terms{Retention: h.now.Sub(middle.At) - 1, MaxEvents: 5, Inactivity: time.Hour, DryRun: true}
	would := h.cleans(terms)
	require.EqualValues(t, 3, would.Expired.Total)
	require.EqualValues(t, 1, would.Inactive.DeletedEvents)
	terms.DryRun = false
	did := h.cleans(terms)
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
		h.happens(id, emitted("a"), delivered(id, "d-"+id))
		require.NoError(t, h.store.Payloads.Put(t.Context(), id, "e1", []byte("x")))
	}
	state := h.state()
	h.now = at.Add(30*day - 1)
	require.Empty(t, h.cleans(keepAll).Deleted.Found)
	h.now = at.Add(30 * day)
	terms := keepAll
	terms.DryRun = true
	found := &activity.Deleted{Found: []activity.Gone{{WorkspaceID: "gone", DeletedAt: at.Format(domain.Timestamp)}}, DeletedEvents: 1}
	require.Equal(t, found, h.cleans(terms).Deleted)
	require.Equal(t, found, h.cleans(keepAll).Deleted)
	require.Equal(t, []string{"events.dropped"}, h.kept("gone"))
	for id, left := range map[string]bool{"gone": false, "going": true, "back": true} {
		holds, err := h.store.HasWorkspaceData(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, left, holds, id)
	}
	require.Empty(t, h.cleans(keepAll).Deleted.Found, "it is done once")
	require.Equal(t, state, h.state())
	h.isWhole()
}

func TestDeliveriesAreForgottenAfterThirtyDays(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.happens("w1", emitted("a"), delivered("w1", "d1"), delivered("w1", "d2"))
	old := h.happens("w2", delivered("w2", "d3"))
	h.happens("w1", delivered("w1", "d2"))
	h.now = old.At.Add(30*day + 1)
	h.cleans(keepAll)
	require.Equal(t, []string{"a", "webhooks.deliveries.attempted", "events.deliveries.dropped"}, h.kept("w1"))
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
		require.NoError(t, h.store.Payloads.Put(t.Context(), id, "e1", []byte("12345")))
	}
	h.now = time.Now().Add(14*day + time.Minute)
	terms := keepAll
	off, err := h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Equal(t, &activity.Stripped{}, off.Stripped)
	terms.Executions, terms.DryRun, terms.WorkspaceIDs = 14*day, true, []string{"w1", "w3"}
	before := h.now.Add(-14 * day).UTC().Format(domain.Timestamp)
	would, err := h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Equal(t, &activity.Stripped{Before: &before, Count: 1, FreedBytes: 5}, would.Stripped)
	terms.DryRun, terms.WorkspaceIDs = false, nil
	done, err := h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Equal(t, &activity.Stripped{Before: &before, Count: 2, FreedBytes: 10}, done.Stripped)
	done, err = h.jobs.Executions(t.Context(), terms)
	require.NoError(t, err)
	require.Zero(t, done.Count)
	require.Equal(t, []string{"events.cleaned", "events.cleaned", "events.cleaned"}, h.kept(domain.Platform))
}

// What the read models forgot and nobody purged is purged by the next run.
func TestARunThatWasBrokenOffIsFinished(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exists("w1")
	h.now = h.happens("w1", emitted("a"), emitted("b")).At.Add(40 * day)
	terms := keepAll
	terms.MaxEvents, terms.Inactivity = 50, 30*day
	h.log.down = true
	done := h.cleans(terms)
	require.True(t, slices.ContainsFunc(done.Errors, func(f activity.Fault) bool {
		return f.Part == "inactiveWorkspaces" && f.Message == errDown.Error()
	}), "%v", done.Errors)
	require.Zero(t, h.known("w1"))
	require.Equal(t, []string{"a", "b", "events.dropped"}, h.kept("w1"))
	h.isWhole()

	h.log.down = false
	terms.DryRun = true
	h.cleans(terms)
	require.Len(t, h.kept("w1"), 3, "a dry run erases nothing")
	terms.DryRun = false
	require.Empty(t, h.cleans(terms).Errors)
	require.Equal(t, []string{"events.dropped"}, h.kept("w1"))
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
	began := h.now.UTC().Format(domain.Timestamp)
	_, err := other.Indices(t.Context(), keepAll)
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.CodeLocked, refusal.Code)
	require.Equal(t, map[string]any{"reason": "cleanup", "job": "indices", "lockedBy": "internal", "lockedAt": began}, refusal.Details)
	h.cleans(keepAll)
}
