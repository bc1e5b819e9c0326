package crashfs

import (
	"bytes"
	"context"
	iofs "io/fs"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// handle is an open file: a descriptor of the backing file.
type handle struct {
	fs     *FS
	object *object
	fd     int
	synced bool // opened with O_SYNC or O_DSYNC
}

var _ = interface {
	fs.FileReader
	fs.FileWriter
	fs.FileReleaser
}((*handle)(nil))

// Open implements fs.NodeOpener.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if n.object.gone() {
		return nil, 0, syscall.ESTALE
	}
	return n.fs.open(n.object, flags)
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	child := n.object.children[name]
	if child == nil {
		fd, err := unix.Open(n.under(name), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, mode&0o7777)
		if err != nil {
			return nil, nil, 0, fs.ToErrno(err)
		}
		unix.Close(fd)
		child = n.fs.add(iofs.FileMode(mode&0o777), nil)
		n.name(Op{Kind: Create}, child, name)
		flags &^= unix.O_TRUNC // it is empty
	} else if flags&unix.O_EXCL != 0 {
		return nil, nil, 0, syscall.EEXIST
	}
	h, how, errno := n.fs.open(child, flags)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	inode, errno := n.reveal(ctx, child, out)
	return inode, h, how, errno
}

// open opens the backing file of o for reading and writing: the kernel already
// holds the caller to the mode it asked for, and works out O_APPEND.
func (f *FS) open(o *object, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fd, err := unix.Open(f.real(o), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	h := &handle{fs: f, object: o, fd: fd, synced: flags&(unix.O_SYNC|unix.O_DSYNC) != 0}
	if flags&unix.O_TRUNC != 0 {
		if err := h.truncate(0); err != nil {
			unix.Close(fd)
			return nil, 0, fs.ToErrno(err)
		}
	}
	f.handles[h] = struct{}{}
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// Read implements fs.FileReader.
func (h *handle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := unix.Pread(h.fd, dest, off)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// Write implements fs.FileWriter. What a short write did write is recorded.
func (h *handle) Write(_ context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n, err := unix.Pwrite(h.fd, data, off)
	if err != nil {
		return 0, fs.ToErrno(err)
	}
	op := Op{Kind: Write, Path: h.object.path(), object: h.object.id}
	op.Off, op.Len, op.data = off, int64(n), bytes.Clone(data[:n])
	h.fs.record(op)
	if h.synced { // O_SYNC is about writes: a truncation stays unsynced
		h.fs.record(Op{Kind: Sync, Path: h.object.path(), object: h.object.id})
	}
	return uint32(n), 0
}

// truncate sets the size of the file. The caller holds fs.mu.
func (h *handle) truncate(size int64) error {
	if err := unix.Ftruncate(h.fd, size); err != nil {
		return err
	}
	h.fs.record(Op{Kind: Truncate, Path: h.object.path(), Len: size, object: h.object.id})
	return nil
}

// Release implements fs.FileReleaser.
func (h *handle) Release(context.Context) syscall.Errno {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	delete(h.fs.handles, h)
	return fs.ToErrno(unix.Close(h.fd))
}

// releaseAll closes what a broken connection left open.
func (f *FS) releaseAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h := range f.handles {
		unix.Close(h.fd)
	}
	clear(f.handles)
}

// Fsync implements fs.NodeFsyncer for files and directories. It only records:
// the backing directory need not survive a real loss of power.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	kind := Sync
	if n.object.mode.IsDir() {
		kind = SyncDir
	}
	n.fs.record(Op{Kind: kind, Path: n.object.path(), object: n.object.id})
	return 0
}
