// Package crashfs is a file system that lets a test cut the power at any moment.
//
// Mount puts a recording FUSE file system over a directory. Everything passes
// through to that directory, and every change (create, write, truncate, rename,
// unlink, fsync, …) also enters one ordered log in memory. Image then writes,
// for any position in that log, what a disk could hold had the power failed
// there: bytes and names that no fsync covered are lost, torn or reordered, by
// a seed. What the backing directory held at mount time counts as durable.
//
// # What is promised durable
//
// An fsync or fdatasync of a file covers its content and size, and nothing
// else. A name (create, mkdir, link, symlink, unlink, rmdir, rename) is covered
// by an fsync of the directory that holds it; a rename between directories
// counts as one change, covered by an fsync of its destination. A file whose
// name is not durable does not exist, however often it was synced. A write
// through a descriptor opened with O_SYNC or O_DSYNC is a write and an fsync.
// Permissions, owners and times pass through and are never lost.
//
// # What is refused
//
// Files are opened with direct I/O and nothing is written back later, so each
// write(2) is in the log before it returns. Whatever could change a file unseen
// is refused: a shared mmap (ENODEV), fallocate, copy_file_range (callers fall
// back to a copy), rename with RENAME_EXCHANGE, device nodes, sockets, O_TMPFILE.
// sync(2) and syncfs(2) do not reach a FUSE server: they protect nothing here.
//
// # Who may touch the mount
//
// The process that called Mount answers for the mount. A system call on it from
// the same process waits for a goroutine of that process: ordinary os calls from
// ordinary goroutines are safe, since the runtime hands their processor over. An
// exec whose binary, directory or open files are on the mount is not, because
// fork holds locks that the server may need; neither is a raw system call that
// blocks. Write from a child process; read the backing directory instead of the
// mount.
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
	base     []nameChange
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

// Kind names what an operation did.
type Kind uint8

// The kinds of operation. The first seven change names, the next two content,
// and the last two make what came before them durable.
const (
	Create Kind = iota
	Mkdir
	Symlink
	Link
	Unlink
	Rmdir
	Rename
	Write
	Truncate
	Sync
	SyncDir
)

var kindNames = [...]string{
	"create", "mkdir", "symlink", "link", "unlink", "rmdir", "rename", "write", "truncate", "sync", "syncdir",
}

// String returns the kind in lower case.
func (k Kind) String() string { return kindNames[k] }

// Op is one recorded change. Paths are relative to the mount and are those of
// the moment; an unlinked file that is still written keeps its last one.
type Op struct {
	Kind Kind
	Path string
	From string // the old path of a Rename, the target of a Link or Symlink
	Off  int64  // where a Write begins
	Len  int64  // the bytes of a Write, the new size of a Truncate

	data   []byte       // what a Write wrote
	edits  []nameChange // what a change of names did, all or nothing
	object uint64       // the file or directory concerned; for names, the directory whose sync covers them
}

// nameChange sets one name of a directory to an object, or removes it (object 0).
type nameChange struct {
	dir    uint64
	name   string
	object uint64
}

// Content returns what a Write wrote. It must not be changed.
func (op Op) Content() []byte { return op.data }

// String returns the operation on one line.
func (op Op) String() string {
	switch op.Kind {
	case Write:
		return fmt.Sprintf("write %s [%d +%d)", op.Path, op.Off, op.Len)
	case Truncate:
		return fmt.Sprintf("truncate %s %d", op.Path, op.Len)
	case Rename, Link, Symlink:
		return fmt.Sprintf("%s %s <- %s", op.Kind, op.Path, op.From)
	default:
		return op.Kind.String() + " " + op.Path
	}
}

// record appends op to the log. The caller holds f.mu and has made the change.
func (f *FS) record(op Op) {
	at := len(f.log)
	f.log = append(f.log, op)
	switch op.Kind {
	case Write, Truncate, Sync, SyncDir:
		o := f.objects[op.object-1]
		o.ops = append(o.ops, at)
	default:
		f.names = append(f.names, at)
	}
	switch op.Kind {
	case SyncDir:
		f.dirSyncs = append(f.dirSyncs, at)
		f.syncs = append(f.syncs, at)
	case Sync:
		f.syncs = append(f.syncs, at)
	}
}
