// Package filesync keeps the files of workspaces in a directory of this machine:
// the filesystem kind of platform repositories (contract/versioning.md 2.3). Each
// workspace has a directory there under its slug.
//
// A directory is never changed in place: the next state is written beside it and
// renamed into its place, so that readers, also after a crash, find the old state
// or the new one.
package filesync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"svc/commands/archive"
	"svc/domain"
)

// Directory is the directory of a repository, with a directory per workspace. Links in it cannot lead
// outside.
type Directory struct {
	root   *os.Root
	limits archive.Limits
	before func(change string) // what is about to be changed; nil: nobody wants to know
}

// Open opens a directory by its absolute path.
func Open(dir string, limits archive.Limits) (*Directory, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, diskError(err)
	}
	return &Directory{root: root, limits: limits}, nil
}

// Close closes the directory.
func (d *Directory) Close() error { return d.root.Close() }

// Directories returns the names of the directories, sorted, without hidden ones and links.
func (d *Directory) Directories(ctx context.Context) (names []string, err error) {
	if err := d.recover(ctx, ""); err != nil {
		return nil, diskError(err)
	}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, diskError(err)
}

// maxReads is how often a directory that is replaced meanwhile is read anew before
// everybody else is kept from replacing it.
const maxReads = 4

// Read returns the managed files of a workspace; none when it has no directory.
// Unsafe paths refuse all of it.
func (d *Directory) Read(ctx context.Context, slug string) (archive.Tree, error) {
	for range maxReads {
		if tree, same, err := d.readOnce(ctx, slug); same || err != nil {
			return tree, diskError(err)
		}
	}
	free, err := d.lock(ctx)
	if err != nil {
		return nil, diskError(err)
	}
	defer free()
	if err := d.cleanUp(slug); err != nil {
		return nil, diskError(err)
	}
	tree, _, err := d.readOnce(ctx, slug)
	return tree, diskError(err)
}

// readOnce reads a directory. same is false when it was replaced meanwhile.
func (d *Directory) readOnce(ctx context.Context, slug string) (tree archive.Tree, same bool, err error) {
	there, err := d.find(ctx, slug)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // it was there a moment ago
	}
	if err != nil || there == nil {
		return archive.Tree{}, true, err
	}
	defer func() { _ = there.Close() }() // it was only read
	tree, err = archive.ReadDirectory(there.FS(), d.limits)
	if !d.isCurrent(there, slug) {
		return nil, false, nil
	}
	return tree, true, err
}

// find opens the directory of a workspace; nil when there is none. An interrupted replacement is
// repaired before.
func (d *Directory) find(ctx context.Context, slug string) (*os.Root, error) {
	info, err := d.root.Lstat(slug)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.recover(ctx, slug); err != nil {
			return nil, err
		}
		info, err = d.root.Lstat(slug)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, domain.Refuse(domain.CodeValidation, "%q is a link or another special file", slug).Reason("unsafe_tree").With("paths", []string{slug})
	}
	return d.root.OpenRoot(slug)
}

// isCurrent reports whether a directory that was opened is the one of a workspace: a
// push may have put another in its place, and be removing this one.
func (d *Directory) isCurrent(there *os.Root, slug string) bool {
	was, err := there.Stat(".")
	if err != nil {
		return false
	}
	is, err := d.root.Lstat(slug)
	return err == nil && os.SameFile(was, is)
}

// diskError turns an error of the disk into a refusal.
func diskError(err error) error {
	if _, refused := errors.AsType[*domain.Error](err); err == nil || refused || errors.Is(err, ErrMoved) || isEnd(err) {
		return err
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return domain.Refuse(domain.CodePermissionDenied, "the directory of the repository does not let the service in: %s", reason(err)).Reason("remote_refused")
	}
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return domain.Refuse(domain.CodeValidation, "something is in the way of a file: neither a file nor a directory to write to").Reason("unsafe_tree")
	}
	return fmt.Errorf("%w: %w", domain.Refuse(domain.CodeUnavailable, "the directory of the repository cannot be used: %s", reason(err)).Reason("remote_unreachable"), err)
}

func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// reason returns the message of the system, without paths of the machine.
func reason(err error) string {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	return "it is not as it should be"
}

func busyError() error {
	return domain.Refuse(domain.CodeConflict, "others write to the directory all the time: try again").Reason("remote_busy")
}

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
