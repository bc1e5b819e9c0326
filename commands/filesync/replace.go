package filesync

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"

	"svc/commands/archive"
)

// ErrMoved says that the files were changed meanwhile: read them again.
var ErrMoved = errors.New("filesync: the files were changed by others")

// replacement is a running Replace.
type replacement struct {
	*Directory
	slug, tmp, old string
	there          *os.Root // what is replaced; nil: nothing
	made           bool     // tmp is ours
	empty          bool     // nothing comes in its place
	locked         *os.File // tmp, for others to see that it is in use; nil: directories cannot be held here
}

// Replace replaces the managed files of a workspace by a tree, in one step for readers. Other files
// stay; without any file the directory is deleted. It returns ErrMoved when the managed files are not
// the expected ones. It repairs what interrupted operations have left, and does not disturb one that
// runs elsewhere with the same id.
func (d *Directory) Replace(ctx context.Context, slug string, tree archive.Tree, operationID string, expect archive.Tree) error {
	if err := tree.Check(d.limits); err != nil {
		return err
	}
	name := operationID + "." + slug
	r := &replacement{Directory: d, slug: slug, tmp: tmpPrefix + name, old: oldPrefix + name}
	defer r.close()
	err := r.begin(ctx, expect)
	if err == nil {
		err = r.fill(ctx, tree)
	}
	if err == nil {
		err = r.swap(ctx, expect)
	}
	if err != nil && r.made {
		err = errors.Join(err, r.remove(r.tmp))
	}
	return diskError(err)
}

func (r *replacement) close() {
	if r.locked != nil {
		_ = r.locked.Close() // nothing was written through it
	}
	if r.there != nil {
		_ = r.there.Close()
	}
}

// begin repairs leftovers, and creates the directory to write to.
func (r *replacement) begin(ctx context.Context, expect archive.Tree) error {
	free, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer free()
	if err := r.cleanUp(r.slug); err != nil {
		return err
	}
	if r.has(r.tmp) {
		return busyError()
	}
	if r.there, err = r.find(ctx, r.slug); err != nil {
		return err
	}
	if err := r.checkExpected(expect); err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if r.there != nil {
		info, err := r.there.Stat(".")
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	}
	if err := r.mkdir(r.tmp, mode); err != nil {
		return err
	}
	r.made = true
	r.locked, _ = r.lockDirectory(r.tmp) // where that cannot be, its age tells
	return nil
}

// fill writes the next state and syncs it.
func (r *replacement) fill(ctx context.Context, tree archive.Tree) error {
	if r.there != nil {
		if err := r.copyUnmanaged(ctx); err != nil {
			return err
		}
	}
	for _, p := range tree.Paths() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.write(path.Join(r.tmp, p), bytes.NewReader(tree[p]), 0o644); err != nil {
			return err
		}
	}
	left, err := fs.ReadDir(r.root.FS(), r.tmp)
	if err != nil {
		return err
	}
	r.empty = len(left) == 0
	return r.syncAll(r.tmp)
}

// copyUnmanaged links the files that are not managed: later writes to them are not lost.
func (r *replacement) copyUnmanaged(ctx context.Context) error {
	return fs.WalkDir(r.there.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil || p == "." || archive.IsManaged(p) {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case !e.IsDir():
			return r.link(path.Join(r.slug, p), path.Join(r.tmp, p), info.Mode())
		case isContent(p):
			return nil // it is made when something is in it
		}
		return r.mkdir(path.Join(r.tmp, p), info.Mode().Perm())
	})
}

// isContent reports whether a directory is one for managed files, or in one.
func isContent(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return archive.IsManaged(top + "/any.yml")
}

// swap replaces the directory by the next state, if its files are the expected ones.
func (r *replacement) swap(ctx context.Context, expect archive.Tree) error {
	free, err := r.lock(ctx)
	if err != nil {
		return err
	}
	err = r.exchange(expect)
	free()
	if err != nil || r.there == nil {
		return err
	}
	if r.empty {
		_ = r.remove(r.tmp) // what is left of it, the next operation throws away
	} else {
		_ = r.discard(r.old) // likewise
	}
	return nil
}

// checkExpected returns ErrMoved when the managed files are not the expected ones.
func (r *replacement) checkExpected(expect archive.Tree) error {
	now := archive.Tree{}
	switch {
	case r.there == nil && r.has(r.slug), r.there != nil && !r.isCurrent(r.there, r.slug):
		return ErrMoved
	case r.there != nil:
		var err error
		if now, err = archive.ReadDirectory(r.there.FS(), r.limits); err != nil {
			return err
		}
	}
	if !maps.EqualFunc(now, expect, bytes.Equal) {
		return ErrMoved
	}
	return nil
}

func (r *replacement) exchange(expect archive.Tree) error {
	if err := r.checkExpected(expect); err != nil {
		return err
	}
	if r.there != nil && r.empty {
		return r.removeAll()
	}
	if r.there != nil {
		if err := r.rename(r.slug, r.old); err != nil {
			return err
		}
	}
	if err := r.rename(r.tmp, r.slug); err != nil {
		if r.there == nil {
			return err
		}
		return errors.Join(err, r.rename(r.old, r.slug))
	}
	return r.sync(".")
}

// removeAll removes the directory of a workspace without files, in one step.
func (r *replacement) removeAll() error {
	if err := r.remove(r.tmp); err != nil {
		return err
	}
	if err := r.rename(r.slug, r.tmp); err != nil {
		return err
	}
	return r.sync(".")
}
