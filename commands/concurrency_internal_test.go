package commands

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func TestCommandsOfOneAggregateTakeTurns(t *testing.T) {
	t.Parallel()
	var queue Turns[domain.StreamID]
	id, other := domain.StreamID{Scope: "w", Kind: "k", ID: "1"}, domain.StreamID{Scope: "w", Kind: "k", ID: "2"}
	count := 0 // the race detector watches it
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			release, err := queue.Acquire(t.Context(), id)
			if err == nil {
				count++
				release()
			}
		})
	}
	all.Wait()
	require.Equal(t, 100, count)

	release, err := queue.Acquire(t.Context(), id)
	require.NoError(t, err)
	elsewhere, err := queue.Acquire(t.Context(), other)
	require.NoError(t, err, "another aggregate does not wait")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = queue.Acquire(ctx, id)
	require.ErrorIs(t, err, context.Canceled)
	release()
	elsewhere()
	require.Empty(t, queue.queues)
}

func TestEveryStopsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls, begun := 0, time.Now()
		Every(ctx, time.Minute, func() {
			if calls++; calls == 3 {
				cancel()
			}
		})
		require.Equal(t, 3, calls)
		require.Equal(t, 3*time.Minute, time.Since(begun))
	})
}
