package feed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams/feed"
)

// slowStore is a log that takes its time over each read.
type slowStore struct {
	*jetstream.Log
	reads int
}

// Reread implements feed.Store.
func (l *slowStore) Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error) {
	l.reads++
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
	return l.Log.Reread(ctx, log, seqs)
}

// Scan implements feed.Store.
func (l *slowStore) Scan(ctx context.Context, log domain.Log, from, to uint64, n int) ([]domain.Recorded, uint64, bool, error) {
	l.reads++
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
	return l.Log.Scan(ctx, log, from, to, n)
}

var errSeenEnough = errors.New("seen enough")

// Who is far behind with a filter that hardly anything matches gets signs of life, and
// what was found so far, before the stored events are through.
func TestAReplayGivesSignsOfLife(t *testing.T) {
	h := open(t)
	wanted := h.emit("w1", "wanted", nil)
	for range 200 {
		h.emit("w1", "a", nil)
	}
	livetest.Fresh(t, h.models)
	log := &slowStore{Log: h.store.Log}
	slow, err := feed.New(feed.Options{Models: h.models, Store: log, Payloads: h.store.Payloads})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	for _, tt := range []struct {
		types string
		found int
	}{{"none", 0}, {"wanted", 1}} {
		signs := 0
		var readBefore []int // reads of the log before each delivery
		log.reads = 0
		following := feed.Following{
			Filter: &feed.Filter{Types: []string{tt.types}}, TickEvery: time.Millisecond,
			ReplayTick: func() error { signs++; return nil }, Tick: func() error { return errSeenEnough },
		}
		require.ErrorIs(t, slow.Follow(ctx, following, func(d feed.Delivery) error {
			require.Equal(t, wanted, d.Events[0].ID)
			readBefore = append(readBefore, log.reads)
			return nil
		}), errSeenEnough, tt.types)
		require.Positive(t, signs, tt.types)
		require.Len(t, readBefore, tt.found)
		for _, reads := range readBefore {
			require.Less(t, reads, log.reads, "it did not wait for the others")
		}

		following.ReplayTick = func() error { return errSeenEnough }
		following.Ready = func(domain.Position) { t.Error("the replay went on after an error") }
		require.ErrorIs(t, slow.Follow(ctx, following, func(feed.Delivery) error { return nil }), errSeenEnough, tt.types)
	}
}
