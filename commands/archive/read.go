package archive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/commands/spread"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
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
	// Others are files of the source that are no content, for warnings about them.
	Others []string
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

	texts  Tree
	limits document.Limits
	lines  map[string]*yamltext.Source // by file, of those that were asked for
}

// Line returns the line on which a field of a file stands, or on which what is around it begins; 0
// when the file cannot be read.
func (r *Reading) Line(file, field string) int {
	source, known := r.lines[file]
	if !known {
		if text, ok := r.texts[file]; ok {
			source, _ = yamltext.Locate(text, r.limits) // nil when it cannot be read: its fault has a line of its own
		}
		r.lines[file] = source
	}
	if source == nil {
		return 0
	}
	return source.Place(field).Line
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
	r := &treeReader{Options: o, tree: tree, out: &Reading{
		Files: Tree{}, Sources: map[Place]string{}, texts: tree, limits: o.Limits.Document, lines: map[string]*yamltext.Source{},
	}, found: map[string][]file{}}
	if err := r.importFile(); err != nil {
		return nil, err
	}
	for _, item := range Misnamed(slices.Sorted(slices.Values(o.Others))) {
		r.warn(item)
	}
	paths := r.documents()
	read := make([]parsed, len(paths))
	spread.Over(len(paths), func(i int) { read[i] = parseFile(paths[i], tree[paths[i]], o.Limits.Document) })
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

// documents returns the paths of documents: index, security, the rest.
func (r *treeReader) documents() []string {
	paths := slices.DeleteFunc(r.tree.Paths(), func(p string) bool {
		if p == ImportPath {
			return true
		}
		_, ok := r.tree.PlaceOf(p)
		if !ok {
			r.warn(Item{Msg: "is no page and was not imported: a page has a name and blocks", Err: WarnNotAPage, Filepath: p, Line: 1})
		}
		return !ok
	})
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

	changes []shape.Correction // that were made to use it
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

func (r *treeReader) itemOf(code, file string, err error) Item {
	return itemOf(code, file, err, func(field string) int { return r.out.Line(file, field) })
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
		r.fail(r.itemOf(ErrInvalidImportFile, ImportPath, err))
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
	doc     *document.Map
	changes []shape.Correction // that were made to use it
	err     error
}

// parseFile reads the text of a file.
func parseFile(file string, text []byte, limits document.Limits) parsed {
	v, err := yamltext.Read(text, limits)
	if err == nil && v == nil {
		return parsed{err: &document.Fault{Line: 1, Column: 1, Message: "is empty"}}
	}
	doc, ok := v.(*document.Map)
	if err == nil && !ok {
		err = &document.Fault{Line: 1, Column: 1, Message: "must be a mapping"}
	}
	if err != nil {
		return parsed{err: faultOfJSON(file, text, limits, err)}
	}
	place, _ := Locate(file)
	doc, changes := shape.Correct(place.Kind, doc)
	return parsed{doc: doc, changes: changes}
}

// faultOfJSON returns the fault of a JSON file as the reader of JSON reports it. A fault about a limit
// stays as it is.
func faultOfJSON(file string, text []byte, limits document.Limits, err error) error {
	if fault, ok := errors.AsType[*document.Fault](err); !strings.HasSuffix(file, ".json") || !ok || fault.Limit != "" || !utf8.Valid(text) {
		return err
	}
	if _, wrong := document.ReadJSON(text, limits); wrong != nil {
		return wrong
	}
	return err
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
		return invalidIndex(r.itemOf(ErrInvalidDocument, path, err))
	}
	switch {
	case errors.Is(err, errSlug):
		item := r.itemOf(ErrInvalidSlug, path, err)
		item.Line = r.out.Line(path, "slug")
		r.fail(item)
	case err != nil:
		r.fail(r.itemOf(ErrInvalidDocument, path, err))
	case r.checksum(place, path):
		f.doc, f.changes = doc, said.changes
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
		return at, fmt.Errorf("%w %s is not allowed for this kind of object", errSlug, document.QuoteShort(place.Slug))
	}
	return place, nil
}

// warnAbout says what is odd about a file that is used.
func (r *treeReader) warnAbout(f file) {
	if at, _ := Locate(f.path); f.place != at {
		msg := fmt.Sprintf("the slug is %q, the file should be %s", f.place.Slug, f.place.Path())
		r.warn(Item{Msg: msg, Err: WarnSlugMismatch, Filepath: f.path, Line: r.out.Line(f.path, "slug")})
	}
	for _, change := range f.changes {
		msg := change.Message
		if change.Reason == shape.ValueConverted {
			msg = change.Field + ": " + msg
		}
		r.warn(Item{Msg: msg, Err: change.Reason, Filepath: f.path, Line: r.out.Line(f.path, change.Field)})
	}
	if unknown := f.place.Kind.Unknown(f.doc); len(unknown) > 0 {
		line := r.out.Line(f.path, shape.Path(unknown[0]))
		for i, key := range unknown {
			unknown[i] = document.QuoteShort(key)
		}
		r.warn(Item{Msg: "has no effect here: " + strings.Join(unknown, ", "), Err: WarnUnknownField, Filepath: f.path, Line: line})
	}
}
