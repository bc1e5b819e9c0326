package merge

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/domain/document"
)

// Options are how trees are merged.
type Options struct {
	Excludes archive.Excludes // places where ours stands, whatever theirs says
	Limits   archive.Limits

	// Validate looks at each document that was put together of both sides; nil:
	// all are good. A refusal makes the file a conflict.
	Validate func(p archive.Place, doc *document.Map) error
}

// Result is what a merge gave.
type Result struct {
	Files     archive.Tree // all that could be merged; files that conflict are left out
	Conflicts []Conflict   // by path; none: the merge is clean

	// Ours and Theirs are the places that a side changed since the base, in
	// meaning, sorted. Excluded places are left out.
	Ours, Theirs []string
}

// Conflict is a file that needs somebody to decide.
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
		if _, isObject := theirs.PlaceOf(path); !isObject {
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
	place              archive.Place
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
			if place, ok := tree.PlaceOf(path); ok {
				name := place.String()
				twice[name] = twice[name] || seen[name]
				seen[name] = true
			}
		}
	}
	all := map[string]*version{}
	collect := func(tree archive.Tree, side func(*version) **file) {
		for path, text := range tree {
			place, ok := tree.PlaceOf(path)
			if !ok {
				continue
			}
			name := place.String()
			if twice[name] {
				name = path
			}
			if all[name] == nil {
				all[name] = &version{place: place}
			}
			*side(all[name]) = newFile(place, path, text, limits)
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
			return v.place.Path()
		}
		if f != nil {
			path = f.path
		}
	}
	return path
}
