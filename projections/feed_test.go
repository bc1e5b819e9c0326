package projections_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
)

// The events of one message are found one by one: all of them, by what they have in common with events of other
// messages, from any of them on in both directions, and by id. Some of them can be erased.
func TestTheIndexOfTheFeedKeepsMessagesTogether(t *testing.T) {
	index := projections.FeedOf(domain.Activity)
	h := newFixture(t, index)
	var ids []string
	var seqs []uint64
	for range 3 {
		c := eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}}
		for _, user := range []string{"ada", "bob"} {
			c.Meta = domain.Meta{UserID: user, CorrelationID: user + "'s"}
			c.Facts = nil
			for _, name := range []string{"a", "b"} {
				c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: name, Body: []byte(`{}`)}})
				ids = append(ids, c.Facts[len(c.Facts)-1].ID)
			}
			r, err := h.log.Log.Append(t.Context(), c)
			require.NoError(t, err)
			seqs = append(seqs, r.Seqs...)
		}
	}
	require.NoError(t, h.Reach(bounded(t), h.log.Log.Known()))
	list := func(among projections.FeedSelection, from uint64, down bool) (found []string) {
		r := h.Reader()
		defer r.Close()
		require.NoError(t, index.List(r, "w1", among, from, down, func(e projections.FeedEntry) bool {
			found = append(found, e.ID)
			return true
		}))
		return found
	}
	every := func(n, of int) (picked []string) {
		for i := n; i < len(ids); i += of {
			picked = append(picked, ids[i])
		}
		return picked
	}
	reversed := func(all []string) []string {
		all = slices.Clone(all)
		slices.Reverse(all)
		return all
	}
	const end = ^uint64(0)
	require.Equal(t, ids, list(projections.FeedSelection{}, 0, false))
	require.Equal(t, reversed(ids), list(projections.FeedSelection{}, end, true))
	require.Equal(t, every(1, 2), list(projections.FeedSelection{List: projections.ByType, Text: "b"}, 0, false))
	require.Equal(t, reversed(every(0, 2)), list(projections.FeedSelection{List: projections.ByType, Text: "a"}, end, true))
	for i := range seqs {
		require.Equal(t, ids[i:], list(projections.FeedSelection{}, seqs[i], false))
		require.Equal(t, reversed(ids[:i+1]), list(projections.FeedSelection{}, seqs[i], true))
	}
	r := h.Reader()
	seq, group, ok, err := index.ByID(r, "w1", ids[2])
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, seqs[2], seq)
	e, ok, err := index.Get(r, "w1", seq, group)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "bob", e.User)
	near, err := index.Last(r, "w1", seqs[4]-1)
	require.NoError(t, err)
	require.Equal(t, seqs[3], near)
	r.Close()

	// The second event of a message, all of the next one, and the first of the one after it are erased.
	add(t, h.log.Log, domain.StreamID{Scope: "w1"}, 0, activity.Dropped{WorkspaceID: "w1", From: seqs[1], To: seqs[4]})
	require.NoError(t, h.Reach(bounded(t), h.log.Log.Known()))
	left := append(slices.Clone(ids[:1]), ids[5:]...)
	require.Equal(t, left, list(projections.FeedSelection{}, 0, false))
	require.Equal(t, []string{ids[0], ids[5], ids[8], ids[9]}, list(projections.FeedSelection{List: projections.ByUser, Text: "ada"}, 0, false))
	require.Equal(t, []string{ids[0], ids[6], ids[8], ids[10]}, list(projections.FeedSelection{List: projections.ByType, Text: "a"}, 0, false))
	r = h.Reader()
	defer r.Close()
	for i, id := range ids {
		_, _, ok, err := index.ByID(r, "w1", id)
		require.NoError(t, err)
		require.Equal(t, i < 1 || i > 4, ok)
	}
}

