package jetstream

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// blockFiles fsyncs the block files of a stream. Blocks are numbered upwards,
// and messages go to the newest.
//
// In a dense stream blocks are only ever added, one number after another, so
// that the next one is found by its name. Elsewhere purges leave holes in the
// numbers and compaction replaces older blocks: there the directory is listed
// whenever it changed, and every block that is new or another file is synced.
type blockFiles struct {
	dir   string
	dense bool

	newest uint64 // number of the block in file; 0 before there is one
	file   *os.File

	known  map[uint64]blockID // synced blocks, of a stream that is not dense
	listed time.Time          // when the directory was last listed
	stamp  time.Time          // its time of change then
}

// blockID tells whether a block is still the same file of the same length.
type blockID struct {
	inode uint64
	size  int64
}

func (b *blockFiles) path(n uint64) string {
	return filepath.Join(b.dir, strconv.FormatUint(n, 10)+".blk")
}

// sync makes every byte written so far durable.
func (b *blockFiles) sync() error {
	if b.file == nil || !b.dense && b.changed() {
		return b.scan()
	}
	grew := false
	for {
		next, err := os.Open(b.path(b.newest + 1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Where a next block exists this one is complete: what was written to
		// it up to the rotation is synced here or never.
		if err := b.syncNewest(); err != nil {
			return err
		}
		if next == nil {
			break
		}
		b.close()
		b.file, b.newest, grew = next, b.newest+1, true
	}
	if grew {
		return syncDir(b.dir)
	}
	return nil
}

func (b *blockFiles) syncNewest() error {
	if b.file == nil {
		return nil
	}
	return fdatasync(b.file)
}

// fdatasync makes the content and size of f durable.
func fdatasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}

// racy is how close to a change a listing may have missed another one: file
// systems stamp changes with a coarse clock.
const racy = 50 * time.Millisecond

// changed reports whether names in the directory may have changed since it was
// listed.
func (b *blockFiles) changed() bool {
	info, err := os.Stat(b.dir)
	return err != nil || !info.ModTime().Equal(b.stamp) || b.listed.Sub(b.stamp) < racy
}

// scan lists the directory, syncs every block that it does not know as it is,
// and holds the newest one open.
func (b *blockFiles) scan() error {
	info, err := os.Stat(b.dir)
	if err != nil {
		return err
	}
	b.stamp, b.listed = info.ModTime(), time.Now()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	known, newest := make(map[uint64]blockID, len(entries)), uint64(0)
	for _, e := range entries {
		n, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), ".blk"), 10, 64)
		if err != nil || !strings.HasSuffix(e.Name(), ".blk") {
			continue
		}
		id, err := b.syncUnknown(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // purged meanwhile
		}
		if err != nil {
			return err
		}
		known[n], newest = id, max(newest, n)
	}
	b.known = known
	if err := b.hold(newest); err != nil {
		return err
	}
	return syncDir(b.dir)
}

// syncUnknown syncs block n, unless it is known as it is.
func (b *blockFiles) syncUnknown(n uint64) (blockID, error) {
	f, err := os.Open(b.path(n))
	if err != nil {
		return blockID{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return blockID{}, err
	}
	id := blockID{inode: st.Ino, size: st.Size}
	if have, ok := b.known[n]; ok && have == id && n != b.newest {
		return id, nil
	}
	return id, fdatasync(f)
}

// hold keeps block n open as the newest.
func (b *blockFiles) hold(n uint64) error {
	b.close()
	b.newest = n
	if n == 0 {
		return nil
	}
	f, err := os.Open(b.path(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // purged meanwhile: the next sync lists again
	}
	b.file = f
	return err
}

func (b *blockFiles) close() {
	if b.file != nil {
		_ = b.file.Close() // opened for reading: nothing can be lost
		b.file = nil
	}
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error { return syncPath(dir) }

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// syncTree fsyncs every file and directory below root, and the names on the
// way to it from top.
func syncTree(root, top string) error {
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = syncPath(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile: the broker's temporary file
		}
		return err
	})
	for dir := root; err == nil && dir != top && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		err = syncDir(dir)
	}
	return err
}
