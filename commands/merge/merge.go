// Package merge brings two changes of a workspace's files together, file by file
// (contract/versioning.md 10): ours, which is the workspace, and theirs, which is
// the target branch. Files are compared by what they mean; of two that mean the
// same, the bytes of theirs are kept, so that comments and layout in Git stay.
package merge

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/merge"
	"svc/domain/shape"
)

// Options are how trees are merged.
type Options struct {
	Excludes archive.Excludes // places where ours stands, whatever theirs says
	Limits   archive.Limits

	// Validate looks at each document that was put together of both sides; nil:
	// all are good. A refusal makes the file a conflict.
	Validate func(p archive.Location, doc *document.Map) error
}

// Result is what a merge gave.
type Result struct {
	Files     archive.Tree // all that could be merged; files that conflict are left out
	Conflicts []Conflict   // by path; none: the merge is clean

	// Ours and Theirs are the places that a side changed since the base, in
	// meaning, sorted. Excluded places are left out.
	Ours, Theirs []string
}

// Conflict is a file whose conflict a person must resolve.
type Conflict struct {
	Path string
	Kind Kind
	Keys []string // that both sides changed; none when the file conflicts as a whole

	Base, Ours, Theirs []byte // as they are in the trees; nil: not there
	Merged             string // the text with markers around what each side says
}

// Kind is what the two sides did to a file, ours first.
type Kind string

// The kinds of conflicts.
const (
	ModifyModify Kind = "modify/modify"
	DeleteModify Kind = "delete/modify"
	ModifyDelete Kind = "modify/delete"
	AddAdd       Kind = "add/add"
)

// Trees merges ours and theirs, which both began as base. A file that cannot be
// read is compared by its bytes; it conflicts when both sides changed it. Files
// that are not managed, and the import file, are those of theirs.
//
// The result shares its bytes with the trees. It fails when ctx ends, and with
// what Validate returned besides refusals.
func Trees(ctx context.Context, base, ours, theirs archive.Tree, o Options) (*Result, error) {
	m := &merger{Options: o, result: &Result{Files: archive.Tree{}}}
	for path, text := range theirs {
		if _, isObject := theirs.LocationOf(path); !isObject {
			m.result.Files[path] = text
		}
	}
	for _, v := range versions(base, ours, theirs, o.Limits.Document) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := m.file(v); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(m.result.Conflicts, func(a, b Conflict) int { return strings.Compare(a.Path, b.Path) })
	m.result.Ours, m.result.Theirs = slices.Compact(m.result.Ours), slices.Compact(m.result.Theirs)
	return m.result, nil
}

// version is what the three trees have of one object.
type version struct {
	location           archive.Location
	base, ours, theirs *file // nil: not there
}

// versions returns the objects of the trees, by place. Two spellings of a path,
// as a.yml and a.json, are one object; unless a tree has both: then nobody knows
// which is meant, and each is a file of its own.
func versions(base, ours, theirs archive.Tree, limits document.Limits) []*version {
	twice := map[string]bool{}
	for _, tree := range []archive.Tree{base, ours, theirs} {
		seen := map[string]bool{}
		for path := range tree {
			if location, ok := tree.LocationOf(path); ok {
				name := location.String()
				twice[name] = twice[name] || seen[name]
				seen[name] = true
			}
		}
	}
	all := map[string]*version{}
	collect := func(tree archive.Tree, side func(*version) **file) {
		for path, text := range tree {
			location, ok := tree.LocationOf(path)
			if !ok {
				continue
			}
			name := location.String()
			if twice[name] {
				name = path
			}
			if all[name] == nil {
				all[name] = &version{location: location}
			}
			*side(all[name]) = newFile(location, path, text, limits)
		}
	}
	collect(base, func(v *version) **file { return &v.base })
	collect(ours, func(v *version) **file { return &v.ours })
	collect(theirs, func(v *version) **file { return &v.theirs })
	var sorted []*version
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted
}

// path returns where the object is told to be in conflict: where all trees have
// it, or where it would be written.
func (v *version) path() string {
	var path string
	for _, f := range []*file{v.base, v.ours, v.theirs} {
		if f != nil && path != "" && f.path != path {
			return v.location.Path()
		}
		if f != nil {
			path = f.path
		}
	}
	return path
}

type merger struct {
	Options
	result *Result
}

// file merges one object: the table of the contract.
func (m *merger) file(v *version) error {
	if m.Excludes.Has(v.location.String()) {
		m.addFile(v.ours)
		return nil
	}
	oursSame, theirsSame := same(v.base, v.ours), same(v.base, v.theirs)
	if !oursSame {
		m.result.Ours = append(m.result.Ours, v.location.String())
	}
	if !theirsSame {
		m.result.Theirs = append(m.result.Theirs, v.location.String())
	}
	switch {
	case oursSame, same(v.ours, v.theirs):
		m.addFile(v.theirs)
	case theirsSame:
		m.addFile(v.ours)
	case v.ours == nil:
		m.deleted(v, DeleteModify)
	case v.theirs == nil:
		m.deleted(v, ModifyDelete)
	default:
		return m.both(v)
	}
	return nil
}

// deleted is the conflict of a file that one side deleted and the other changed.
func (m *merger) deleted(v *version, kind Kind) {
	lines, _ := merge.Text(v.base.lines(), v.ours.lines(), v.theirs.lines())
	m.conflict(v, kind, nil, lines)
}

