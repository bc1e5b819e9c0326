// Package archive turns the content of a workspace into files and files into
// content (contract/versioning.md 4, 5 and 17). A Tree is the files of one
// workspace by path: from a zip, a directory or a commit. Nothing here reads the
// log, and no source is trusted: a path that could leave its folder or be taken for
// another file, or a size beyond the limits refuses the whole tree. Any other fault
// is an Item for its file.
package archive

import (
	"errors"
	"path"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/document"
)

// Limits bound a tree. Zero means zero: start with Usual.
type Limits struct {
	Files        int             // managed files of a tree
	FileBytes    int             // of one file
	TreeBytes    int             // of all files
	PathBytes    int             // of one path
	SegmentBytes int             // of one part of a path
	Segments     int             // of one path
	ArchiveBytes int             // of a zip: IMPORT_MAX_SIZE
	Entries      int             // of a zip, unmanaged ones included
	Ratio        int             // of a tree over 1 MB to its zip
	Workspaces   int             // of a bulk zip
	Document     document.Limits // of the text of one file
}

// Usual are the limits of the contract.
var Usual = Limits{
	Files: 5000, FileBytes: 1 << 20, TreeBytes: 64 << 20,
	PathBytes: 512, SegmentBytes: 200, Segments: 32,
	ArchiveBytes: 50 << 20, Entries: 50_000, Ratio: 100, Workspaces: 2000,
	Document: document.FileLimits,
}

// ratioFrom is the size up to which the compression ratio is not checked.
const ratioFrom = 1 << 20

// Exceeded is the refusal of a source beyond a limit. path is "" for the whole source.
func Exceeded(limit string, value int, path string) error {
	e := domain.Refuse(domain.CodeValidation, "the limit %s of %d is exceeded", limit, value).
		Reason("limit_exceeded").With("limit", limit).With("value", value)
	if path != "" {
		e.Message = path + ": " + e.Message
		e.With("path", path)
	}
	return e
}

// Item is an error or a warning about one file of an import.
type Item struct {
	Msg         string `json:"msg"`
	Err         string `json:"err"` // one of the codes below
	Filepath    string `json:"filepath"`
	Line        int    `json:"line,omitempty"`
	WorkspaceID string `json:"workspaceId,omitempty"`
	// Details are what a program can do something with.
	Details map[string]any `json:"details,omitempty"`
}

// The codes of error items.
const (
	ErrInvalidDocument   = "invalid_document"    // cannot be read, or was refused by Options.Validate
	ErrInvalidSlug       = "invalid_slug"        // no object of this kind can be called so
	ErrDuplicateObject   = "duplicate_object"    // two files for one object
	ErrChecksumMismatch  = "checksum_mismatch"   // not the bytes that were pushed; with force a warning
	ErrInvalidImportFile = "invalid_import_file" // ImportPath cannot be read
)

// The codes of warnings.
const (
	WarnSlugMismatch = "slug_mismatch" // the file has another name than its slug
	WarnUnknownField = "unknown_field" // kept, without effect
	WarnNotImported  = "not_imported"  // a file whose name is almost that of a document
	WarnNotAPage     = "not_a_page"    // JSON below pages that describes something else
)

// itemOf returns the item for a file that could not be read. line finds the line of a field.
func itemOf(code, file string, err error, line func(field string) int) Item {
	item := Item{Msg: err.Error(), Err: code, Filepath: file}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		item.Msg, item.Line = refusal.Message, line(FirstField(refusal))
	}
	if fault, ok := errors.AsType[*document.Fault](err); ok {
		item.Line = fault.Line
	}
	return item
}

// FirstField returns the first field of a refusal, or "".
func FirstField(refusal *domain.Error) string {
	if list, ok := refusal.Details["errors"].([]domain.FieldError); ok && len(list) > 0 {
		return list[0].Field
	}
	return ""
}

// ImportPath is the path of the import file.
const ImportPath = ".import.yml"

// extensions are those of managed files. The first is the one written.
var extensions = []string{".yml", ".yaml", ".json"}

// listing is a file that other platforms write into each folder. It is not a document.
const listing = "__index__"

// Location is what a file describes.
type Location struct {
	Kind *document.Kind
	Slug string // "" for the index and the security document
}

// String returns the path without extension.
func (p Location) String() string {
	if p.Kind.Folder == "" {
		return p.Kind.Name
	}
	return p.Kind.Folder + "/" + p.Slug
}

// Path returns the path of the file.
func (p Location) Path() string { return p.String() + extensions[0] }

// Locate returns what the file at a path describes; false when it describes
// nothing: READMEs, hidden files, other extensions and ImportPath.
func Locate(file string) (Location, bool) {
	ext := path.Ext(file)
	if !slices.Contains(extensions, ext) {
		return Location{}, false
	}
	stem := strings.TrimSuffix(file, ext)
	for _, kind := range document.Kinds {
		if kind.Folder == "" && stem == kind.Name {
			return Location{Kind: kind}, true
		}
		slug, inside := strings.CutPrefix(stem, kind.Folder+"/")
		if kind.Folder != "" && inside && !isHidden(slug) {
			return Location{kind, slug}, true
		}
	}
	return Location{}, false
}

// isHidden reports whether the file of a slug is hidden and so not managed. An unsafe name that only
// looks hidden is managed, and refused later.
func isHidden(slug string) bool {
	segments := strings.Split(slug, "/")
	base := segments[len(segments)-1]
	if base == "" || base == listing || base[0] == '.' {
		return true
	}
	return slices.ContainsFunc(segments, func(s string) bool {
		return strings.HasPrefix(s, ".") && strings.Trim(s, ".") != "" && !isGit(s)
	})
}

// IsManaged reports whether the file at a path belongs to the content. Other files are neither read
// nor changed.
func IsManaged(file string) bool {
	_, ok := Locate(file)
	return ok || file == ImportPath
}

// Misnamed returns warnings about files that are not managed only because of upper case in their
// names.
func Misnamed(paths []string) (warnings []Item) {
	for _, file := range paths {
		if lower := strings.ToLower(file); !IsManaged(file) && IsManaged(lower) && lower != ImportPath {
			warnings = append(warnings, Item{Msg: "was not imported: folders and extensions are in lower case, such as " + lower, Err: WarnNotImported, Filepath: file})
		}
	}
	return warnings
}

// isFolder reports whether a path is a folder of managed files.
func isFolder(file string) bool {
	return file != "" && slices.ContainsFunc(document.Kinds, func(k *document.Kind) bool { return k.Folder == file })
}

// Excludes are places that an import does not change: index, pages/home, or a whole folder as
// automations/*.
type Excludes []string

// ExcludesOf returns the excludes of a repository of a workspace.
func ExcludesOf(repository *document.Map) (excludes Excludes) {
	value, _ := repository.Get("pull")
	pull, _ := value.(*document.Map)
	value, _ = pull.Get("exclude")
	list, _ := value.([]any)
	for _, item := range list {
		entry, _ := item.(*document.Map)
		excludes = append(excludes, entry.Text("path"))
	}
	return excludes
}

// Has reports whether a place is excluded.
func (e Excludes) Has(docPath string) bool {
	folder, _, inside := strings.Cut(docPath, "/")
	return slices.Contains(e, docPath) || inside && slices.Contains(e, folder+"/*")
}
