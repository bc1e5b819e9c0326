package versioning

import (
	"context"
	"sync"

	"svc/commands/archive"
	"svc/commands/filesync"
	"svc/commands/gitsync"
	"svc/commands/repositories"
)

// Source is what a platform repository has at one moment: a run brings all of its
// workspaces from there. It may be used concurrently.
type Source struct {
	v    *Versioning
	repo repositories.Repository // as the workspace "" would meet it

	dir *filesync.Directory // nil: it is a git one

	mu      sync.Mutex // the session serves one at a time
	session *gitsync.Session
	commit  string // that everything is read at
	moved   bool
}

// OpenSource takes a platform repository as it is now, or as it was at a commit
// while that can be had.
func (v *Versioning) OpenSource(ctx context.Context, repositoryID, commit string) (*Source, error) {
	repo, err := v.Repositories.InPlatform(repositoryID, "")
	if err != nil {
		return nil, err
	}
	s := &Source{v: v, repo: repo}
	if repo.Type == repositories.Filesystem {
		s.dir, err = filesync.Open(repo.Dir, v.limits())
		return s, err
	}
	r, err := v.connect(repo, "")
	if err != nil {
		return nil, err
	}
	s.session = r.Session
	if err := s.fetch(ctx, r, commit); err != nil {
		r.Close()
		return nil, err
	}
	return s, nil
}

// fetch brings the head of the branch, once for all workspaces.
func (s *Source) fetch(ctx context.Context, r *remote, commit string) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	if err := r.exists(); err != nil {
		return err
	}
	s.commit = r.head()
	if err := r.Fetch(ctx, s.commit); err != nil || commit == "" || commit == s.commit {
		return err
	}
	if s.moved = !r.Objects().Has(commit); !s.moved {
		s.commit = commit
	}
	return nil
}

// Close gives back what the source holds.
func (s *Source) Close() {
	if s.session != nil {
		s.session.Close()
	}
	if s.dir != nil {
		_ = s.dir.Close() // it was only read
	}
}

// Commit is what everything is read at; "" of a directory.
func (s *Source) Commit() string { return s.commit }

// Moved reports whether the commit that was asked for cannot be had any more.
func (s *Source) Moved() bool { return s.moved }

// Directories lists the directories that workspaces may have, by name.
func (s *Source) Directories(ctx context.Context) ([]string, error) {
	if s.dir != nil {
		return s.dir.Directories(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Objects().Directories(s.commit, s.repo.Root)
}

// ImportFile returns what the import file of a directory says; ok is false when it
// has none.
func (s *Source) ImportFile(ctx context.Context, slug string) (file archive.ImportFile, ok bool, err error) {
	text, ok, err := s.importText(ctx, slug)
	if err != nil || !ok {
		return file, false, err
	}
	file, err = archive.ReadImportFile(text, s.v.limits().Document)
	return file, true, err
}

// ImportFileIn is ImportFile of files that were read already.
func (s *Source) ImportFileIn(files *gitsync.Files) (file archive.ImportFile, ok bool, err error) {
	text, ok := files.Managed[archive.ImportPath]
	if ok {
		file, err = archive.ReadImportFile(text, s.v.limits().Document)
	}
	return file, ok, err
}

func (s *Source) importText(ctx context.Context, slug string) ([]byte, bool, error) {
	if s.dir != nil {
		tree, err := s.dir.Read(ctx, slug)
		text, ok := tree[archive.ImportPath]
		return text, ok, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Objects().ReadFile(s.commit, s.at(slug)+"/"+archive.ImportPath)
}

// Files returns the files of a directory.
func (s *Source) Files(ctx context.Context, slug string) (*gitsync.Files, error) {
	if s.dir != nil {
		tree, err := s.dir.Read(ctx, slug)
		return &gitsync.Files{Managed: tree}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Objects().ReadTree(s.commit, s.at(slug))
}

// at is where the files of a workspace are.
func (s *Source) at(slug string) string {
	if s.repo.Root == "" {
		return slug
	}
	return s.repo.Root + "/" + slug
}
