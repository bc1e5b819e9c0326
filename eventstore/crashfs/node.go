package crashfs

import (
	"bytes"
	"context"
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is an object as the kernel knows it. The kernel may forget a node and
// ask for it anew; the object stays.
type node struct {
	fs.Inode
	fs     *FS
	object *object
}

// Everything that a node answers. What is missing here the kernel is refused.
var _ = interface {
	fs.NodeLookuper
	fs.NodeReaddirer
	fs.NodeGetattrer
	fs.NodeSetattrer
	fs.NodeStatfser
	fs.NodeOpener
	fs.NodeCreater
	fs.NodeMkdirer
	fs.NodeSymlinker
	fs.NodeReadlinker
	fs.NodeLinker
	fs.NodeUnlinker
	fs.NodeRmdirer
	fs.NodeRenamer
	fs.NodeFsyncer
}((*node)(nil))

// Lookup implements fs.NodeLookuper.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	child := n.object.children[name]
	if child == nil {
		return nil, syscall.ENOENT
	}
	return n.newInode(ctx, child, out)
}

// newInode tells the kernel about child, which has a name.
func (n *node) newInode(ctx context.Context, child *object, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var st syscall.Stat_t
	if err := syscall.Lstat(n.fs.backingPath(child), &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	out.Attr.FromStat(&st)
	out.Attr.Ino = child.id
	attr := fs.StableAttr{Mode: st.Mode & syscall.S_IFMT, Ino: child.id}
	return n.NewInode(ctx, &node{fs: n.fs, object: child}, attr), 0
}

// Readdir implements fs.NodeReaddirer.
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	entries := make([]fuse.DirEntry, 0, len(n.object.children))
	for name, child := range n.object.children {
		entries = append(entries, fuse.DirEntry{Name: name, Ino: child.id, Mode: typeBits(child.mode)})
	}
	return fs.NewListDirStream(entries), 0
}

func typeBits(mode iofs.FileMode) uint32 {
	switch {
	case mode.IsDir():
		return syscall.S_IFDIR
	case mode&iofs.ModeSymlink != 0:
		return syscall.S_IFLNK
	default:
		return syscall.S_IFREG
	}
}

// Mkdir implements fs.NodeMkdirer.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if err := unix.Mkdir(n.childPath(name), mode&0o7777); err != nil {
		return nil, fs.ToErrno(err)
	}
	child := n.fs.addObject(iofs.ModeDir|iofs.FileMode(mode&0o777), nil)
	n.recordName(Op{Kind: Mkdir}, child, name)
	return n.newInode(ctx, child, out)
}

// Symlink implements fs.NodeSymlinker.
func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if err := unix.Symlink(target, n.childPath(name)); err != nil {
		return nil, fs.ToErrno(err)
	}
	child := n.fs.addObject(iofs.ModeSymlink|0o777, []byte(target))
	n.recordName(Op{Kind: Symlink, From: target}, child, name)
	return n.newInode(ctx, child, out)
}

// Readlink implements fs.NodeReadlinker.
func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) { return n.object.base, 0 }

// Link implements fs.NodeLinker.
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	child := target.(*node).object
	if child.isUnlinked() {
		return nil, syscall.ENOENT
	}
	if err := unix.Link(n.fs.backingPath(child), n.childPath(name)); err != nil {
		return nil, fs.ToErrno(err)
	}
	n.recordName(Op{Kind: Link, From: child.path()}, child, name)
	return n.newInode(ctx, child, out)
}

// Unlink implements fs.NodeUnlinker.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return n.remove(Unlink, name, unix.Unlink)
}

// Rmdir implements fs.NodeRmdirer.
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.remove(Rmdir, name, unix.Rmdir)
}

func (n *node) remove(kind Kind, name string, call func(string) error) syscall.Errno {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if err := call(n.childPath(name)); err != nil {
		return fs.ToErrno(err)
	}
	n.object.removeName(name)
	n.fs.record(Op{
		Kind: kind, Path: path.Join(n.object.path(), name), object: n.object.id,
		edits: []nameChange{{n.object.id, name, 0}},
	})
	return 0
}

