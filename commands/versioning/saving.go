package versioning

import (
	"context"
	"time"

	"svc/commands/archive"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain/workspace"
)

// saving is what a push saves, wherever it goes.
type saving struct {
	v       *Versioning
	op      *operations.Run
	state   workspace.State
	sync    workspace.Sync
	was     *workspace.Left // the directory that the workspace had before it was renamed
	user    string
	when    time.Time // of its commits
	version workspace.Version
	seq     uint64 // the moment that the content was taken at
	files   archive.Tree
}

// newSaving takes a workspace as it was when the lock was taken.
func (v *Versioning) newSaving(ctx context.Context, run *operations.Run, repo repositories.Repository, in PushRequest, user string) (saving, error) {
	now, err := v.Workspaces.Get(ctx, run.WorkspaceID())
	if err == nil {
		err = now.State.CheckVersion(in.Name, in.RepositoryID) // somebody may have taken it before the lock was ours
	}
	if err != nil {
		return saving{}, err
	}
	began := v.Workspaces.Now()
	s := saving{v: v, op: run, user: user, when: second(began), seq: run.LockSeq()}
	s.meet(now.State, repo)
	revision, err := v.Revisions.Revision(ctx, run.WorkspaceID(), s.seq)
	s.version = workspace.Version{
		Name: in.Name, Description: in.Description, CreatedAt: began, CreatedBy: user,
		Repository: &workspace.RepositoryRef{ID: repo.ID}, ContentRevision: revision, OperationID: run.ID(),
	}
	return s, err
}

// meet takes what is known of a workspace and a repository.
func (s *saving) meet(state workspace.State, repo repositories.Repository) {
	s.state, s.sync = state, state.SyncWith(repo.ID, PlaceOf(repo))
	if repo.Platform {
		s.was = state.LeftIn(repo.ID, PlaceOf(repo))
	}
}

// take takes the content.
func (s *saving) take(ctx context.Context) (err error) {
	base, err := s.v.base(ctx, s.sync)
	if err != nil {
		return err
	}
	if s.files, err = s.v.ours(ctx, s.state.ID, s.seq, s.sync, base); err != nil {
		return err
	}
	return s.files.Check(s.v.limits())
}
