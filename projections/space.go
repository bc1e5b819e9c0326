package projections

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// ErrNoSpace says that the disk has no room for the read models to be written.
// They can be read as before, and are written again when there is room.
var ErrNoSpace = errors.New("projections: no room on the disk for the read models")

const (
	waitForSpace = 100 * time.Millisecond // between two looks at a full disk
	waitForFlush = 2 * time.Millisecond   // between two looks at memtables that are being made tables
	closeWait    = 5 * time.Second        // for room to close in
	maxFull      = 2                      // memtables that Badger takes in before it holds up a commit

	manifestReserve = 64 << 10 // kept at the end of the manifest, enough for hundreds of tables
	tableReserve    = 4 << 20  // free before a compaction makes a file: the file system needs some of its own
)

// diskGuard sees to it that Badger never writes where the disk has no room. Badger
// writes through mapped files, which are full of holes when they are made, and
// where a hole cannot be filled the process ends with a SIGBUS.
//
// So every file is filled with real blocks before it is mapped: take, which
// Badger's goroutines run through on their way into mmap, and in which those of
// the background wait for as long as the disk is full. Badger holds its readers up
// while it makes one kind of file, the next memtable: that one is laid in before a
// write may need it, the spare. A write for which there is none is refused.
type diskGuard struct {
	dir      string // as the store names it
	memtable int64  // bytes that one memtable file can use
	values   int64  // bytes of one value log file
	log      *slog.Logger

	tables chan struct{} // has an element when a table was made since it was last empty

	real    string       // dir, absolute and without links, while it is watched
	waiting atomic.Int32 // goroutines of Badger that wait for room
	gate    sync.RWMutex // held for reading while Badger is written to

	mu                sync.Mutex
	spare             *os.File // the next memtable file: empty, with all its blocks
	next              int      // its number
	full              []string // memtable files before the current one, which wait to be made tables
	cannotPreallocate bool     // the file system cannot lay in blocks
}

// newDiskGuard chooses sizes that suit the disk and adjusts o to them. A memtable
// never is smaller than one that was left to be replayed.
func newDiskGuard(o *DBOptions) (*diskGuard, error) {
	_, total, err := diskSpace(existingDir(o.Dir))
	if err != nil {
		return nil, fmt.Errorf("look at the disk of the read models: %w", err)
	}
	memtable := min(o.MemtableMB<<20, max(8<<20, total/16))
	for _, file := range memtables(o.Dir) {
		memtable = max(memtable, file.size/2)
	}
	o.memtable, o.valueLog = memtable, min(max(4<<20, total/128), 64<<20) // which is also the largest value
	// Badger changes memtables when one is full, and may be one transaction late:
	// 15 % of it, and what its log adds to each entry.
	return &diskGuard{dir: o.Dir, memtable: memtable + memtable/4, values: 2 * o.valueLog, log: o.Log, tables: make(chan struct{}, 1)}, nil
}

func existingDir(dir string) string {
	if _, err := os.Stat(dir); err != nil {
		return filepath.Dir(dir)
	}
	return dir
}

// checkOpen refuses to open a store on a disk that is too full for it.
func (s *diskGuard) checkOpen() error {
	return s.requireFree(existingDir(s.dir), 2*s.memtable+s.values+tableReserve)
}

// requireFree returns ErrNoSpace unless so many bytes are free.
func (s *diskGuard) requireFree(dir string, need int64) error {
	free, _, err := diskSpace(dir)
	if err == nil && free < need {
		err = fmt.Errorf("%w: %d MB are needed, %d MB are free", ErrNoSpace, need>>20, free>>20)
	}
	return err
}

// watchFiles begins to see to the files of the store, which Badger is about to open.
func (s *diskGuard) watchFiles() error {
	abs, err := filepath.Abs(s.dir)
	if err == nil {
		s.real, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return err
	}
	for _, file := range memtables(s.dir) {
		if file.size == 0 { // a spare, which Badger would take for a memtable
			if err := os.Remove(file.path); err != nil {
				return err
			}
		}
	}
	watchMappings(s)
	return nil
}

// findNextMemtable finds out, from the store that Badger has opened, what it makes next.
func (s *diskGuard) findNextMemtable() {
	for _, file := range memtables(s.dir) {
		s.next = max(s.next, file.number+1)
	}
}

// unwatchFiles lets go of the store, which Badger has closed.
func (s *diskGuard) unwatchFiles() { unwatchMappings(s) }

// write calls fn, which commits one transaction, unless that might have to wait
// for room.
func (s *diskGuard) write(fn func() error) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	busy, err := s.checkReady()
	for busy && err == nil {
		<-time.After(waitForFlush)
		busy, err = s.checkReady()
	}
	if err != nil {
		return err
	}
	return fn()
}

// checkReady returns an error when there is no room to write, and whether Badger
// is behind: a commit that it holds up holds up all readers too.
func (s *diskGuard) checkReady() (busy bool, err error) {
	if s.waiting.Load() > 0 {
		return false, ErrNoSpace
	}
	if err := s.requireFree(s.dir, s.values); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.reserveSpare()
	for len(s.full) > 0 {
		if _, err := os.Stat(s.full[0]); err == nil {
			break
		}
		s.full = s.full[1:]
	}
	return len(s.full) >= maxFull, err
}

