package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/collection"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

func contextID(id string) domain.StreamID {
	return domain.StreamID{Scope: "w1", Kind: "contexts", ID: id}
}

// put adds an operation and returns its sequence and the name of its parts.
func put(t *testing.T, s *jetstream.Store, id domain.StreamID, name, body string) (seq uint64, parts string) {
	t.Helper()
	require.NoError(t, s.Data.Put(t.Context(), id, name, []byte(body), func(n uint64, p string) { seq, parts = n, p }))
	return seq, parts
}

// since lists the operations after a sequence; a snapshot has a star.
func since(t *testing.T, s *jetstream.Store, id domain.StreamID, after uint64) (all []string) {
	t.Helper()
	require.NoError(t, s.Data.Since(t.Context(), id, after, func(_ uint64, snapshot bool, _ string, body []byte) error {
		text := string(body)
		if len(text) > 10 {
			text = fmt.Sprintf("%d×%c", len(text), text[0])
		}
		if snapshot {
			text = "*" + text
		}
		all = append(all, text)
		return nil
	}))
	return all
}

func TestOperationsOfSeveralAreAllKeptInOrder(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := contextID("session.1")
	var writing sync.WaitGroup
	for i := range 150 {
		writing.Go(func() {
			if err := s.Data.Put(t.Context(), id, fmt.Sprint(i), []byte("x"), func(uint64, string) {}); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	require.Len(t, since(t, s, id, 0), 150)

	first, _ := put(t, s, id, "a", "a")
	again, _ := put(t, s, id, "a", "a")
	require.Equal(t, first, again, "repeated with the same name")
	put(t, s, contextID("session.2"), "a", "of another")
	put(t, s, id, "b", "b")
	require.Equal(t, []string{"b"}, since(t, s, id, first))
	require.NoError(t, s.Data.WaitDurable(t.Context(), first))
}

func TestASnapshotTakesThePlaceOfWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := contextID("session.1")
	put(t, s, id, "1", "a")
	second, _ := put(t, s, id, "2", "b")
	third, _ := put(t, s, id, "3", "c")
	_, _, err := s.Data.Fold(t.Context(), id, "s1", second, nil, []byte("ab"))
	require.ErrorIs(t, err, eventstore.ErrConflict, "one was added since")
	require.Equal(t, []string{"a", "b", "c"}, since(t, s, id, 0))
	seq, parts, err := s.Data.Fold(t.Context(), id, "s2", third, nil, []byte("abc"))
	require.NoError(t, err)
	require.Empty(t, parts)
	put(t, s, id, "4", "d")
	require.Equal(t, []string{"*abc", "d"}, since(t, s, id, 0))
	require.Equal(t, []string{"*abc", "d"}, since(t, s, id, second), "for who had some of it")
	require.Equal(t, []string{"d"}, since(t, s, id, seq))
}

func TestDataIsOfAnySize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, jetstream.Options{Dir: dir})
	id := contextID("session.1")
	large := strings.Repeat("x", 3_000_000)
	seq, parts := put(t, s, id, "1", large)
	require.NotEmpty(t, parts)
	put(t, s, id, "2", "b")
	require.Equal(t, []string{"3000000×x", "b"}, since(t, s, id, 0))

	_, other, err := s.Data.Fold(t.Context(), id, "s1", seq, []string{parts}, []byte(large))
	require.ErrorIs(t, err, eventstore.ErrConflict)
	require.NotEqual(t, parts, other)
	require.Equal(t, []string{"3000000×x", "b"}, since(t, s, id, 0), "a fold that failed takes nothing away")
	last, _ := put(t, s, id, "3", "c")
	_, snapshot, err := s.Data.Fold(t.Context(), id, "s2", last, []string{parts}, bytes.Repeat([]byte("y"), 600_000))
	require.NoError(t, err)
	require.Equal(t, []string{"*600000×y"}, since(t, s, id, 0))
	last, _ = put(t, s, id, "4", "d")
	_, _, err = s.Data.Fold(t.Context(), id, "s3", last, []string{snapshot}, []byte("small"))
	require.NoError(t, err)
	holds, err := s.Data.IDs(t.Context(), "w1", "contexts")
	require.NoError(t, err)
	require.Empty(t, holds, "the id is not plain")
	require.Equal(t, []string{"*small"}, since(t, s, id, 0))
	require.NoError(t, s.Data.Drop(t.Context(), id, 0))
	left, err := s.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, left, "no part is left")
}

