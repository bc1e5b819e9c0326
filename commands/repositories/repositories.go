// Package repositories is where the content of workspaces is pushed to and pulled
// from (contract/versioning.md 2): how a repository is saved without a credential
// in clear, found with what it takes to connect, and tried out.
package repositories

import (
	"cmp"
	"context"
	"slices"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/secrets"
	"svc/domain"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// Repositories saves and finds the repositories of workspaces. The first four
// fields are required.
type Repositories struct {
	Workspaces commands.Workspaces
	Secrets    secrets.Secrets
	Vault      commands.Vault
	Git        func() gitsync.Options // of the node, as they are now

	// Platform returns those that administrators give to every workspace, by id, with
	// their credentials; nil: there are none.
	Platform func() []Repository
	// Groups returns the labels that make a workspace a member, by group; nil: there
	// are no groups.
	Groups func() map[string][]string
}

// The types of repositories.
const (
	Git        = "git"
	Archive    = "archive"    // says what imports of archives leave out; nobody connects to it
	Filesystem = "filesystem" // a directory of this machine: administrators alone have such
)

// The modes of repositories.
const (
	ReadWrite = "read-write"
	ReadOnly  = "read-only"
	WriteOnly = "write-only" // still read, to see whether a push is in sync
)

// Repository is one to connect to, with its credentials.
type Repository struct {
	ID       string
	Name     string
	Type     string
	Mode     string
	Remote   gitsync.Remote
	Address  string // of Remote as it is written: references to secrets stand
	Branch   string
	Root     string // directory of the workspace in it; "": its root
	Dir      string // of a filesystem one: the directory, absolute, that workspaces have theirs in
	Excludes archive.Excludes
	Platform bool // an administrator gave it to every workspace
}

// CanPush refuses to push to a repository that is only read.
func (r Repository) CanPush() error {
	if r.Mode == ReadOnly {
		return r.denied("the repository %s is only read: nothing is pushed to it", "repository_read_only")
	}
	return nil
}

// CanPull refuses to pull from a repository that is only written.
func (r Repository) CanPull() error {
	if r.Mode == WriteOnly {
		return r.denied("the repository %s is only written: nothing is pulled from it", "repository_write_only")
	}
	return nil
}

func (r Repository) denied(format, reason string) error {
	return domain.Refuse(domain.CodePermissionDenied, format, r.ID).Reason(reason).With("repositoryId", r.ID)
}

// Listed is what anybody may know of a repository who reads the workspace.
type Listed struct {
	ID, Name, Type, Mode string
	Branch               string // "": it has none
}

// List returns the repositories of a workspace by id, with those of the platform.
func (r *Repositories) List(state workspace.State) []Listed {
	all := state.Settings.Repositories
	list := make([]Listed, 0, all.Len())
	for _, id := range all.Keys() {
		doc := completed(all.Object(id))
		list = append(list, Listed{id, doc.Text("name"), doc.Text("type"), doc.Text("mode"), configOf(doc).branch})
	}
	list = append(list, r.shared(state)...)
	slices.SortFunc(list, func(a, b Listed) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Find returns a repository of a workspace, ready to connect: what is sealed is
// opened, references to secrets are resolved. One of the platform is found when
// none of its own has the id. It refuses one that is not there, one that nobody
// connects to, and secret_missing.
func (r *Repositories) Find(ctx context.Context, state workspace.State, id string) (Repository, error) {
	if _, own := state.Settings.Repositories.Get(id); !own {
		if _, shared := r.platform(id); shared {
			return r.InPlatform(id, state.Settings.Slug)
		}
		return Repository{}, r.unknown(state, id)
	}
	doc := completed(state.Settings.Repositories.Object(id))
	found := Repository{
		ID: id, Name: doc.Text("name"), Type: doc.Text("type"), Mode: doc.Text("mode"), Excludes: archive.ExcludesOf(doc),
	}
	if found.Type == Archive {
		return Repository{}, domain.Refuse(domain.CodeValidation,
			"the repository %s says what imports of archives leave out: it cannot be connected to; choose one of type git", id).
			Reason("archive_repository").With("repositoryId", id)
	}
	to, err := r.resolved(ctx, state, id, configOf(doc))
	if err != nil {
		return Repository{}, err
	}
	found.Address = configOf(doc).remote.URL
	found.Remote, found.Branch, found.Root = to.remote, to.branch, to.dirpath
	return found, shape.Refusal(to.misplaced("config."))
}

func (r *Repositories) unknown(state workspace.State, id string) error {
	available := []string{}
	for _, one := range r.List(state) {
		available = append(available, one.ID)
	}
	return notThere("the workspace has no repository %s", id, available)
}
