package crashfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// ErrNoFUSE is returned by Mount when this machine or user cannot mount FUSE.
var ErrNoFUSE = errors.New("fuse is not available")

// maxWrite bounds one write request; a longer write(2) is several operations.
const maxWrite = 1 << 20

// FS is a mounted recording file system. Its methods may be called from any
// goroutine, also after Close.
type FS struct {
	backing    string
	mountpoint string
	served     chan struct{} // closed when the last request was answered
	closing    sync.Once
	closeErr   error

	mu       sync.Mutex // held over each change: the log order is the disk's order
	log      []Op
	names    []int     // the operations of the log that change a directory
	syncs    []int     // those that sync a file or a directory
	dirSyncs []int     // those that sync a directory
	objects  []*object // by number, from 1
	base     []edit
	handles  map[*handle]struct{} // the open files

	images sync.Mutex // guards the content cache of every object
}

// Mount records what happens below mountpoint, an existing empty directory, and
// passes it on to backing. The content of backing is read into memory first. It
// needs /dev/fuse and the right to mount, and returns ErrNoFUSE without them.
func Mount(backing, mountpoint string) (*FS, error) {
	backing, err := filepath.Abs(backing)
	if err != nil {
		return nil, fmt.Errorf("crashfs: %w", err)
	}
	if mountpoint, err = filepath.Abs(mountpoint); err != nil {
		return nil, fmt.Errorf("crashfs: %w", err)
	}
	f := &FS{backing: backing, mountpoint: mountpoint, served: make(chan struct{}), handles: map[*handle]struct{}{}}
	if err := f.readBase(); err != nil {
		return nil, fmt.Errorf("crashfs: read base: %w", err)
	}
	fd, err := attach(mountpoint)
	if err != nil {
		return nil, fmt.Errorf("crashfs: mount %s: %w", mountpoint, err)
	}
	if err := f.serve(fd); err != nil {
		return nil, fmt.Errorf("crashfs: serve %s: %w", mountpoint, errors.Join(err, detach(mountpoint)))
	}
	return f, nil
}

// attach mounts a fuse connection and returns its end. The descriptor is closed
// on exec: a child that kept it would keep the connection alive after Close.
// (go-fuse's own direct mount leaves it open.)
func attach(mountpoint string) (int, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%w: open /dev/fuse: %w", ErrNoFUSE, err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d,allow_other",
		fd, syscall.S_IFDIR, os.Geteuid(), os.Getegid(), maxWrite)
	err = unix.Mount("crashfs", mountpoint, "fuse.crashfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	if err == nil {
		return fd, nil
	}
	unix.Close(fd)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENODEV) {
		return -1, fmt.Errorf("%w: mount needs root and the fuse module: %w", ErrNoFUSE, err)
	}
	return -1, err
}

// serve starts to answer requests, and owns fd.
func (f *FS) serve(fd int) error {
	second := time.Second // nobody else changes the backing directory, so caching names is safe
	raw := fs.NewNodeFS(&node{fs: f, object: f.objects[0]}, &fs.Options{
		EntryTimeout: &second,
		AttrTimeout:  &second,
	})
	server, err := fuse.NewServer(raw, fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{
		Name: "crashfs", MaxWrite: maxWrite, DisableXAttrs: true, DisableSplice: true,
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(f.served)
		server.Serve()
	}()
	return refusePoll(f.mountpoint)
}

// refusePoll makes the kernel learn that files here cannot be polled, with the
// file name go-fuse keeps for this. Without it the first os.Open by this very
// process would ask that question from inside the runtime's poller and hang.
func refusePoll(mountpoint string) error {
	fd, err := unix.Open(filepath.Join(mountpoint, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}, 0)
	return unix.Close(fd)
}

// Close unmounts and waits until the last request is answered. It works while
// processes still have files open below the mount: their next call fails. The
// log stays, so that images can still be made.
func (f *FS) Close() error {
	f.closing.Do(func() {
		f.closeErr = detach(f.mountpoint)
		if f.closeErr == nil {
			<-f.served
			f.releaseAll()
		}
	})
	return f.closeErr
}

// detach unmounts, if need be by breaking the connection under its users.
func detach(mountpoint string) error {
	err := unix.Unmount(mountpoint, 0)
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(mountpoint, unix.MNT_FORCE|unix.MNT_DETACH)
	}
	if err != nil {
		return fmt.Errorf("crashfs: unmount %s: %w", mountpoint, err)
	}
	return nil
}

// Mark returns the length of the log. A driver that has just received an
// acknowledgement calls it: all the acknowledgement promised must be in the
// image of a cut at that mark and at every later one.
func (f *FS) Mark() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.log)
}

// Ops returns the operations from index from up to, and without, index to.
func (f *FS) Ops(from, to int) []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Op(nil), f.log[from:to]...)
}
