package streams_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams"
)

// workerCount counts who works, and complains when two do.
type workerCount struct {
	mu      sync.Mutex
	working string
	turns   []string
	two     bool
}

// work is what name does under the lease until it is told to stop.
func (c *workerCount) work(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		c.mu.Lock()
		c.two = c.two || c.working != ""
		c.working, c.turns = name, append(c.turns, name)
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		c.working = ""
		c.mu.Unlock()
		return context.Cause(ctx)
	}
}

func (c *workerCount) now() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.working
}

// hold runs a lease until the returned function is called.
func hold(t *testing.T, l streams.Lease, work func(context.Context) error) (stop func()) {
	t.Helper()
	l.Name, l.Log = "rotation", quiet
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := l.Hold(ctx, work); err != nil {
			t.Error(err)
		}
	})
	return func() { cancel(); running.Wait() }
}

// pass lets time go by in the bubble, and everyone act on it.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
	synctest.Wait()
}

func TestOneWorksAndTheNextFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c workerCount
		b := &memory{}
		stopA := hold(t, streams.Lease{Bucket: b}, c.work("a"))
		synctest.Wait()
		stopB := hold(t, streams.Lease{Bucket: b}, c.work("b"))
		pass(t, time.Hour)
		require.Equal(t, "a", c.now(), "as long as it renews")

		stopA()
		pass(t, time.Minute)
		require.Equal(t, "b", c.now(), "the lease was given back")
		stopB()
		require.False(t, c.two)
		require.Equal(t, []string{"a", "b"}, c.turns)
	})
}

func TestADeadHolderIsReplacedAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c workerCount
		b := &memory{}
		_, err := b.Create(t.Context(), "rotation", []byte(`{"holder":"dead"}`))
		require.NoError(t, err)
		stop := hold(t, streams.Lease{Bucket: b}, c.work("b"))
		pass(t, 3*time.Minute-time.Second)
		require.Empty(t, c.now())
		pass(t, time.Second)
		require.Equal(t, "b", c.now())
		stop()
	})
}

// A holder that no longer reaches the bucket stops before another one begins,
// and takes its turn again later.
func TestAHolderThatIsCutOffStopsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c workerCount
		shared := &memory{}
		cut := &cuttableBucket{memory: shared}
		stopA := hold(t, streams.Lease{Bucket: cut}, c.work("a"))
		synctest.Wait()
		stopB := hold(t, streams.Lease{Bucket: shared}, c.work("b"))
		pass(t, 10*time.Minute)
		require.Equal(t, "a", c.now())

		cut.set(true)
		pass(t, 10*time.Minute)
		require.Equal(t, "b", c.now())
		cut.set(false)
		pass(t, 10*time.Minute)
		require.Equal(t, "b", c.now())
		stopB()
		pass(t, time.Minute)
		require.Equal(t, "a", c.now())
		stopA()
		require.False(t, c.two, "never two at once")
	})
}

// cuttableBucket is a way to the bucket that can be cut.
type cuttableBucket struct {
	*memory
	mu  sync.Mutex
	cut bool
}

func (c *cuttableBucket) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

var errCut = errors.New("cut")

func (c *cuttableBucket) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return errCut
	}
	return nil
}

func (c *cuttableBucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if err := c.fault(); err != nil {
		return nil, 0, err
	}
	return c.memory.Get(ctx, key)
}

func (c *cuttableBucket) Update(ctx context.Context, key string, text []byte, revision uint64) (uint64, error) {
	if err := c.fault(); err != nil {
		return 0, err
	}
	return c.memory.Update(ctx, key, text, revision)
}

func TestAShortOutageAndALostAnswerCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c workerCount
		b := &memory{}
		stop := hold(t, streams.Lease{Bucket: b}, c.work("a"))
		pass(t, 30*time.Second)
		b.set(func(m *memory) { m.down = true })
		pass(t, time.Minute)
		b.set(func(m *memory) { m.down = false })
		pass(t, 2*time.Minute)
		b.set(func(m *memory) { m.lose = true })
		pass(t, 10*time.Minute)
		stop()
		require.Equal(t, []string{"a"}, c.turns)
	})
}

// strict is a memory that nobody can write to whose time is over.
type strict struct{ *memory }

func (s strict) Update(ctx context.Context, key string, text []byte, revision uint64) (uint64, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return s.memory.Update(ctx, key, text, revision)
}

func TestWhoTakesLongToStopKeepsTheLeaseUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c workerCount
		b := strict{&memory{}}
		slow := func(ctx context.Context) error {
			return c.work("a")(afterwards(ctx, 10*time.Minute))
		}
		stopA := hold(t, streams.Lease{Bucket: b}, slow)
		synctest.Wait()
		stopB := hold(t, streams.Lease{Bucket: b}, c.work("b"))
		go stopA() // ends in the bubble
		pass(t, 9*time.Minute)
		require.Equal(t, "a", c.now())
		pass(t, 3*time.Minute)
		require.Equal(t, "b", c.now())
		stopB()
		require.False(t, c.two)
	})
}

