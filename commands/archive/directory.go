package archive

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// ReadDirectory returns the managed files of a directory. Give it the FS of an
// os.Root: no link is followed, but nobody knows what is changed meanwhile. Files
// that are not managed are not opened.
func ReadDirectory(dir fs.FS, limits Limits) (Tree, error) {
	w := &walk{dir: dir, limits: limits, tree: Tree{}, wrong: faults{}}
	if err := fs.WalkDir(dir, ".", w.visit); err != nil {
		return nil, err
	}
	if err := w.wrong.refusal(); err != nil {
		return nil, err
	}
	if err := w.tree.Check(limits); err != nil {
		return nil, err
	}
	return w.tree, nil
}

type walk struct {
	dir    fs.FS
	limits Limits
	tree   Tree
	total  int
	wrong  faults
}

func (w *walk) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case d.IsDir():
		if name != "." && !strings.Contains(name, "/") && !isFolder(name) {
			return fs.SkipDir
		}
		return nil
	case !IsManaged(name) && !isFolder(name):
		return nil
	case !d.Type().IsRegular():
		w.wrong[name] = "is a link or another special file"
		return nil
	case isFolder(name):
		return nil
	}
	return w.read(name)
}

func (w *walk) read(name string) error {
	if len(w.tree) >= w.limits.Files {
		return Exceeded("files", w.limits.Files, "")
	}
	f, err := w.dir.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, int64(w.limits.FileBytes)+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > w.limits.FileBytes {
		return Exceeded("fileBytes", w.limits.FileBytes, name)
	}
	if w.total += len(text); w.total > w.limits.TreeBytes {
		return Exceeded("treeBytes", w.limits.TreeBytes, "")
	}
	w.tree[name] = text
	return nil
}
