package projections

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// DBOptions configure a DB. The zero value of every field but Dir is good.
type DBOptions struct {
	Dir string // required

	MemtableMB   int64         // bounds the memory of unflushed writes; default 8, less on a disk below 16 times as much
	BlockCacheMB int64         // compresses tables and caches blocks; default 0: neither, the page cache does it
	GCEvery      time.Duration // between collections of the value log; default 10m

	// BootID names the run of the machine. A store that was open when the
	// machine went down is not trusted. Default: the kernel's.
	BootID func() string
	Now    func() time.Time // default time.Now
	Log    *slog.Logger     // default slog.Default

	memtable, valueLog int64 // bytes, as they suit the disk
}

func (o DBOptions) withDefaults() (DBOptions, error) {
	if o.Dir == "" {
		return o, errors.New("projections: DBOptions.Dir is required")
	}
	o.Dir = filepath.Clean(o.Dir)
	o.MemtableMB = cmp.Or(o.MemtableMB, 8)
	o.GCEvery = cmp.Or(o.GCEvery, 10*time.Minute)
	if o.BootID == nil {
		o.BootID = kernelBootID
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o, nil
}

// DB is the store of the read models.
type DB struct {
	opts   DBOptions
	badger *badger.DB
	lock   *os.File
	space  *space
	moved  string

	stop      chan struct{}
	collector sync.WaitGroup
}

// OpenDB opens the store in o.Dir, or makes one. A damaged store is moved aside
// and replaced by an empty one, because the logs hold everything: Moved tells. It
// fails when another process has the store open.
func OpenDB(o DBOptions) (*DB, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(o.Dir + ".lock")
	if err != nil {
		return nil, err
	}
	d := &DB{opts: o, lock: lock, stop: make(chan struct{})}
	if d.space, err = newSpace(&d.opts); err == nil {
		err = d.open()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open read model store: %w", err), lock.Close())
	}
	d.collector.Go(d.collect)
	return d, nil
}

// open opens the store as it is, or else a fresh one in its place.
func (d *DB) open() error {
	if err := d.space.admit(); err != nil {
		return err
	}
	damage := d.examine()
	if damage == nil {
		if damage = d.openBadger(); damage == nil {
			return nil
		}
	}
	aside, err := d.moveAside()
	if err != nil {
		return errors.Join(damage, err)
	}
	if err := d.openBadger(); err != nil {
		// Not the store was at fault but its surroundings: leave it as it was.
		return errors.Join(damage, err, os.RemoveAll(d.opts.Dir), os.Rename(aside, d.opts.Dir))
	}
	d.moved = aside
	d.opts.Log.Warn("read model store was damaged and is rebuilt", "dir", d.opts.Dir, "moved", aside, "err", damage)
	return nil
}

// openBadger opens Badger between two marks, so that an open that takes the
// process down is known to the next one.
func (d *DB) openBadger() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if err := d.mark(opening); err != nil {
		return err
	}
	if err := d.space.watch(); err != nil {
		return err
	}
	if d.badger, err = badger.Open(d.opts.badger().WithLogger(badgerLog{d.opts.Log, d.space})); err != nil {
		d.space.end()
		return err
	}
	d.space.begin()
	if err := d.mark(opened); err != nil {
		return errors.Join(err, d.space.close(d.badger))
	}
	return nil
}

// badger returns the options of a small and quiet Badger. The logs are the
// truth, so nothing is synced; one writer per key makes conflict detection idle.
func (o DBOptions) badger() badger.Options {
	b := badger.DefaultOptions(o.Dir).
		WithSyncWrites(false).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithNumVersionsToKeep(1).
		WithMemTableSize(o.memtable).
		WithNumMemtables(2).
		WithNumCompactors(2).
		WithNumLevelZeroTables(3).
		WithNumLevelZeroTablesStall(8).
		WithValueThreshold(min(1<<20, o.memtable/32)). // large, because a new value log file is made within a commit, for which all readers wait; but a fraction of what a commit may hold
		WithValueLogFileSize(o.valueLog).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithVerifyValueChecksum(true).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithIndexCacheSize(2 << 20).
		WithLogger(nil)
	if o.BlockCacheMB > 0 {
		b = b.WithCompression(options.Snappy).WithBlockCacheSize(o.BlockCacheMB << 20)
	}
	return b
}

// store returns the store for its users: they write through its space.
func (d *DB) store() store { return store{d.badger, d.space} }

// Moved returns where a damaged store was moved to; "" when there was none.
func (d *DB) Moved() string { return d.moved }

// Size returns the bytes on disk, as of a minute ago.
func (d *DB) Size() int64 {
	tables, values := d.badger.Size()
	return tables + values
}

// Close flushes and closes the store. Nothing may use it any more.
func (d *DB) Close() error {
	close(d.stop)
	d.collector.Wait()
	err := d.space.close(d.badger)
	if err == nil {
		err = d.unmark()
	}
	return errors.Join(err, d.lock.Close())
}

// collect frees value log files that hold mostly garbage, from time to time.
func (d *DB) collect() {
	tick := time.NewTicker(d.opts.GCEvery)
	defer tick.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
		}
		for d.space.write(func() error { return d.badger.RunValueLogGC(0.5) }) == nil {
			d.opts.Log.Debug("value log of read models collected")
		}
	}
}

// badgerLog hands Badger's own messages to slog, one level down where they are
// routine.
type badgerLog struct {
	log   *slog.Logger
	space *space
}

// Errorf implements badger.Logger.
func (l badgerLog) Errorf(format string, args ...any) {
	l.log.Error("badger: " + fmt.Sprintf(format, args...))
}

// Warningf implements badger.Logger.
func (l badgerLog) Warningf(format string, args ...any) {
	l.log.Warn("badger: " + fmt.Sprintf(format, args...))
}

// Infof implements badger.Logger.
func (l badgerLog) Infof(format string, args ...any) {
	l.log.Debug("badger: " + fmt.Sprintf(format, args...))
}

// Debugf implements badger.Logger. A compaction says when it has gathered what
// goes into a table, and does not notice when the file for it cannot be made: it is
// held up here until it can.
func (l badgerLog) Debugf(format string, _ ...any) {
	if strings.Contains(format, "LOG Compact. Added") {
		l.space.await(tableRoom)
	}
}

// Apart returns the store itself, for a read model that is not made of the two logs,
// and how its transactions are committed: so that a full disk is found out.
func (d *DB) Apart() (*badger.DB, func(*badger.Txn) error) { return d.badger, d.store().commit }
