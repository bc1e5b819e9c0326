package jetstream_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore/jetstream"
)

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
