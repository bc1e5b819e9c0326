package feed_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
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

// countedPayloads counts how often something is read that is kept apart.
type countedPayloads struct {
	feed.Payloads
	reads atomic.Int64
}

// Get implements feed.Payloads.
func (p *countedPayloads) Get(ctx context.Context, workspaceID, eventID string, seq uint64) ([]byte, bool, error) {
	p.reads.Add(1)
	return p.Payloads.Get(ctx, workspaceID, eventID, seq)
}

// What executions were given and gave is read for those who want to see it, not for others who follow the same workspace.
func TestPayloadsAreReadForWhoNeedsThemOnly(t *testing.T) {
	t.Parallel()
	store, models := livetest.Open(t)
	counted := &countedPayloads{Payloads: store.Payloads}
	made, err := feed.New(feed.Options{Models: models, Store: store.Log, Payloads: counted})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = made.Run(ctx) })
	for _, tt := range []struct {
		need  feed.Need
		reads int64
		shown bool
	}{{feed.Logged, 0, false}, {feed.Whole, 1, true}} {
		var events []*feed.Event
		err := made.Follow(ctx, feed.Following{
			WorkspaceID: "w1", After: made.Position(), Need: tt.need,
			Ready: func(domain.Position) {
				_, err := store.Log.Append(ctx, eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}, Facts: []eventstore.Fact{{
					ID: ulid.Make().String(), Event: activity.Executed{Slug: "pay", ExecutionID: "x1", Apart: true}, Apart: []byte(`{"output":"paid"}`),
				}}})
				assert.NoError(t, err)
			},
		}, func(d feed.Delivery) error {
			events = append(events, d.Events...)
			return errSeenEnough
		})
		require.ErrorIs(t, err, errSeenEnough)
		require.Len(t, events, 1)
		require.Equal(t, tt.shown, strings.Contains(string(events[0].Payload), `"output":"paid"`))
		require.Equal(t, tt.reads, counted.reads.Load())
	}
}
