package commands

import (
	"context"
	"sync"
	"testing"

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
			leave, err := queue.Acquire(t.Context(), id)
			if err == nil {
				count++
				leave()
			}
		})
	}
	all.Wait()
	require.Equal(t, 100, count)

	leave, err := queue.Acquire(t.Context(), id)
	require.NoError(t, err)
	elsewhere, err := queue.Acquire(t.Context(), other)
	require.NoError(t, err, "another aggregate does not wait")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = queue.Acquire(ctx, id)
	require.ErrorIs(t, err, context.Canceled)
	leave()
	elsewhere()
	require.Empty(t, queue.queues)
}
