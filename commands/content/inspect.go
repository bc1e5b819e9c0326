package content

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/shape"
)

// File is a file of a workspace, inspected without the workspace.
type File struct {
	Path     string // in the tree
	Location archive.Location
	Doc      *document.Map    // nil: it cannot be read
	Source   *yamltext.Source // nil: it cannot be read
	Problems []Problem
	Uses     []automation.Use

	review automation.Review
}

// Problem is something that is wrong with a file, or with a warning: may be.
type Problem struct {
	Field    string
	Position yamltext.Position // the zero Position: it is about the whole file
	Message  string
	Warning  bool
}

// Inspect reads a file of a workspace and finds what is wrong with it by the rules with which an import is checked.
// What depends on other files, CheckNames finds.
func Inspect(path string, text []byte, rules automation.Rules) *File {
	f := &File{Path: path}
	f.Location, _ = archive.Locate(path)
	doc, err := yamltext.ReadMap(text, archive.Usual.Document)
	if err != nil {
		problem := Problem{Message: err.Error()}
		if at, ok := errors.AsType[*document.Fault](err); ok {
			problem.Position, problem.Message = yamltext.Position{Line: at.Line, Column: at.Column}, at.Message
		}
		f.Problems = []Problem{problem}
		return f
	}
	f.Source, _ = yamltext.Locate(text, archive.Usual.Document) // it was read a moment ago
	f.Doc = doc
	kind := f.Location.Kind
	if slug := doc.Text("slug"); kind.Folder != "" && slug != "" && slug != f.Location.Slug {
		f.add("slug", "the file is called "+f.Location.Slug+": rename the file or change the slug", false)
	}
	corrected, changes := shape.Correct(kind, doc)
	for _, change := range changes {
		f.add(change.Field, change.Message, true)
	}
	corrected = kind.Canonical(corrected)
	checker := Content{Rules: func() automation.Rules { return rules }}
	faults, parsed := checker.Check(kind, corrected)
	if kind == document.Security && len(faults) == 0 {
		_, err := readSecurity("", corrected)
		faults = withRefusal(faults, err)
	}
	for _, fault := range faults {
		keptWithoutEffect := fault.Unknown && kind != document.Page
		f.add(fault.Field, fault.Message, fault.Warning || keptWithoutEffect)
	}
	f.review = reviewOf(kind, corrected, parsed)
	if f.Uses = parsed.Uses(); parsed == nil {
		f.Uses = shape.Uses(kind, doc)
	}
	return f
}

// add adds a problem of a field.
func (f *File) add(field, message string, warning bool) {
	if field != "" {
		message = field + ": " + message
	}
	f.Problems = append(f.Problems, Problem{Field: field, Position: f.Source.Position(field), Message: message, Warning: warning})
}

// CheckNames returns what is wrong between the files of a workspace, by path: names that documents use and that do
// not exist, and two files for one document. Which secrets have values, and what apps offer, is not known. An app is started by events of those who
// install it.
func CheckNames(files map[string]*File, isApp bool) map[string][]Problem {
	byPlace, found := map[string]*File{}, map[string][]Problem{}
	n := &nameChecker{
		builtIn: automation.Instructions(), isComplete: !isApp,
		exists: func(path string) bool { return byPlace[path] != nil },
		paths:  func() iter.Seq[string] { return maps.Keys(byPlace) },
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		if other := byPlace[f.Location.String()]; other != nil {
			found[path] = append(found[path], Problem{Message: other.Path + " describes the same: delete one of them"})
			continue
		}
		byPlace[f.Location.String()] = f
		n.isComplete = n.isComplete && f.Doc != nil
		n.emitted, n.emitsLike = append(n.emitted, f.review.Emits...), append(n.emitsLike, f.review.EmitsLike...)
		if f.Location.Kind == document.Index {
			n.declared = f.Doc.Object("events").Object("types")
		}
	}
	n.warn = func(_, path string, ref automation.Reference, message string) {
		f := byPlace[path]
		found[f.Path] = append(found[f.Path], Problem{
			Field: ref.Field, Position: f.Source.Position(ref.Field), Message: ref.Field + ": " + message, Warning: true,
		})
	}
	for place, f := range byPlace {
		if f.Source == nil {
			continue
		}
		r := f.review
		r.Calls = nil
		for _, use := range f.Uses {
			if use.Kind == automation.Call {
				r.Calls = append(r.Calls, automation.Reference{Name: use.Name, Field: use.Field})
			}
		}
		n.check(place, r)
	}
	return found
}
