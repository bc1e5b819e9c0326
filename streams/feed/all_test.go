package feed_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams/feed"
)

// counting is a log that counts what is read of it.
type counting struct {
	*jetstream.Log
	read int
}

// Reread implements feed.Store.
func (c *counting) Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error) {
	c.read += len(seqs)
	return c.Log.Reread(ctx, log, seqs)
}

// A walk over all workspaces reads nothing that is of another time.
func TestAWalkOverAllWorkspacesIsBoundedByTime(t *testing.T) {
	h := open(t)
	for range 20 {
		h.emit("w1", "a", nil)
		h.fact("w2")
		h.emit("w2", "b", nil)
	}
	livetest.Fresh(t, h.models)
	log := &counting{Log: h.store.Log}
	bounded, err := feed.New(feed.Options{Models: h.models, Store: log, Payloads: h.store.Payloads})
	require.NoError(t, err)
	h.feed = bounded
	_, all := h.walk(feed.Range{})
	require.Len(t, all, 60)
	for _, filter := range []feed.Filter{
		{After: all[50].Time()}, {Before: all[5].Time()}, {After: all[20].Time(), Before: all[30].Time()}, {After: all[59].Time()}, {Before: all[0].Time()},
		{After: all[30].Time(), Types: []string{"b"}},
	} {
		var want []string
		for _, e := range all {
			if filter.Match(e) {
				want = append(want, e.ID)
			}
		}
		log.read = 0
		up, _ := h.walk(feed.Range{Filter: &filter})
		require.Equal(t, want, up)
		require.Less(t, log.read, 45)
		down, _ := h.walk(feed.Range{Filter: &filter, Descending: true})
		slices.Reverse(down)
		require.Equal(t, want, down)
	}
}

// What the index knows is told without reading the log, and is the same.
func TestAWalkOverTheIndexReadsNothing(t *testing.T) {
	h := open(t)
	for range 10 {
		h.emit("w1", "a", map[string]any{"n": 1})
		h.fact("w1")
	}
	livetest.Fresh(t, h.models)
	_, whole := h.walk(feed.Range{WorkspaceID: "w1"})
	log := &counting{Log: h.store.Log}
	brief, err := feed.New(feed.Options{Models: h.models, Store: log, Payloads: h.store.Payloads})
	require.NoError(t, err)
	h.feed = brief
	_, events := h.walk(feed.Range{WorkspaceID: "w1", Need: feed.Indexed})
	require.Zero(t, log.read)
	require.Len(t, events, 20)
	for i, e := range events {
		for _, path := range []string{"id", "type", "createdAt", "source.workspaceId", "source.correlationId", "seq"} {
			require.Equal(t, whole[i].Values(path), e.Values(path), path)
		}
	}
	filter := feed.Filter{Types: []string{"a"}, After: whole[3].Time()}
	want, _ := h.walk(feed.Range{WorkspaceID: "w1", Filter: &filter, Descending: true})
	got, _ := h.walk(feed.Range{WorkspaceID: "w1", Filter: &filter, Descending: true, Need: feed.Indexed})
	require.Equal(t, want, got)
}

// Who has enough is asked before the index is gone through further.
func TestAWalkStopsWhereItIsAskedTo(t *testing.T) {
	h := open(t)
	for range 70 {
		h.emit("w1", "a", nil)
	}
	livetest.Fresh(t, h.models)
	asked := 0
	some, _ := h.walk(feed.Range{WorkspaceID: "w1", Stop: func() bool { asked++; return true }})
	require.Equal(t, 1, asked)
	require.Less(t, len(some), 70)
	all, _ := h.walk(feed.Range{WorkspaceID: "w1", Stop: func() bool { return false }})
	require.Len(t, all, 70)
	require.Equal(t, all[:len(some)], some)
}
