package streams_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams"
)

var quiet = slog.New(slog.DiscardHandler)

// memory is a bucket for tests that move the clock, which a broker does not
// follow. It passes the same contract as the real one.
type memory struct {
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
	for name, b := range map[string]streams.Bucket{
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
