package filesync

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"svc/commands"
)

// Temporary directories of operations. Each name ends in the operation and the slug:
// .svc-old-op_1.billing.
const (
	tmpPrefix = ".svc-tmp-" // what is being written, or thrown away
	oldPrefix = ".svc-old-" // what was there, complete, until the next is in its place
	lockName  = ".svc-lock" // held by whoever renames
)

// leftover is a temporary directory of an operation.
type leftover struct {
	name, slug string
	old        bool
}

// leftovers lists the temporary directories of a slug; of all for "".
func (d *Directory) leftovers(slug string) (list []leftover, err error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	for _, e := range entries {
		name := e.Name()
		one := leftover{name: name, slug: strings.TrimPrefix(path.Ext(name), "."), old: strings.HasPrefix(name, oldPrefix)}
		if e.IsDir() && (one.old || strings.HasPrefix(name, tmpPrefix)) && one.slug != "" && (slug == "" || slug == one.slug) {
			list = append(list, one)
		}
	}
	return list, err
}

// recover restores a directory that an interrupted operation had moved away and not yet replaced.
// Renames need the lock: a directory that is moved away while the lock is free is left over.
func (d *Directory) recover(ctx context.Context, slug string) error {
	list, err := d.leftovers(slug)
	if err != nil {
		return err
	}
	for _, one := range list {
		if !one.old || d.has(one.slug) {
			continue
		}
		free, err := d.lock(ctx)
		if err != nil {
			return err
		}
		err = d.restore(one)
		free()
		if err != nil {
			return err
		}
	}
	return nil
}

// restore moves the directory of a workspace back, unless there is a new one.
func (d *Directory) restore(one leftover) error {
	if d.has(one.slug) {
		return nil
	}
	err := d.rename(one.name, one.slug)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its own operation has put it back
	}
	if err != nil {
		return err
	}
	return d.sync(".")
}

// cleanUp repairs what interrupted operations on a slug have left. The lock must be held.
func (d *Directory) cleanUp(slug string) error {
	list, err := d.leftovers(slug)
	if err != nil {
		return err
	}
	for _, one := range list {
		switch {
		case one.old && !d.has(slug):
			err = d.restore(one)
		case one.old:
			err = d.discard(one.name)
		case d.isDead(one.name):
			err = d.remove(one.name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// discard deletes a replaced directory. It is renamed before: a directory with the name of an old
// state is always complete.
func (d *Directory) discard(old string) error {
	waste := tmpPrefix + strings.TrimPrefix(old, oldPrefix)
	if d.has(waste) {
		if err := d.remove(waste); err != nil {
			return err
		}
	}
	err := d.rename(old, waste)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else has tidied up
	}
	if err != nil {
		return err
	}
	return d.remove(waste)
}

func (d *Directory) has(name string) bool {
	_, err := d.root.Lstat(name)
	return err == nil
}

// maxIdleAge is the age at which a temporary directory is not in use any more.
const maxIdleAge = 24 * time.Hour

// isDead reports whether no process writes a directory any more: a writer holds a lock on it, which
// the kernel releases with the process. Where directories cannot be locked, their age decides.
func (d *Directory) isDead(name string) bool {
	lock, err := d.lockDirectory(name)
	if err == nil {
		_ = lock.Close() // it was only asked
		return true
	}
	info, statErr := d.root.Lstat(name)
	return !errors.Is(err, unix.EWOULDBLOCK) && statErr == nil && time.Since(info.ModTime()) > maxIdleAge
}

// lockDirectory locks a directory until it is closed.
func (d *Directory) lockDirectory(name string) (*os.File, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// lock locks the repository for renames, on every machine that shares the directory.
func (d *Directory) lock(ctx context.Context) (free func(), err error) {
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o666) //nolint:gosec // nothing is in it, and who shares the directory must be able to take it
	if err != nil {
		return nil, err
	}
	if err := commands.LockFile(ctx, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
