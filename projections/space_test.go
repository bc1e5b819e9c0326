package projections_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
	"svc/projections"
)

// blocksOf returns the bytes that files of a store take on the disk.
func blocksOf(t *testing.T, dir, pattern string) (taken []int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	for _, path := range paths {
		stat, err := os.Stat(path)
		require.NoError(t, err)
		taken = append(taken, stat.Sys().(*syscall.Stat_t).Blocks*512)
	}
	return taken
}

func TestFilesHaveTheirBlocksBeforeTheyAreMapped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	db, closeDB := openDB(t, dir)
	require.NoError(t, db.Probe())
	memtables := blocksOf(t, dir, "*.mem")
	require.Len(t, memtables, 2, "the current one and the spare")
	for _, taken := range memtables {
		require.GreaterOrEqual(t, taken, int64(10<<20), "a memtable of 8 MB, and a quarter")
	}
	for _, taken := range blocksOf(t, dir, "*.vlog") {
		require.GreaterOrEqual(t, taken, int64(8<<20))
	}
	closeDB()
	require.Empty(t, blocksOf(t, dir, "*.mem"), "no spare stays behind")
}

func TestASpareIsThereAfterEachChangeOfMemtables(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	db, closeDB := openDB(t, dir)
	for i := range 40 { // 20 MB
		key := []byte{byte(i)}
		require.NoError(t, db.Update(func(txn *badger.Txn) error { return txn.Set(key, make([]byte, 512<<10)) }))
		require.NoError(t, db.Probe())
		sizes, err := filepath.Glob(filepath.Join(dir, "*.mem"))
		require.NoError(t, err)
		last, err := os.Stat(sizes[len(sizes)-1])
		require.NoError(t, err)
		require.Zero(t, last.Size(), "the last one is empty")
	}
	closeDB()
	db, _ = openDB(t, copyDir(t, dir))
	require.Empty(t, db.Moved())
}

func TestASpareThatACrashLeftIsNoMemtable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	db, _ := openDB(t, dir)
	require.NoError(t, db.Probe())
	again, _ := openDB(t, copyDir(t, dir))
	require.Empty(t, again.Moved())
	require.NoError(t, again.Probe())
}

func TestWhatIsAppliedAtOnceIsBoundInBytes(t *testing.T) {
	batch := func() eventstore.Batch { return eventstore.Batch{Events: []domain.Recorded{{Size: 1 << 20}}} }
	batches := make(chan eventstore.Batch, 10)
	for range 10 {
		batches <- batch()
	}
	require.Len(t, projections.Gather(batch(), batches).Events, 4)
}
