package filesync

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// All changes of the disk use these methods; tests simulate a crash before each of them.

func (d *Directory) step(change string) {
	if d.before != nil {
		d.before(change)
	}
}

func (d *Directory) rename(from, to string) error {
	d.step("rename " + from + " " + to)
	return d.root.Rename(from, to)
}

func (d *Directory) remove(name string) error {
	d.step("remove " + name)
	return d.root.RemoveAll(name)
}

func (d *Directory) mkdir(name string, mode fs.FileMode) error {
	d.step("mkdir " + name)
	if err := d.root.MkdirAll(name, 0o755); err != nil { //nolint:gosec // others read the directory too
		return err
	}
	return d.root.Chmod(name, mode)
}

// write writes a file and syncs it.
func (d *Directory) write(name string, text io.Reader, mode fs.FileMode) error {
	d.step("write " + name)
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

// link creates a hard link, or copies the file where that is not possible.
func (d *Directory) link(from, to string, kind fs.FileMode) error {
	d.step("link " + to)
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

// sync syncs a directory.
func (d *Directory) sync(name string) error {
	d.step("sync " + name)
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
