package versioning

import (
	"context"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Latest is the version that a pull brings when none is named.
const Latest = "latest"

// PullRequest is what is asked of a pull.
type PullRequest struct {
	Version      string `json:"version"`                // Latest, a version, a tag or a commit
	RepositoryID string `json:"repositoryId,omitempty"` // "": the native one
	Discard      bool   `json:"discardLocalChanges"`
	Strict       bool   `json:"strict,omitempty"`
}

// Pull brings a workspace what a repository, or one of its versions, has. may is
// what the caller may change by it.
func (v *Versioning) Pull(ctx context.Context, workspaceID string, in PullRequest, may content.ImportOptions) (*operations.Handle, error) {
	spec := operations.Spec{
		Kind: operation.Pull, WorkspaceID: workspaceID, RepositoryID: in.RepositoryID, Reason: workspace.PullInProgress, Request: in, Steps: 1,
	}
	if in.RepositoryID == "" {
		version, err := v.nativeVersion(ctx, workspaceID, in.Version)
		if err != nil {
			return nil, err
		}
		return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
			return v.pullNative(ctx, run, version, in, may)
		})
	}
	repo, err := v.readable(ctx, workspaceID, in)
	if err != nil {
		return nil, err
	}
	if repo.Type == repositories.Filesystem {
		spec.Steps = 3
		return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
			return v.pullFiles(ctx, run, repo, in, may)
		})
	}
	spec.Branch, spec.Steps = repo.Branch, 5
	if in.Version == Latest { // a named version decides no conflict
		spec.Over = repo.ID
	}
	user := commands.RequestFrom(ctx).Meta.UserID
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		p, err := v.newPull(ctx, run, repo, in, may, user)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		return p.run(ctx)
	})
}

// readable returns the repository to pull from.
func (v *Versioning) readable(ctx context.Context, workspaceID string, in PullRequest) (repositories.Repository, error) {
	if in.Version == "current" {
		return repositories.Repository{}, domain.Refuse(domain.CodeInvalidParameter, "current is what the workspace has already").With("parameter", "version")
	}
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return repositories.Repository{}, err
	}
	repo, err := v.Repositories.Find(ctx, now.State, in.RepositoryID)
	if err == nil {
		err = repo.CanPull()
	}
	return repo, err
}

// pull is one pull, or one resolution, on its way.
type pull struct {
	*remote
	v     *Versioning
	op    *operations.Run // nil: nothing is changed, it is only found out what would be
	part  *Part           // of a run that brings many; nil: it is on its own
	in    PullRequest
	may   content.ImportOptions
	state workspace.State
	seq   uint64
	sync  workspace.Sync
	user  string
	when  time.Time // of its commits

	commit string         // that is brought
	name   string         // of the version that is brought
	there  *gitsync.Files // at the head of T
	base   archive.Tree
	files  archive.Tree // what is here, held places as they are there

	saved workspace.SavedState // what is here, on I
	onOwn string               // of I after this pull; "": as it was

	rolledBack []archive.Item // a warning that the merge keeps what was rolled back here
}

func (v *Versioning) newPull(ctx context.Context, run *operations.Run, repo repositories.Repository, in PullRequest, may content.ImportOptions, user string) (*pull, error) {
	p := &pull{v: v, op: run, in: in, may: may, user: user, when: second(v.Workspaces.Now())}
	return p, p.prepare(ctx, run.WorkspaceID(), repo)
}

// prepare takes the workspace as it is now, and gets ready to talk with the
// repository.
func (p *pull) prepare(ctx context.Context, workspaceID string, repo repositories.Repository) (err error) {
	if err := p.refresh(ctx, workspaceID, repo); err != nil {
		return err
	}
	p.leaveOut(repo)
	p.remote, err = p.v.connect(repo, p.state.Settings.Slug)
	return err
}

// refresh takes the workspace as it is now.
func (p *pull) refresh(ctx context.Context, workspaceID string, repo repositories.Repository) error {
	now, err := p.v.Workspaces.Get(ctx, workspaceID)
	p.state, p.seq, p.sync = now.State, now.Seq, now.State.SyncWith(repo.ID, PlaceOf(repo))
	return err
}

