package streams_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/seal"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/keyring"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/streams"
)

// newKeys returns the keys of one more node. Nothing is verified here, so that
// there are no read models.
func newKeys(t *testing.T, store *jetstream.Store, bucket *jetstream.Bucket, now func() time.Time) *signing.Keys {
	t.Helper()
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log, Log: quiet})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 9}, 16), Active: true}})
	require.NoError(t, err)
	k, err := signing.New(signing.Options{
		Engine: engine, Bucket: bucket, Box: box, Alg: "ES256", Issuer: "i", Audience: "a",
		Rotation: 24 * time.Hour, MaxAge: 36 * time.Hour, Now: now, Log: quiet,
		Current: func(uint64) (keyring.State, uint64, error) { return keyring.State{}, 0, nil },
		Fresh:   func(context.Context) error { return nil },
	})
	require.NoError(t, err)
	return k
}

// changes hands over each change of the key ring as it is recorded.
func changes(t *testing.T, store *jetstream.Store) <-chan keyring.Updated {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	found := make(chan keyring.Updated, 100)
	var reading sync.WaitGroup
	reading.Go(func() {
		_ = store.Log.Subscribe(ctx, domain.State, 1, func(b eventstore.Batch) error {
			for _, ev := range b.Events {
				if u, ok := ev.Data.(keyring.Updated); ok {
					found <- u
				}
			}
			return nil
		})
	})
	t.Cleanup(func() { cancel(); reading.Wait() })
	return found
}

func next(t *testing.T, from <-chan keyring.Updated) keyring.Updated {
	t.Helper()
	select {
	case u := <-from:
		return u
	case <-time.After(time.Minute):
		t.Fatal("nothing happened")
		return keyring.Updated{}
	}
}

func TestKeysAreRotatedAndExpireInTimeOnOneNode(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	private, leases := openBucket(t, store, "KEYS"), openBucket(t, store, "LEASES")
	var hours atomic.Int64
	now := func() time.Time {
		return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(hours.Load()) * time.Hour)
	}
	happened := changes(t, store)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 3 {
		keys := newKeys(t, store, private, now)
		require.NoError(t, keys.EnsureStarted(t.Context()))
		r := streams.Rotation{
			Keys: keys, Lease: streams.Lease{Bucket: leases, Name: "rotation", TTL: 3 * time.Second, Log: quiet},
			Pause: time.Millisecond, Now: func() time.Time { return now().Add(24 * 365 * time.Hour) }, Log: quiet, // looks without pause
		}
		running.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	require.Len(t, next(t, happened).Created, 2)
	hours.Store(24)
	rotated := next(t, happened)
	require.Len(t, rotated.Created, 1)
	require.Empty(t, rotated.Deleted)
	hours.Store(48)
	require.Len(t, next(t, happened).Created, 1)
	hours.Store(61) // 24 + 36, and the minute of grace
	expired := next(t, happened)
	require.Empty(t, expired.Created)
	require.Len(t, expired.Deleted, 1)
	stop()
	running.Wait()
	require.Empty(t, happened, "and nothing else")
}

// callRecorder is a KeyMaintainer that notes when it is called.
type callRecorder struct {
	at   []time.Time
	plan []time.Duration // until the next thing to do; then errors
}

func (l *callRecorder) Maintain(context.Context) (time.Time, error) {
	l.at = append(l.at, time.Now())
	if len(l.plan) < len(l.at) {
		return time.Time{}, errors.New("not now")
	}
	return time.Now().Add(l.plan[len(l.at)-1]), nil
}

func TestLooksAreNeitherHurriedNorRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &callRecorder{plan: []time.Duration{-time.Hour, time.Second, 10 * time.Minute, 30 * 24 * time.Hour}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		begin := time.Now()
		go func() {
			done <- streams.Rotation{Keys: l, Lease: streams.Lease{Bucket: &memory{}, Name: "r", Log: quiet}, Log: quiet}.Run(ctx)
		}()
		pass(t, 75*time.Minute)
		cancel()
		require.NoError(t, <-done)
		var after []time.Duration
		for _, at := range l.at {
			after = append(after, at.Sub(begin))
		}
		m := time.Minute
		require.Equal(t, []time.Duration{0, m, 2 * m, 12 * m, 72 * m, 73 * m, 74 * m, 75 * m}, after)
	})
}
