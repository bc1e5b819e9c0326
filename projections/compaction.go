package projections

import (
	"slices"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/dgraph-io/badger/v4"
)

// compactWhenNeeded stops Badger's compactors while nothing is to be compacted: they look for work every 50 ms, which is
// most of what an idle service does. Only a new table can make work for them, and diskGuard.tables announces each one before
// Badger adds it: so commits need not know of this, and writes that fit into the memtable, such as probes, wake nobody. The
// levels are looked at from time to time anyway, for a table that was not announced: Badger holds up writes for ever
// when it has too many tables and no compactor.
//
// It is the only one to call these functions, and leaves the compactors running when it ends: Badger's Close needs them to
// empty memtables. Badger's DropPrefix, DropAll, Flatten and StreamWriter stop and start the compactors, too, and must
// not run at the same time.
func (d *DB) compactWhenNeeded() {
	tick := time.NewTicker(d.opts.compactionPause)
	defer tick.Stop()
	for d.awaitCompacted(tick.C) {
		stopCompactions(d.badger)
		d.awaitTable(tick.C)
		startCompactions(d.badger)
		tick.Reset(d.opts.compactionPause)
	}
}

// awaitCompacted waits for a whole pause without a new table, at the end of which nothing is to be compacted. It returns
// false when the store is closed.
func (d *DB) awaitCompacted(tick <-chan time.Time) bool {
	for isNew := true; isNew || d.needsCompaction(); {
		select {
		case <-d.stop:
			return false
		case <-tick:
		}
		select {
		case <-d.guard.tables:
			isNew = true
		default:
			isNew = false
		}
	}
	return true
}

// awaitTable waits until there is something to compact, or soon will be, or the store is closed.
func (d *DB) awaitTable(tick <-chan time.Time) {
	for !d.needsCompaction() {
		select {
		case <-d.stop:
			return
		case <-d.guard.tables:
			return
		case <-tick:
		}
	}
}

// needsCompaction reports whether a compactor would look at a level, or one waits for room on the disk and cannot be stopped.
func (d *DB) needsCompaction() bool {
	return d.guard.waiting.Load() > 0 ||
		slices.ContainsFunc(d.badger.Levels(), func(l badger.LevelInfo) bool { return l.Score >= 1 })
}

// Badger has no option and no exported function for this. When an update of the module renames these methods, the
// program is not linked any more; when it changes what they do, TestAnIdleStoreHasNoCompactors tells.

//go:linkname stopCompactions github.com/dgraph-io/badger/v4.(*DB).stopCompactions
func stopCompactions(db *badger.DB)

//go:linkname startCompactions github.com/dgraph-io/badger/v4.(*DB).startCompactions
func startCompactions(db *badger.DB)
