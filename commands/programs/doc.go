// Package programs compiles what can run in a workspace: its own automations and those
// of its app instances. Each program belongs to a scope: the workspace or an app instance.
//
// A ProgramSet holds all programs of a workspace at one revision. It never changes: a run keeps the
// ProgramSet that it started with, and later changes do not affect it. After something was saved,
// the next one is made of it: both consist of persistent maps, and share all but the documents
// that changed with their triggers. Scopes and programs, which refer to their ProgramSet, are made
// when somebody asks for them.
package programs

import (
	"context"

	"svc/commands/content"
	"svc/domain/document"
)

// Contents reads the contents of workspaces and apps. The read models implement it.
type Contents interface {
	// Moment changes whenever any content or app changes.
	Moment() uint64
	// Workspace returns the properties of a workspace; ok is false when it does not exist, or
	// was deleted so long ago that nothing runs there any more.
	Workspace(workspaceID string) (w Workspace, ok bool, err error)
	// Edition returns the workspace and the revision that an app was published from; 0 when
	// the app or version never existed.
	Edition(appSlug, version string) (workspaceID string, revision uint64, err error)
	At(ctx context.Context, workspaceID string, seq uint64) (map[string]content.Ref, error)
	// Changes returns the documents of a workspace that changed after one revision up to another,
	// by path; those without a hash are gone. known is false when there are so many that At is
	// cheaper.
	Changes(ctx context.Context, workspaceID string, after, until uint64) (changed map[string]content.Ref, known bool, err error)
	Document(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error)
}

// Workspace holds the properties of a workspace that automations can read.
type Workspace struct {
	ID, Slug, Name string
	Revision       uint64 // of its content
	// CollectionSlugs maps app and instance slug to the slug that the collections of the instance
	// are stored under: a renamed instance keeps its collections. It is as of Revision.
	CollectionSlugs map[string]map[string]string
	// Deleted: only what the deletion triggered still runs.
	Deleted bool
}

// equals compares everything but CollectionSlugs and Deleted.
func (w Workspace) equals(other Workspace) bool {
	return w.ID == other.ID && w.Slug == other.Slug && w.Name == other.Name && w.Revision == other.Revision
}

// Namespace identifies the data of a scope even after a rename: the apps that contain it,
// outermost first, and the full slug that it was created with.
type Namespace struct {
	App      string `json:"a,omitempty"`
	Instance string `json:"i,omitempty"`
}

// within returns the namespace of an instance inside its parent.
func (n Namespace) within(parent Namespace) Namespace {
	if parent == (Namespace{}) {
		return n
	}
	return Namespace{parent.App + "/" + n.App, parent.Instance + "." + n.Instance}
}

// Secrets returns the secrets of a workspace by name, without those of the platform.
type Secrets interface {
	All(ctx context.Context, workspaceID string) (map[string]string, error)
}
