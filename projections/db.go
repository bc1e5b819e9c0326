package projections

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
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

	memtable, valueLog int64         // bytes, as they suit the disk
	compactionPause    time.Duration // without a new table, until the compactors are stopped; default 10s
}

func (o DBOptions) withDefaults() (DBOptions, error) {
	if o.Dir == "" {
		return o, errors.New("projections: DBOptions.Dir is required")
	}
	o.Dir = filepath.Clean(o.Dir)
	o.MemtableMB = cmp.Or(o.MemtableMB, 8)
	o.GCEvery = cmp.Or(o.GCEvery, 10*time.Minute)
	o.compactionPause = cmp.Or(o.compactionPause, 10*time.Second)
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
	guard  *diskGuard
	moved  string

	stop      chan struct{}
	collector sync.WaitGroup
	compactor sync.WaitGroup
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
	if d.guard, err = newDiskGuard(&d.opts); err == nil {
		err = d.open()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open read model store: %w", err), lock.Close())
	}
	d.collector.Go(d.collect)
	d.compactor.Go(d.compactWhenNeeded)
	return d, nil
}

// open opens the store as it is, or else a fresh one in its place.
func (d *DB) open() error {
	if err := d.guard.checkOpen(); err != nil {
		return err
	}
	damage := d.checkStore()
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
	if err := d.writeMark(opening); err != nil {
		return err
	}
	if err := d.guard.watchFiles(); err != nil {
		return err
	}
	if d.badger, err = badger.Open(d.opts.badgerOptions().WithLogger(badgerLog{d.opts.Log, d.guard})); err != nil {
		d.guard.unwatchFiles()
		return err
	}
	d.guard.findNextMemtable()
	if err := d.writeMark(opened); err != nil {
		return errors.Join(err, d.guard.close(d.badger.Close))
	}
	return nil
}

// badgerOptions returns the options of a small and quiet Badger. The logs are the
// truth, so nothing is synced; one writer per key makes conflict detection idle.
func (o DBOptions) badgerOptions() badger.Options {
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
func (d *DB) store() store { return store{d.badger, d.guard} }

// Moved returns where a damaged store was moved to; "" when there was none.
func (d *DB) Moved() string { return d.moved }

// Close flushes and closes the store. Nothing may use it any more.
func (d *DB) Close() error {
	close(d.stop)
	d.collector.Wait()
	err := d.guard.close(func() error {
		d.compactor.Wait()
		return d.badger.Close()
	})
	if err == nil {
		err = os.Remove(d.markPath())
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
		for d.guard.write(func() error { return d.badger.RunValueLogGC(0.5) }) == nil {
			d.opts.Log.Debug("value log of read models collected")
		}
	}
}

// badgerLog hands Badger's own messages to slog, one level down where they are
// routine.
type badgerLog struct {
	log   *slog.Logger
	guard *diskGuard
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
		l.guard.awaitFree(tableReserve)
	}
}

// DirectAccess returns the store itself, for a read model that is not made of the two logs,
// and how its transactions are committed: so that a full disk is found out.
func (d *DB) DirectAccess() (*badger.DB, func(*badger.Txn) error) { return d.badger, d.store().commit }

// markName is the file that says how the store is being used. It is there from
// the open to a clean close.
const markName = "svc.open"

// The phases of a mark.
const (
	opening = "opening"
	opened  = "open"
)

// maxOpenings is how many opens may end the process before the store is held to
// be the cause.
const maxOpenings = 2

type openMark struct {
	Phase    string `json:"phase"`
	Boot     string `json:"boot"`
	Openings int    `json:"openings,omitempty"` // that did not come to an end
}

// checkStore returns what speaks against the store before Badger opens it. Badger
// itself leaves out tables and truncates manifests that do not open, and panics
// in goroutines of its own, so it is not asked.
func (d *DB) checkStore() error {
	if _, err := os.Stat(d.opts.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m := d.readMark()
	switch boot := d.opts.BootID(); {
	case m.Phase == opening && m.Openings >= maxOpenings:
		return fmt.Errorf("%d opens did not come to an end", m.Openings)
	case m.Boot != "" && boot != "" && m.Boot != boot:
		return errors.New("the machine went down while the store was open")
	}
	if err := d.opts.checkKeys(); err != nil {
		return fmt.Errorf("key registry: %w", err)
	}
	manifest, err := d.opts.readManifest()
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	for id, t := range manifest.Tables {
		if err := checkTable(table.NewFilename(id, d.opts.Dir), t.Compression); err != nil {
			return fmt.Errorf("table %d: %w", id, err)
		}
	}
	return nil
}

// checkKeys reads the key registry, which is empty, but not without a checksum.
func (o DBOptions) checkKeys() error {
	keys, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: o.Dir, ReadOnly: true})
	if err != nil {
		return err
	}
	return keys.Close()
}

