package jetstream_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/collection"
	"svc/domain/subscription"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

func TestBlobsAreNamedByTheirContent(t *testing.T) {
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	content := []byte(strings.Repeat("x", 700_000))
	name, err := s.Blobs.Put(t.Context(), content)
	require.NoError(t, err)
	again, err := s.Blobs.Put(t.Context(), content)
	require.NoError(t, err)
	require.Equal(t, name, again)

	got, err := s.Blobs.Get(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, content, got)

	revision := uint64(0)
	require.NoError(t, s.Blobs.List(t.Context(), func(b eventstore.Blob) error {
		require.Equal(t, name, b.Name)
		require.EqualValues(t, len(content), b.Size)
		revision = b.Revision
		return nil
	}))
	require.NoError(t, s.Blobs.Delete(t.Context(), name, revision))
	_, err = s.Blobs.Get(t.Context(), name)
	require.ErrorIs(t, err, jetstream.ErrNoBlob)
	require.NoError(t, s.Blobs.Delete(t.Context(), name, revision))
}

func TestDataIsWhatFollowsItsSnapshot(t *testing.T) {
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := domain.StreamID{Scope: "w1", Kind: collection.Kind, ID: "orders"}
	add := func(name string, expected uint64, snapshot bool, body string) (uint64, error) {
		return s.Collections.Append(t.Context(), id, name, expected, snapshot, []byte(body))
	}
	list := func() (all []collection.Logged) {
		require.NoError(t, s.Collections.Since(t.Context(), id, 0, func(e collection.Logged) error {
			all = append(all, e)
			return nil
		}))
		return all
	}
	first, err := add("1", 0, false, "a")
	require.NoError(t, err)
	second, err := add("2", first, false, "b")
	require.NoError(t, err)
	_, err = add("3", first, false, "late")
	require.ErrorIs(t, err, eventstore.ErrConflict)

	snap, err := add("4", second, true, "ab")
	require.NoError(t, err)
	last, err := add("5", snap, false, "c")
	require.NoError(t, err)
	again, err := add("5", snap, false, "c")
	require.NoError(t, err, "repeated after a lost answer")
	require.Equal(t, last, again)
	entries := list()
	require.Len(t, entries, 2)
	for i, want := range []collection.Logged{{Seq: snap, Snapshot: true, Body: []byte("ab")}, {Seq: last, Body: []byte("c")}} {
		got := entries[i]
		require.Equal(t, want, collection.Logged{Seq: got.Seq, Snapshot: got.Snapshot, Body: got.Body})
	}

	require.NoError(t, s.Data.Drop(t.Context(), id, 0))
	require.Empty(t, list())
}

func TestPayloadsAreKeptApart(t *testing.T) {
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	seq := appendApart(t, s, "w1", "e1", "big")
	body, ok, err := s.Payloads.Get(t.Context(), "w1", "e1", seq)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "big", string(body))
	_, ok, err = s.Payloads.Get(t.Context(), "w1", "e2", seq)
	require.NoError(t, err)
	require.False(t, ok)
}

// appendApart appends an event with a payload that is stored apart, and returns its sequence.
func appendApart(t *testing.T, s *jetstream.Store, workspaceID, id, body string) uint64 {
	t.Helper()
	r, err := s.Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: workspaceID}, Facts: []eventstore.Fact{{ID: id, Event: domain.Unknown{Name: "a", Body: []byte("{}")}, Apart: []byte(body)}},
	})
	require.NoError(t, err)
	return r.Seqs[0]
}

