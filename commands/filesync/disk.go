package filesync

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// What changes the disk goes through these, each a step that a crash may come
// before.

func (d *Directory) about(change string) {
	if d.before != nil {
		d.before(change)
	}
}

func (d *Directory) rename(from, to string) error {
	d.about("rename " + from + " " + to)
	return d.root.Rename(from, to)
}

func (d *Directory) remove(name string) error {
	d.about("remove " + name)
	return d.root.RemoveAll(name)
}

func (d *Directory) mkdir(name string, mode fs.FileMode) error {
	d.about("mkdir " + name)
	if err := d.root.MkdirAll(name, 0o755); err != nil { //nolint:gosec // others read the directory too
		return err
	}
	return d.root.Chmod(name, mode)
}

// write writes a file that is on the disk when it returns.
func (d *Directory) write(name string, text io.Reader, mode fs.FileMode) error {
	d.about("write " + name)
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil { //nolint:gosec // others read the directory too
		return err
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, text)
	return errors.Join(err, f.Sync(), f.Close())
}

// link gives a file a second name. Where that cannot be, it is copied.
func (d *Directory) link(from, to string, kind fs.FileMode) error {
	d.about("link " + to)
	if err := d.root.MkdirAll(path.Dir(to), 0o755); err != nil { //nolint:gosec // others read the directory too
		return err
	}
	err := d.root.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.copy(from, to, kind, err)
}

// copy copies a file or a link that could not be linked, because of cause.
func (d *Directory) copy(from, to string, kind fs.FileMode, cause error) error {
	switch {
	case kind.Type() == fs.ModeSymlink:
		target, err := d.root.Readlink(from)
		if err != nil {
			return err
		}
		return d.root.Symlink(target, to)
	case !kind.IsRegular():
		return cause
	}
	f, err := d.root.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return d.write(to, f, kind.Perm())
}

// sync brings what a directory names to the disk.
func (d *Directory) sync(name string) error {
	d.about("sync " + name)
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncAll does so for a directory and those below.
func (d *Directory) syncAll(name string) error {
	return fs.WalkDir(d.root.FS(), name, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return d.sync(p)
	})
}
