package jetstream

import (
	"os"

	"golang.org/x/sys/unix"
)

// fdatasync makes the content and size of f durable. Sync asks the disk to empty its own cache, which fsync of macOS
// does not.
func fdatasync(f *os.File) error { return f.Sync() }

// dropCache does nothing: macOS has no call that drops the page cache of a file.
func dropCache(*os.File) {}

// diskSpace returns how many bytes of the disk are free to us, out of how many.
func diskSpace(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}
