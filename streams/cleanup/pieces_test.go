package cleanup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/activity"
	"svc/domain/subscription"
	"svc/projections"
)

// A lot is forgotten piece by piece, and purged at once.
func TestMuchIsErasedInPieces(t *testing.T) {
	t.Parallel()
	h := open(t)
	for range 5 {
		h.happens("w1", many(450, emitted("a"))...)
	}
	h.happens("w2", emitted("a"))
	h.now = h.happens("w1", delivered("w1", "d1"), emitted("last")).At.Add(1)
	terms := keepAll
	terms.Retention, terms.WorkspaceIDs = 0, []string{"w1", "nowhere"}
	done := h.cleans(terms)
	require.EqualValues(t, 2251, done.Expired.Total)
	require.Equal(t, slices.Repeat([]string{"events.dropped"}, 23), h.kept("w1"))
	require.Equal(t, []string{"a"}, h.kept("w2"), "it was not asked for")
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
		h.happens("w1", all)
	}
	h.now = h.happens("w1", emitted("last")).At.Add(31 * day)
	h.cleans(keepAll)
	told := h.kept("w1")
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
		h.now = h.happens(ids[i], interaction, emitted("pay.usage"), activity.Failure{Error: "e"}).At.Add(40 * day)
		require.NoError(t, h.store.Payloads.Put(t.Context(), ids[i], "e1", []byte("x")))
	}
	terms := keepAll
	terms.MaxEvents, terms.Inactivity = 50, 30*day
	done := h.cleans(terms)
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