func TestBucketsKeepValuesByRevision(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		s := open(t, jetstream.Options{Dir: t.TempDir()})
		b, err := s.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "sessions", TTL: time.Hour, Volatile: volatile})
		require.NoError(t, err)
		_, _, err = b.Get(t.Context(), "a b/ü")
		require.ErrorIs(t, err, eventstore.ErrNoKey)
		rev, err := b.Create(t.Context(), "a b/ü", []byte("1"))
		require.NoError(t, err)
		_, err = b.Create(t.Context(), "a b/ü", []byte("2"))
		require.ErrorIs(t, err, eventstore.ErrConflict)
		next, err := b.Update(t.Context(), "a b/ü", []byte("2"), rev)
		require.NoError(t, err)
		_, err = b.Update(t.Context(), "a b/ü", []byte("3"), rev)
		require.ErrorIs(t, err, eventstore.ErrConflict)
		value, got, err := b.Get(t.Context(), "a b/ü")
		require.NoError(t, err)
		require.Equal(t, "2", string(value))
		require.Equal(t, next, got)
		require.NoError(t, b.Delete(t.Context(), "a b/ü"))
		require.NoError(t, b.Delete(t.Context(), "a b/ü"))
		_, _, err = b.Get(t.Context(), "a b/ü")
		require.ErrorIs(t, err, eventstore.ErrNoKey)
	}
}

func TestCountersAddUpWithinTheirWindow(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 30, 0, time.UTC)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s := open(t, jetstream.Options{Dir: t.TempDir(), Now: clock})
	for want := range int64(3) {
		total, err := s.Counters.Add(t.Context(), "login/a@b.c", time.Minute, 1)
		require.NoError(t, err)
		require.Equal(t, want+1, total)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	total, err := s.Counters.Add(t.Context(), "login/a@b.c", time.Minute, 5)
	require.NoError(t, err)
	require.EqualValues(t, 5, total)
}

func TestABucketListsWhatIsBelowAPrefix(t *testing.T) {
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	b, err := s.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "LISTED", TTL: time.Hour})
	require.NoError(t, err)
	for _, key := range []string{"u1/a", "u1/b", "u1/c", "u2/a", "u1", "u1/a/deep"} {
		_, err := b.Put(t.Context(), key, []byte(key))
		require.NoError(t, err)
	}
	require.NoError(t, b.Delete(t.Context(), "u1/b"))
	values, err := b.List(t.Context(), "u1")
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("u1/a"), []byte("u1/c")}, values)
	values, err = b.List(t.Context(), "nobody")
	require.NoError(t, err)
	require.Empty(t, values)
}

func TestARecordIsTakenOnce(t *testing.T) {
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	r, err := s.Buckets.OpenRecords(t.Context(), "ONCE", time.Hour)
	require.NoError(t, err)
	require.NoError(t, r.Put(t.Context(), "k", []byte("v"), time.Minute))
	value, ok, err := r.Get(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "v", string(value))

	var taken atomic.Int32
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			if _, ok, err := r.Consume(t.Context(), "k"); err == nil && ok {
				taken.Add(1)
			}
		})
	}
	asking.Wait()
	require.EqualValues(t, 1, taken.Load())
	_, ok, err = r.Consume(t.Context(), "k")
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, r.Put(t.Context(), "late", []byte("v"), -time.Second))
	_, ok, err = r.Get(t.Context(), "late")
	require.NoError(t, err)
	require.False(t, ok)
}

// appendActivity appends activity events of a workspace and returns their sequences.
func appendActivity(t *testing.T, s *jetstream.Store, workspaceID string, types ...string) []uint64 {
	t.Helper()
	c := eventstore.Commit{Stream: domain.StreamID{Scope: workspaceID}}
	for _, name := range types {
		c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: name, Body: []byte(`{}`)}})
	}
	r, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	return r.Seqs
}

// areStored lists which of the sequences the log still has.
func areStored(t *testing.T, s *jetstream.Store, seqs ...uint64) (there []bool) {
	t.Helper()
	for _, seq := range seqs {
		_, ok, err := s.Log.Read(t.Context(), domain.Activity, seq)
		require.NoError(t, err)
		there = append(there, ok)
	}
	return there
}