// Rename implements fs.NodeRenamer. Of the flags it knows RENAME_NOREPLACE.
func (n *node) Rename(_ context.Context, name string, newParent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if flags&^unix.RENAME_NOREPLACE != 0 {
		return syscall.EINVAL
	}
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	to := newParent.(*node)
	if err := unix.Renameat2(unix.AT_FDCWD, n.childPath(name), unix.AT_FDCWD, to.childPath(newName), uint(flags)); err != nil {
		return fs.ToErrno(err)
	}
	child := n.object.children[name]
	if child == to.object.children[newName] {
		return 0 // two names of one file, or a name onto itself: POSIX keeps both
	}
	from := path.Join(n.object.path(), name)
	n.object.removeName(name)
	child.addName(to.object, newName)
	n.fs.record(Op{
		Kind: Rename, Path: path.Join(to.object.path(), newName), From: from, object: to.object.id,
		edits: []nameChange{{n.object.id, name, 0}, {to.object.id, newName, child.id}},
	})
	return 0
}

// childPath returns the backing path of a name in this directory.
func (n *node) childPath(name string) string { return filepath.Join(n.fs.backingPath(n.object), name) }

// recordName gives child a name in this directory and records that as op.
func (n *node) recordName(op Op, child *object, name string) {
	child.addName(n.object, name)
	op.Path = path.Join(n.object.path(), name)
	op.object = n.object.id
	op.edits = []nameChange{{n.object.id, name, child.id}}
	n.fs.record(op)
}

// Getattr implements fs.NodeGetattrer.
func (n *node) Getattr(_ context.Context, fh fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	return n.stat(fh, out)
}

// stat fills in out by the open file if there is one: it may have no name.
func (n *node) stat(fh fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	h, open := fh.(*handle)
	switch {
	case open:
		if err := syscall.Fstat(h.fd, &st); err != nil {
			return fs.ToErrno(err)
		}
	case n.object.isUnlinked():
		return syscall.ESTALE
	default:
		if err := syscall.Lstat(n.fs.backingPath(n.object), &st); err != nil {
			return fs.ToErrno(err)
		}
	}
	out.FromStat(&st)
	out.Ino = n.object.id
	return 0
}

// Setattr implements fs.NodeSetattrer. A new size is recorded; permissions,
// owners and times only pass through.
func (n *node) Setattr(_ context.Context, fh fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		if errno := n.resize(fh, int64(size)); errno != 0 {
			return errno
		}
	}
	if !n.object.isUnlinked() {
		if errno := n.setAttributes(in); errno != 0 {
			return errno
		}
	}
	return n.stat(fh, out)
}

// resize truncates through the open file, or through one opened for this.
func (n *node) resize(fh fs.FileHandle, size int64) syscall.Errno {
	if h, ok := fh.(*handle); ok {
		return fs.ToErrno(h.truncate(size))
	}
	if n.object.isUnlinked() {
		return syscall.ESTALE
	}
	fd, err := unix.Open(n.fs.backingPath(n.object), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer unix.Close(fd)
	h := &handle{fs: n.fs, object: n.object, fd: fd}
	return fs.ToErrno(h.truncate(size))
}

// setAttributes sets what of permissions, owners and times is asked for.
func (n *node) setAttributes(in *fuse.SetAttrIn) syscall.Errno {
	name := n.fs.backingPath(n.object)
	if mode, ok := in.GetMode(); ok {
		if err := unix.Chmod(name, mode&0o7777); err != nil {
			return fs.ToErrno(err)
		}
		n.object.mode = n.object.mode.Type() | iofs.FileMode(mode&0o777)
	}
	uid, gid := -1, -1
	if id, ok := in.GetUID(); ok {
		uid = int(id)
	}
	if id, ok := in.GetGID(); ok {
		gid = int(id)
	}
	if uid >= 0 || gid >= 0 {
		if err := unix.Lchown(name, uid, gid); err != nil {
			return fs.ToErrno(err)
		}
	}
	return n.setTimes(name, in)
}

func (n *node) setTimes(name string, in *fuse.SetAttrIn) syscall.Errno {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
	var err error
	if t, ok := in.GetATime(); ok {
		times[0], err = unix.TimeToTimespec(t)
	}
	if t, ok := in.GetMTime(); ok && err == nil {
		times[1], err = unix.TimeToTimespec(t)
	}
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, name, times, unix.AT_SYMLINK_NOFOLLOW)
	}
	return fs.ToErrno(err)
}