// Close ends the conversation.
func (p *pull) Close() {
	if p.remote != nil {
		p.remote.Close()
	}
}

func (p *pull) run(ctx context.Context) (any, error) {
	var chosen choice
	choose := func(ctx context.Context) (err error) {
		chosen, err = p.choose(ctx)
		return err
	}
	err := p.fetched(ctx, func(ctx context.Context) error {
		if p.state.Conflict != nil {
			return nil
		}
		return choose(ctx)
	})
	if err == nil && p.state.Conflict != nil {
		err = p.op.Step(ctx, operation.Merge, "Looking for a resolution on "+p.own, choose)
	}
	if err != nil {
		return nil, err
	}
	return chosen.follow(ctx, p)
}

// fetched connects and brings what the remote has; then is what follows from that.
func (p *pull) fetched(ctx context.Context, then func(context.Context) error) error {
	err := p.op.Step(ctx, operation.Checkout, "Connecting to the repository", func(ctx context.Context) error {
		if err := p.look(ctx); err != nil {
			return err
		}
		return p.exists()
	})
	if err != nil {
		return err
	}
	return p.op.Step(ctx, operation.PullStep, "Fetching "+p.target, func(ctx context.Context) error {
		if err := p.settleEarlier(ctx); err != nil {
			return err
		}
		if err := p.read(ctx); err != nil {
			return err
		}
		return then(ctx)
	})
}

// settleEarlier finds out about a push whose outcome nobody knows.
func (p *pull) settleEarlier(ctx context.Context) error {
	changed, err := p.v.settleEarlier(ctx, p.remote, p.state, "")
	if err != nil || !changed {
		return err
	}
	return p.refresh(ctx, p.state.ID, p.repo)
}

// read reads what both sides have: what is here while the remote gets ready what is
// there.
func (p *pull) read(ctx context.Context) error {
	var ours archive.Tree
	here := beside(func() (err error) {
		if p.base, err = p.v.base(ctx, p.sync); err == nil {
			ours, err = p.v.ours(ctx, p.state.ID, p.seq, p.sync, p.base)
		}
		return err
	})
	err := p.readThere(ctx)
	if failed := here(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	p.files = overlay(ours, p.there.Managed, stillHeld(p.state, p.sync))
	return nil
}

// readThere fetches and reads what the remote has.
func (p *pull) readThere(ctx context.Context) (err error) {
	p.commit = p.head()
	if err := p.fetch(ctx); err != nil {
		return err
	}
	if p.in.Version != Latest {
		if err := p.find(ctx); err != nil {
			return err
		}
	}
	if p.there, err = p.Objects().ReadTree(p.head(), p.repo.Root); err != nil {
		return err
	}
	return missingIndex(p.there.Managed, p.repo.Root)
}

// find finds the commit of a named version: a tag, a version of the workspace, or
// a commit by the beginning of its id.
func (p *pull) find(ctx context.Context) error {
	name := p.in.Version
	p.name = name
	known := p.state.Versions[name]
	for _, id := range []string{p.refs.Tag(p.tag(name)), p.refs.Tag(name)} {
		if id != "" {
			p.commit = id
			return p.Fetch(ctx, id)
		}
	}
	if known.Repository != nil && known.Repository.ID == p.repo.ID && known.Commit != "" {
		name = known.Commit
	} else if !isCommit(name) {
		return workspace.NoVersion(name)
	}
	commit, err := p.Objects().Resolve(name, p.head(), p.ownHead())
	if p.commit = commit; p.name == commit || isCommit(p.name) {
		p.name = ""
	}
	return err
}

func isCommit(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(s) >= 7 && len(s) <= 40
}

// beside does something beside what its caller does next, and returns how to wait
// for it. A panic is an error: nobody could recover from it elsewhere.
func beside(do func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() {
		defer commands.Recover(func(fell *commands.PanicError) { done <- fell })
		done <- do()
	}()
	return func() error { return <-done }
}
