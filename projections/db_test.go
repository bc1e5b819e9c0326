package projections_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
	"svc/projections"
)

// closedFixture returns a fixture that was shut after a few writes, with a large value
// so that there is a value log, and its files.
func closedFixture(t *testing.T) (h *fixture, all []projections.Projection) {
	t.Helper()
	big := counter{name: "big.1", log: "STATE", pad: 64 << 10}
	all = []projections.Projection{projections.Workspaces{}, big}
	h = newFixture(t, all...)
	create(t, h.log.Log, "a", "one")
	require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 30)))
	h.stop()
	h.closeStore()
	return h, all
}

func TestADamagedStoreIsMovedAsideAndRebuilt(t *testing.T) {
	damages := map[string]func(t *testing.T, dir string){
		"a flipped byte in the manifest": func(t *testing.T, dir string) { flip(t, one(t, dir, "MANIFEST"), 20) },
		"a truncated manifest":           func(t *testing.T, dir string) { truncate(t, one(t, dir, "MANIFEST"), 3) },
		"no manifest":                    func(t *testing.T, dir string) { require.NoError(t, os.Remove(one(t, dir, "MANIFEST"))) },
		"a flipped byte in a table":      func(t *testing.T, dir string) { flip(t, one(t, dir, "*.sst"), 100) },
		"a truncated table":              func(t *testing.T, dir string) { truncate(t, one(t, dir, "*.sst"), 2000) },
		"an empty table":                 func(t *testing.T, dir string) { require.NoError(t, os.Truncate(one(t, dir, "*.sst"), 0)) },
		"a missing table":                func(t *testing.T, dir string) { require.NoError(t, os.Remove(one(t, dir, "*.sst"))) },
		"opens that never end": func(t *testing.T, dir string) {
			writeMark(t, dir, fmt.Sprintf(`{"phase":"opening","boot":"","openings":%d}`, projections.MaxOpenings))
		},
		"a machine that went down": func(t *testing.T, dir string) { writeMark(t, dir, `{"phase":"open","boot":"another"}`) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			h, all := closedFixture(t)
			damage(t, h.dbDir)
			db, _ := openDB(t, h.dbDir)
			require.DirExists(t, db.Moved())
			require.True(t, strings.HasPrefix(db.Moved(), h.dbDir+".corrupt-"))
			m, _ := start(t, projections.Options{DB: db, Store: h.log.Log, Projections: all, Known: h.log.Log.Known})
			require.NoError(t, m.Fresh(bounded(t)))
			require.Equal(t, "one", nameOf(t, m, "a"))
			requireTrue(t, m)
		})
	}
}

func TestAnInterruptedOpenIsTriedOnceMore(t *testing.T) {
	h, _ := closedFixture(t)
	writeMark(t, h.dbDir, `{"phase":"opening","boot":"","openings":1}`)
	db, _ := openDB(t, h.dbDir)
	require.Empty(t, db.Moved())
}

// Wherever one byte of the store changes, what is served is either right or an
// error, and a rebuild mends it.
func TestAFlippedByteIsNeverServed(t *testing.T) {
	h, all := closedFixture(t)
	files := filesOf(t, h.dbDir)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		name := files[rng.IntN(len(files))]
		dir := copyDir(t, h.dbDir)
		stat, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		at := rng.Int64N(min(stat.Size(), 64<<10))
		flip(t, filepath.Join(dir, name), at)
		t.Logf("byte %d of %s", at, name)
		db, closeDB := openDB(t, dir)
		m, stop := start(t, projections.Options{DB: db, Store: h.log.Log, Projections: all, Known: h.log.Log.Known})
		require.NoError(t, m.Fresh(bounded(t)))
		require.Equal(t, "one", nameOf(t, m, "a"))
		if v, err := m.Verify(bounded(t), nil); err != nil || !v.OK {
			_, err := m.Rebuild(bounded(t), nil)
			require.NoError(t, err)
		}
		requireTrue(t, m)
		stop()
		closeDB()
	}
}

func TestAStoreInUseIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	openDB(t, dir)
	_, err := projections.OpenDB(projections.DBOptions{Dir: dir, Log: quiet})
	require.ErrorContains(t, err, "used by another process")
	require.DirExists(t, dir)
}

func TestAStoreIsPutBackWhenAFreshOneDoesNotOpenEither(t *testing.T) {
	h, _ := closedFixture(t)
	flip(t, one(t, h.dbDir, "MANIFEST"), 20)
	_, err := projections.OpenDB(projections.DBOptions{Dir: h.dbDir, Log: quiet, MemtableMB: -1})
	require.Error(t, err)
	require.FileExists(t, filepath.Join(h.dbDir, "MANIFEST"))
}

func requireTrue(t *testing.T, m *projections.Models) {
	t.Helper()
	v, err := m.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, v.OK, "%+v", v)
}

func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if info, _ := d.Info(); err == nil && !d.IsDir() && info.Size() > 0 {
			names = append(names, filepath.Base(path))
		}
		return err
	}))
	return names
}

func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found[0]
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[at] ^= 0x41
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

func truncate(t *testing.T, path string, by int64) {
	t.Helper()
	stat, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, max(stat.Size()-by, 0)))
}

func writeMark(t *testing.T, dir, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, projections.MarkName), []byte(text), 0o600))
}

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
