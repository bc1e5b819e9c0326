package projections

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pathOf returns the path of an open file.
func pathOf(fd int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }

// diskSpace returns how many bytes of the disk are free to us, out of how many.
func diskSpace(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, int64(st.Blocks) * st.Bsize, nil
}

// reserve gives the first length bytes of a file blocks of their own. The file becomes that long, unless keepSize.
func reserve(fd int, length int64, keepSize bool) error {
	var mode uint32
	if keepSize {
		mode = unix.FALLOC_FL_KEEP_SIZE
	}
	for at := int64(0); at < length; {
		switch err := unix.Fallocate(fd, mode, at, min(reserveChunk, length-at)); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		default:
			at += reserveChunk
		}
	}
	return nil
}