// addFile adds a file of one side to the result as it is.
func (m *merger) addFile(f *file) {
	if f != nil {
		m.result.Files[f.path] = f.text
	}
}

// both merges a file that both sides changed: by lines; where that does not give
// a good document, by keys.
func (m *merger) both(v *version) error {
	lines, clean := merge.Text(v.base.lines(), v.ours.lines(), v.theirs.lines())
	if clean {
		if done, err := m.use(v, lines); done || err != nil {
			return err
		}
	}
	text, keys, err := byKeys(v)
	if err != nil {
		return err
	}
	if text != nil && len(keys) == 0 {
		if done, err := m.use(v, text); done || err != nil {
			return err
		}
	}
	if !merge.HasMarkers(lines) { // no good document, or too long to compare: all that differs is shown
		lines, _ = merge.Text(nil, v.ours.lines(), v.theirs.lines())
	}
	kind := ModifyModify
	if v.base == nil {
		kind = AddAdd
	}
	m.conflict(v, kind, keys, lines)
	return nil
}

// byKeys merges documents by key. text is nil when a version is no document.
func byKeys(v *version) (text []byte, keys []string, err error) {
	base, okBase := v.base.document()
	ours, okOurs := v.ours.document()
	theirs, okTheirs := v.theirs.document()
	if !okBase || !okOurs || !okTheirs {
		return nil, nil, nil
	}
	var sets []string
	if v.location.Kind == document.Index {
		sets = []string{"labels"}
	}
	merged, conflicts := merge.Keys(base, ours, theirs, sets...)
	for _, way := range conflicts {
		keys = append(keys, pathOf(way))
	}
	text, err = v.location.Kind.Text(merged)
	return text, keys, err
}

// maxKey is how much is shown of each key on a path, in characters.
const maxKey = 100

func pathOf(way []string) string {
	steps := make([]any, len(way))
	for i, key := range way {
		if utf8.RuneCountInString(key) > maxKey {
			key = string([]rune(key)[:maxKey]) + "…"
		}
		steps[i] = key
	}
	return shape.Path(steps...)
}

// use puts a merged text into the result, if it is a good document. What means
// the same as theirs is left as they wrote it.
func (m *merger) use(v *version, text []byte) (done bool, err error) {
	doc, err := yamltext.ReadMap(text, m.Limits.Document)
	if err != nil || len(text) > m.Limits.FileBytes {
		return false, nil //nolint:nilerr // a fault of the text: somebody has to look at it
	}
	if m.Validate != nil {
		if err := m.Validate(v.location, doc); err != nil {
			return false, besidesFaults(err)
		}
	}
	merged := newFile(v.location, v.location.Path(), text, m.Limits.Document)
	if same(merged, v.theirs) {
		merged = v.theirs
	}
	m.addFile(merged)
	return true, nil
}

// besidesFaults returns err unless it is about the document.
func besidesFaults(err error) error {
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return nil
	}
	if _, fault := errors.AsType[*document.Fault](err); fault {
		return nil
	}
	return err
}

// conflict adds a conflict.
func (m *merger) conflict(v *version, kind Kind, keys []string, merged []byte) {
	m.result.Conflicts = append(m.result.Conflicts, Conflict{
		Path: v.path(), Kind: kind, Keys: keys,
		Base: v.base.content(), Ours: v.ours.content(), Theirs: v.theirs.content(),
		Merged: strings.ToValidUTF8(string(merged), "\ufffd"),
	})
}

// file is one object in one tree. It is read when somebody asks what it means:
// most files of most trees are the same bytes.
type file struct {
	location archive.Location
	path     string
	text     []byte // never nil
	limits   document.Limits

	asked     bool
	canonical []byte // nil: cannot be read
}

func newFile(p archive.Location, path string, text []byte, limits document.Limits) *file {
	if text == nil {
		text = []byte{}
	}
	return &file{location: p, path: path, text: text, limits: limits}
}

// meaning returns the canonical text; nil when the file cannot be read.
func (f *file) meaning() []byte {
	if !f.asked {
		f.asked = true
		if text, err := archive.Canonical(f.location, f.text, f.limits); err == nil {
			f.canonical = text
		}
	}
	return f.canonical
}

// lines returns what is merged line by line: the canonical text, or what there is
// of a file that cannot be read or is not there.
func (f *file) lines() []byte {
	switch {
	case f == nil:
		return nil
	case f.meaning() == nil:
		return f.text
	default:
		return f.meaning()
	}
}

// document returns what the file says, nothing when it is not there. ok is false
// when it cannot be read.
func (f *file) document() (doc *document.Map, ok bool) {
	if f == nil {
		return nil, true
	}
	if f.meaning() == nil {
		return nil, false
	}
	doc, err := yamltext.ReadMap(f.meaning(), f.limits)
	return doc, err == nil
}

// content returns the bytes of the file, nil when it is not there.
func (f *file) content() []byte {
	if f == nil {
		return nil
	}
	return f.text
}

// same reports whether two files mean the same, or neither is there.
func same(a, b *file) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case bytes.Equal(a.text, b.text):
		return true
	default:
		return a.meaning() != nil && bytes.Equal(a.meaning(), b.meaning())
	}
}
