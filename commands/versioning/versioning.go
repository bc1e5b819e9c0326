// Package versioning saves workspaces to repositories and imports them from there
// (contract/versioning.md 8 to 13): push, pull, merge, conflicts and drift.
//
// Every push, pull and resolution is an operation that holds the write lock. The intent
// of a push is on the log before anything is sent, and its outcome is one event. A node
// that takes over after a crash asks the remote for the outcome.
package versioning

import (
	"context"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

// Versioning saves and restores workspaces. Every field is required but Checks.
type Versioning struct {
	Workspaces   commands.Workspaces
	Content      *content.Content
	Repositories *repositories.Repositories
	Operations   *operations.Runner
	Blobs        Blobs
	People       People
	Revisions    Revisions
	Apps         Apps
	Log          Log
	Git          func() gitsync.Options      // of the node, as they are now
	Committer    func() (name, email string) // GIT_COMMITTER_*
	Host         func() string               // of the API, for the addresses of people who have none
	// Checks runs the tests of a workspace, all with its content at a sequence, and returns the names of the cases that fail.
	// nil: there are none.
	Checks func(ctx context.Context, workspaceID string, seq uint64) (failed []string, err error)

	branchTurns  commands.Turns[workspace.Location]
	batches      pushBatches
	observeTurns commands.Turns[[2]string]
	observations observations
}

// Blobs stores files. It is a *jetstream.Blobs.
type Blobs interface {
	Put(ctx context.Context, content []byte) (name string, err error)
	Get(ctx context.Context, name string) ([]byte, error)
}

// People knows the authors of commits.
type People interface {
	// Person returns the name and the mail address of a user, as far as they are
	// known.
	Person(ctx context.Context, userID string) (name, email string, err error)
}

// Log loads events. It is an eventstore.Store.
type Log interface {
	Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error)
}

// Revisions knows when content changed. It is filled by the read models.
type Revisions interface {
	// Revision returns the sequence of the last change of a workspace's content at,
	// or before, a sequence.
	Revision(ctx context.Context, workspaceID string, seq uint64) (uint64, error)
	// RolledBack returns those of some paths whose documents, at a sequence, were last changed by a
	// restoration, a version or an archive: not by hand, and not by the newest of a repository.
	RolledBack(ctx context.Context, workspaceID string, seq uint64, paths []string) ([]string, error)
}

// Apps knows what workspaces publish. It is filled by the read models.
type Apps interface {
	// AppOf returns the slug and the name of the app that a workspace publishes; ""
	// when it publishes none.
	AppOf(ctx context.Context, workspaceID string) (slug, name string, err error)
}
