package versioning

import (
	"context"
	"slices"
	"strings"

	"svc/commands/gitsync"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

// remote is a repository as one operation meets it. T is the branch that teams
// work on, I the one of the workspace (contract 1).
type remote struct {
	*gitsync.Session
	repo   repositories.Repository
	place  workspace.Place
	target string // name of T
	own    string // name of I
	refs   gitsync.Refs
	given  bool // refs and what they name are here already
}

// connect prepares to talk with a repository. Nothing is sent yet.
func (v *Versioning) connect(repo repositories.Repository, slug string) (*remote, error) {
	session, err := gitsync.Open(repo.Remote, v.Git())
	if err != nil {
		return nil, err
	}
	return &remote{Session: session, repo: repo, place: PlaceOf(repo), target: repo.Branch, own: "svc/" + slug + "/" + repo.Branch}, nil
}

// PlaceOf is where a workspace lives in a repository.
func PlaceOf(repo repositories.Repository) workspace.Place {
	return workspace.Place{URL: repo.Address, Branch: repo.Branch, Root: repo.Root}
}

// look asks for the refs.
func (r *remote) look(ctx context.Context) (err error) {
	if r.given {
		return nil
	}
	r.refs, err = r.ListRefs(ctx)
	return err
}

// head is that of T, ownHead that of I; "" when there is none.
func (r *remote) head() string    { return r.refs.Branch(r.target) }
func (r *remote) ownHead() string { return r.refs.Branch(r.own) }

// start is the commit that a push builds on: the head of T; for a T that is yet to
// be, that of the default branch, whose other files it keeps. "" in an empty
// repository.
func (r *remote) start() string {
	if head := r.head(); head != "" {
		return head
	}
	return r.refs.Branch(r.refs.Default)
}

// fetch brings T, I and what T begins with.
func (r *remote) fetch(ctx context.Context, more ...string) error {
	if r.given {
		return nil
	}
	var wants []string
	for _, id := range append([]string{r.start(), r.ownHead()}, more...) {
		if id != "" && !slices.Contains(wants, id) {
			wants = append(wants, id)
		}
	}
	if len(wants) == 0 {
		return nil
	}
	return r.Fetch(ctx, wants...)
}

// tag is the name of the tag of a version: one name serves many workspaces of a
// repository.
func (r *remote) tag(version string) string {
	if r.repo.Root == "" {
		return version
	}
	return r.repo.Root + "/" + version
}

// exists refuses to pull from a repository without the branch.
func (r *remote) exists() error {
	if r.refs.Empty() {
		return domain.Refuse(domain.CodeNotFound, "the repository has no commit yet: push first").Reason("remote_empty").With("repositoryId", r.repo.ID)
	}
	if r.head() != "" {
		return nil
	}
	branches := []string{}
	for name := range r.refs.IDs {
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			branches = append(branches, branch)
		}
	}
	slices.Sort(branches)
	return domain.Refuse(domain.CodeNotFound, "the repository has no branch %s", r.target).Reason("branch_not_found").
		With("branch", r.target).With("availableBranches", branches[:min(len(branches), 100)])
}

// class is whose the intermediate branch is.
type class int

const (
	absent  class = iota // there is none
	merged               // all of it is in T
	mine                 // this workspace put it there
	foreign              // somebody else has work there
)

// classify finds out whose I is.
func (r *remote) classify(sync workspace.Sync) (class, error) {
	head := r.ownHead()
	if head == "" {
		return absent, nil
	}
	in, err := r.Objects().IsAncestor(head, r.start())
	switch {
	case err != nil:
		return foreign, err
	case in:
		return merged, nil
	case sync.Recorded(head):
		return mine, nil
	}
	return foreign, nil
}

// inUse refuses to touch an intermediate branch that somebody else works on.
func (r *remote) inUse() error {
	refusal := domain.Refuse(domain.CodeConflict, "the branch %s has work that is neither merged nor this workspace's: merge it into %s, or delete it", r.own, r.target).
		Reason("intermediate_branch_in_use").With("branch", r.own).With("head", r.ownHead())
	if commit, err := r.Objects().ReadCommit(r.ownHead()); err == nil {
		refusal.With("author", commit.Author.Name).With("date", domain.FormatTime(commit.Author.When))
	}
	return refusal
}

// rewritten reports whether T was force-pushed: what was integrated is not in its
// history any more.
func (r *remote) rewritten(sync workspace.Sync) (bool, error) {
	if sync.Base == nil || sync.Base.Commit == "" || r.head() == "" {
		return false, nil
	}
	in, err := r.Objects().IsAncestor(sync.Base.Commit, r.head())
	return !in, err
}