// afterwards is a context that ends so much later than another one.
func afterwards(ctx context.Context, d time.Duration) context.Context {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { cancel(context.Cause(ctx)) }) })
	return late
}

// silent is a bucket that does not answer once it is mute, as the log of a cluster that has
// lost its majority.
type silent struct {
	*memory
	mute atomic.Bool
}

func (s *silent) Update(ctx context.Context, key string, text []byte, revision uint64) (uint64, error) {
	if s.mute.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.memory.Update(ctx, key, text, revision)
}

func TestAHolderStopsSoonAlthoughTheLogDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c workerCount
		b := &silent{memory: &memory{}}
		stop := hold(t, streams.Lease{Bucket: b}, c.work("a"))
		synctest.Wait()
		b.mute.Store(true)
		pass(t, time.Minute+time.Second) // it is about to renew the lease
		began := time.Now()
		stop()
		require.LessOrEqual(t, time.Since(began), 4*time.Second, "one renewal and one release")
	})
}

func TestWorkThatEndsByItselfEndsTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &memory{}
		broken := errors.New("broken")
		l := streams.Lease{Bucket: b, Name: "rotation", Log: quiet}
		require.ErrorIs(t, l.Hold(t.Context(), func(context.Context) error { return broken }), broken)
		require.NoError(t, l.Hold(t.Context(), func(context.Context) error { return nil }), "and gives the lease back")
	})
}

func TestOnlyOneOfManyHoldsARealLease(t *testing.T) {
	t.Parallel()
	b := openBucket(t, openStore(t), "LEASES")
	var c workerCount
	var stops []func()
	for range 5 {
		stops = append(stops, hold(t, streams.Lease{Bucket: b, TTL: 3 * time.Second}, c.work("x")))
	}
	require.Eventually(t, func() bool { return c.now() != "" }, time.Minute, time.Millisecond)
	for _, stop := range stops {
		stop()
	}
	require.False(t, c.two)
}

func TestWhoDoesNotWaitIsToldThatAnotherHasTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c workerCount
		l := streams.Lease{Bucket: &memory{}, Name: "rotation", Log: quiet}
		stop := hold(t, l, c.work("a"))
		synctest.Wait()
		ran := 0
		once := func(context.Context) error { ran++; return errors.New("done") }
		require.ErrorIs(t, l.Attempt(t.Context(), once), streams.ErrHeld)
		require.Zero(t, ran)
		stop()
		require.EqualError(t, l.Attempt(t.Context(), once), "done")
		require.EqualError(t, l.Attempt(t.Context(), once), "done", "it was given back")
		require.Equal(t, 2, ran)
	})
}

var quiet = slog.New(slog.DiscardHandler)

// memory is a bucket for tests that move the clock, which a broker does not
// follow. It passes the same contract as the real one.
type memory struct {
	eventstore.Bucket // a lease needs no other method

	mu     sync.Mutex
	last   uint64
	values map[string]value
	down   bool // answers nothing
	lose   bool // the next write is made, but its answer is lost
}

type value struct {
	text     []byte
	revision uint64
}

func (m *memory) Get(_ context.Context, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	switch {
	case m.down:
		return nil, 0, eventstore.ErrUnavailable
	case !ok:
		return nil, 0, eventstore.ErrNoKey
	}
	return v.text, v.revision, nil
}

func (m *memory) Create(ctx context.Context, key string, text []byte) (uint64, error) {
	return m.Update(ctx, key, text, 0)
}

func (m *memory) Update(_ context.Context, key string, text []byte, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return 0, eventstore.ErrUnavailable
	}
	if m.values[key].revision != revision {
		return 0, eventstore.ErrConflict
	}
	if m.values == nil {
		m.values = map[string]value{}
	}
	m.last++
	m.values[key] = value{text, m.last}
	if m.lose {
		m.lose = false
		return 0, errors.Join(eventstore.ErrUnavailable, errors.New("the answer is lost"))
	}
	return m.last, nil
}

func (m *memory) set(change func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func openStore(t *testing.T) *jetstream.Store {
	t.Helper()
	return livetest.Store(t, jetstream.Options{})
}

func openBucket(t *testing.T, s *jetstream.Store, name string) *jetstream.Bucket {
	t.Helper()
	b, err := s.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: name})
	require.NoError(t, err)
	return b
}

func TestBuckets(t *testing.T) {
	for name, b := range map[string]eventstore.Bucket{
		"memory":    &memory{},
		"jetstream": openBucket(t, openStore(t), "LEASES"),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			_, _, err := b.Get(ctx, "a")
			require.ErrorIs(t, err, eventstore.ErrNoKey)
			first, err := b.Create(ctx, "a", []byte("1"))
			require.NoError(t, err)
			_, err = b.Create(ctx, "a", []byte("2"))
			require.ErrorIs(t, err, eventstore.ErrConflict)
			second, err := b.Update(ctx, "a", []byte("3"), first)
			require.NoError(t, err)
			require.Greater(t, second, first)
			_, err = b.Update(ctx, "a", []byte("4"), first)
			require.ErrorIs(t, err, eventstore.ErrConflict)
			text, revision, err := b.Get(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, "3", string(text))
			require.Equal(t, second, revision)
		})
	}
}
