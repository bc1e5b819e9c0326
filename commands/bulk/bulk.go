// Package bulk pushes and imports many workspaces in one run (contract/versioning.md
// 14 and 15): which ones, in which order, and what became of each.
//
// A run is an operation of the platform workspace and holds its lock; each workspace
// is brought or saved by an operation of its own. The plan, and what became of each
// workspace, are on the log: who takes a run over does what is left.
package bulk

import (
	"context"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Runs pushes and imports many workspaces. Every field is required.
type Runs struct {
	Workspaces   commands.Workspaces
	Repositories *repositories.Repositories
	Versioning   *versioning.Versioning
	Operations   *operations.Runner
	Known        Known
	Rights       Rights
	Concurrency  func() int // BULK_CONCURRENCY
	Limit        func() int // how many workspaces one run may be about
}

// Known finds workspaces as they are now. It is filled by the read models.
type Known interface {
	// BySlug returns the workspace that has a slug.
	BySlug(ctx context.Context, slug string) (w Workspace, found bool, err error)
	// Labelled returns the workspaces that have one of some labels, by slug.
	Labelled(ctx context.Context, labels []string) ([]Workspace, error)
	// Publisher returns the workspace that publishes an app, "" when there is none.
	Publisher(ctx context.Context, appSlug string) (workspaceID string, err error)
}

// Workspace is what a run has to know of one.
type Workspace struct {
	ID, Slug, Name string
	Dirty          bool
	Lock           string // why it is locked; "": it is not
	Version        string // of the last pull
	Digest         string // of what that brought
	// In says where in each repository, by its id, the present content is known to be.
	In map[string]workspace.Place
}

// Rights tells what those who start imports may do.
type Rights interface {
	// Import returns what somebody may change by an import into a workspace; ok is
	// false when they may not import there.
	Import(ctx context.Context, who Who, workspaceID string) (may content.ImportOptions, ok bool, err error)
	// Create is Import into a workspace that the import makes.
	Create(ctx context.Context, who Who) (may content.ImportOptions, ok bool, err error)
}

// Who starts a run.
type Who struct {
	UserID string `json:"userId,omitempty"`
	Super  bool   `json:"super,omitempty"`  // a super admin, who may do everything
	System bool   `json:"system,omitempty"` // the platform itself, which may too
}

// Settlers says how runs are taken over.
func (r *Runs) Settlers() map[string]operations.Settler {
	return map[string]operations.Settler{operation.BulkImport: r.resumeImport, operation.BulkPush: r.resumePush}
}

// platform returns a platform repository: the one with an id, or the first that a
// run can use.
func (r *Runs) platform(id string, usable func(repositories.Repository) error) (repositories.Repository, error) {
	if id != "" {
		repo, err := r.Repositories.InPlatform(id, "")
		if err == nil {
			err = usable(repo)
		}
		return repo, err
	}
	for _, repo := range r.Repositories.Platforms() {
		if usable(repo) == nil {
			return r.Repositories.InPlatform(repo.ID, "")
		}
	}
	return repositories.Repository{}, domain.Refuse(domain.CodeNotFound, "there is no platform repository for this: an administrator configures them").
		With("resource", "repository")
}

// Has reports whether an id is that of a platform repository.
func (r *Runs) Has(id string) bool {
	_, err := r.Repositories.InPlatform(id, "")
	return err == nil
}
