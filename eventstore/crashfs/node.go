package crashfs

import (
	"context"
	iofs "io/fs"
	"path"
	"path/filepath"
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
	return n.reveal(ctx, child, out)
}

// reveal tells the kernel about child, which has a name.
func (n *node) reveal(ctx context.Context, child *object, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var st syscall.Stat_t
	if err := syscall.Lstat(n.fs.real(child), &st); err != nil {
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
	if err := unix.Mkdir(n.under(name), mode&0o7777); err != nil {
		return nil, fs.ToErrno(err)
	}
	child := n.fs.add(iofs.ModeDir|iofs.FileMode(mode&0o777), nil)
	n.name(Op{Kind: Mkdir}, child, name)
	return n.reveal(ctx, child, out)
}

// Symlink implements fs.NodeSymlinker.
func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if err := unix.Symlink(target, n.under(name)); err != nil {
		return nil, fs.ToErrno(err)
	}
	child := n.fs.add(iofs.ModeSymlink|0o777, []byte(target))
	n.name(Op{Kind: Symlink, From: target}, child, name)
	return n.reveal(ctx, child, out)
}

// Readlink implements fs.NodeReadlinker.
func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) { return n.object.base, 0 }

// Link implements fs.NodeLinker.
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	child := target.(*node).object
	if child.gone() {
		return nil, syscall.ENOENT
	}
	if err := unix.Link(n.fs.real(child), n.under(name)); err != nil {
		return nil, fs.ToErrno(err)
	}
	n.name(Op{Kind: Link, From: child.path()}, child, name)
	return n.reveal(ctx, child, out)
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
	if err := call(n.under(name)); err != nil {
		return fs.ToErrno(err)
	}
	n.object.drop(name)
	n.fs.record(Op{
		Kind: kind, Path: path.Join(n.object.path(), name), object: n.object.id,
		edits: []edit{{n.object.id, name, 0}},
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
	if err := unix.Renameat2(unix.AT_FDCWD, n.under(name), unix.AT_FDCWD, to.under(newName), uint(flags)); err != nil {
		return fs.ToErrno(err)
	}
	child := n.object.children[name]
	if child == to.object.children[newName] {
		return 0 // two names of one file, or a name onto itself: POSIX keeps both
	}
	from := path.Join(n.object.path(), name)
	n.object.drop(name)
	child.put(to.object, newName)
	n.fs.record(Op{
		Kind: Rename, Path: path.Join(to.object.path(), newName), From: from, object: to.object.id,
		edits: []edit{{n.object.id, name, 0}, {to.object.id, newName, child.id}},
	})
	return 0
}

// under returns the backing path of a name in this directory.
func (n *node) under(name string) string { return filepath.Join(n.fs.real(n.object), name) }

// name gives child a name in this directory and records that as op.
func (n *node) name(op Op, child *object, name string) {
	child.put(n.object, name)
	op.Path = path.Join(n.object.path(), name)
	op.object = n.object.id
	op.edits = []edit{{n.object.id, name, child.id}}
	n.fs.record(op)
}
