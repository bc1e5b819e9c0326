package projections

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// watchedGuards are the spaces by the directory of their store.
var watchedGuards sync.Map

var watchOnce sync.Once

// mapper is what unix.Mmap calls. Badger offers no way to fill a file between
// making and mapping it, and leaves both to unix.Mmap: this is the one place
// where that can be done. TestFilesHaveTheirBlocksBeforeTheyAreMapped tells when
// an update of the module has moved it.
//
//go:linkname mapper golang.org/x/sys/unix.mapper
var mapper *unixMapper

// unixMapper is the beginning of the type of unix.mapper.
type unixMapper struct {
	sync.Mutex
	_    map[*byte][]byte // the mappings there are
	mmap func(addr, length uintptr, prot, flags, fd int, offset int64) (uintptr, error)
}

// watchMappings has s asked before a file of its store is mapped for writing.
func watchMappings(s *diskGuard) {
	watchedGuards.Store(s.real, s)
	watchOnce.Do(func() {
		mmap := mapper.mmap
		mapper.mmap = func(addr, length uintptr, prot, flags, fd int, offset int64) (uintptr, error) {
			if fd >= 0 && prot&unix.PROT_WRITE != 0 && flags&unix.MAP_SHARED != 0 {
				beforeMapping(fd, int64(length))
			}
			return mmap(addr, length, prot, flags, fd, offset)
		}
	})
}

func unwatchMappings(s *diskGuard) { watchedGuards.Delete(s.real) }

func beforeMapping(fd int, length int64) {
	path, err := pathOf(fd)
	if err != nil {
		return
	}
	if s, ok := watchedGuards.Load(filepath.Dir(path)); ok {
		s.(*diskGuard).allocate(fd, path, length)
	}
}

// allocatedBytes returns how many bytes of a file have a place on the disk.
func allocatedBytes(fd int) int64 {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0
	}
	return st.Blocks * 512
}

// allocateBlocks gives the first length bytes of a file blocks of their own. Where the file
// system cannot do so, a new file is written over with zeros.
func allocateBlocks(fd int, length int64, isNew bool) error {
	err := reserve(fd, length, false)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if !isNew {
		return nil
	}
	return writeZeros(fd, length)
}

// preallocate gives a file blocks up to length without making it longer.
func preallocate(fd int, length int64) error { return reserve(fd, length, true) }

// onlyZeros reports whether nothing was written to the file: each kind that
// Badger makes has something else in its first page.
func onlyZeros(fd int) bool {
	page := make([]byte, 4<<10)
	n, err := unix.Pread(fd, page, 0)
	return err == nil && !slices.ContainsFunc(page[:n], func(b byte) bool { return b != 0 })
}

// reserveChunk bounds what one system call reserves or writes: an interrupted one starts over.
const reserveChunk = 1 << 20

// writeZeros writes to a file that is all zeros already.
func writeZeros(fd int, length int64) error {
	zeros := make([]byte, reserveChunk)
	for at := int64(0); at < length; {
		n, err := unix.Pwrite(fd, zeros[:min(reserveChunk, length-at)], at)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		at += int64(max(n, 0))
	}
	return nil
}
