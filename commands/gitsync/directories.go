package gitsync

import (
	"slices"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"svc/commands/archive"
)

// Directories lists the directories directly under root at a commit, sorted.
func (o *Objects) Directories(at, root string) ([]string, error) {
	tree, err := o.treeOf(at)
	if err != nil {
		return nil, err
	}
	top, err := o.entryAt(tree, root)
	if err != nil || top == (entry{}) || !top.isDir() {
		return nil, err
	}
	entries, err := o.tree(top.id)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.kind() == filemode.Dir {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ReadFile returns one file at a commit; ok is false when there is none.
func (o *Objects) ReadFile(at, path string) (text []byte, ok bool, err error) {
	tree, err := o.treeOf(at)
	if err != nil {
		return nil, false, err
	}
	e, err := o.entryAt(tree, path)
	switch {
	case err != nil || e == (entry{}):
		return nil, false, err
	case e.kind() != filemode.Regular:
		return nil, false, archive.CheckPaths([]string{path})
	}
	text, err = o.blob(e.id, path)
	return text, err == nil, err
}
