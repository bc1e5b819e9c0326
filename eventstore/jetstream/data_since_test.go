package jetstream_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
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

// firstSince lists the operations after a sequence; a snapshot has a star.
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
