package jetstream

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// blockFiles fsyncs the newest block files of a stream. Blocks are numbered
// upwards; a block that was left behind by a newer one changes no more.
type blockFiles struct {
	dir    string
	newest uint64 // number of the block in file; 0 before there is one
	file   *os.File
}

func (b *blockFiles) path(n uint64) string {
	return filepath.Join(b.dir, strconv.FormatUint(n, 10)+".blk")
}

// sync makes every byte written so far durable: the block known last, and all
// that appeared since, with the directory that names them.
func (b *blockFiles) sync() error {
	if err := b.refresh(); err != nil {
		return err
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
	return unix.Fdatasync(int(b.file.Fd()))
}

// refresh notices a block that was replaced or removed by compaction or purge.
func (b *blockFiles) refresh() error {
	if b.file == nil {
		return b.scan()
	}
	held, err := b.file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(b.path(b.newest))
	if err == nil && os.SameFile(held, named) {
		return nil
	}
	b.close()
	return b.scan()
}

// scan opens the newest block and fsyncs the directory.
func (b *blockFiles) scan() error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	newest := uint64(0)
	for _, e := range entries {
		n, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), ".blk"), 10, 64)
		if err == nil && strings.HasSuffix(e.Name(), ".blk") {
			newest = max(newest, n)
		}
	}
	f, err := os.Open(b.path(newest))
	if errors.Is(err, fs.ErrNotExist) {
		b.newest = 0
		return nil
	}
	if err != nil {
		return err
	}
	b.file, b.newest = f, newest
	return syncDir(b.dir)
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
