package versioning

import (
	"context"
	"time"

	"svc/commands/archive"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

// BaseFiles returns the files that a workspace last integrated of a repository.
func (v *Versioning) BaseFiles(ctx context.Context, workspaceID, repositoryID string) (archive.Tree, error) {
	s, repo, err := v.repository(ctx, workspaceID, repositoryID)
	if err != nil {
		return nil, err
	}
	sync := s.SyncWith(repo.ID, PlaceOf(repo))
	if sync.Base == nil {
		return nil, domain.Refuse(domain.CodeNotFound, "nothing was pushed to, or pulled from, %s yet", repo.ID).Reason("no_base").With("repositoryId", repo.ID)
	}
	return v.base(ctx, sync)
}

// lookTime bounds how long a remote is asked for its files.
const lookTime = 15 * time.Second

// RemoteFiles returns the files that a repository has now.
func (v *Versioning) RemoteFiles(ctx context.Context, workspaceID, repositoryID string) (archive.Tree, error) {
	s, repo, err := v.repository(ctx, workspaceID, repositoryID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if repo.Type == repositories.Filesystem {
		at, err := v.openShelf(repo)
		if err != nil {
			return nil, err
		}
		defer at.close()
		return at.filled(ctx)
	}
	r, err := v.connect(repo, s.Settings.Slug)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	if err := r.exists(); err != nil {
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
