package archive

import (
	"maps"
	"slices"
	"strings"

	"svc/commands/yamltext"
	"svc/domain/document"
)

// ImportFile is the content of the file at ImportPath: where a tree comes from and what it needs.
type ImportFile struct {
	WorkspaceID string
	Version     string   // its name
	Groups      []string // at the time of the push
	DependsOn   []string // apps of its app instances
	AppSlug     string   // of the app it publishes
	AppName     string
	Checksums   map[string]string // by place
}

// Text returns the bytes of the file, lists and maps sorted, empty fields left
// out.
func (f ImportFile) Text() ([]byte, error) {
	m := document.MapOf()
	put := func(in *document.Map, key string, v any, empty bool) {
		if !empty {
			in.Set(key, v)
		}
	}
	version, app := document.MapOf(), document.MapOf()
	put(version, "name", f.Version, f.Version == "")
	put(app, "slug", f.AppSlug, f.AppSlug == "")
	put(app, "name", f.AppName, f.AppName == "")
	sums := f.sums()
	put(m, "workspaceId", f.WorkspaceID, f.WorkspaceID == "")
	put(m, "version", version, version.Len() == 0)
	put(m, "groups", sortedList(f.Groups), len(f.Groups) == 0)
	put(m, "dependsOn", sortedList(f.DependsOn), len(f.DependsOn) == 0)
	put(m, "app", app, app.Len() == 0)
	put(m, "checksums", sums, sums.Len() == 0)
	return document.YAML(m)
}

// sums returns the checksums as the file nests them: a folder is a mapping.
func (f ImportFile) sums() *document.Map {
	all := document.MapOf()
	paths := slices.Sorted(maps.Keys(f.Checksums))
	for _, kind := range document.Kinds {
		if kind.Folder == "" {
			if sum, ok := f.Checksums[kind.Name]; ok {
				all.Set(kind.Name, sum)
			}
			continue
		}
		folder := document.MapOf()
		for _, path := range paths {
			if slug, ok := strings.CutPrefix(path, kind.Folder+"/"); ok {
				folder.Set(slug, f.Checksums[path])
			}
		}
		if folder.Len() > 0 {
			all.Set(kind.Folder, folder)
		}
	}
	return all
}

func sortedList(texts []string) []any {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// ReadImportFile parses the file. Missing fields are empty; a value of a wrong type is a
// *document.Fault. Unknown keys are ignored: the file may come from a newer version.
func ReadImportFile(text []byte, limits document.Limits) (ImportFile, error) {
	m, err := yamltext.ReadMap(text, limits)
	if err != nil {
		return ImportFile{}, err
	}
	r := &fieldReader{}
	version, app, sums := r.mapping(m, "version"), r.mapping(m, "app"), r.mapping(m, "checksums")
	f := ImportFile{
		WorkspaceID: r.text(m, "workspaceId"), Version: r.text(version, "name"),
		Groups: r.texts(m, "groups"), DependsOn: r.texts(m, "dependsOn"),
		AppSlug: r.text(app, "slug"), AppName: r.text(app, "name"),
		Checksums: map[string]string{},
	}
	for _, kind := range document.Kinds {
		if kind.Folder == "" {
			if sum := r.text(sums, kind.Name); sum != "" {
				f.Checksums[kind.Name] = sum
			}
			continue
		}
		folder := r.mapping(sums, kind.Folder)
		for slug := range folder.All() {
			f.Checksums[Location{kind, slug}.String()] = r.text(folder, slug)
		}
	}
	return f, r.err
}

// fieldReader reads typed values of mappings, and stores the first fault.
type fieldReader struct{ err error }

func (r *fieldReader) wrong(key, want string) {
	if r.err == nil {
		r.err = &document.Fault{Message: key + " must be " + want}
	}
}

func (r *fieldReader) text(m *document.Map, key string) string {
	v, _ := m.Get(key)
	s, ok := v.(string)
	if v != nil && !ok {
		r.wrong(key, "a text")
	}
	return s
}

func (r *fieldReader) mapping(m *document.Map, key string) *document.Map {
	v, _ := m.Get(key)
	inner, ok := v.(*document.Map)
	if v != nil && !ok {
		r.wrong(key, "a mapping")
	}
	return inner
}

func (r *fieldReader) texts(m *document.Map, key string) []string {
	v, _ := m.Get(key)
	list, ok := v.([]any)
	if v != nil && !ok {
		r.wrong(key, "a list of texts")
	}
	var texts []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			r.wrong(key, "a list of texts")
		}
		texts = append(texts, s)
	}
	return texts
}
