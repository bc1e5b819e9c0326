package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"svc/cmd/client"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/merge"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
)

// linkDir is the folder of a directory in which svc remembers the workspace. It is no content.
const linkDir = ".svc"

// conflictSuffix ends the name of the file beside a file in conflict. Such a file is no content.
const conflictSuffix = ".conflict"

// link is what a directory remembers of its workspace.
type link struct {
	URL         string `json:"url"` // of the service; "" for the one in the directory
	WorkspaceID string `json:"workspaceId"`
	Port        int    `json:"port,omitempty"`  // of the service in the directory
	Token       string `json:"token,omitempty"` // for the service in the directory

	// Content is that of the workspace at Revision. It is the base on which the files of the directory and
	// later content are merged.
	Revision  uint64                  `json:"contentRevision"`
	Content   archive.Tree            `json:"content"`
	Conflicts map[string]heldConflict `json:"conflicts,omitempty"` // by the path of the file
}

// heldConflict is a file that both sides changed. It is neither saved nor overwritten until somebody has
// removed the file beside it.
type heldConflict struct {
	Base   []byte `json:"base"`   // nil: there was none
	Theirs []byte `json:"theirs"` // what the workspace has, as the file beside it shows; nil: it was deleted
	Shown  []byte `json:"shown"`  // the file beside it, as it was written
}

// linkedDirectory is a directory in the layout of an archive that follows a workspace.
type linkedDirectory struct {
	path string
	link
}

