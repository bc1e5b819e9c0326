// Package content changes what workspaces consist of: their automations, pages and
// app instances, one by one or all at once by an import or a restoration.
//
// Every change is one event that carries, or names by their hash, the documents
// it brought. What a workspace was at any time can therefore be put together
// again, and nothing is ever half changed.
package content

import (
	"context"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Ref names a document of a workspace at a moment.
type Ref struct {
	Hash   string
	Apart  bool   // kept in the blob store
	ID     string // of a page
	Public bool
	Sealed map[string][]byte // secret settings of an app instance
	Untold workspace.Untold  // what events do not tell of the config, of an app instance or the workspace
}

// Library finds documents. What it returns is a hint: the log decides. It is
// filled by the read models.
type Library interface {
	// At returns the content of a workspace after the change at, or before, a
	// sequence, by path, index and security included.
	At(ctx context.Context, workspaceID string, seq uint64) (map[string]Ref, error)
	// Document returns a document of a workspace by its hash.
	Document(ctx context.Context, workspaceID string, ref Ref) (*document.Map, error)
	// Change returns what a change of the content touched, and which later
	// changes touched the same.
	Change(ctx context.Context, workspaceID string, seq uint64) (Change, error)
}

// Change is one change of the history.
type Change struct {
	Found      bool
	Content    bool     // it changed content
	Creation   bool     // it is how the workspace came into being
	Parts      []string // paths, or index#name
	Superseded []uint64 // later changes of the same parts
}

// Blobs keeps documents that are too large for an event. It is a
// *jetstream.Blobs.
type Blobs interface {
	Put(ctx context.Context, content []byte) (name string, err error)
}

// Apps tells about published apps.
type Apps interface {
	// App returns what installing an app takes; found is false when there is no
	// such app, or not that version of it.
	App(ctx context.Context, slug, version string) (app App, found bool, err error)
}

// App is what an instance needs to know of its app.
type App struct {
	WorkspaceID string
	Installs    []Installed   // the apps that it has instances of
	Secrets     []string      // its settings that are secret
	Events      *document.Map // what it emits and listens to: emit, listen, autocomplete
	Config      *input.Config // the schema of its config; nil: it takes every config
	// Calls returns what can be called of an instance with a config.
	Calls func(config any) []string
}

// Installed names an app that content has an instance of.
type Installed struct {
	Slug    string
	Version string // "": the newest
}

// Instance is an app instance as far as it says what it consists of.
type Instance struct {
	Slug string
	App  Installed
}

// Content changes the content of workspaces. Every field but Room is required.
type Content struct {
	Workspaces commands.Workspaces
	Library    Library
	Blobs      Blobs
	Apps       Apps
	Vault      commands.Vault
	Rules      func() automation.Rules
	Limits     func() archive.Limits
	// Publish publishes a workspace as an app.
	Publish func(ctx context.Context, workspaceID, slug, name string) error
	// Room refuses an app instance with which a workspace would have more than can run. It
	// is in the place of the one that is called from; "": of none. nil: nothing is too much.
	Room func(ctx context.Context, workspaceID, from string, in Instance) error

	// SecretDefaults returns the names of the secrets that the settings give the workspace of
	// a slug. nil: none.
	SecretDefaults func(workspaceSlug string) map[string]bool

	// Two imports of one workspace that are staged would take each other's place
	// for ever.
	turns commands.Turns[string]
}

// Saved is a document after it was saved.
type Saved struct {
	Path     string
	Revision uint64
	Seq      uint64 // of the workspace's last event
	Changed  bool
}

// Kinds of documents that are saved one by one, by their folder.
var kinds = map[string]*document.Kind{
	"automations": document.Automation, "pages": document.Page, "imports": document.Import,
}

// Create saves a new document in a folder. Without a slug it gets one that its
// name suggests.
func (c *Content) Create(ctx context.Context, workspaceID, folder string, doc *document.Map) (Saved, error) {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return Saved{}, err
	}
	kind := kinds[folder]
	doc = doc.Copy()
	doc.Set("slug", chooseSlug(now.State, kind, doc))
	if folder == "pages" {
		doc.Delete("public")
	}
	if folder == instances {
		if err := c.roomFor(ctx, workspaceID, "", nil, doc); err != nil {
			return Saved{}, err
		}
		if err := c.checkConfig(ctx, nil, doc); err != nil {
			return Saved{}, err
		}
	}
	entry, err := c.prepare(ctx, workspaceID, kind, doc, nil)
	if err != nil {
		return Saved{}, err
	}
	if folder == "pages" {
		entry.ID = commands.NewID(ctx, 7)
	}
	done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Save{Entry: entry, Create: true})
	return saved(done, entry.Path), named(err, workspaceID)
}

