package jetstream_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/collection"
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

	require.NoError(t, s.Blobs.Delete(t.Context(), name))
	_, err = s.Blobs.Get(t.Context(), name)
	require.ErrorIs(t, err, jetstream.ErrNoBlob)
	require.NoError(t, s.Blobs.Delete(t.Context(), name))
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
	require.NoError(t, s.Payloads.Put(t.Context(), "w1", "e1", []byte("big")))
	body, ok, err := s.Payloads.Get(t.Context(), "w1", "e1")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "big", string(body))
	_, ok, err = s.Payloads.Get(t.Context(), "w1", "e2")
	require.NoError(t, err)
	require.False(t, ok)
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
