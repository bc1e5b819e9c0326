package gitsync

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/document"
)

// Files are those under the directory of a workspace at one commit.
type Files struct {
	// Managed is the content.
	Managed archive.Tree
	// Unmanaged are the others, by path: mode and id, which change when a byte of
	// them does. A directory without managed files is one entry that ends in "/".
	Unmanaged map[string]string
}

// ReadTree returns the files under root at a commit, tag or tree; none at "".
// Managed paths that are unsafe refuse all of it and are all named. Nothing else
// of the repository is read.
func (o *Objects) ReadTree(at, root string) (*Files, error) {
	l, err := o.list(at, root)
	if err != nil {
		return nil, err
	}
	files := &Files{Managed: archive.Tree{}, Unmanaged: map[string]string{}}
	total := 0
	for _, p := range l.paths {
		text, err := o.blob(l.managed[p].id, p)
		if err != nil {
			return nil, err
		}
		if total += len(text); total > o.limits.Tree.TreeBytes {
			return nil, archive.Exceeded("treeBytes", o.limits.Tree.TreeBytes, "")
		}
		files.Managed[p] = text
	}
	for p, e := range l.unmanaged {
		files.Unmanaged[p] = e.mode + " " + e.id.String()
	}
	return files, files.Managed.Check(*o.limits.Tree)
}

// listing is what is under a root, before any file is read.
type listing struct {
	objects   *Objects
	managed   map[string]entry
	unmanaged map[string]entry
	paths     []string // of managed files
	unsafe    map[string]string
	entries   int
}

func (o *Objects) list(at, root string) (*listing, error) {
	tree, err := o.treeOf(at)
	if err != nil {
		return nil, err
	}
	l := &listing{objects: o, managed: map[string]entry{}, unmanaged: map[string]entry{}, unsafe: map[string]string{}}
	top, err := o.entryAt(tree, root)
	switch {
	case err != nil:
		return nil, err
	case top == entry{}:
		return l, nil
	case !top.isDir():
		return nil, unsafeTree(map[string]string{root: "is not a directory"})
	}
	if err := l.walk(top.id, ""); err != nil {
		return nil, err
	}
	return l, l.check()
}

// walk lists a directory: the root, or one below a folder of managed files.
func (l *listing) walk(id plumbing.Hash, prefix string) error {
	limits := l.objects.limits.Tree
	if strings.Count(prefix, "/") >= limits.Segments {
		return archive.Exceeded("segments", limits.Segments, strings.ToValidUTF8(prefix, "\ufffd"))
	}
	entries, err := l.objects.tree(id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if l.entries++; l.entries > limits.Entries {
			return archive.Exceeded("entries", limits.Entries, "")
		}
		if err := l.visit(prefix+e.name, e, prefix != ""); err != nil {
			return err
		}
	}
	return nil
}

// visit takes one entry. inside tells that it is in a folder of managed files.
func (l *listing) visit(p string, e entry, inside bool) error {
	managed := archive.IsManaged(p)
	switch kind := e.kind(); {
	case managed && strings.Contains(e.name, "/"):
		l.unsafe[p] = "has a / in a name"
	case kind == filemode.Dir && (inside || isFolder(p)):
		return l.walk(e.id, p+"/")
	case kind == filemode.Dir:
		l.unmanaged[p+"/"] = e
	case kind == filemode.Regular && managed:
		if len(l.paths) >= l.objects.limits.Tree.Files {
			return archive.Exceeded("files", l.objects.limits.Tree.Files, "")
		}
		l.managed[p], l.paths = e, append(l.paths, p)
	case kind != filemode.Regular && (managed || isFolder(p) || inside && path.Ext(p) == ""):
		l.unsafe[p] = "is a link, a submodule or another special file"
	default:
		l.unmanaged[p] = e
	}
	return nil
}

// isFolder reports whether a path is that of a folder of managed files.
func isFolder(p string) bool {
	return p != "" && slices.ContainsFunc(document.Kinds, func(k *document.Kind) bool { return k.Folder == p })
}

// check refuses unsafe paths, all at once.
func (l *listing) check() error {
	if refusal, ok := errors.AsType[*domain.Error](archive.CheckPaths(l.paths)); ok {
		paths, _ := refusal.Details["paths"].([]string)
		for _, p := range paths {
			l.unsafe[p] = "has an unsafe name, or is another path in upper or lower case"
		}
	}
	if len(l.unsafe) > 0 {
		return unsafeTree(l.unsafe)
	}
	slices.Sort(l.paths)
	return nil
}

// unsafeTree names all paths, and the reason of the first.
func unsafeTree(reasons map[string]string) error {
	paths := slices.Sorted(maps.Keys(reasons))
	shown := make([]string, len(paths))
	for i, p := range paths {
		shown[i] = strings.ToValidUTF8(p, "\ufffd")
	}
	return domain.Refuse(domain.CodeValidation, "%q %s", shown[0], reasons[paths[0]]).Reason("unsafe_tree").With("paths", shown)
}