// The ids of a batch follow each other, and the index has the first of them only. Each is found, also after some were
// erased; no other id is.
func TestTheIdsOfABatchAreFoundByTheFirst(t *testing.T) {
	index := projections.FeedOf(domain.Activity)
	h := newFixture(t, index)
	after := func(id string, n int) string {
		next := ulid.MustParse(id)
		binary.BigEndian.PutUint64(next[8:], binary.BigEndian.Uint64(next[8:])+uint64(n))
		return next.String()
	}
	first := "01K9ZZZZZZ0000000000000ZZ0"
	var ids []string
	for n := range 40 {
		ids = append(ids, after(first, n))
	}
	c := eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}}
	for i, id := range ids {
		if i == 30 {
			continue // it breaks the run
		}
		c.Facts = append(c.Facts, eventstore.Fact{ID: id, Event: domain.Unknown{Name: "a", Body: []byte(`{}`)}})
	}
	c.Facts = append(c.Facts, eventstore.Fact{ID: "not-a-ulid", Event: domain.Unknown{Name: "a", Body: []byte(`{}`)}})
	receipt, err := h.log.Log.Append(t.Context(), c)
	require.NoError(t, err)
	seqs := map[string]uint64{}
	for i, f := range c.Facts {
		seqs[f.ID] = receipt.Seqs[i]
	}
	requireFound := func() {
		t.Helper()
		require.NoError(t, h.Reach(bounded(t), h.log.Log.Known()))
		r := h.Reader()
		defer r.Close()
		for _, id := range append(slices.Clone(ids), "not-a-ulid", after(first, -1), after(first, 40), strings.ToLower(ids[3]), "not-another", "") {
			seq, group, found, err := index.ByID(r, "w1", id)
			require.NoError(t, err)
			require.Equal(t, seqs[id] > 0, found, id)
			if !found {
				continue
			}
			require.Equal(t, seqs[id], seq)
			e, ok, err := index.Get(r, "w1", seq, group)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, id, e.ID)
		}
		_, _, found, err := index.ByID(r, "w2", ids[1])
		require.NoError(t, err)
		require.False(t, found)
		keys := 0
		require.NoError(t, r.Iterate(index, projections.Span{Prefix: []byte("i")}, func(_, _ []byte) (bool, error) { keys++; return true, nil }))
		require.LessOrEqual(t, keys, 4)
	}
	requireFound()
	for _, gone := range [][2]int{{10, 12}, {0, 0}, {31, 39}} {
		add(t, h.log.Log, domain.StreamID{Scope: "w1"}, 0, activity.Dropped{WorkspaceID: "w1", From: seqs[ids[gone[0]]], To: seqs[ids[gone[1]]]})
		for _, id := range ids[gone[0] : gone[1]+1] {
			delete(seqs, id)
		}
		requireFound()
	}
}

// The last event before a time is found among events that were stored one by one, and several in a message.
func TestTheLastEventBeforeATimeIsFound(t *testing.T) {
	t.Parallel()
	for _, log := range domain.Logs() {
		t.Run(string(log), func(t *testing.T) {
			t.Parallel()
			index := projections.FeedOf(log)
			h := newFixture(t, index)
			facts := newRecorder(t, h)
			for i := range 40 {
				if log == domain.State {
					facts.state(workspace.Stream("w1"), workspace.Deleted{})
					continue
				}
				c := eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}}
				for range 1 + i%7 {
					c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: "a", Body: []byte(`{}`)}})
				}
				_, err := h.log.Log.Append(t.Context(), c)
				require.NoError(t, err)
			}
			require.NoError(t, h.Reach(bounded(t), h.log.Log.Known()))
			r := h.Reader()
			defer r.Close()
			var entries []projections.FeedEntry
			require.NoError(t, index.List(r, "w1", projections.FeedSelection{}, 0, false, func(e projections.FeedEntry) bool {
				entries = append(entries, e)
				return true
			}))
			require.NotEmpty(t, entries)
			lastBefore := func(at time.Time, inclusive bool) (seq uint64) {
				for _, e := range entries {
					if e.At.Before(at) || inclusive && e.At.Equal(at) {
						seq = e.Seq
					}
				}
				return seq
			}
			for _, e := range entries {
				for _, at := range []time.Time{e.At.Add(-time.Nanosecond), e.At, e.At.Add(time.Nanosecond)} {
					for _, inclusive := range []bool{false, true} {
						seq, err := index.Before(r, "w1", at, inclusive)
						require.NoError(t, err)
						require.Equal(t, lastBefore(at, inclusive), seq)
					}
				}
			}
			seq, err := index.Before(r, "w2", time.Now(), true)
			require.NoError(t, err)
			require.Zero(t, seq, "another workspace has no events")
		})
	}
}
