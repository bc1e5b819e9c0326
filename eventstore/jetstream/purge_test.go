package jetstream_test

import (
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

// happen appends activity events of a workspace and returns their sequences.
func happen(t *testing.T, s *jetstream.Store, workspaceID string, types ...string) []uint64 {
	t.Helper()
	c := eventstore.Commit{Stream: domain.StreamID{Scope: workspaceID}}
	for _, name := range types {
		c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: name, Body: []byte(`{}`)}})
	}
	r, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	return r.Seqs
}

// kept lists which of the sequences the log still has.
func kept(t *testing.T, s *jetstream.Store, seqs ...uint64) (there []bool) {
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
	dir := t.TempDir()
	s := open(t, jetstream.Options{Dir: dir})
	_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: workspace.Stream("w1"), Facts: []eventstore.Fact{{
		ID: ulid.Make().String(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: "w1"}},
	}}})
	require.NoError(t, err)
	state, err := s.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	seqs := append(happen(t, s, "w1", "a", "b.c", "a"), happen(t, s, "w10", "a", "b.c")...)
	seqs = append(seqs, happen(t, s, "w1", "a")...)

	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", "b.c", seqs[5]))
	require.Equal(t, []bool{true, false, true, true, true, true}, kept(t, s, seqs...))
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", "", seqs[2]))
	require.Equal(t, []bool{false, false, true, true, true, true}, kept(t, s, seqs...))
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", "", seqs[2]), "again")
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "", "b.c", seqs[5]+1))
	require.Equal(t, []bool{false, false, true, true, false, true}, kept(t, s, seqs...))
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "", "", seqs[5]+1))
	require.Equal(t, []bool{false, false, false, false, false, true}, kept(t, s, seqs...), "the last one says how far the log reached")
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
		seqs = append(seqs, happen(t, s, "w1", "a")...)
	}
	require.NoError(t, s.Log.PurgeActivity(t.Context(), "w1", "", seqs[3]))
	for i, seq := range seqs[3:] {
		ev, ok, err := s.Log.Read(t.Context(), domain.Activity, seq)
		require.NoError(t, err)
		require.True(t, ok)
		below, err := s.Log.Since(t.Context(), domain.Activity, ev.At)
		require.NoError(t, err)
		if i > 0 {
			require.Equal(t, seq, below)
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
	put := func(workspaceID, id, body string) {
		require.NoError(t, s.Payloads.Put(t.Context(), workspaceID, id, []byte(body)))
	}
	has := func(workspaceID, id string) bool {
		_, ok, err := s.Payloads.Get(t.Context(), workspaceID, id)
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
	require.Equal(t, jetstream.Extent{Count: 3, Bytes: 15, Below: 4}, all)
	one, err := s.Payloads.Before(t.Context(), "w1", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, uint64(2), one.Count)
	require.Equal(t, uint64(12), one.Bytes)

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
