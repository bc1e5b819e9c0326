// Package programs knows what can run in a workspace: its own automations and those
// of its app instances, compiled, each with the place that it belongs to.
//
// A program set is all of it at one moment. It is made of the content of the workspace and
// of the editions of its apps, none of which ever changes, so that program sets are built
// when something was saved and otherwise only looked up. Whoever runs an automation
// keeps the program set that it began in: what is saved meanwhile counts for others.
package programs

import (
	"context"

	"svc/commands/content"
	"svc/domain/document"
)

// Contents finds what workspaces and apps consist of. It is filled by the read
// models.
type Contents interface {
	// Moment is the same as long as no content and no app has changed.
	Moment() uint64
	// Workspace returns the facts of a workspace; ok is false when there is none, or
	// it was deleted so long ago that nothing of it runs any more.
	Workspace(workspaceID string) (w Workspace, ok bool, err error)
	// Edition returns whose content an app is, and at which revision; 0 when there is
	// no such app or version, nor ever was.
	Edition(appSlug, version string) (workspaceID string, revision uint64, err error)
	At(ctx context.Context, workspaceID string, seq uint64) (map[string]content.Ref, error)
	Document(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error)
}

// Workspace is what automations are told of theirs.
type Workspace struct {
	ID, Slug, Name string
	Revision       uint64 // of its content
	// Kept tells by app and slug of an instance under which other slug its collections
	// are kept: instances take them along when they are renamed. It is of Revision.
	CollectionSlugs map[string]map[string]string
	// Gone says that it was deleted: nothing runs there any more but what its end started.
	Deleted bool
}

// equals reports whether two are of one moment.
func (w Workspace) equals(other Workspace) bool {
	return w.ID == other.ID && w.Slug == other.Slug && w.Name == other.Name && w.Revision == other.Revision
}

// Namespace names what belongs to a place whatever it is called now: the apps that it
// is in, from the outside, and the full slug that it had when it was new.
type Namespace struct {
	App      string `json:"a,omitempty"`
	Instance string `json:"i,omitempty"`
}

// within is the namespace of an instance in that of its parent.
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

// Vault opens secret settings of app instances. It is a *vault.Vault.
type Vault interface {
	Open(ctx context.Context, workspaceID string, sealed []byte, purpose string) ([]byte, error)
}