func TestOnlyTheActivityThatIsMeantIsPurged(t *testing.T) {
	t.Parallel()
	delivery := subscription.Attempted{}.EventType()
	dir := t.TempDir()
	s := open(t, jetstream.Options{Dir: dir})
	_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: workspace.Stream("w1"), Facts: []eventstore.Fact{{
		ID: ulid.Make().String(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: "w1"}},
	}}})
	require.NoError(t, err)
	state, err := s.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	seqs := append(appendActivity(t, s, "w1", "a", delivery, "a"), appendActivity(t, s, "w10", "a", delivery)...)
	seqs = append(seqs, appendActivity(t, s, "w1", "a")...)

	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", delivery, seqs[5]))
	require.Equal(t, []bool{true, false, true, true, true, true}, areStored(t, s, seqs...))
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", "", seqs[2]))
	require.Equal(t, []bool{false, false, true, true, true, true}, areStored(t, s, seqs...))
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", "", seqs[2]), "again")
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "", delivery, seqs[5]+1))
	require.Equal(t, []bool{false, false, true, true, false, true}, areStored(t, s, seqs...))
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "", "", seqs[5]+1))
	require.Equal(t, []bool{false, false, false, false, false, true}, areStored(t, s, seqs...), "the last one says how far the log reached")
	after, err := s.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.Equal(t, state, after)
}

func TestWhatIsOlderThanATimeIsBeforeASequence(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	below, err := s.Log.Since(t.Context(), domain.Activity, time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1, below, "of an empty log")
	var seqs []uint64
	for range 20 {
		seqs = append(seqs, appendActivity(t, s, "w1", "a")...)
	}
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", "", seqs[3]))
	for i, seq := range seqs[3:] {
		ev, ok, err := s.Log.Read(t.Context(), domain.Activity, seq)
		require.NoError(t, err)
		require.True(t, ok)
		below, err := s.Log.Since(t.Context(), domain.Activity, ev.At)
		require.NoError(t, err)
		if i > 0 {
			require.LessOrEqual(t, below, seq)
			require.Greater(t, below, seqs[3:][i-1])
		} else {
			require.LessOrEqual(t, below, seq)
		}
		below, err = s.Log.Since(t.Context(), domain.Activity, ev.At.Add(1))
		require.NoError(t, err)
		require.Equal(t, seq+1, below)
	}
}

func TestPayloadsArePurgedByAgeAndWorkspace(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	seqs := map[string]uint64{}
	put := func(workspaceID, id, body string) { seqs[id] = appendApart(t, s, workspaceID, id, body) }
	has := func(workspaceID, id string) bool {
		_, ok, err := s.Payloads.Get(t.Context(), workspaceID, id, seqs[id])
		require.NoError(t, err)
		return ok
	}
	begun := time.Now()
	put("w1", "1", "12345")
	put("w2", "2", "123")
	put("w1", "3", "1234567")
	none, err := s.Payloads.Before(t.Context(), "", begun.Add(-time.Hour))
	require.NoError(t, err)
	require.Equal(t, jetstream.Extent{Below: 1}, none)
	all, err := s.Payloads.Before(t.Context(), "", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, jetstream.Extent{Count: 3, Bytes: 24, Below: 4}, all, "each with its id, a blank and a line break")
	one, err := s.Payloads.Before(t.Context(), "w1", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, uint64(2), one.Count)
	require.Equal(t, uint64(18), one.Bytes)

	require.NoError(t, s.Payloads.Purge(t.Context(), "w1", 3))
	require.False(t, has("w1", "1"))
	require.True(t, has("w2", "2") && has("w1", "3"))
	require.NoError(t, s.Data.Put(t.Context(), domain.StreamID{Scope: "w1", Kind: "context", ID: "a"}, "1", []byte("x"), func(uint64, string) {}))
	require.NoError(t, s.EraseWorkspaceData(t.Context(), "w1"))
	require.False(t, has("w1", "3"))
	holds, err := s.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, holds)
	holds, err = s.HasWorkspaceData(t.Context(), "w2")
	require.NoError(t, err)
	require.True(t, holds)
	require.NoError(t, s.Payloads.Purge(t.Context(), "", all.Below))
	require.False(t, has("w2", "2"))
}
