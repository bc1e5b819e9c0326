package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/collection"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

func TestEntriesOfCollectionsAreFollowed(t *testing.T) {
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	a, b := collection.Stream("w1", "workspace"), collection.Stream("w2", "i-app")
	first, err := s.Collections.Append(t.Context(), a, "1", 0, false, []byte("a1"))
	require.NoError(t, err)
	require.NoError(t, s.Data.Put(t.Context(), domain.StreamID{Scope: "w1", Kind: "contexts", ID: "run"}, "x", []byte("not ours"), func(uint64, string) {}))
	_, err = s.Collections.PutPart(t.Context(), b, "2", 0, []byte("a part"))
	require.NoError(t, err)
	second, err := s.Collections.Append(t.Context(), b, "2", 0, false, []byte("b1"))
	require.NoError(t, err)
	third, err := s.Collections.Append(t.Context(), a, "3", first, false, []byte("a2"))
	require.NoError(t, err)
	_, err = s.Collections.Append(t.Context(), a, "4", first, false, []byte("late"))
	require.ErrorIs(t, err, eventstore.ErrConflict)

	done := errors.New("done")
	var got []collection.Logged
	follow := func(from uint64, until int) {
		got = nil
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, s.Collections.Follow(ctx, from, func(entries []collection.Logged, pending uint64) error {
			if got = append(got, entries...); len(got) >= until && pending == 0 {
				return done
			}
			return nil
		}), done)
		for i := range got {
			got[i].ID = got[i].ID[strings.Index(got[i].ID, "#")+1:]
		}
	}
	follow(0, 3)
	require.Equal(t, []collection.Logged{
		{Stream: a, ID: "1", Seq: first, Body: []byte("a1")},
		{Stream: b, ID: "2", Seq: second, Body: []byte("b1")},
		{Stream: a, ID: "3", Seq: third, Previous: first, Body: []byte("a2")},
	}, got)
	follow(third+1, 0)
	require.Empty(t, got)

	snap, err := s.Collections.Append(t.Context(), a, "5", third, true, []byte("a"))
	require.NoError(t, err)
	follow(first, 2)
	require.Equal(t, []collection.Logged{
		{Stream: b, ID: "2", Seq: second, Body: []byte("b1")},
		{Stream: a, ID: "5", Seq: snap, Previous: third, Snapshot: true, Body: []byte("a")},
	}, got)

	identity, reach, last, err := s.Collections.Info(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, identity)
	require.Equal(t, []uint64{snap, snap}, []uint64{reach, last})
	lastOfB, err := s.Collections.Last(t.Context(), b)
	require.NoError(t, err)
	require.Equal(t, second, lastOfB)
	ids, err := s.Collections.IDs(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []domain.StreamID{a, b}, ids)
	var since []uint64
	require.NoError(t, s.Collections.Since(t.Context(), a, first, func(e collection.Logged) error {
		since = append(since, e.Seq)
		return nil
	}))
	require.Equal(t, []uint64{snap}, since)

	require.NoError(t, s.EraseWorkspaceData(t.Context(), "w2"))
	ids, err = s.Collections.IDs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []domain.StreamID{a}, ids)
	require.ErrorIs(t, s.Collections.ReadParts(t.Context(), b, "2", 1, func([]byte) error { return nil }), collection.ErrUnreadable, "parts go with their workspace")
}

func TestPartsOfCollectionsAreKeptUntilTheyAreDropped(t *testing.T) {
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := collection.Stream("w1", "workspace")
	var cut uint64
	for _, name := range []string{"one", "two"} {
		for n := range 40 {
			seq, err := s.Collections.PutPart(t.Context(), id, name, n, fmt.Append(nil, name, n))
			require.NoError(t, err)
			if name == "two" && n == 0 {
				cut = seq
			}
		}
	}
	again, err := s.Collections.PutPart(t.Context(), id, "two", 3, []byte("two3"))
	require.NoError(t, err, "repeated after a lost answer")
	require.Equal(t, cut+3, again)
	read := func(name string, count int) (got []string, err error) {
		err = s.Collections.ReadParts(t.Context(), id, name, count, func(part []byte) error {
			got = append(got, string(part))
			return nil
		})
		return got, err
	}
	got, err := read("one", 40)
	require.NoError(t, err)
	require.Len(t, got, 40)
	require.Equal(t, "one39", got[39])
	_, err = read("one", 41)
	require.ErrorIs(t, err, collection.ErrUnreadable)

	require.NoError(t, s.Collections.DropParts(t.Context(), id, cut))
	_, err = read("one", 40)
	require.ErrorIs(t, err, collection.ErrUnreadable)
	got, err = read("two", 40)
	require.NoError(t, err)
	require.Len(t, got, 40)
}
