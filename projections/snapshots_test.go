package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/projections"
)

func TestSnapshotsBelongToOneLog(t *testing.T) {
	id := workspace.Stream("a")
	h := newHouse(t)
	fill(t, h.log.Log, 5)
	require.NoError(t, h.Fresh(bounded(t)))
	require.NoError(t, h.Snapshots().Put(id, 1, 3, []byte("state")))
	requireSnapshot(t, h.Snapshots(), id, 1, 3, "state")
	requireNoSnapshot(t, h.Snapshots(), id, 2)
	h.shut()

	again := openHouse(t, h.logDir, h.dbDir)
	require.NoError(t, again.CaughtUp(bounded(t)))
	requireSnapshot(t, again.Snapshots(), id, 1, 3, "state")
	again.shut()

	elsewhere := openHouse(t, t.TempDir(), h.dbDir)
	require.NoError(t, elsewhere.CaughtUp(bounded(t)))
	requireNoSnapshot(t, elsewhere.Snapshots(), id, 1)
}

func TestSnapshotsAheadOfTheCheckpointAreDiscarded(t *testing.T) {
	id := workspace.Stream("a")
	h := newHouse(t)
	fill(t, h.log.Log, 5)
	require.NoError(t, h.Fresh(bounded(t)))
	require.NoError(t, h.Snapshots().Put(id, 1, 6, []byte("of an event that was lost")))
	h.shut()
	again := openHouse(t, h.logDir, h.dbDir)
	require.NoError(t, again.Reach(bounded(t), fill(t, again.log.Log, 5)))
	requireNoSnapshot(t, again.Snapshots(), id, 1)
}

func TestSnapshotsAreOfNoUseBeforeTheLogIsKnown(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	m, err := projections.New(projections.Options{DB: db, Store: log.Log, Log: quiet})
	require.NoError(t, err)
	require.NoError(t, m.Snapshots().Put(workspace.Stream("a"), 1, 1, []byte("x")))
	requireNoSnapshot(t, m.Snapshots(), workspace.Stream("a"), 1)
}

func requireSnapshot(t *testing.T, s *projections.Snapshots, id domain.StreamID, version int, seq uint64, state string) {
	t.Helper()
	gotSeq, got, ok := s.Get(id, version)
	require.True(t, ok)
	require.Equal(t, seq, gotSeq)
	require.Equal(t, state, string(got))
}

func requireNoSnapshot(t *testing.T, s *projections.Snapshots, id domain.StreamID, version int) {
	t.Helper()
	_, _, ok := s.Get(id, version)
	require.False(t, ok)
}
