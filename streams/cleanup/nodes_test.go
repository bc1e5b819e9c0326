package cleanup_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/streams/cleanup"
)

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
		return cleanup.Schedule{Jobs: &jobs, Memory: h.memory, Plan: func() cleanup.Plan { return plan }}
	}
	require.NoError(t, node().Look(t.Context()))
	for week := range 3 {
		h.now = h.now.AddDate(0, 0, 7)
		var nodes sync.WaitGroup
		for range 6 {
			nodes.Go(func() {
				if err := node().Look(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
		require.NoError(t, node().Look(t.Context()), "who found the lease held looks again")
		require.Len(t, h.kept(domain.Platform), 2*(week+1), "both jobs, once a week")
	}
}
