package projections

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
)

func openSmallDB(t *testing.T, dir string) *DB {
	t.Helper()
	db, err := OpenDB(DBOptions{Dir: dir, MemtableMB: 1, Log: slog.New(slog.DiscardHandler), compactionPause: 20 * time.Millisecond})
	require.NoError(t, err)
	return db
}

// compactors returns how many goroutines of any store look for something to compact.
func compactors() int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("levelsController).runCompactor("))
}

func requireNoCompactors(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return compactors() == 0 }, time.Minute, time.Millisecond)
}

// fill writes more than fits into a dozen memtables.
func fill(t *testing.T, db *DB, round int) {
	t.Helper()
	for i := range 1000 {
		require.NoError(t, db.store().Update(func(txn *badger.Txn) error {
			return txn.Set(fmt.Appendf(nil, "k%04d", i), sampleValue(round, i))
		}))
	}
}

func sampleValue(round, i int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d%08d", round, i), 1<<10)
}

func requireFilled(t *testing.T, db *DB, round int) {
	t.Helper()
	require.NoError(t, db.badger.View(func(txn *badger.Txn) error {
		for i := range 1000 {
			got, ok, err := get(txn, fmt.Appendf(nil, "k%04d", i))
			if err != nil || !ok || !bytes.Equal(got, sampleValue(round, i)) {
				return fmt.Errorf("key %d: %t, %w", i, ok, err)
			}
		}
		return nil
	}))
}

func TestAnIdleStoreHasNoCompactors(t *testing.T) {
	requireNoCompactors(t) // of the stores of earlier tests
	busy, err := OpenDB(DBOptions{Dir: filepath.Join(t.TempDir(), "models"), MemtableMB: 1, Log: slog.New(slog.DiscardHandler), compactionPause: time.Hour})
	require.NoError(t, err)
	require.Equal(t, 2, compactors(), "what this test counts")
	require.Empty(t, busy.guard.tables)
	fill(t, busy, 0)
	require.Eventually(t, func() bool { return len(busy.guard.tables) > 0 }, time.Minute, time.Millisecond, "new tables are announced")
	require.NoError(t, busy.Close())

	idle := openSmallDB(t, filepath.Join(t.TempDir(), "models"))
	requireNoCompactors(t)
	require.NoError(t, idle.Close())
}

func TestASmallWriteStartsNoCompactors(t *testing.T) {
	db := openSmallDB(t, filepath.Join(t.TempDir(), "models"))
	requireNoCompactors(t)
	require.NoError(t, db.Probe())
	require.Empty(t, db.guard.tables)
	require.Zero(t, compactors())
	require.NoError(t, db.Close())
}

func TestAStoreThatIsWrittenToAgainIsCompactedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	db := openSmallDB(t, dir)
	for round := range 4 {
		requireNoCompactors(t)
		fill(t, db, round)
		require.Eventually(t, func() bool { return compactors() == 0 && !db.needsCompaction() }, time.Minute, time.Millisecond)
		levels := db.badger.Levels()
		require.Less(t, levels[0].NumTables, 3, "tables that are not compacted")
		require.Positive(t, levels[len(levels)-1].NumTables)
		requireFilled(t, db, round)
	}
	require.NoError(t, db.Close())

	db = openSmallDB(t, dir)
	require.Empty(t, db.Moved())
	requireFilled(t, db, 3)
	require.NoError(t, db.Close())
}

// A burst fills all memtables and all tables of the first level before a compactor has woken up.
func TestABurstAfterAPauseIsNotHeldUpForEver(t *testing.T) {
	db := openSmallDB(t, filepath.Join(t.TempDir(), "models"))
	requireNoCompactors(t)
	for round := range 2 {
		fill(t, db, round)
	}
	requireFilled(t, db, 1)
	require.NoError(t, db.Close())
}

func TestATableThatWasNotAnnouncedIsCompacted(t *testing.T) {
	db := openSmallDB(t, filepath.Join(t.TempDir(), "models"))
	requireNoCompactors(t)
	unwatchMappings(db.guard)
	fill(t, db, 0)
	require.Eventually(t, func() bool { return compactors() == 0 && !db.needsCompaction() }, time.Minute, time.Millisecond)
	require.Less(t, db.badger.Levels()[0].NumTables, 3)
	requireFilled(t, db, 0)
	require.NoError(t, db.Close())
}

// Close finds memtables to make tables of, and the first level full.
func TestAStoreIsClosedAtAnyMoment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	for round := range 8 {
		db := openSmallDB(t, dir)
		if round%2 == 0 {
			requireNoCompactors(t)
		}
		if round > 0 {
			requireFilled(t, db, round-1)
		}
		fill(t, db, round)
		require.NoError(t, db.Close())
	}
}
