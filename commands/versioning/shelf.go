package versioning

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"svc/commands/archive"
	"svc/commands/filesync"
	"svc/commands/gitsync"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

// shelf is a repository of the filesystem kind as one operation meets it: files,
// without history, branches and merges (contract 2.3).
type shelf struct {
	*filesync.Directory
	home  *Versioning
	repo  repositories.Repository
	place workspace.Place
}

func (v *Versioning) openShelf(repo repositories.Repository) (*shelf, error) {
	dir, err := filesync.Open(repo.Dir, v.limits())
	if err != nil {
		return nil, err
	}
	return &shelf{dir, v, repo, PlaceOf(repo)}, nil
}

// close gives the directory back.
func (s *shelf) close() { _ = s.Close() } // nothing was written through it

// has reads what the workspace has there.
func (s *shelf) has(ctx context.Context) (archive.Tree, error) { return s.Read(ctx, s.repo.Root) }

// filled is has for who needs some.
func (s *shelf) filled(ctx context.Context) (archive.Tree, error) {
	tree, err := s.has(ctx)
	if err == nil && len(tree) == 0 {
		err = domain.Refuse(domain.CodeNotFound, "the repository has no directory %s yet: push first", s.repo.Root).
			Reason("remote_empty").With("repositoryId", s.repo.ID)
	}
	return tree, err
}

// changed counts the files that are not the same, the import file left out of
// account.
func changed(a, b archive.Tree) int {
	files := gitsync.Compare(a, b).Files
	return len(slices.DeleteFunc(files, func(path string) bool { return path == archive.ImportPath }))
}

// find looks for a push that was broken off: it is there wholly or not at all.
func (s *shelf) find(ctx context.Context, intent workspace.Intent) (settled, error) {
	there, err := s.has(ctx)
	if err != nil {
		return passed, err
	}
	want, err := s.home.kept(ctx, intent.Base.Files)
	if err != nil {
		return passed, err
	}
	if maps.EqualFunc(there, want, bytes.Equal) {
		return stored, nil
	}
	return unsent, nil
}

// settleEarlier finds out about a push that was broken off, and records it when the
// directory has it.
func (s *shelf) settleEarlier(ctx context.Context, state workspace.State, but string) (recorded bool, err error) {
	return s.home.settleWith(ctx, s.repo, state, but, func(ctx context.Context, intent workspace.Intent) (settled, error) {
		found, err := s.find(ctx, intent)
		if err == nil && found == stored {
			err = s.leave(ctx, intent)
		}
		return found, err
	})
}

// leave takes a workspace away from where it was before it was renamed. What
// somebody has changed there stays.
func (s *shelf) leave(ctx context.Context, intent workspace.Intent) error {
	if intent.Left == nil {
		return nil
	}
	before, err := s.home.kept(ctx, intent.Left.Files)
	if err != nil {
		return err
	}
	if err = s.Replace(ctx, intent.Left.Root, archive.Tree{}, intent.OperationID, before); errors.Is(err, filesync.ErrMoved) {
		return nil
	}
	return err
}