func TestALargeOperationThatIsRepeatedInOtherWordsIsOneOfThem(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := contextID("session.1")
	put(t, s, id, "1", strings.Repeat("x", 300_000))
	put(t, s, id, "1", strings.Repeat("y", 300_000))
	require.Equal(t, []string{"300000×x"}, since(t, s, id, 0))
}

func TestReplacedDataIsTheLastOnly(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := contextID("tree")
	for i, size := range []int{10, 700_000, 800_000, 5, 6, 300_000} {
		body := strings.Repeat(string(rune('a'+i)), size)
		require.NoError(t, s.Data.Replace(t.Context(), id, fmt.Sprint(i), []byte(body)))
		var got []string
		require.NoError(t, s.Data.Since(t.Context(), id, 0, func(_ uint64, _ bool, _ string, b []byte) error {
			got = append(got, string(b))
			return nil
		}))
		require.Equal(t, []string{body}, got)
	}
	ids, err := s.Data.IDs(t.Context(), "w1", "contexts")
	require.NoError(t, err)
	require.Equal(t, []string{"tree"}, ids)
	require.NoError(t, s.Data.Drop(t.Context(), id, 0))
	left, err := s.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, left)
	require.Empty(t, since(t, s, id, 0))
}

func TestWhatCameAfterIsNotDropped(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := contextID("x")
	large := strings.Repeat("x", 300_000)
	put(t, s, id, "1", large)
	second, _ := put(t, s, id, "2", "b")
	put(t, s, id, "3", large)
	require.NoError(t, s.Data.Drop(t.Context(), id, second+1))
	require.Equal(t, []string{"300000×x"}, since(t, s, id, 0))
}

func TestDataOfAClusterIsReadAsItWasAcknowledged(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	options := jetstream.Options{URL: c.urls, Replicas: 3, MaxWait: 20 * time.Second}
	nodes := []*jetstream.Store{open(t, options), open(t, options)}
	id, last := contextID("shared"), uint64(0)
	for i := range 40 {
		last, _ = put(t, nodes[i%2], id, fmt.Sprint(i), fmt.Sprint(i))
		require.Equal(t, []string{fmt.Sprint(i)}, since(t, nodes[(i+1)%2], id, last-1))
		again, _ := put(t, nodes[(i+1)%2], id, fmt.Sprint(i), "again")
		require.Equal(t, last, again, "a name is taken for all nodes")
	}
	require.Len(t, since(t, nodes[0], id, 0), 40)
	_, _, err := nodes[0].Data.Fold(t.Context(), id, "s1", last-1, nil, []byte("x"))
	require.ErrorIs(t, err, eventstore.ErrConflict)
	_, _, err = nodes[0].Data.Fold(t.Context(), id, "s2", last, nil, []byte("all"))
	require.NoError(t, err)
	require.Equal(t, []string{"*all"}, since(t, nodes[1], id, 0))
	for i, size := range []int{10, 700_000, 5} {
		require.NoError(t, nodes[i%2].Data.Replace(t.Context(), id, fmt.Sprint("r", i), bytes.Repeat([]byte("z"), size)))
		require.Len(t, since(t, nodes[(i+1)%2], id, 0), 1)
	}
}

