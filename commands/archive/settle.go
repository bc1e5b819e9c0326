package archive

import (
	"maps"
	"slices"

	"svc/domain"
	"svc/domain/document"
)

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

// settle puts each object into the content when exactly one good file is for it.
func (r *treeReader) settle() error {
	failed := map[string]bool{}
	for _, key := range r.order {
		files := r.found[key]
		if len(files) == 1 && files[0].doc != nil {
			if err := r.use(files[0]); err != nil {
				return err
			}
			continue
		}
		for _, f := range files {
			at, _ := Locate(f.path)
			failed[at.String()], failed[f.place.String()] = true, true
			if len(files) > 1 {
				r.fail(Item{Msg: "another file is for the same object", Err: ErrDuplicateObject, Filepath: f.path, Line: r.out.Line(f.path, "slug")})
			}
		}
	}
	r.out.Failed = slices.Sorted(maps.Keys(failed))
	return r.out.Files.Check(r.Limits)
}

// use takes the document of a file. A text can be longer when it is written our
// way; what could not be exported again is not let in.
func (r *treeReader) use(f file) error {
	text, err := Text(f.place, f.doc)
	if err != nil {
		return err
	}
	if len(text) > r.Limits.FileBytes {
		return Exceeded("fileBytes", r.Limits.FileBytes, f.path)
	}
	r.out.Files[f.place.Path()] = text
	r.out.Content.Put(f.place, f.doc)
	r.out.Sources[f.place] = f.path
	r.warnAbout(f)
	return nil
}

// checksum reports whether the file at a path may be used: its bytes are those
// that the import file lists, or nobody asks.
func (r *treeReader) checksum(at Place, path string) bool {
	if r.out.Import == nil || !r.Verify {
		return true
	}
	want, listed := r.out.Import.Checksums[at.String()]
	if !listed || want == Checksum(r.tree[path]) {
		return true
	}
	return r.mismatch(Item{Msg: "is not what was pushed", Err: ErrChecksumMismatch, Filepath: path})
}

// missing looks for files that the import file lists and the tree lacks. Their
// places count as failed: an object must not be deleted because its file got lost.
func (r *treeReader) missing() {
	if r.out.Import == nil || !r.Verify {
		return
	}
	have := r.tree.Checksums()
	for _, place := range slices.Sorted(maps.Keys(r.out.Import.Checksums)) {
		if _, ok := have[place]; ok {
			continue
		}
		if !r.mismatch(Item{Msg: "is listed in " + ImportPath + " but missing", Err: ErrChecksumMismatch, Filepath: place + extensions[0]}) {
			r.out.Failed = append(r.out.Failed, place)
		}
	}
	slices.Sort(r.out.Failed)
	r.out.Failed = slices.Compact(r.out.Failed)
}

// mismatch says that a checksum is wrong, and reports whether that is forgiven.
func (r *treeReader) mismatch(item Item) bool {
	if r.Force {
		r.warn(item)
	} else {
		r.fail(item)
	}
	return r.Force
}

// strict refuses a tree with errors when that was asked for.
func (r *treeReader) strict() error {
	if !r.Strict || len(r.out.Errors) == 0 {
		return nil
	}
	return domain.Refuse(domain.CodeValidation, "%d files have errors, the first: %s: %s",
		len(r.out.Errors), r.out.Errors[0].Filepath, r.out.Errors[0].Msg).
		Reason("invalid_files").With("errors", r.out.Errors)
}
