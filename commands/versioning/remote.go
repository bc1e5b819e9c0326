package versioning

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

// remote is the connection of one operation to a Git repository. T is the target branch,
// I the intermediate branch of the workspace (contract 1).
type remote struct {
	*gitsync.Session
	repo     repositories.Repository
	location workspace.Location
	target   string // name of T
	own      string // name of I
	refs     gitsync.Refs
	fetched  bool // refs and their objects are set by the batch
}

// connect opens a session with a repository. Nothing is sent yet.
func (v *Versioning) connect(repo repositories.Repository, slug string) (*remote, error) {
	session, err := gitsync.Open(repo.Remote, v.Git())
	if err != nil {
		return nil, err
	}
	return &remote{Session: session, repo: repo, location: LocationOf(repo), target: repo.Branch, own: "svc/" + slug + "/" + repo.Branch}, nil
}

// LocationOf returns the place of a workspace in a repository.
func LocationOf(repo repositories.Repository) workspace.Location {
	return workspace.Location{URL: repo.Address, Branch: repo.Branch, Root: repo.Root}
}

// listRefs asks for the refs.
func (r *remote) listRefs(ctx context.Context) (err error) {
	if r.fetched {
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

// fetch fetches T, I and the start commit.
func (r *remote) fetch(ctx context.Context, more ...string) error {
	if r.fetched {
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

// tag returns the name of the tag of a version, which is unique per workspace.
func (r *remote) tag(version string) string {
	if r.repo.Root == "" {
		return version
	}
	return r.repo.Root + "/" + version
}

// checkBranch refuses to pull from a repository without the branch.
func (r *remote) checkBranch() error {
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

// branchOwner says who wrote the commits of the intermediate branch.
type branchOwner int

const (
	absent  branchOwner = iota // there is none
	merged                     // all of it is in T
	mine                       // this workspace put it there
	foreign                    // somebody else has work there
)

// ownerOfBranch finds out who wrote the commits of I.
func (r *remote) ownerOfBranch(sync workspace.Sync) (branchOwner, error) {
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

// branchInUse refuses to touch an intermediate branch that somebody else works on.
func (r *remote) branchInUse() error {
	refusal := domain.Refuse(domain.CodeConflict, "the branch %s has work that is neither merged nor this workspace's: merge it into %s, or delete it", r.own, r.target).
		Reason("intermediate_branch_in_use").With("branch", r.own).With("head", r.ownHead())
	if commit, err := r.Objects().ReadCommit(r.ownHead()); err == nil {
		refusal.With("author", commit.Author.Name).With("date", domain.FormatTime(commit.Author.When))
	}
	return refusal
}

// isRewritten reports whether T was force-pushed: what was integrated is not in its
// history any more.
func (r *remote) isRewritten(sync workspace.Sync) (bool, error) {
	if sync.Base == nil || sync.Base.Commit == "" || r.head() == "" {
		return false, nil
	}
	in, err := r.Objects().IsAncestor(sync.Base.Commit, r.head())
	return !in, err
}

// authorOf returns the author of the commits of a user.
func (v *Versioning) authorOf(ctx context.Context, userID string, when time.Time) (gitsync.Signature, error) {
	name, email, err := v.People.Person(ctx, userID)
	if err != nil {
		return gitsync.Signature{}, err
	}
	email = printable(email)
	if email == "" {
		email = cmp.Or(userID, "nobody") + "@users.noreply." + v.Host()
	}
	local, _, _ := strings.Cut(email, "@")
	return gitsync.Signature{Name: cmp.Or(printable(name), local), Email: email, When: when.UTC()}, nil
}

func (v *Versioning) committer(when time.Time) gitsync.Signature {
	name, email := v.Committer()
	return gitsync.Signature{Name: printable(name), Email: printable(email), When: when.UTC()}
}

// printable removes characters that would end a name or a line in a commit.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s))
}

// trailers say where a commit comes from.
type trailers struct {
	workspace, version, operation string
	revision                      uint64
}

// message is a text with trailers.
func message(text string, t trailers) string {
	text = strings.TrimRight(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""), "\n\r\t ")
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nSvc-Workspace: %s\n", text, t.workspace)
	if t.version != "" {
		fmt.Fprintf(&b, "Svc-Version: %s\n", t.version)
	}
	fmt.Fprintf(&b, "Svc-Operation: %s\nSvc-Revision: %d\n", t.operation, t.revision)
	return b.String()
}

// BaseFiles returns the files that a workspace last integrated of a repository.
func (v *Versioning) BaseFiles(ctx context.Context, workspaceID, repositoryID string) (archive.Tree, error) {
	s, repo, err := v.repository(ctx, workspaceID, repositoryID)
	if err != nil {
		return nil, err
	}
	sync := s.SyncWith(repo.ID, LocationOf(repo))
	if sync.Base == nil {
		return nil, domain.Refuse(domain.CodeNotFound, "nothing was pushed to, or pulled from, %s yet", repo.ID).Reason("no_base").With("repositoryId", repo.ID)
	}
	return v.baseTree(ctx, sync)
}

// remoteFilesTimeout bounds how long a remote is asked for its files.
const remoteFilesTimeout = 15 * time.Second

// RemoteFiles returns the files that a repository has now.
func (v *Versioning) RemoteFiles(ctx context.Context, workspaceID, repositoryID string) (archive.Tree, error) {
	s, repo, err := v.repository(ctx, workspaceID, repositoryID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, remoteFilesTimeout)
	defer cancel()
	if repo.Type == repositories.Filesystem {
		at, err := v.openDirectory(repo)
		if err != nil {
			return nil, err
		}
		defer at.close()
		return at.readNonEmpty(ctx)
	}
	r, err := v.connect(repo, s.Settings.Slug)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.listRefs(ctx); err != nil {
		return nil, err
	}
	if err := r.checkBranch(); err != nil {
		return nil, err
	}
	if err := r.Fetch(ctx, r.head()); err != nil {
		return nil, err
	}
	files, err := r.Objects().ReadTree(r.head(), repo.Root)
	if err != nil {
		return nil, err
	}
	return files.Managed, nil
}

func (v *Versioning) repository(ctx context.Context, workspaceID, repositoryID string) (workspace.State, repositories.Repository, error) {
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return now.State, repositories.Repository{}, err
	}
	repo, err := v.Repositories.Find(ctx, now.State, repositoryID)
	return now.State, repo, err
}
