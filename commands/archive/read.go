package archive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/commands/spread"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
)

// Options are how a tree is read.
type Options struct {
	Limits      Limits
	WorkspaceID string // for the items
	Strict      bool   // refuse the tree when any file has an error
	Verify      bool   // compare with the checksums of the import file, if there is one
	Force       bool   // a wrong checksum is a warning only

	// HasSlug is the rule for slugs. nil: that of the kind.
	HasSlug func(p Place) bool
	// Validate looks at each document that could be read; nil: all are good. A
	// refusal of the index refuses the tree.
	Validate func(p Place, doc *document.Map) error
}

// Reading is what a tree says.
type Reading struct {
	Content  Content          // without index when its checksum is wrong
	Import   *ImportFile      // nil: there is none that can be read
	Files    Tree             // the documents in Content as they will be written
	Sources  map[Place]string // the path that each was read from
	Failed   []string         // places that have a file, but none that could be used: keep what is there
	Errors   []Item
	Warnings []Item
}

// Read reads a tree. It refuses one that is unsafe, beyond the limits or without
// a good index; any other fault is an item for its file. Files that are not
// managed are ignored.
func Read(tree Tree, o Options) (*Reading, error) {
	tree = maps.Clone(tree)
	maps.DeleteFunc(tree, func(p string, _ []byte) bool { return !IsManaged(p) })
	if err := tree.Check(o.Limits); err != nil {
		return nil, err
	}
	r := &treeReader{Options: o, tree: tree, out: &Reading{Files: Tree{}, Sources: map[Place]string{}}, found: map[string][]file{}}
	if err := r.importFile(); err != nil {
		return nil, err
	}
	paths := sortedForImport(tree)
	read := make([]parsed, len(paths))
	spread.Over(len(paths), func(i int) { read[i].doc, read[i].err = yamltext.ReadMap(tree[paths[i]], o.Limits.Document) })
	for i, p := range paths {
		if err := r.file(p, read[i]); err != nil {
			return nil, err
		}
	}
	if err := r.checkIndex(); err != nil {
		return nil, err
	}
	if err := r.settle(); err != nil {
		return nil, err
	}
	r.missing()
	return r.out, r.strict()
}

// sortedForImport returns the paths of documents: index, security, the rest.
func sortedForImport(tree Tree) []string {
	paths := slices.DeleteFunc(tree.Paths(), func(p string) bool { return p == ImportPath })
	rank := func(p string) int {
		place, _ := Locate(p)
		if place.Kind.Folder != "" {
			return len(document.Kinds)
		}
		return slices.Index(document.Kinds, place.Kind)
	}
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return paths
}

// file is one file that was read. doc is nil when it cannot be used.
type file struct {
	path  string
	place Place
	doc   *document.Map
}

type treeReader struct {
	Options
	tree  Tree
	out   *Reading
	found map[string][]file // by folded place
	order []string          // of found
}

func (r *treeReader) fail(item Item) {
	item.WorkspaceID = r.WorkspaceID
	r.out.Errors = append(r.out.Errors, item)
}

func (r *treeReader) warn(item Item) {
	item.WorkspaceID = r.WorkspaceID
	r.out.Warnings = append(r.out.Warnings, item)
}

func (r *treeReader) importFile() error {
	text, ok := r.tree[ImportPath]
	if !ok {
		return nil
	}
	f, err := ReadImportFile(text, r.Limits.Document)
	if over := limitOf(err, ImportPath); over != nil {
		return over
	}
	if err != nil {
		r.fail(itemOf(ErrInvalidImportFile, ImportPath, err))
		return nil
	}
	r.out.Import = &f
	return nil
}

// limitOf returns the refusal of the whole tree when err is about a limit.
func limitOf(err error, path string) error {
	if fault, ok := errors.AsType[*document.Fault](err); ok && fault.Limit != "" {
		return Exceeded(fault.Limit, fault.Value, path)
	}
	return nil
}

// parsed is what the text of a file says, or why it says nothing.
type parsed struct {
	doc *document.Map
	err error
}

// file keeps what a file says under the object it is for.
func (r *treeReader) file(path string, said parsed) error {
	place, _ := Locate(path)
	f := file{path: path, place: place}
	doc, err := said.doc, said.err
	if over := limitOf(err, path); over != nil {
		return over
	}
	if err == nil {
		f.place, err = r.placeOf(place, doc)
	}
	if err == nil && r.Validate != nil {
		err = r.Validate(f.place, doc)
		if _, refused := errors.AsType[*domain.Error](err); err != nil && !refused {
			if _, fault := errors.AsType[*document.Fault](err); !fault {
				return err // not about the file
			}
		}
	}
	if err != nil && place.Kind == document.Index {
		return invalidIndex(itemOf(ErrInvalidDocument, path, err))
	}
	switch {
	case errors.Is(err, errSlug):
		r.fail(itemOf(ErrInvalidSlug, path, err))
	case err != nil:
		r.fail(itemOf(ErrInvalidDocument, path, err))
	case r.checksum(place, path):
		f.doc = doc
		if f.place.Kind.Folder != "" {
			doc.Set("slug", f.place.Slug)
		}
	}
	key := fold(f.place.String())
	if len(r.found[key]) == 0 {
		r.order = append(r.order, key)
	}
	r.found[key] = append(r.found[key], f)
	return nil
}

var errSlug = errors.New("slug")

// placeOf returns where the document belongs: its own slug has its way, the path
// is asked when it has none.
func (r *treeReader) placeOf(at Place, doc *document.Map) (Place, error) {
	if at.Kind.Folder == "" {
		return at, nil
	}
	place := at
	if v, told := doc.Get("slug"); told && v != nil {
		slug, ok := v.(string)
		if !ok {
			return at, fmt.Errorf("%w must be a text", errSlug)
		}
		place.Slug = slug
	}
	valid := r.HasSlug
	if valid == nil {
		valid = func(p Place) bool { return p.Kind.HasSlug(p.Slug) }
	}
	if back, ok := Locate(place.Path()); !ok || back != place || CheckPaths([]string{place.Path()}) != nil || !valid(place) {
		return at, fmt.Errorf("%w %s is not allowed for this kind of object", errSlug, document.Shown(place.Slug))
	}
	return place, nil
}

// warnAbout says what is odd about a file that is used.
func (r *treeReader) warnAbout(f file) {
	if at, _ := Locate(f.path); f.place != at {
		msg := fmt.Sprintf("the slug is %q, the file should be %s", f.place.Slug, f.place.Path())
		r.warn(Item{Msg: msg, Err: WarnSlugMismatch, Filepath: f.path})
	}
	if unknown := f.place.Kind.Unknown(f.doc); len(unknown) > 0 {
		for i, key := range unknown {
			unknown[i] = document.Shown(key)
		}
		r.warn(Item{Msg: "has no effect here: " + strings.Join(unknown, ", "), Err: WarnUnknownField, Filepath: f.path})
	}
}
