package crashfs

import (
	"context"
	iofs "io/fs"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

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
	case n.object.gone():
		return syscall.ESTALE
	default:
		if err := syscall.Lstat(n.fs.real(n.object), &st); err != nil {
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
	if !n.object.gone() {
		if errno := n.setRest(in); errno != 0 {
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
	if n.object.gone() {
		return syscall.ESTALE
	}
	fd, err := unix.Open(n.fs.real(n.object), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer unix.Close(fd)
	h := &handle{fs: n.fs, object: n.object, fd: fd}
	return fs.ToErrno(h.truncate(size))
}

// setRest sets what of permissions, owners and times is asked for.
func (n *node) setRest(in *fuse.SetAttrIn) syscall.Errno {
	name := n.fs.real(n.object)
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
