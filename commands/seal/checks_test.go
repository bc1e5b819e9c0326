package seal_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/seal"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

func openBucket(t *testing.T) *jetstream.Bucket {
	t.Helper()
	b, err := livetest.Store(t, jetstream.Options{}).Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "CHECKS"})
	require.NoError(t, err)
	return b
}

func TestMasterKeysAreKnownAgain(t *testing.T) {
	t.Parallel()
	kv, ctx := openBucket(t), t.Context()
	k1, k2 := key("k1", 1, true), key("k2", 2, true)
	old := key("k1", 1, false)
	require.NoError(t, box(t, k1).Ensure(ctx, kv))
	require.NoError(t, box(t, k1).Ensure(ctx, kv), "at the next start")

	err := box(t, key("k1", 9, true)).Ensure(ctx, kv)
	require.ErrorContains(t, err, "key k1 is not the one")
	err = box(t, k2).Ensure(ctx, kv)
	require.ErrorContains(t, err, "key k1 is missing")

	require.NoError(t, box(t, k1, key("k3", 3, false)).Ensure(ctx, kv))
	require.NoError(t, box(t, k1).Ensure(ctx, kv), "a key that never sealed may leave")

	both := box(t, k2, old)
	require.NoError(t, both.Ensure(ctx, kv))
	inUse, err := seal.InUse(ctx, kv)
	require.NoError(t, err)
	require.Equal(t, []string{"k1", "k2"}, inUse)
	require.Error(t, both.Forget(ctx, kv, "k2"), "the active key is in use")
	require.NoError(t, both.Forget(ctx, kv, "k1"))
	require.NoError(t, box(t, k2).Ensure(ctx, kv), "k1 is dropped")
}

func TestNodesThatStartTogetherAgree(t *testing.T) {
	t.Parallel()
	kv := openBucket(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			b, err := seal.New([]seal.MasterKey{key("k1", 1, true)})
			if err == nil {
				err = b.Ensure(t.Context(), kv)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	inUse, err := seal.InUse(t.Context(), kv)
	require.NoError(t, err)
	require.Equal(t, []string{"k1"}, inUse)
}

// laggingBucket reads from a replica that has nothing until a moment.
type laggingBucket struct {
	*jetstream.Bucket
	until time.Time
}

func (b laggingBucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if time.Now().Before(b.until) {
		return nil, 0, eventstore.ErrNoKey
	}
	return b.Bucket.Get(ctx, key)
}

func TestAReplicaThatLagsDoesNotStopTheStart(t *testing.T) {
	t.Parallel()
	kv := openBucket(t)
	b := box(t, key("k1", 1, true))
	require.NoError(t, b.Ensure(t.Context(), kv))
	require.NoError(t, b.Ensure(t.Context(), laggingBucket{kv, time.Now().Add(300 * time.Millisecond)}))
}

func TestDamagedCheckValuesStopTheStart(t *testing.T) {
	t.Parallel()
	kv := openBucket(t)
	for _, body := range []string{"null", "{", `["a"]`} {
		_, err := kv.Put(t.Context(), "master-keys", []byte(body))
		require.NoError(t, err)
		require.Error(t, box(t, key("k1", 1, true)).Ensure(t.Context(), kv), body)
	}
}