// readManifest reads the list of tables and accepts no torn end: what it cut
// off could have named tables that hold data.
func (o DBOptions) readManifest() (badger.Manifest, error) {
	file, err := os.Open(filepath.Join(o.Dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return badger.Manifest{}, o.requireNoTables()
	}
	if err != nil {
		return badger.Manifest{}, err
	}
	defer file.Close()
	manifest, end, err := badger.ReplayManifestFile(file, 0, o.badgerOptions())
	if err != nil {
		return manifest, err
	}
	if stat, err := file.Stat(); err != nil || stat.Size() != end {
		return manifest, errors.Join(err, fmt.Errorf("ends at %d", end))
	}
	return manifest, nil
}

func (o DBOptions) requireNoTables() error {
	tables, err := filepath.Glob(filepath.Join(o.Dir, "*.sst"))
	if err == nil && len(tables) > 0 {
		err = fmt.Errorf("missing, but there are %d tables", len(tables))
	}
	return err
}

// checkTable reads the whole table and its checksums. A truncated file may fault
// when it is touched, and a damaged one make Badger panic: both are errors here.
func checkTable(path string, compression options.CompressionType) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	t, err := table.OpenTable(file, table.Options{
		ReadOnly: true, ChkMode: options.OnTableRead, Compression: compression, BlockSize: 4 << 10,
	})
	if err != nil {
		return err
	}
	return t.Close(-1)
}

// writeMark records the phase. That the store is open must be on disk before anything
// is written to it, so that a machine that goes down is found out; that it is
// being opened need outlive the process only.
func (d *DB) writeMark(phase string) error {
	if err := os.MkdirAll(d.opts.Dir, 0o700); err != nil {
		return err
	}
	m := openMark{Phase: phase, Boot: d.opts.BootID()}
	if phase == opening {
		m.Openings = d.readMark().Openings + 1
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := replaceFile(d.markPath(), b, phase == opened); err != nil {
		return fmt.Errorf("mark the store as %s: %w", phase, err)
	}
	return nil
}

func (d *DB) markPath() string { return filepath.Join(d.opts.Dir, markName) }

// readMark returns the mark; the zero mark when there is none, or none legible.
func (d *DB) readMark() (m openMark) {
	b, err := os.ReadFile(d.markPath())
	if err != nil || json.Unmarshal(b, &m) != nil {
		return openMark{}
	}
	return m
}

func replaceFile(path string, b []byte, synced bool) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if synced {
		err = errors.Join(err, file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	if !synced {
		return nil
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// moveAside renames the store and returns its new name. It keeps only the last
// one, so that repeated damage does not fill the disk.
func (d *DB) moveAside() (string, error) {
	older, err := filepath.Glob(d.opts.Dir + ".corrupt-*")
	if err != nil {
		return "", err
	}
	for _, path := range older {
		if err := os.RemoveAll(path); err != nil {
			return "", fmt.Errorf("remove an older damaged store: %w", err)
		}
	}
	aside := d.opts.Dir + ".corrupt-" + d.opts.Now().UTC().Format("20060102T150405Z")
	if err := os.Rename(d.opts.Dir, aside); err != nil {
		return "", fmt.Errorf("move the damaged store aside: %w", err)
	}
	return aside, nil
}

// lockFile takes the lock that keeps a second process away. It comes before
// Badger's own, whose refusal cannot be told from damage.
func lockFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock read model store: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock read model store: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("the read model store %s is used by another process: %w", path, err), file.Close())
	}
	return file, nil
}

// kernelBootID returns Linux's name for this run of the machine; "" elsewhere.
func kernelBootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// probePrefix begin the keys of probes, which are of no generation and of no meaning.
const probePrefix = "m/probe/"

// Probe writes, reads and deletes one key, to see that the store works. Several
// may do so at once.
func (d *DB) Probe() error {
	want := []byte(rand.Text())
	probeKey := append([]byte(probePrefix), want...)
	if err := d.store().Update(func(txn *badger.Txn) error { return txn.Set(probeKey, want) }); err != nil {
		return err
	}
	err := d.badger.View(func(txn *badger.Txn) error {
		got, ok, err := get(txn, probeKey)
		if err == nil && (!ok || !bytes.Equal(got, want)) {
			err = errors.New("what was written is not what is read")
		}
		return err
	})
	return errors.Join(err, d.store().Update(func(txn *badger.Txn) error { return txn.Delete(probeKey) }))
}