// allocate fills the file, which is about to be mapped, with blocks, and waits until
// it can. It never gives up: Badger takes a failed compaction for a good one.
func (s *diskGuard) allocate(fd int, path string, length int64) {
	isNew := onlyZeros(fd)
	switch filepath.Ext(path) {
	case ".mem":
		length = min(length, s.memtable)
	case ".sst":
		if !isNew {
			return // it is not written to again
		}
		s.retryUntilFree(path, s.reserveManifest)
	}
	if allocatedBytes(fd) < length {
		s.retryUntilFree(path, func() error { return allocateBlocks(fd, length, isNew) })
	}
	if filepath.Ext(path) == ".sst" {
		select {
		case s.tables <- struct{}{}:
		default:
		}
	}
}

// awaitFree waits until so many bytes are free.
func (s *diskGuard) awaitFree(need int64) {
	s.retryUntilFree("a compaction", func() error { return s.requireFree(s.dir, need) })
}

// retryUntilFree tries until it succeeds. Nothing is written meanwhile, so the spare
// is of no use but for its room.
func (s *diskGuard) retryUntilFree(what string, try func() error) {
	err := try()
	if err == nil {
		return
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	s.log.Error("read models wait for room on the disk", "for", filepath.Base(what), "err", err)
	tick := time.NewTicker(waitForSpace)
	defer tick.Stop()
	for ; err != nil; err = try() {
		if s.gate.TryLock() {
			s.dropSpare()
			s.gate.Unlock()
		}
		<-tick.C
	}
	s.log.Info("read models found room on the disk", "for", filepath.Base(what))
}

// reserveManifest keeps blocks beyond the end of the manifest: half a line in it
// would make the store unreadable.
func (s *diskGuard) reserveManifest() error {
	file, err := os.OpenFile(filepath.Join(s.dir, badger.ManifestFilename), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err == nil {
		err = preallocate(int(file.Fd()), stat.Size()+manifestReserve)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// close calls closeStore. When there is no room for what that writes, it leaves the
// store as a crash would, with the goroutine that closes it: the process is about
// to end, and the next one replays what was not written.
func (s *diskGuard) close(closeStore func() error) error {
	s.dropSpare()
	done := make(chan error, 1)
	go func() { done <- closeStore() }()
	tick := time.NewTicker(waitForSpace)
	defer tick.Stop()
	for waited := time.Duration(0); waited < closeWait; {
		select {
		case err := <-done:
			s.unwatchFiles()
			return err
		case <-tick.C:
		}
		if waited += waitForSpace; s.waiting.Load() == 0 {
			waited = 0
		}
	}
	return fmt.Errorf("close read model store: %w", ErrNoSpace)
}

// store is Badger with its disk watched: every write goes through here.
type store struct {
	*badger.DB
	guard *diskGuard
}

// Update is badger's, and fails with ErrNoSpace when the disk is full.
func (s store) Update(fn func(*badger.Txn) error) error {
	return s.guard.write(func() error { return s.DB.Update(fn) })
}

func (s store) commit(txn *badger.Txn) error { return s.guard.write(txn.Commit) }

// demandCopy refuses to begin a copy of the read models for which there is
// no room.
func (s store) demandCopy() error {
	tables, values := s.Size()
	return s.guard.requireFree(s.guard.dir, tables+values+2*s.guard.memtable+s.guard.values)
}

// reserveSpare lays in the next memtable file, if Badger has taken the last one.
// It leaves room for the memtable before it to be made a table.
func (s *diskGuard) reserveSpare() error {
	if s.spare != nil {
		if stat, err := s.spare.Stat(); err != nil || stat.Size() == 0 {
			return err
		}
		s.full = append(s.full, s.memtablePath(s.next-1))
		s.spare.Close()
		s.spare = nil
		s.next++
	}
	if err := s.requireFree(s.dir, 2*s.memtable+s.values); err != nil || s.cannotPreallocate {
		return err
	}
	return s.makeSpare()
}

func (s *diskGuard) memtablePath(number int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%05d.mem", number))
}

func (s *diskGuard) makeSpare() error {
	file, err := os.OpenFile(s.memtablePath(s.next), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	stat, err := file.Stat()
	if err == nil && stat.Size() > 0 {
		file.Close() // Badger made it
		s.next++
		return s.makeSpare()
	}
	if err == nil {
		err = preallocate(int(file.Fd()), s.memtable)
	}
	if err == nil {
		s.spare = file
		return nil
	}
	file.Close()
	os.Remove(file.Name())
	if s.cannotPreallocate = errors.Is(err, errors.ErrUnsupported); s.cannotPreallocate {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNoSpace, err)
}

// dropSpare gives the room of the spare back to the disk.
func (s *diskGuard) dropSpare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare == nil {
		return
	}
	if stat, err := s.spare.Stat(); err == nil && stat.Size() == 0 {
		os.Remove(s.spare.Name())
	}
	s.spare.Close()
	s.spare = nil
}

// memtableFile is a file of a memtable, or a spare.
type memtableFile struct {
	path   string
	number int
	size   int64
}

func memtables(dir string) (files []memtableFile) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.mem")) // a pattern that is well formed
	for _, path := range paths {
		number, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".mem"))
		if stat, statErr := os.Stat(path); cmp.Or(err, statErr) == nil {
			files = append(files, memtableFile{path, number, stat.Size()})
		}
	}
	return files
}