func openLinked(path string) (*linkedDirectory, error) {
	d := &linkedDirectory{path: path}
	text, err := os.ReadFile(d.inside("state.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(text, &d.link); err != nil {
		return nil, fmt.Errorf("%s cannot be read: delete it to begin anew (files stay, and what differs from the workspace becomes a conflict): %w", d.inside("state.json"), err)
	}
	return d, nil
}

// inside is a path in the folder of svc.
func (d *linkedDirectory) inside(name string) string { return filepath.Join(d.path, linkDir, name) }

// file is where a file of the content is.
func (d *linkedDirectory) file(name string) string {
	return filepath.Join(d.path, filepath.FromSlash(name))
}

// prepare makes the folder of svc. Git does not see it.
func (d *linkedDirectory) prepare() error {
	if err := os.MkdirAll(d.inside(""), 0o700); err != nil {
		return err
	}
	return os.WriteFile(d.inside(".gitignore"), []byte("*\n"), 0o600)
}

// save writes what is remembered, at once or not at all.
func (d *linkedDirectory) save() error {
	text, err := json.Marshal(d.link)
	if err != nil {
		return err
	}
	return d.replace(d.inside("state.json"), text, 0o600)
}

// replace writes a file, at once or not at all.
func (d *linkedDirectory) replace(path string, text []byte, mode fs.FileMode) error {
	temp, err := os.CreateTemp(d.inside(""), "write-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already after the rename
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// read returns the content of the directory.
func (d *linkedDirectory) read() (archive.Tree, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	tree, err := archive.ReadDirectory(root.FS(), archive.Usual)
	delete(tree, archive.ImportPath)
	return tree, err
}

// fetchContent returns the content of the workspace and its revision; what is known when nothing changed.
// The revision is asked first: a change in between makes it an old one, and an import based on it is refused.
func (r *remote) fetchContent(ctx context.Context, known link) (archive.Tree, uint64, error) {
	var workspace struct {
		ContentRevision uint64 `json:"contentRevision"`
	}
	if err := r.Get(ctx, r.path(""), &workspace); err != nil {
		return nil, 0, err
	}
	if workspace.ContentRevision <= known.Revision { // smaller: a node that has not read all yet
		return known.Content, known.Revision, nil
	}
	got, err := r.Send(ctx, http.MethodGet, r.path("/export"), "application/zip", client.Content{}, nil)
	if err != nil {
		return nil, 0, err
	}
	tree, _, err := archive.Unzip(got.Body, archive.Usual)
	return tree, workspace.ContentRevision, err
}

// mergedDirectory is what became of a directory and its workspace.
type mergedDirectory struct {
	written, removed []string             // files, because the workspace has changed
	conflicts        []merge.Conflict     // that are new, or new in what they show
	settled          []string             // files whose conflict is gone
	changed          map[string]localFile // what the workspace is to become, by place
	now              archive.Tree         // the files of the directory
	places           map[string]string    // the path of each place, of the directory
	remote           archive.Tree         // the content of the workspace
	revision         uint64
}

// localFile is a file of the directory that the workspace has not; without text it was deleted.
type localFile struct {
	path string
	text []byte
}

// errMoved says that a file changed while it was merged.
var errMoved = errors.New("a file was changed meanwhile")

// merge brings the directory and the content of the workspace together: files become what the workspace has
// where only the workspace changed, and what only the directory changed is returned to be saved. What both
// changed is merged, or written beside the file.
func (d *linkedDirectory) merge(ctx context.Context, remote archive.Tree, revision uint64) (*mergedDirectory, error) {
	local, err := d.read()
	if err != nil {
		return nil, err
	}
	m := &mergedDirectory{changed: map[string]localFile{}, remote: remote, revision: revision}
	base := maps.Clone(d.Content)
	if base == nil {
		base = archive.Tree{}
	}
	places := pathsByPlace(local)
	for _, root := range []*document.Kind{document.Index, document.Security} { // these cannot be deleted: they are written again
		if places[root.Name] == "" {
			maps.DeleteFunc(base, func(path string, _ []byte) bool { return placeOf(base, path) == root.Name })
		}
	}
	for path, held := range d.Conflicts {
		was := held.Base
		if _, err := os.Stat(d.file(path + conflictSuffix)); errors.Is(err, fs.ErrNotExist) {
			was = held.Theirs // somebody has decided: what the file says now is what counts
			delete(d.Conflicts, path)
			m.settled = append(m.settled, path)
		}
		setFile(base, path, was)
	}
	result, err := merge.Trees(ctx, base, remote, local, merge.Options{Limits: archive.Usual})
	if err != nil {
		return nil, err
	}
	inConflict, err := d.hold(m, result.Conflicts, places)
	if err != nil {
		return nil, err
	}
	if err := d.writeFiles(m, result.Files, local, inConflict); err != nil {
		return nil, err
	}
	remotePlaces := pathsByPlace(remote)
	m.now, m.places = result.Files, pathsByPlace(result.Files)
	for _, place := range result.Theirs {
		file := localFile{path: m.places[place], text: result.Files[m.places[place]]}
		there, isThere := remote[remotePlaces[place]]
		if inConflict[place] || (file.path != "") == isThere && sameMeaning(file, remotePlaces[place], there) {
			continue
		}
		if file.path == "" {
			file = localFile{path: remotePlaces[place]}
		}
		m.changed[place] = file
	}
	d.Content, d.Revision = remote, revision
	return m, d.save()
}

// sameMeaning reports whether a file of the directory means what the workspace has, or neither is there.
func sameMeaning(file localFile, path string, there []byte) bool {
	if file.path == "" || bytes.Equal(file.text, there) {
		return true
	}
	location, _ := archive.Locate(path)
	a, errA := archive.Canonical(location, file.text, document.FileLimits)
	b, errB := archive.Canonical(location, there, document.FileLimits)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// placeOf names the object that a file describes; "" for none.
func placeOf(tree archive.Tree, path string) string {
	location, ok := tree.LocationOf(path)
	if !ok {
		return ""
	}
	return location.String()
}

// pathsByPlace are the paths of objects. Of two files for one object it has the last.
func pathsByPlace(tree archive.Tree) map[string]string {
	paths := map[string]string{}
	for _, path := range tree.Paths() {
		if place := placeOf(tree, path); place != "" {
			paths[place] = path
		}
	}
	return paths
}

// setFile sets a file of a tree, whatever it was called before; nil deletes it.
func setFile(tree archive.Tree, path string, text []byte) {
	if place, ok := archive.Locate(path); ok {
		maps.DeleteFunc(tree, func(other string, _ []byte) bool { return placeOf(tree, other) == place.String() })
	}
	if text != nil {
		tree[path] = text
	}
}

// hold writes the files beside those in conflict, and removes those that are no longer needed. A file that
// somebody has changed is left as it is.
func (d *linkedDirectory) hold(m *mergedDirectory, conflicts []merge.Conflict, places map[string]string) (map[string]bool, error) {
	inConflict, held := map[string]bool{}, map[string]heldConflict{}
	for _, c := range conflicts {
		location, _ := archive.Locate(c.Path)
		inConflict[location.String()] = true
		if own := places[location.String()]; own != "" {
			c.Path = own
		}
		next := heldConflict{Base: c.Base, Theirs: c.Ours, Shown: []byte(c.Merged)}
		before, known := d.Conflicts[c.Path]
		beside := d.file(c.Path + conflictSuffix)
		if known && bytes.Equal(before.Theirs, next.Theirs) {
			held[c.Path] = before
			continue
		}
		if now, err := os.ReadFile(beside); err == nil && known && !bytes.Equal(now, before.Shown) {
			held[c.Path] = before // somebody works on it
			continue
		}
		if err := os.MkdirAll(filepath.Dir(beside), 0o755); err != nil {
			return nil, err
		}
		if err := d.replace(beside, next.Shown, 0o644); err != nil {
			return nil, err
		}
		held[c.Path] = next
		m.conflicts = append(m.conflicts, c)
	}
	for path, before := range d.Conflicts {
		if _, still := held[path]; still {
			continue
		}
		m.settled = append(m.settled, path)
		if now, err := os.ReadFile(d.file(path + conflictSuffix)); err == nil && bytes.Equal(now, before.Shown) {
			if err := os.Remove(d.file(path + conflictSuffix)); err != nil {
				return nil, err
			}
		}
	}
	d.Conflicts = held
	slices.Sort(m.settled)
	return inConflict, nil
}

// writeFiles makes the files of the directory those of a merge. A file that was changed since it was read is
// left, and everything is merged again.
func (d *linkedDirectory) writeFiles(m *mergedDirectory, files, local archive.Tree, inConflict map[string]bool) error {
	for _, path := range files.Paths() {
		if text := files[path]; !bytes.Equal(text, local[path]) || local[path] == nil && !hasFile(local, path) {
			if err := d.checkUnmoved(path, local); err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(d.file(path)), 0o755); err != nil {
				return err
			}
			if err := d.replace(d.file(path), append(leadingComments(local[path], text), text...), 0o644); err != nil {
				return err
			}
			m.written = append(m.written, path)
		}
	}
	for _, path := range local.Paths() {
		if !hasFile(files, path) && !inConflict[placeOf(local, path)] {
			if err := d.checkUnmoved(path, local); err != nil {
				return err
			}
			if err := os.Remove(d.file(path)); err != nil {
				return err
			}
			m.removed = append(m.removed, path)
		}
	}
	return nil
}

// leadingComments are the comments at the top of a file, which a document of the workspace has not.
func leadingComments(before, after []byte) (comments []byte) {
	for line := range bytes.Lines(before) {
		if !bytes.HasPrefix(line, []byte("#")) {
			break
		}
		comments = append(comments, line...)
	}
	if bytes.HasPrefix(after, comments) || bytes.HasPrefix(after, []byte("{")) {
		return nil
	}
	return comments
}

func hasFile(tree archive.Tree, path string) bool {
	_, ok := tree[path]
	return ok
}

// checkUnmoved returns errMoved when a file is no longer as it was read.
func (d *linkedDirectory) checkUnmoved(path string, local archive.Tree) error {
	now, err := os.ReadFile(d.file(path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !hasFile(local, path):
		return nil
	case err == nil && hasFile(local, path) && bytes.Equal(now, local[path]):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return errMoved
	}
	return err
}

// fileFault is something that is wrong with a file, or may be.
type fileFault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	warning bool
}

func (f fileFault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return f.File + ":" + strconv.Itoa(f.Line) + ": " + f.Message
}

// checkFile returns what is wrong with a file of the content, as the service does when it is saved.
func checkFile(path string, text []byte) (found []fileFault) {
	for _, p := range content.Inspect(path, text, automation.Rules{}).Problems {
		found = append(found, fileFault{File: path, Line: p.Position.Line, Message: p.Message, warning: p.Warning})
	}
	return found
}

// importOutcome is what an import said about files.
type importOutcome struct {
	Errors          []archive.Item `json:"errors"`
	Warnings        []archive.Item `json:"warnings"`
	ContentRevision uint64         `json:"contentRevision"`
}

// importChanges saves files in the workspace, if its content is still the one that they were merged with.
func (r *remote) importChanges(ctx context.Context, m *mergedDirectory, changed map[string]localFile) (out importOutcome, err error) {
	next, prune := archive.Tree{}, false
	for path, text := range m.remote {
		if placeOf(m.remote, path) == document.Index.Name {
			next[path] = text // an archive needs one
		}
	}
	for _, file := range changed {
		prune = prune || file.text == nil
		setFile(next, file.path, file.text)
	}
	if prune {
		next = maps.Clone(m.remote)
		for _, file := range changed {
			setFile(next, file.path, file.text)
		}
	}
	var packed bytes.Buffer
	if err := next.WriteZip(&packed); err != nil {
		return out, err
	}
	path := r.path(fmt.Sprintf("/import?strict=true&prune=%t&ifRevision=%d", prune, m.revision))
	got, err := r.Call(ctx, http.MethodPost, path, client.Content{Type: "application/zip", Data: packed.Bytes()}, nil)
	if err == nil && got.Status == http.StatusAccepted {
		var op client.Operation
		if op, err = r.Follow(ctx, r.workspace, got.Operation, func(client.Frame) {}); err == nil {
			got.Body, err = op.Result, op.Err()
		}
	}
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Reason() == "invalid_files" {
		refused.Detail("errors", &out.Errors)
		return out, nil
	}
	if err != nil {
		return out, err
	}
	return out, decode(got.Body, &out)
}

// saved remembers that the workspace has files of the directory.
func (d *linkedDirectory) saved(changed map[string]localFile, revision uint64) error {
	now := maps.Clone(d.Content)
	for _, file := range changed {
		setFile(now, file.path, file.text)
	}
	d.Content, d.Revision = now, revision
	return d.save()
}

// isStale reports whether the workspace was changed by others since it was read.
func isStale(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Code == domain.CodeConflict && refused.Reason() == "stale"
}
