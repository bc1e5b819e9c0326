package lsp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain/automation"
	"svc/domain/document"
)

// openDocument is a document that the client has open: its text counts, not that of the file.
type openDocument struct {
	uri     string
	version int
	text    text
	in      *workspace // nil: it belongs to no workspace
	path    string     // in the workspace
}

// workspace is a directory with the files of a workspace.
type workspace struct {
	dir    string
	server *server
	disk   archive.Tree

	files map[string]*inspected
	names map[string][]content.Problem // between files; nil: not looked for yet
	isApp bool
}

// inspected is a file with its text.
type inspected struct {
	*content.File
	text text
	// good is the last text of it that could be read, with its file: what others refer to while somebody types.
	good *inspected
}

// pathOf returns the path of a file by its URI; false for what is no file.
func pathOf(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	path := u.Path
	if len(path) > 2 && path[2] == ':' { // /C:/…
		path = path[1:]
	}
	return filepath.Clean(filepath.FromSlash(path)), true
}

// uri returns the URI of a file: the one that the client uses, if it does.
func (s *server) uri(file string) string {
	if doc := s.open[file]; doc != nil {
		return doc.uri
	}
	return fileURI(file)
}

func fileURI(file string) string {
	path := filepath.ToSlash(file)
	if path[0] != '/' {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// hasIndex reports whether a directory is that of a workspace.
func hasIndex(dir string) bool {
	for _, name := range []string{"index.yml", "index.yaml", "index.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// locate returns the workspace of a file, and its path there; nil for a file that is not part of one. The directory
// is the outermost one in which the file has a place and that has an index, else the outermost one in which it has a
// place: pages/index.yml is a page.
func (s *server) locate(file string) (*workspace, string) {
	var found, withIndex string
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			break
		}
		if _, ok := archive.Locate(filepath.ToSlash(name)); ok {
			if found = dir; hasIndex(dir) {
				withIndex = dir
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	dir := cmp.Or(withIndex, found)
	if dir == "" {
		return nil, ""
	}
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return nil, ""
	}
	return s.workspace(dir), filepath.ToSlash(name)
}

// workspace returns the workspace of a directory.
func (s *server) workspace(dir string) *workspace {
	w := s.workspaces[dir]
	if w == nil {
		w = &workspace{dir: dir, server: s, files: map[string]*inspected{}}
		s.workspaces[dir] = w
		w.read()
	}
	return w
}

func (w *workspace) file(path string) string {
	return filepath.Join(w.dir, filepath.FromSlash(path))
}

// read reads the files of the directory. What cannot be read stays as it was.
func (w *workspace) read() {
	w.server.changed = true
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		w.disk = nil // it is gone
	} else {
		defer func() { _ = root.Close() }() // it was only read
		tree, err := archive.ReadDirectory(root.FS(), archive.Usual)
		if err != nil {
			fmt.Fprintf(w.server.Log, "svc lsp: %s: %v\n", w.dir, err)
			return
		}
		w.disk = tree
	}
	w.isApp = false
	if text, ok := w.disk[archive.ImportPath]; ok {
		file, err := archive.ReadImportFile(text, archive.Usual.Document)
		w.isApp = err == nil && file.AppSlug != ""
	}
	w.inspect()
}

// inspect looks at the files that have changed.
func (w *workspace) inspect() {
	now := maps.Clone(w.disk)
	if now == nil {
		now = archive.Tree{}
	}
	for _, doc := range w.server.open {
		if doc.in == w {
			now[doc.path] = []byte(doc.text.body)
		}
	}
	maps.DeleteFunc(now, func(path string, _ []byte) bool { _, ok := now.LocationOf(path); return !ok })
	for path := range w.files {
		if _, ok := now[path]; !ok {
			delete(w.files, path)
		}
	}
	for path, body := range now {
		before := w.files[path]
		if before != nil && bytes.Equal([]byte(before.text.body), body) {
			continue
		}
		next := &inspected{File: content.Inspect(path, body, automation.Rules{}), text: newText(string(body))}
		if next.good = next; next.Doc == nil && before != nil {
			next.good = before.good
		}
		w.files[path] = next
	}
	w.names = nil
	w.server.changed = true
}

// paths returns the paths of all files, sorted.
func (w *workspace) paths() []string { return slices.Sorted(maps.Keys(w.files)) }

// diagnostics returns what is wrong, by path.
func (w *workspace) diagnostics() map[string][]diagnostic {
	if w.names == nil {
		files := make(map[string]*content.File, len(w.files))
		for path, f := range w.files {
			files[path] = f.File
		}
		w.names = content.CheckNames(files, w.isApp)
	}
	all := map[string][]diagnostic{}
	for path, f := range w.files {
		for _, p := range slices.Concat(f.Problems, w.names[path]) {
			start := f.text.at(p.Position)
			d := diagnostic{Range: f.text.rangeOf(start, f.text.token(start)), Severity: severityError, Source: "svc", Message: p.Message}
			if p.Warning {
				d.Severity = severityWarning
			}
			all[path] = append(all[path], d)
		}
	}
	return all
}

// index returns the index; nil when there is none that can be read.
func (w *workspace) index() *inspected {
	for _, path := range w.paths() {
		if f := w.files[path].good; f.Location.Kind == document.Index {
			return f
		}
	}
	return nil
}

// automation returns the file of an automation; nil when there is none.
func (w *workspace) automation(slug string) *inspected {
	for _, path := range w.paths() {
		if f := w.files[path]; f.Location.Kind == document.Automation && f.Location.Slug == slug {
			return f
		}
	}
	return nil
}

// document returns an open document; nil for one that belongs to no workspace.
func (s *server) document(uri string) *openDocument {
	file, ok := pathOf(uri)
	if !ok {
		return nil
	}
	doc := s.open[file]
	if doc == nil || doc.in == nil || doc.in.files[doc.path] == nil {
		return nil
	}
	return doc
}

func (s *server) didOpen(_ context.Context, p openParams) (any, error) {
	file, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return nil, nil
	}
	doc := &openDocument{uri: p.TextDocument.URI, version: p.TextDocument.Version, text: newText(p.TextDocument.Text)}
	doc.in, doc.path = s.locate(file)
	s.open[file] = doc
	if doc.in != nil {
		doc.in.read()
	}
	return nil, nil
}

func (s *server) didChange(_ context.Context, p changeParams) (any, error) {
	file, _ := pathOf(p.TextDocument.URI)
	doc := s.open[file]
	if doc == nil {
		return nil, fmt.Errorf("%s is not open", p.TextDocument.URI)
	}
	for _, change := range p.ContentChanges {
		if change.Range == nil {
			doc.text = newText(change.Text)
			continue
		}
		start, end := doc.text.offset(change.Range.Start), doc.text.offset(change.Range.End)
		if start > end {
			return nil, fmt.Errorf("%s: a range ends before it begins", p.TextDocument.URI)
		}
		doc.text = newText(doc.text.body[:start] + change.Text + doc.text.body[end:])
	}
	doc.version = p.TextDocument.Version
	if doc.in != nil {
		doc.in.inspect()
	}
	return nil, nil
}

func (s *server) didSave(_ context.Context, p documentParams) (any, error) {
	if file, ok := pathOf(p.TextDocument.URI); ok {
		if w, _ := s.locate(file); w != nil { // an index may have come into being
			if doc := s.open[file]; doc != nil && doc.in != w {
				s.rescan()
			}
			w.read()
		}
	}
	return nil, nil
}

func (s *server) didClose(_ context.Context, p documentParams) (any, error) {
	file, _ := pathOf(p.TextDocument.URI)
	if doc := s.open[file]; doc != nil {
		if delete(s.open, file); doc.in != nil {
			doc.in.read()
		}
	}
	return nil, nil
}

// didChangeFiles reads all directories anew.
func (s *server) didChangeFiles(context.Context, json.RawMessage) (any, error) {
	s.rescan()
	return nil, nil
}

// rescan reads all directories anew. A document may belong to another one than before.
func (s *server) rescan() {
	for file, doc := range s.open {
		doc.in, doc.path = s.locate(file)
	}
	for _, w := range s.workspaces {
		w.read()
	}
}