func TestOnlyDataThatIsOverIsSwept(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	record := func(workspaceID, id string) domain.StreamID {
		return domain.StreamID{Scope: workspaceID, Kind: "records", ID: id}
	}
	large, larger := strings.Repeat("a", 300_000), strings.Repeat("b", 600_000)
	one, two, far := record("w1", "r1"), record("w1", "r2"), record("w2", "r1")
	for i, body := range []string{"a1", "b1", large, larger, "a2"} {
		put(t, s, one, fmt.Sprint(i), body)
	}
	put(t, s, two, "0", large)
	put(t, s, far, "0", "a3")
	put(t, s, far, "1", larger)
	put(t, s, contextID("session.1"), "0", large)
	starts := func(with string) func([]byte) bool {
		return func(start []byte) bool { return bytes.HasPrefix(start, []byte(with)) }
	}
	steps := []struct {
		name, workspaceID, kind string
		dry                     bool
		over                    string
		count, bytes            uint64
	}{
		{"nothing is over", "", "records", false, "c", 0, 0},
		{"another kind", "", "other", false, "a", 0, 0},
		{"a dry run", "", "records", true, "a", 5, 600_006},
		{"of a workspace", "w1", "records", false, "a", 4, 600_004},
		{"again", "w1", "records", false, "a", 0, 0},
		{"what is left of all", "", "records", false, "a", 1, 2},
	}
	for _, step := range steps {
		count, size, err := s.Data.Sweep(t.Context(), step.workspaceID, step.kind, step.dry, starts(step.over))
		require.NoError(t, err, step.name)
		require.Equal(t, []uint64{step.count, step.bytes}, []uint64{count, size}, step.name)
	}
	require.Equal(t, []string{"b1", "600000×b"}, since(t, s, one, 0))
	require.Empty(t, since(t, s, two, 0))
	require.Equal(t, []string{"600000×b"}, since(t, s, far, 0))
	require.Equal(t, []string{"300000×a"}, since(t, s, contextID("session.1"), 0))
	count, size, err := s.Data.Sweep(t.Context(), "", "records", false, starts(""))
	require.NoError(t, err)
	require.Equal(t, []uint64{3, 1_200_002}, []uint64{count, size})
	holds, err := s.HasWorkspaceData(t.Context(), "w2")
	require.NoError(t, err)
	require.False(t, holds, "parts go with what they are parts of")
}

func TestWhatLostItsPartsIsOver(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := contextID("session.1")
	first, _ := put(t, s, id, "0", strings.Repeat("a", 300_000))
	put(t, s, id, "1", "b")
	require.NoError(t, s.Collections.DropParts(t.Context(), id, first))
	err := s.Data.Since(t.Context(), id, 0, func(uint64, bool, string, []byte) error { return nil })
	require.ErrorContains(t, err, "parts")
	count, _, err := s.Data.Sweep(t.Context(), "", id.Kind, false, func([]byte) bool { return false })
	require.NoError(t, err)
	require.EqualValues(t, 1, count)
	require.Equal(t, []string{"b"}, since(t, s, id, 0))
}

// Who reads while data is swept finds all of an operation, or nothing of it.
func TestDataIsReadWhileItIsSwept(t *testing.T) {
	t.Parallel()
	s := open(t, jetstream.Options{Dir: t.TempDir()})
	id := contextID("session.1")
	for i := range 3 { // fewer than a reader looks again
		put(t, s, id, fmt.Sprint(i), strings.Repeat("a", 300_000))
	}
	var reading sync.WaitGroup
	for range 2 {
		reading.Go(func() {
			for left := 3; left > 0; {
				left = 0
				err := s.Data.Since(t.Context(), id, 0, func(_ uint64, _ bool, _ string, body []byte) error {
					if left++; len(body) != 300_000 {
						t.Error("a part is missing")
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	count, _, err := s.Data.Sweep(t.Context(), "w1", id.Kind, false, func([]byte) bool { return true })
	require.NoError(t, err)
	require.EqualValues(t, 3, count)
	reading.Wait()
}

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

func TestNodesOfAClusterShareOneLogOfCollections(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	var nodes []*jetstream.Store
	for i := range 3 {
		nodes = append(nodes, open(t, jetstream.Options{URL: []string{c.urls[i]}, Replicas: 3, MaxWait: 10 * time.Second}))
	}
	id, last := collection.Stream("w1", "workspace"), uint64(0)
	const rounds = 15
	for round := range rounds {
		var racing sync.WaitGroup
		seqs, errs := make([]uint64, len(nodes)), make([]error, len(nodes))
		for i, node := range nodes {
			racing.Go(func() {
				seqs[i], errs[i] = node.Collections.Append(t.Context(), id, fmt.Sprint(round, "-", i), last, false, []byte{1, byte(i)})
			})
		}
		racing.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				last = seqs[i]
				won++
			} else {
				require.ErrorIs(t, err, eventstore.ErrConflict)
			}
		}
		require.Equal(t, 1, won, "round %d", round)
		for _, node := range nodes {
			seen, err := node.Collections.Last(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, last, seen, "what one was acknowledged all know of")
		}
	}
	done := errors.New("done")
	for _, node := range nodes {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		previous, seen := uint64(0), 0
		require.ErrorIs(t, node.Collections.Follow(ctx, 0, func(entries []collection.Logged, _ uint64) error {
			for _, e := range entries {
				require.Equal(t, previous, e.Previous)
				previous = e.Seq
				seen++
			}
			if seen == rounds {
				return done
			}
			return nil
		}), done)
		cancel()
	}
}