// attempts bounds how often a save meets a page that was just shared otherwise.
const attempts = 5

// Replacement is what a document is to become.
type Replacement struct {
	Doc     *document.Map
	IfMatch string // the ETag the caller saw, if any
	// Base is the hash of the document that Doc was made of, if any. When the
	// document has another one by now, nothing is saved and ErrMoved is returned.
	Base string
}

// Replace saves the document at slug in a folder; with another slug in it, it is
// renamed.
func (c *Content) Replace(ctx context.Context, workspaceID, folder, slug string, to Replacement) (Saved, error) {
	kind, path := kinds[folder], folder+"/"+slug
	for attempt := 1; ; attempt++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return Saved{}, err
		}
		item, exists := now.State.Items[path]
		next := to.Doc.Copy()
		if next.Text("slug") == "" {
			next.Set("slug", slug)
		}
		if folder == "pages" {
			next.Delete("public")
			if item.Public {
				next.Set("public", true)
			}
		}
		var before *workspace.Item
		if exists {
			before = &item
		}
		entry, err := c.prepare(ctx, workspaceID, kind, next, before)
		if err != nil {
			return Saved{}, err
		}
		if entry.Path != path {
			entry.From = path
		}
		unmoved := func(s workspace.State) error {
			if now, ok := s.Items[path]; ok && to.Base != "" && now.Hash != to.Base {
				return ErrMoved
			}
			return nil
		}
		done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Save{Entry: entry},
			commands.Matches(to.IfMatch, commands.ItemRevision(path)), unmoved)
		if isStalePage(err, to.IfMatch) && attempt < attempts {
			continue
		}
		return saved(done, entry.Path), named(err, workspaceID)
	}
}

// isStalePage tells that a page was shared, or not, between the reading and the
// writing of it.
func isStalePage(err error, ifMatch string) bool {
	refusal, ok := err.(*domain.Error) //nolint:errorlint // decisions return it unwrapped
	return ok && ifMatch == "" && refusal.Details["reason"] == "stale"
}

// Remove deletes the document at slug in a folder.
func (c *Content) Remove(ctx context.Context, workspaceID, folder, slug, ifMatch string) (Saved, error) {
	path := folder + "/" + slug
	done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Remove{Path: path},
		commands.Matches(ifMatch, commands.ItemRevision(path)))
	return saved(done, path), named(err, workspaceID)
}

func saved(done commands.Workspace, path string) Saved {
	return Saved{Path: path, Revision: done.State.Items[path].Revision, Seq: done.Seq, Changed: done.Changed}
}

// named lets the refusal of a workspace that is not there say which.
func named(err error, workspaceID string) error {
	if refusal, ok := err.(*domain.Error); ok && refusal.Code == domain.CodeNotFound && refusal.Details == nil { //nolint:errorlint // decisions return it unwrapped
		return refusal.With("resource", "workspace").With("id", workspaceID)
	}
	return err
}

// now is the log's clock.
func (c *Content) now() time.Time { return c.Workspaces.Now() }
