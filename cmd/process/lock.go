package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"svc/commands"
)

// DirLock keeps a second process out of a data directory. The kernel releases it
// with the process, however that ends.
type DirLock struct{ file *os.File }

// ErrDirInUse says that another process has the data directory.
var ErrDirInUse = errors.New("the data directory is in use")

// lockPatience is how long a lock is waited for. A process that has ended, or let go, may have a child that was forked
// just now: it holds the lock, too, until it runs another program.
const lockPatience = 2 * time.Second

// LockDir locks a data directory for this process. It creates the directory if needed.
func LockDir(ctx context.Context, dir string) (*DirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w; choose another with DATA_DIR", err)
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return nil, fmt.Errorf("the data directory %s is not writable for this user: change its owner, or choose another with DATA_DIR", dir)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	if err := commands.LockFile(ctx, f); err != nil {
		holder := readPID(f)
		_ = f.Close()
		return nil, fmt.Errorf("%w: %s is held by %s: stop it first, or choose another with DATA_DIR", ErrDirInUse, dir, holder)
	}
	return &DirLock{f}, errors.Join(f.Truncate(0), writePID(f))
}

func writePID(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(f *os.File) string {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return "process " + pid
	}
	return "another process"
}

// Release unlocks the directory.
func (l *DirLock) Release() error { return l.file.Close() }
