// Package builtin has the content of the apps that every installation has: workspaces,
// written as any other, in the files beside this one.
package builtin

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"svc/commands/content"
	"svc/commands/yamltext"
	"svc/domain/app"
	"svc/domain/document"
	"svc/domain/workspace"
)

//go:embed custom-code collection
var files embed.FS

// Content is the content of the built-in apps.
type Content struct {
	manifests map[string]map[string]content.Ref   // by workspace and path
	documents map[string]map[string]*document.Map // by workspace and hash
}

// Read reads the content of all built-in apps, once.
var Read = sync.OnceValues(read)

func read() (*Content, error) {
	c := &Content{map[string]map[string]content.Ref{}, map[string]map[string]*document.Map{}}
	for _, b := range app.BuiltIns() {
		refs, docs := map[string]content.Ref{}, map[string]*document.Map{}
		err := fs.WalkDir(files, b.Folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := files.ReadFile(name)
			if err != nil {
				return err
			}
			doc, err := yamltext.ReadMap(text, document.FileLimits)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			path := strings.TrimSuffix(strings.TrimPrefix(name, b.Folder+"/"), ".yml")
			if folder, slug := workspace.Folder(path); folder == "automations" {
				doc.Set("slug", slug)
			}
			body, err := document.JSON(doc)
			hash := workspace.HashOf(body)
			refs[path], docs[hash] = content.Ref{Hash: hash}, doc
			return err
		})
		if err != nil {
			return nil, err
		}
		c.manifests[b.WorkspaceID], c.documents[b.WorkspaceID] = refs, docs
	}
	return c, nil
}

// At returns the content of a built-in app.
func (c *Content) At(_ context.Context, workspaceID string, _ uint64) (map[string]content.Ref, error) {
	return c.manifests[workspaceID], nil
}

// Document returns a document of a built-in app. One of another version of the binary is
// not there.
func (c *Content) Document(_ context.Context, workspaceID string, ref content.Ref) (*document.Map, error) {
	doc, ok := c.documents[workspaceID][ref.Hash]
	if !ok {
		return nil, fmt.Errorf("document %s of %s is not part of this binary", ref.Hash, workspaceID)
	}
	return doc.Copy(), nil
}
