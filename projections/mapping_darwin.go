package projections

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// pathOf returns the path of an open file in a watched directory. macOS tells it by fcntl only, for which there is no
// function in Go: the file is looked up by its number.
func pathOf(fd int) (path string, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	watchedGuards.Range(func(dir, _ any) bool {
		entries, _ := os.ReadDir(dir.(string))
		for _, e := range entries {
			var one unix.Stat_t
			at := filepath.Join(dir.(string), e.Name())
			if unix.Stat(at, &one) == nil && one.Dev == st.Dev && one.Ino == st.Ino {
				path = at
				return false
			}
		}
		return true
	})
	if path == "" {
		return "", fs.ErrNotExist
	}
	return path, nil
}

// diskSpace returns how many bytes of the disk are free to us, out of how many.
func diskSpace(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}

// reserve is not supported: macOS fills no holes of a file. A new file is written over with zeros instead.
func reserve(int, int64, bool) error { return errors.ErrUnsupported }
