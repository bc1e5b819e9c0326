package archive

import (
	"path"
	"slices"
	"strings"

	"svc/domain/document"
)

// ImportPath is the path of the file that tells where a tree comes from.
const ImportPath = ".import.yml"

// extensions are those of managed files. The first is the one written.
var extensions = []string{".yml", ".yaml", ".json"}

// listing is a file that other platforms put into each folder. It is no object.
const listing = "__index__"

// Place is what a file describes.
type Place struct {
	Kind *document.Kind
	Slug string // "" for the index and the security document
}

// String returns the path without extension, which is how people name objects.
func (p Place) String() string {
	if p.Kind.Folder == "" {
		return p.Kind.Name
	}
	return p.Kind.Folder + "/" + p.Slug
}

// Path returns the path that the object is written to.
func (p Place) Path() string { return p.String() + extensions[0] }

// Locate returns what the file at a path describes; false when it describes
// nothing: READMEs, hidden files, other extensions and ImportPath.
func Locate(file string) (Place, bool) {
	ext := path.Ext(file)
	if !slices.Contains(extensions, ext) {
		return Place{}, false
	}
	stem := strings.TrimSuffix(file, ext)
	for _, kind := range document.Kinds {
		if kind.Folder == "" && stem == kind.Name {
			return Place{Kind: kind}, true
		}
		slug, inside := strings.CutPrefix(stem, kind.Folder+"/")
		if kind.Folder != "" && inside && !isHidden(slug) {
			return Place{kind, slug}, true
		}
	}
	return Place{}, false
}

// isHidden reports whether the file of a slug is none of ours. What only pretends
// to be a hidden folder is ours, to be refused.
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

// IsManaged reports whether the file at a path belongs to the content. Others are
// never read, and kept where they are.
func IsManaged(file string) bool {
	_, ok := Locate(file)
	return ok || file == ImportPath
}

// Misnamed returns warnings about files that are no content because of upper case in their names:
// somebody meant them to be.
func Misnamed(paths []string) (warnings []Item) {
	for _, file := range paths {
		if lower := strings.ToLower(file); !IsManaged(file) && IsManaged(lower) && lower != ImportPath {
			warnings = append(warnings, Item{Msg: "was not imported: folders and extensions are in lower case, such as " + lower, Err: WarnNotImported, Filepath: file})
		}
	}
	return warnings
}

// isFolder reports whether a path is that of a folder of managed files.
func isFolder(file string) bool {
	return file != "" && slices.ContainsFunc(document.Kinds, func(k *document.Kind) bool { return k.Folder == file })
}

// Excludes are places that an import leaves as they are: index, pages/home, or a
// whole folder as automations/*.
type Excludes []string

// ExcludesOf returns what a repository of a workspace says to leave as it is.
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
func (e Excludes) Has(place string) bool {
	folder, _, inside := strings.Cut(place, "/")
	return slices.Contains(e, place) || inside && slices.Contains(e, folder+"/*")
}
