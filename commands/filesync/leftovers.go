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

// What an operation puts beside the directories of workspaces. Each name ends in
// the operation and the slug: .svc-old-op_1.billing.
const (
	tmpPrefix = ".svc-tmp-" // what is being written, or thrown away
	oldPrefix = ".svc-old-" // what was there, complete, until the next is in its place
	lockName  = ".svc-lock" // held by whoever renames
)

// leftover is something that an operation put beside the directories.
type leftover struct {
	name, slug string
	old        bool
}

// leftovers lists what is there for a slug; for "", for all.
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

// recover puts back what an operation that is gone had moved away and not yet
// replaced. Nobody renames without the lock: what is moved away while nobody has it
// was left by somebody who is gone.
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
		err = d.putBack(one)
		free()
		if err != nil {
			return err
		}
	}
	return nil
}

// putBack gives a workspace its directory back, unless it has one by now.
func (d *Directory) putBack(one leftover) error {
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

// tidy puts right what operations on a slug have left, those that still run
// excepted. The lock must be held.
func (d *Directory) tidy(slug string) error {
	list, err := d.leftovers(slug)
	if err != nil {
		return err
	}
	for _, one := range list {
		switch {
		case one.old && !d.has(slug):
			err = d.putBack(one)
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

// discard throws away what was replaced. It gets another name before: what bears
// the name of an old state is all of it.
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

// forgotten is the age at which nobody can be at work any more.
const forgotten = 24 * time.Hour

// isDead reports whether nobody writes a directory any more: who does holds it,
// and the kernel lets go of it with the process. Where directories cannot be held,
// their age tells.
func (d *Directory) isDead(name string) bool {
	held, err := d.hold(name)
	if err == nil {
		_ = held.Close() // it was only asked
		return true
	}
	info, statErr := d.root.Lstat(name)
	return !errors.Is(err, unix.EWOULDBLOCK) && statErr == nil && time.Since(info.ModTime()) > forgotten
}

// hold tells others that a directory is in use, until it is closed.
func (d *Directory) hold(name string) (*os.File, error) {
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

// lockWait is how long is waited between looks whether the lock is free: it is
// held for a few renames.
const lockWait = 5 * time.Millisecond

// lock keeps everybody else from renaming, on every machine that shares the
// directory.
func (d *Directory) lock(ctx context.Context) (free func(), err error) {
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o666) //nolint:gosec // nothing is in it, and who shares the directory must be able to take it
	if err != nil {
		return nil, err
	}
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			_ = f.Close()
			return nil, err
		}
		if err := commands.Sleep(ctx, lockWait); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
}