// Statfs implements fs.NodeStatfser.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st syscall.Statfs_t
	if err := syscall.Statfs(n.fs.backing, &st); err != nil {
		return fs.ToErrno(err)
	}
	out.FromStatfsT(&st)
	return 0
}

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
	if n.object.isUnlinked() {
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
		fd, err := unix.Open(n.childPath(name), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, mode&0o7777)
		if err != nil {
			return nil, nil, 0, fs.ToErrno(err)
		}
		unix.Close(fd)
		child = n.fs.addObject(iofs.FileMode(mode&0o777), nil)
		n.recordName(Op{Kind: Create}, child, name)
		flags &^= unix.O_TRUNC // it is empty
	} else if flags&unix.O_EXCL != 0 {
		return nil, nil, 0, syscall.EEXIST
	}
	h, how, errno := n.fs.open(child, flags)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	inode, errno := n.newInode(ctx, child, out)
	return inode, h, how, errno
}

// open opens the backing file of o for reading and writing: the kernel already
// holds the caller to the mode it asked for, and works out O_APPEND.
func (f *FS) open(o *object, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fd, err := unix.Open(f.backingPath(o), unix.O_RDWR|unix.O_CLOEXEC, 0)
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

// rootID is the object number of the mounted directory.
const rootID = 1

// object is a file, a directory or a symbolic link, apart from its names.
// Its number is never used again.
type object struct {
	id       uint64
	mode     iofs.FileMode
	names    []dirEntry         // where it is now; none once unlinked
	last     string             // its path when it lost its last name
	children map[string]*object // of a directory
	base     []byte             // content at mount time, or the target of a symbolic link
	ops      []int              // the operations of the log on its content, or its syncs

	cache content // guarded by FS.images
}

// dirEntry is one name of an object.
type dirEntry struct {
	dir  *object
	name string
}

// addObject makes an object that has no name yet.
func (f *FS) addObject(mode iofs.FileMode, base []byte) *object {
	o := &object{id: uint64(len(f.objects) + 1), mode: mode, base: base}
	if mode.IsDir() {
		o.children = map[string]*object{}
	}
	f.objects = append(f.objects, o)
	return o
}

// addName gives o a name, taking it from whoever had it.
func (o *object) addName(dir *object, name string) {
	dir.removeName(name)
	dir.children[name] = o
	o.names = append(o.names, dirEntry{dir, name})
}

// removeName removes a name of a directory, if it exists.
func (o *object) removeName(name string) {
	child := o.children[name]
	if child == nil {
		return
	}
	child.last = child.path()
	delete(o.children, name)
	child.names = slices.DeleteFunc(child.names, func(p dirEntry) bool { return p.dir == o && p.name == name })
}

// path returns where o is, relative to the mount. The root is ".".
func (o *object) path() string {
	switch {
	case o.id == rootID:
		return "."
	case len(o.names) == 0:
		return o.last
	default:
		return path.Join(o.names[0].dir.path(), o.names[0].name)
	}
}

// isUnlinked reports whether o has no name left.
func (o *object) isUnlinked() bool { return o.id != rootID && len(o.names) == 0 }

// backingPath returns the path of o in the backing directory.
func (f *FS) backingPath(o *object) string { return filepath.Join(f.backing, o.path()) }

// readBase takes in what the backing directory holds.
func (f *FS) readBase() error {
	info, err := os.Stat(f.backing)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &iofs.PathError{Op: "mount", Path: f.backing, Err: syscall.ENOTDIR}
	}
	linked := map[uint64]*object{}
	return f.readDir(f.addObject(info.Mode(), nil), linked)
}

// readDir takes in the directory o and all below it. Linked holds the files
// with several names that were met already, by inode.
func (f *FS) readDir(o *object, linked map[uint64]*object) error {
	entries, err := os.ReadDir(f.backingPath(o))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		child, err := f.readEntry(filepath.Join(f.backingPath(o), entry.Name()), linked)
		if err != nil {
			return err
		}
		child.addName(o, entry.Name())
		f.base = append(f.base, nameChange{o.id, entry.Name(), child.id})
		if child.mode.IsDir() {
			if err := f.readDir(child, linked); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEntry takes in one file, link or directory, without what is below it.
func (f *FS) readEntry(name string, linked map[uint64]*object) (*object, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if o := linked[stat.Ino]; o != nil {
		return o, nil
	}
	var content []byte
	switch {
	case info.Mode().IsRegular():
		content, err = os.ReadFile(name)
	case info.Mode()&iofs.ModeSymlink != 0:
		var target string
		target, err = os.Readlink(name)
		content = []byte(target)
	case !info.IsDir():
		err = &iofs.PathError{Op: "mount", Path: name, Err: syscall.ENOTSUP}
	}
	o := f.addObject(info.Mode(), content)
	if !info.IsDir() && stat.Nlink > 1 {
		linked[stat.Ino] = o
	}
	return o, err
}
