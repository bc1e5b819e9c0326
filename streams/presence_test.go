package streams_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams"
)

// heartbeats is a bucket that drops heartbeats after a lease, and can be unreachable.
type heartbeats struct {
	eventstore.Bucket // presence needs no other method

	mu       sync.Mutex
	ttl      time.Duration
	down     bool
	revision uint64
	values   map[string]heartbeat
}

type heartbeat struct {
	revision uint64
	at       time.Time
}

var errUnreachable = errors.New("the bucket cannot be reached")

func (h *heartbeats) set(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

// find returns a heartbeat that has not expired. The caller holds the lock.
func (h *heartbeats) find(key string) (heartbeat, error) {
	if h.down {
		return heartbeat{}, errUnreachable
	}
	found, ok := h.values[key]
	if !ok || time.Since(found.at) >= h.ttl {
		return heartbeat{}, eventstore.ErrNoKey
	}
	return found, nil
}

func (h *heartbeats) write(key string) uint64 {
	h.revision++
	h.values[key] = heartbeat{h.revision, time.Now()}
	return h.revision
}

func (h *heartbeats) Get(_ context.Context, key string) ([]byte, uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, err := h.find(key)
	return nil, found.revision, err
}

func (h *heartbeats) Put(_ context.Context, key string, _ []byte) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return 0, errUnreachable
	}
	return h.write(key), nil
}

func (h *heartbeats) Update(_ context.Context, key string, _ []byte, revision uint64) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, err := h.find(key)
	if err == nil && found.revision != revision {
		err = eventstore.ErrConflict
	}
	if err != nil {
		return 0, err
	}
	return h.write(key), nil
}

func (h *heartbeats) Delete(_ context.Context, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return errUnreachable
	}
	delete(h.values, key)
	return nil
}

// runs are those of a node.
type runs struct {
	mu          sync.Mutex
	process     string
	interrupted int
}

func (r *runs) CurrentProcess() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

func (r *runs) BreakOffAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.interrupted = "", r.interrupted+1
}

func (r *runs) Reopen(process string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = process
}

func (r *runs) interruptions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.interrupted
}

// present starts a node that writes heartbeats until the test ends.
func present(t *testing.T) (*streams.Presence, *heartbeats, *runs) {
	t.Helper()
	bucket, own, number := &heartbeats{ttl: 15 * time.Second, values: map[string]heartbeat{}}, &runs{process: "node/1"}, 1
	p := &streams.Presence{Bucket: bucket, Lease: 15 * time.Second, Runtime: own, Log: quiet, NewProcess: func() string {
		number++
		return "node/" + strconv.Itoa(number)
	}}
	require.NoError(t, p.Announce(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return p, bucket, own
}

func isGone(t *testing.T, p *streams.Presence, process string) bool {
	t.Helper()
	gone, err := p.IsGone(t.Context(), process)
	require.NoError(t, err)
	return gone
}

func TestANodeStaysPresent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, bucket, own := present(t)
		other := &streams.Presence{Bucket: bucket, Runtime: &runs{process: "other/1"}}
		pass(t, time.Hour)
		require.False(t, isGone(t, other, "node/1"))
		require.True(t, isGone(t, other, "nobody"))
		require.False(t, isGone(t, p, "node/1"))
		require.Zero(t, own.interruptions())
		p.Withdraw(t.Context())
		require.True(t, isGone(t, other, "node/1"))
	})
}

func TestANodeThatIsCutOffBecomesAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, bucket, own := present(t)
		pass(t, time.Minute)
		bucket.set(true)
		pass(t, 5*time.Second)
		require.Zero(t, own.interruptions(), "its heartbeat is still valid")
		pass(t, 8*time.Second)
		require.Equal(t, 1, own.interruptions(), "before the others take over")
		require.Empty(t, own.CurrentProcess())
		_, err := p.IsGone(t.Context(), "other/1")
		require.ErrorIs(t, err, errUnreachable)
		bucket.set(false)
		pass(t, 5*time.Second)
		require.Equal(t, "node/2", own.CurrentProcess())
		require.Equal(t, 1, own.interruptions())
		pass(t, 15*time.Second)
		require.True(t, isGone(t, p, "node/1"))
	})
}

func TestANodeWhoseHeartbeatExpiredInterruptsItsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, bucket, own := present(t)
		pass(t, time.Minute)
		require.NoError(t, bucket.Delete(t.Context(), "node/1")) // as after a suspension
		pass(t, 6*time.Second)
		require.Equal(t, 1, own.interruptions())
		pass(t, 6*time.Second)
		require.Equal(t, "node/2", own.CurrentProcess())
	})
}

func TestWithoutOtherNodesEveryOtherProcessIsGone(t *testing.T) {
	t.Parallel()
	p := &streams.Presence{Runtime: &runs{process: "node/2"}}
	require.True(t, isGone(t, p, "node/1"))
	require.False(t, isGone(t, p, "node/2"))
}

func TestCancelledRunsAreRemembered(t *testing.T) {
	t.Parallel()
	store := livetest.Store(t, jetstream.Options{})
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "CANCELS", TTL: streams.CancelRetention})
	require.NoError(t, err)
	c := streams.Cancels{Bucket: bucket, Broadcast: store.Broadcast("cancels"), Timeout: func() time.Duration { return time.Minute }}
	heard := make(chan string, 1)
	stop, err := c.Listen(func(workspaceID, correlationID string) { heard <- workspaceID + " " + correlationID })
	require.NoError(t, err)
	defer stop()
	before := time.Now().Add(-time.Second)
	require.NoError(t, c.Cancel("w1", "r1"))
	require.Equal(t, "w1 r1", <-heard)
	for name, want := range map[string]bool{"r1": true, "r2": false} {
		was, err := c.WasCancelled(t.Context(), "w1", name, before)
		require.NoError(t, err)
		require.Equal(t, want, was, name)
	}
	was, err := c.WasCancelled(t.Context(), "w1", "r1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.False(t, was, "the run began later")
}
