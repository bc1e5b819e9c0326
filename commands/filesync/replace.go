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

// ErrMoved says that somebody else changed the files meanwhile: look again.
var ErrMoved = errors.New("filesync: the files were changed by others")

// replacement is one that is under way.
type replacement struct {
	*Directory
	slug, tmp, old string
	there          *os.Root // what is replaced; nil: nothing
	made           bool     // tmp is ours
	empty          bool     // nothing comes in its place
	held           *os.File // tmp, for others to see that it is in use; nil: directories cannot be held here
}

// Replace puts a tree in the place of the managed files of a workspace, in one
// step for everybody who looks. Other files stay; when there is nothing at all, the
// directory goes. It returns ErrMoved when the
// managed files are not those expected. Of an operation that is gone everything is
// put right first; one that runs under the same id elsewhere is told apart.
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
	return told(err)
}

func (r *replacement) close() {
	if r.held != nil {
		_ = r.held.Close() // nothing was written through it
	}
	if r.there != nil {
		_ = r.there.Close()
	}
}

// begin puts right what others have left, and makes the directory to write to.
func (r *replacement) begin(ctx context.Context, expect archive.Tree) error {
	free, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer free()
	if err := r.tidy(r.slug); err != nil {
		return err
	}
	if r.has(r.tmp) {
		return busy()
	}
	if r.there, err = r.find(ctx, r.slug); err != nil {
		return err
	}
	if err := r.expected(expect); err != nil {
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
	r.held, _ = r.hold(r.tmp) // where that cannot be, its age tells
	return nil
}

// fill writes the next state, and brings it to the disk.
func (r *replacement) fill(ctx context.Context, tree archive.Tree) error {
	if r.there != nil {
		if err := r.carryOver(ctx); err != nil {
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

// carryOver takes along what is not managed. Files get a second name: what is
// written to them meanwhile is not lost.
func (r *replacement) carryOver(ctx context.Context) error {
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

// swap puts the next state in the place of what is there, if that is what was
// expected.
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

// expected returns ErrMoved when the managed files are not those that were
// expected.
func (r *replacement) expected(expect archive.Tree) error {
	now := archive.Tree{}
	switch {
	case r.there == nil && r.has(r.slug), r.there != nil && !r.still(r.there, r.slug):
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
	if err := r.expected(expect); err != nil {
		return err
	}
	if r.there != nil && r.empty {
		return r.vanish()
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

// vanish takes away the directory of a workspace that has nothing any more: from
// one moment to the next it is waste.
func (r *replacement) vanish() error {
	if err := r.remove(r.tmp); err != nil {
		return err
	}
	if err := r.rename(r.slug, r.tmp); err != nil {
		return err
	}
	return r.sync(".")
}
