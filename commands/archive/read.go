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

// Options say how a tree is read.
type Options struct {
	Limits      Limits
	WorkspaceID string // for the items
	Strict      bool   // refuse the tree when any file has an error
	Verify      bool   // compare with the checksums of the import file, if there is one
	Force       bool   // a wrong checksum is a warning only

	// HasSlug is the rule for slugs. nil: that of the kind.
	HasSlug func(p Location) bool
	// Validate looks at each document that could be read; nil: all are good. A
	// refusal of the index refuses the tree.
	Validate func(p Location, doc *document.Map) error
	// Others are files of the source that are no content, for warnings about them.
	Others []string
}

// Reading is the result of reading a tree.
type Reading struct {
	Content  Content             // without index when its checksum is wrong
	Import   *ImportFile         // nil: there is none that can be read
	Files    Tree                // the documents in Content as they will be written
	Sources  map[Location]string // the path that each was read from
	Failed   []string            // places that have a file, but none that could be used: keep what is there
	Errors   []Item
	Warnings []Item

	texts  Tree
	limits document.Limits
	lines  map[string]*yamltext.Source // by file, of those that were asked for
}

// Line returns the line of a field of a file, or that of its nearest parent; 0 when the file cannot
// be read.
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
	return source.Position(field).Line
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
		Files: Tree{}, Sources: map[Location]string{}, texts: tree, limits: o.Limits.Document, lines: map[string]*yamltext.Source{},
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
		if err := r.readFile(p, read[i]); err != nil {
			return nil, err
		}
	}
	if err := r.checkIndex(); err != nil {
		return nil, err
	}
	if err := r.placeDocuments(); err != nil {
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
		_, ok := r.tree.LocationOf(p)
		if !ok {
			r.warn(Item{Msg: "is no page and was not imported: a page has a name and blocks", Err: WarnNotAPage, Filepath: p, Line: 1})
		}
		return !ok
	})
	rank := func(p string) int {
		location, _ := Locate(p)
		if location.Kind.Folder != "" {
			return len(document.Kinds)
		}
		return slices.Index(document.Kinds, location.Kind)
	}
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return paths
}

// file is one file that was read. doc is nil when it cannot be used.
type file struct {
	path     string
	location Location
	doc      *document.Map

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

// parsed is the parsed text of a file, or its fault.
type parsed struct {
	doc     *document.Map
	changes []shape.Correction // that were made to use it
	err     error
}

// parseFile parses the text of a file.
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
		return parsed{err: jsonFault(file, text, limits, err)}
	}
	location, _ := Locate(file)
	doc, changes := shape.Correct(location.Kind, doc)
	return parsed{doc: doc, changes: changes}
}

// jsonFault returns the fault of a JSON file by the JSON parser. A fault about a limit stays.
func jsonFault(file string, text []byte, limits document.Limits, err error) error {
	if fault, ok := errors.AsType[*document.Fault](err); !strings.HasSuffix(file, ".json") || !ok || fault.Limit != "" || !utf8.Valid(text) {
		return err
	}
	if _, wrong := document.ReadJSON(text, limits); wrong != nil {
		return wrong
	}
	return err
}

// readFile keeps what a file says under the object it is for.
func (r *treeReader) readFile(path string, p parsed) error {
	location, _ := Locate(path)
	f := file{path: path, location: location}
	doc, err := p.doc, p.err
	if over := limitOf(err, path); over != nil {
		return over
	}
	if err == nil {
		f.location, err = r.locationOf(location, doc)
	}
	if err == nil && r.Validate != nil {
		err = r.Validate(f.location, doc)
		if _, refused := errors.AsType[*domain.Error](err); err != nil && !refused {
			if _, fault := errors.AsType[*document.Fault](err); !fault {
				return err // not about the file
			}
		}
	}
	if err != nil && location.Kind == document.Index {
		return invalidIndex(r.itemOf(ErrInvalidDocument, path, err))
	}
	switch {
	case errors.Is(err, errSlug):
		item := r.itemOf(ErrInvalidSlug, path, err)
		item.Line = r.out.Line(path, "slug")
		r.fail(item)
	case err != nil:
		r.fail(r.itemOf(ErrInvalidDocument, path, err))
	case r.checksum(location, path):
		f.doc, f.changes = doc, p.changes
		if f.location.Kind.Folder != "" {
			doc.Set("slug", f.location.Slug)
		}
	}
	key := fold(f.location.String())
	if len(r.found[key]) == 0 {
		r.order = append(r.order, key)
	}
	r.found[key] = append(r.found[key], f)
	return nil
}

var errSlug = errors.New("slug")

// locationOf returns the place of a document: by its slug or, without one, by its path.
func (r *treeReader) locationOf(at Location, doc *document.Map) (Location, error) {
	if at.Kind.Folder == "" {
		return at, nil
	}
	location := at
	if v, given := doc.Get("slug"); given && v != nil {
		slug, ok := v.(string)
		if !ok {
			return at, fmt.Errorf("%w must be a text", errSlug)
		}
		location.Slug = slug
	}
	valid := r.HasSlug
	if valid == nil {
		valid = func(p Location) bool { return p.Kind.HasSlug(p.Slug) }
	}
	if back, ok := Locate(location.Path()); !ok || back != location || CheckPaths([]string{location.Path()}) != nil || !valid(location) {
		return at, fmt.Errorf("%w %s is not allowed for this kind of object", errSlug, document.QuoteShort(location.Slug))
	}
	return location, nil
}

