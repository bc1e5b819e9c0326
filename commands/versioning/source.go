package versioning

import (
	"context"
	"slices"
	"strings"
	"sync"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/filesync"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Source is a platform repository at one commit: a bulk run imports all workspaces from
// there. It may be used concurrently.
type Source struct {
	v    *Versioning
	repo repositories.Repository // of the workspace ""

	dir *filesync.Directory // nil: it is a git one

	mu      sync.Mutex // the session serves one at a time
	session *gitsync.Session
	commit  string // that everything is read at
	moved   bool
}

// OpenSource opens a platform repository at a commit, or at its head when commit is "" or
// does not exist any more.
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

// fetch fetches the head of the branch, once for all workspaces.
func (s *Source) fetch(ctx context.Context, r *remote, commit string) error {
	if err := r.listRefs(ctx); err != nil {
		return err
	}
	if err := r.checkBranch(); err != nil {
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

// Close releases the session or the directory.
func (s *Source) Close() {
	if s.session != nil {
		s.session.Close()
	}
	if s.dir != nil {
		_ = s.dir.Close() // it was only read
	}
}

// Commit returns the commit of the source; "" of a directory.
func (s *Source) Commit() string { return s.commit }

// Moved reports whether the requested commit does not exist any more.
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
	return s.session.Objects().ReadFile(s.commit, s.rootOf(slug)+"/"+archive.ImportPath)
}

// Files returns the files of a directory.
func (s *Source) Files(ctx context.Context, slug string) (*gitsync.Files, error) {
	if s.dir != nil {
		tree, err := s.dir.Read(ctx, slug)
		return &gitsync.Files{Managed: tree}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Objects().ReadTree(s.commit, s.rootOf(slug))
}

// rootOf is where the files of a workspace are.
func (s *Source) rootOf(slug string) string {
	if s.repo.Root == "" {
		return slug
	}
	return s.repo.Root + "/" + slug
}

// Part is one workspace of a bulk run that imports from a source.
type Part struct {
	Operation string // the id of its operation
	Slug      string // of its directory
	Files     *gitsync.Files
	Create    bool   // the workspace does not exist yet and is created
	Force     bool   // a wrong checksum is a warning only
	Under     uint64 // the epoch of the lock of the bulk run; 0: it acquires a lock of its own
}

// Digest returns the hash of the checksums of the files.
func (p Part) Digest() string { return archive.Digest(p.Files.Managed.Checksums()) }

// PullPart imports one workspace from a source. Local changes are discarded.
func (v *Versioning) PullPart(ctx context.Context, workspaceID string, s *Source, part Part, may content.ImportOptions) (*operations.Handle, error) {
	id, known, err := v.Operations.Reserve(ctx, workspaceID, part.Operation)
	if err != nil || known != nil {
		return known, err
	}
	spec := operations.Spec{
		ID: id, Kind: operation.Pull, WorkspaceID: workspaceID, RepositoryID: s.repo.ID, Branch: s.repo.Branch, Reason: workspace.PullInProgress, Steps: 1,
		Request: PullRequest{Version: Latest, RepositoryID: s.repo.ID, Discard: true},
	}
	if part.Create || part.Under != 0 {
		spec.Reason, spec.Under = "", part.Under
	}
	p, err := v.newPartPull(s, part, may)
	if err != nil {
		return nil, err
	}
	p.user = commands.RequestFrom(ctx).Meta.UserID
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		p.op = run
		if err := p.loadState(ctx, workspaceID); err != nil {
			return nil, err
		}
		return p.importPulled(ctx, part.Files.Managed, true)
	})
}

// PlanPart finds out what PullPart would do.
func (v *Versioning) PlanPart(ctx context.Context, workspaceID string, s *Source, part Part, may content.ImportOptions) (content.Result, error) {
	p, err := v.newPartPull(s, part, may)
	if err == nil {
		err = p.loadState(ctx, workspaceID)
	}
	if err != nil {
		return content.Result{}, err
	}
	p.may.Prune, p.may.DryRun = true, true
	p.may.Operation = &content.ImportOperation{Pull: true, Verify: true, Slug: part.Slug}
	if part.Create {
		return v.Content.CreateFrom(ctx, workspaceID, part.Files.Managed, p.may)
	}
	return v.Content.Import(ctx, workspaceID, part.Files.Managed, p.may)
}

// newPartPull returns the pull of one part, without a session of its own.
func (v *Versioning) newPartPull(s *Source, part Part, may content.ImportOptions) (*pull, error) {
	repo, err := v.Repositories.InPlatform(s.repo.ID, part.Slug)
	if err != nil {
		return nil, err
	}
	if part.Create {
		may.Secure = true // the owner may change everything
	}
	may.Force = part.Force
	may.Excludes = repo.Excludes
	if !may.Secure {
		may.Excludes = append(slices.Clone(repo.Excludes), "security")
	}
	named := ""
	if repo.Type == repositories.Filesystem {
		named = strings.TrimPrefix(part.Digest(), "sha256:")[:12]
	}
	return &pull{
		v: v, part: &part, name: named, in: PullRequest{Version: Latest, RepositoryID: repo.ID, Discard: true}, may: may, theirs: part.Files, commit: s.commit,
		remote: &remote{repo: repo, location: LocationOf(repo), target: repo.Branch, refs: gitsync.Refs{IDs: map[string]string{"refs/heads/" + repo.Branch: s.commit}}},
	}, nil
}

// loadState loads the current state of the workspace, or that of a new one.
func (p *pull) loadState(ctx context.Context, workspaceID string) (err error) {
	if p.part.Create {
		p.state, p.sync = workspace.State{ID: workspaceID}, workspace.Sync{Location: p.location}
		return nil
	}
	if err := p.refresh(ctx, workspaceID, p.repo); err != nil || p.may.Secure {
		return err
	}
	p.files, err = p.v.workspaceTree(ctx, workspaceID, p.seq, p.sync, nil) // to tell whether the security document differs
	return err
}
