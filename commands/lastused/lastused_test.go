package lastused_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/lastused"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

func TestAUseIsKnownToTheMinute(t *testing.T) {
	store, _ := livetest.Open(t)
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "LASTUSED"})
	require.NoError(t, err)
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	book := lastused.New(bucket, func() time.Time { return now })

	at, err := book.At(t.Context(), "key_1")
	require.NoError(t, err)
	require.True(t, at.IsZero(), "never used")

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = book.Run(ctx) })
	for range 1000 {
		book.Note("key_1")
	}
	require.Eventually(t, func() bool {
		at, err := book.At(t.Context(), "key_1")
		return err == nil && at.Equal(now)
	}, time.Minute, 5*time.Millisecond)
	stop()
	running.Wait()
}