// warnAbout adds warnings about a file that is used.
func (r *treeReader) warnAbout(f file) {
	if at, _ := Locate(f.path); f.location != at {
		msg := fmt.Sprintf("the slug is %q, the file should be %s", f.location.Slug, f.location.Path())
		r.warn(Item{Msg: msg, Err: WarnSlugMismatch, Filepath: f.path, Line: r.out.Line(f.path, "slug")})
	}
	for _, change := range f.changes {
		msg := change.Message
		if change.Reason == shape.ValueConverted {
			msg = change.Field + ": " + msg
		}
		r.warn(Item{Msg: msg, Err: change.Reason, Filepath: f.path, Line: r.out.Line(f.path, change.Field)})
	}
	if unknown := f.location.Kind.Unknown(f.doc); len(unknown) > 0 {
		line, hint := r.out.Line(f.path, shape.Path(unknown[0])), f.location.Kind.DidYouMean(unknown[0])
		for i, key := range unknown {
			unknown[i] = document.QuoteShort(key)
		}
		r.warn(Item{Msg: "has no effect here: " + strings.Join(unknown, ", ") + hint, Err: WarnUnknownField, Filepath: f.path, Line: line})
	}
}

// checkIndex refuses a tree without index, or with two.
func (r *treeReader) checkIndex() error {
	switch files := r.found[fold(document.Index.Name)]; len(files) {
	case 0:
		return missingIndex()
	case 1:
		return nil
	default:
		return invalidIndex(Item{Msg: "there is more than one index", Err: ErrDuplicateObject, Filepath: files[0].path})
	}
}

func invalidIndex(item Item) error {
	e := domain.Refuse(domain.CodeValidation, "%s: %s", item.Filepath, item.Msg).
		Reason("invalid_index").With("filepath", item.Filepath)
	if item.Line > 0 {
		e.With("line", item.Line)
	}
	return e
}

// placeDocuments adds each document to the content that has exactly one valid file.
func (r *treeReader) placeDocuments() error {
	failed := map[string]bool{}
	for _, key := range r.order {
		files := r.found[key]
		if len(files) == 1 && files[0].doc != nil {
			if err := r.useFile(files[0]); err != nil {
				return err
			}
			continue
		}
		for _, f := range files {
			at, _ := Locate(f.path)
			failed[at.String()], failed[f.location.String()] = true, true
			if len(files) > 1 {
				r.fail(Item{Msg: "another file is for the same object", Err: ErrDuplicateObject, Filepath: f.path, Line: r.out.Line(f.path, "slug")})
			}
		}
	}
	r.out.Failed = slices.Sorted(maps.Keys(failed))
	return r.out.Files.Check(r.Limits)
}

// useFile adds the document of a file. Its canonical text can be longer; a document that could not be
// exported again is refused.
func (r *treeReader) useFile(f file) error {
	text, err := Text(f.location, f.doc)
	if err != nil {
		return err
	}
	if len(text) > r.Limits.FileBytes {
		return Exceeded("fileBytes", r.Limits.FileBytes, f.path)
	}
	r.out.Files[f.location.Path()] = text
	r.out.Content.Put(f.location, f.doc)
	r.out.Sources[f.location] = f.path
	r.warnAbout(f)
	return nil
}

// checksum reports whether the file at a path has the checksum of the import file, or need not.
func (r *treeReader) checksum(at Location, path string) bool {
	if r.out.Import == nil || !r.Verify {
		return true
	}
	want, listed := r.out.Import.Checksums[at.String()]
	if !listed || want == Checksum(r.tree[path]) {
		return true
	}
	return r.mismatch(Item{Msg: "is not what was pushed", Err: ErrChecksumMismatch, Filepath: path})
}

// missing finds files that the import file lists and the tree lacks. Their places count as failed: a
// document must not be deleted because its file is lost.
func (r *treeReader) missing() {
	if r.out.Import == nil || !r.Verify {
		return
	}
	have := r.tree.Checksums()
	for _, path := range slices.Sorted(maps.Keys(r.out.Import.Checksums)) {
		if _, ok := have[path]; ok {
			continue
		}
		if !r.mismatch(Item{Msg: "is listed in " + ImportPath + " but missing", Err: ErrChecksumMismatch, Filepath: path + extensions[0]}) {
			r.out.Failed = append(r.out.Failed, path)
		}
	}
	slices.Sort(r.out.Failed)
	r.out.Failed = slices.Compact(r.out.Failed)
}

// mismatch adds the item of a wrong checksum, and reports whether Force allows it.
func (r *treeReader) mismatch(item Item) bool {
	if r.Force {
		r.warn(item)
	} else {
		r.fail(item)
	}
	return r.Force
}

// strict refuses a tree with errors, with the option Strict.
func (r *treeReader) strict() error {
	if !r.Strict || len(r.out.Errors) == 0 {
		return nil
	}
	return domain.Refuse(domain.CodeValidation, "%d files have errors, the first: %s: %s",
		len(r.out.Errors), r.out.Errors[0].Filepath, r.out.Errors[0].Msg).
		Reason("invalid_files").With("errors", r.out.Errors)
}
