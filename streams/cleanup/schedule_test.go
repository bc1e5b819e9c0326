package cleanup_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/projections/livetest"
	"svc/streams/cleanup"
)

func TestTheJobsRunInTime(t *testing.T) {
	t.Parallel()
	h := open(t)
	plan := cleanup.Plan{Indices: "0 0 * * 0", Executions: "30 3 * * *", Zone: time.UTC}
	s := cleanup.Schedule{Jobs: h.jobs, RunTimes: h.memory, Plan: func() cleanup.Plan { return plan }}
	// ran tells how many runs there have been after a look at a time.
	ran := func(at string) int {
		t.Helper()
		var err error
		h.now, err = time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		require.NoError(t, s.RunDue(t.Context()))
		return len(h.activityTypes(domain.Platform))
	}
	require.Zero(t, ran("2026-11-12T12:00:00Z"), "they are switched off")
	plan.Enabled = true
	require.Zero(t, ran("2026-11-13T12:00:00Z"), "the first time is to come")
	require.Zero(t, ran("2026-11-14T03:29:59Z"))
	require.Equal(t, 1, ran("2026-11-14T03:30:00Z"))
	info, err := h.store.Log.Info(t.Context(), domain.Activity)
	require.NoError(t, err)
	told, _, err := h.store.Log.Read(t.Context(), domain.Activity, info.Last)
	require.NoError(t, err)
	require.NotEmpty(t, told.Meta.CorrelationID, "every event has one")
	require.Equal(t, 1, ran("2026-11-14T23:59:59Z"))
	require.Equal(t, 2, ran("2026-11-15T00:00:00Z"), "a Sunday")
	require.Equal(t, 2, ran("2026-11-15T00:00:30Z"))
	require.Equal(t, 4, ran("2026-12-15T12:00:00Z"), "what was missed is made up for once")
	require.Equal(t, 4, ran("2026-12-15T12:01:00Z"))

	other := cleanup.Schedule{Jobs: open(t).jobs, RunTimes: h.memory, Plan: s.Plan}
	other.Jobs.Lease, other.Jobs.Now = h.jobs.Lease, h.jobs.Now
	require.NoError(t, other.RunDue(t.Context()))
	livetest.Fresh(t, h.models)
	require.Len(t, h.activityTypes(domain.Platform), 4, "another node knows what was done")
	plan.Indices = "nonsense"
	require.Error(t, s.RunDue(t.Context()))
}
