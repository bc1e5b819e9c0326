package versioning

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain/document"
	"svc/domain/workspace"
)

// storeTree stores a tree under its hash: a merge needs it long after the remote may have
// deleted it.
func (v *Versioning) storeTree(ctx context.Context, tree archive.Tree) (string, error) {
	body, err := json.Marshal(map[string][]byte(tree))
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // a request waits for it
	if err != nil {
		return "", err
	}
	if _, err := w.Write(body); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return v.Blobs.Put(ctx, packed.Bytes())
}

// loadTree returns a stored tree; "" is the empty one.
func (v *Versioning) loadTree(ctx context.Context, name string) (archive.Tree, error) {
	if name == "" {
		return archive.Tree{}, nil
	}
	packed, err := v.Blobs.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("files %s: %w", name, err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("files %s: %w", name, err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("files %s: %w", name, err)
	}
	var tree map[string][]byte
	return tree, json.Unmarshal(body, &tree)
}

// baseTree returns the files that were integrated last, if any.
func (v *Versioning) baseTree(ctx context.Context, sync workspace.Sync) (archive.Tree, error) {
	if sync.Base == nil {
		return archive.Tree{}, nil
	}
	return v.loadTree(ctx, sync.Base.Files)
}

// workspaceTree returns the files of a workspace at a sequence, as the repository sees
// them: under the slug that the index has there, and without one when the index that was
// integrated last, of base, has none. Such a repository is for workspaces of any slug.
func (v *Versioning) workspaceTree(ctx context.Context, workspaceID string, seq uint64, sync workspace.Sync, base archive.Tree) (archive.Tree, error) {
	tree, err := v.Content.Export(ctx, workspaceID, seq, nil)
	if err != nil {
		return nil, err
	}
	slugless := v.hasSluglessIndex(base)
	if sync.RemoteSlug == "" && !slugless {
		return tree, nil
	}
	index := archive.Location{Kind: document.Index}
	doc, err := yamltext.ReadMap(tree[index.Path()], v.limits().Document)
	if err != nil {
		return nil, err
	}
	if slugless {
		doc.Delete("slug")
	} else {
		doc.Set("slug", sync.RemoteSlug)
	}
	tree[index.Path()], err = archive.Text(index, doc)
	return tree, err
}

// hasSluglessIndex reports whether a tree has an index without a slug.
func (v *Versioning) hasSluglessIndex(tree archive.Tree) bool {
	index := objects(tree)[document.Index.Name]
	if index == nil {
		return false
	}
	doc, err := yamltext.ReadMap(index.text, v.limits().Document)
	if err != nil {
		return false
	}
	slug, _ := doc.Get("slug")
	return slug == nil
}

func (v *Versioning) limits() archive.Limits { return v.Content.Limits() }

// object is one object of a tree. Several files for one object are one that nobody
// can read.
type object struct {
	path string // of its file
	text []byte
	more []string // other files for it
}

// objects returns what a tree has by place: automations/charge.
func objects(tree archive.Tree) map[string]*object {
	all := map[string]*object{}
	for _, path := range tree.Paths() {
		location, ok := tree.LocationOf(path)
		if !ok {
			continue
		}
		if known := all[location.String()]; known != nil {
			known.more = append(known.more, path)
			continue
		}
		all[location.String()] = &object{path: path, text: tree[path]}
	}
	return all
}

// sameMeaning reports whether two objects mean the same, or neither is there.
func sameMeaning(a, b *object, limits document.Limits) bool {
	if a == nil || b == nil {
		return a == b
	}
	if len(a.more) > 0 || len(b.more) > 0 {
		return false
	}
	if bytes.Equal(a.text, b.text) {
		return true
	}
	x, y := a.canonical(limits), b.canonical(limits)
	return x != nil && bytes.Equal(x, y)
}

// canonical returns the canonical text of an object; nil when it cannot be read.
func (o *object) canonical(limits document.Limits) []byte {
	location, _ := archive.Locate(o.path)
	text, err := archive.Canonical(location, o.text, limits)
	if err != nil {
		return nil
	}
	return text
}

// changedPaths lists the places that mean something else in two trees, sorted.
func changedPaths(a, b archive.Tree, limits document.Limits) (paths []string) {
	x, y := objects(a), objects(b)
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, docPath := range slices.Sorted(maps.Keys(all)) {
		if !sameMeaning(x[docPath], y[docPath], limits) {
			paths = append(paths, docPath)
		}
	}
	return paths
}

// sameBytes reports whether two trees have the same files, the import file left
// out of account.
func sameBytes(a, b archive.Tree) bool {
	without := func(t archive.Tree) archive.Tree {
		t = maps.Clone(t)
		delete(t, archive.ImportPath)
		return t
	}
	return maps.EqualFunc(without(a), without(b), bytes.Equal)
}

// digestUnmanaged is one hash over files that are no content: they are only ever compared.
func digestUnmanaged(files map[string]string) string {
	if len(files) == 0 {
		return ""
	}
	return archive.Digest(files)
}

// overlay returns a tree with some places as another tree has them.
func overlay(tree, other archive.Tree, include func(location string) bool) archive.Tree {
	mixed := archive.Tree{}
	for path, text := range tree {
		if location, ok := tree.LocationOf(path); !ok || !include(location.String()) {
			mixed[path] = text
		}
	}
	for path, text := range other {
		if location, ok := other.LocationOf(path); ok && include(location.String()) {
			mixed[path] = text
		}
	}
	return mixed
}
