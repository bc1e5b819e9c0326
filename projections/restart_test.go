package projections_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/projections"
)

func TestACrashLosesAndRepeatsNothing(t *testing.T) {
	h := newHouse(t, states, activities)
	for range 5 {
		at := fill(t, h.log.Log, 30).Max(happen(t, h.log.Log).Position)
		require.NoError(t, h.Reach(bounded(t), at))
		crashed := copyDir(t, h.dbDir) // as a kill would leave it: open, not flushed
		fill(t, h.log.Log, 10)

		db, closeDB := openDB(t, crashed)
		require.Empty(t, db.Moved())
		m, stop := start(t, projections.Options{DB: db, Store: h.log.Log, Projections: []projections.Projection{states, activities}})
		require.GreaterOrEqual(t, m.Position().State, at.State, "it goes on where it was")
		require.NoError(t, m.Reach(bounded(t), h.log.Log.Known()))
		require.Equal(t, h.log.Log.Known().State, states.count(t, m))
		require.Equal(t, h.log.Log.Known().Activity, activities.count(t, m))
		stop()
		closeDB()
	}
}

func TestACleanStartGoesOn(t *testing.T) {
	h := newHouse(t)
	create(t, h.log.Log, "a", "one")
	require.NoError(t, h.Fresh(bounded(t)))
	h.shut()
	again := openHouse(t, h.logDir, h.dbDir)
	require.Equal(t, "one", nameOf(t, again.Models, "a"), "served before the log is read")
	require.NoError(t, again.CaughtUp(bounded(t)))
	require.Equal(t, uint32(1), again.Health().Generation)
}

func TestAnotherLogMeansARebuild(t *testing.T) {
	h := newHouse(t)
	create(t, h.log.Log, "old", "old")
	require.NoError(t, h.Fresh(bounded(t)))
	h.shut()
	require.NoError(t, os.RemoveAll(h.logDir))
	log, closeLog := openLog(t, h.logDir)
	create(t, log.Log, "new", "new")
	closeLog()
	again := openHouse(t, h.logDir, h.dbDir)
	requireRebuilt(t, again)
	require.Empty(t, nameOf(t, again.Models, "old"))
	require.Equal(t, "new", nameOf(t, again.Models, "new"))
}

// A log restored from a backup keeps its identity and is shorter, or goes on
// differently.
func TestARestoredLogMeansARebuild(t *testing.T) {
	tests := map[string]int{"that is behind": 1, "that went another way": 3}
	for name, added := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			create(t, h.log.Log, "a", "kept")
			require.NoError(t, h.Fresh(bounded(t)))
			h.shut()
			backup := copyDir(t, h.logDir)

			h = openHouse(t, h.logDir, h.dbDir)
			require.NoError(t, h.Reach(bounded(t), fill(t, h.log.Log, 3)))
			h.shut()

			log, closeLog := openLog(t, backup)
			fill(t, log.Log, added)
			closeLog()
			restored := openHouse(t, backup, h.dbDir)
			requireRebuilt(t, restored)
			require.Equal(t, "kept", nameOf(t, restored.Models, "a"))
			require.Equal(t, 1+added, listed(t, restored.Models))
		})
	}
}

func TestAChangedShapeMeansARebuild(t *testing.T) {
	h := newHouse(t, states)
	require.NoError(t, h.Reach(bounded(t), fill(t, h.log.Log, 4)))
	h.shut()
	next := counter{name: "states.2", log: domain.State}
	again := openHouse(t, h.logDir, h.dbDir, next)
	requireRebuilt(t, again)
	require.Equal(t, uint64(4), next.count(t, again.Models))
}

func requireRebuilt(t *testing.T, h *house) {
	t.Helper()
	require.NoError(t, h.CaughtUp(bounded(t)))
	require.NoError(t, h.Fresh(bounded(t)))
	require.Greater(t, h.Health().Generation, uint32(1))
	require.True(t, h.Health().OK())
	v, err := h.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, v.OK, "%+v", v)
}

func TestADeletedStoreIsRebuilt(t *testing.T) {
	h := newHouse(t)
	create(t, h.log.Log, "a", "one")
	require.NoError(t, h.Fresh(bounded(t)))
	h.shut()
	require.NoError(t, os.RemoveAll(h.dbDir))
	again := openHouse(t, h.logDir, h.dbDir)
	require.NoError(t, again.Fresh(bounded(t)))
	require.Equal(t, "one", nameOf(t, again.Models, "a"))
	require.NoFileExists(t, h.dbDir+".corrupt")
}
