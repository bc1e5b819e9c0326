package versioning

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/filesync"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// directory is a repository of the type filesystem, opened for one operation: files without
// history, branches and merges (contract 2.3).
type directory struct {
	*filesync.Directory
	versioning *Versioning
	repo       repositories.Repository
	location   workspace.Location
}

func (v *Versioning) openDirectory(repo repositories.Repository) (*directory, error) {
	dir, err := filesync.Open(repo.Dir, v.limits())
	if err != nil {
		return nil, err
	}
	return &directory{dir, v, repo, LocationOf(repo)}, nil
}

// close closes the directory.
func (s *directory) close() { _ = s.Close() } // nothing was written through it

// readFiles reads the files of the workspace.
func (s *directory) readFiles(ctx context.Context) (archive.Tree, error) {
	return s.Read(ctx, s.repo.Root)
}

// readNonEmpty is readFiles, and refuses an empty directory.
func (s *directory) readNonEmpty(ctx context.Context) (archive.Tree, error) {
	tree, err := s.readFiles(ctx)
	if err == nil && len(tree) == 0 {
		err = domain.Refuse(domain.CodeNotFound, "the repository has no directory %s yet: push first", s.repo.Root).
			Reason("remote_empty").With("repositoryId", s.repo.ID)
	}
	return tree, err
}

// countChanged counts the files that are not the same, the import file left out of
// account.
func countChanged(a, b archive.Tree) int {
	files := gitsync.Compare(a, b).Files
	return len(slices.DeleteFunc(files, func(path string) bool { return path == archive.ImportPath }))
}

// findPush looks for an interrupted push: it is there as a whole or not at all.
func (s *directory) findPush(ctx context.Context, intent workspace.Intent) (remoteState, error) {
	there, err := s.readFiles(ctx)
	if err != nil {
		return superseded, err
	}
	want, err := s.versioning.loadTree(ctx, intent.Base.Files)
	if err != nil {
		return superseded, err
	}
	if maps.EqualFunc(there, want, bytes.Equal) {
		return stored, nil
	}
	return unsent, nil
}

// settleLostPush records an interrupted push when the directory has it.
func (s *directory) settleLostPush(ctx context.Context, state workspace.State, but string) (recorded bool, err error) {
	return s.versioning.settleLostPushWith(ctx, s.repo, state, but, func(ctx context.Context, intent workspace.Intent) (remoteState, error) {
		found, err := s.findPush(ctx, intent)
		if err == nil && found == stored {
			err = s.removeFormer(ctx, intent)
		}
		return found, err
	})
}

// removeFormer deletes the directory that the workspace had before it was renamed, unless
// its files were changed.
func (s *directory) removeFormer(ctx context.Context, intent workspace.Intent) error {
	if intent.Left == nil {
		return nil
	}
	before, err := s.versioning.loadTree(ctx, intent.Left.Files)
	if err != nil {
		return err
	}
	if err = s.Replace(ctx, intent.Left.Root, archive.Tree{}, intent.OperationID, before); errors.Is(err, filesync.ErrMoved) {
		return nil
	}
	return err
}

// filePush is one running push to a directory.
type filePush struct {
	*directory
	pushState
	theirs archive.Tree // in the directory
	next   archive.Tree // the next state
}

// pushFiles saves a workspace in a directory.
func (v *Versioning) pushFiles(ctx context.Context, ps pushState, repo repositories.Repository) (any, error) {
	p, err := v.newFilePush(ctx, ps, repo)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.run(ctx)
}

func (v *Versioning) newFilePush(ctx context.Context, ps pushState, repo repositories.Repository) (*filePush, error) {
	if err := ps.loadContent(ctx); err != nil {
		return nil, err
	}
	at, err := v.openDirectory(repo)
	return &filePush{directory: at, pushState: ps}, err
}

// run repeats the steps while others write to the directory.
func (p *filePush) run(ctx context.Context) (any, error) {
	for try := 1; ; try++ {
		intent, err := p.prepare(ctx)
		if err != nil {
			return nil, err
		}
		switch result, err := p.write(ctx, intent); {
		case err != nil:
			return nil, err
		case result == sent:
			return p.record(ctx, intent)
		case try == maxAttempts:
			return nil, domain.Refuse(domain.CodeConflict, "others write to the directory all the time: try again").Reason("remote_busy").With("repositoryId", p.repo.ID)
		}
		if err := backOff(ctx, try); err != nil {
			return nil, err
		}
	}
}

// prepare reads the directory and builds its next state.
func (p *filePush) prepare(ctx context.Context) (intent workspace.Intent, err error) {
	err = p.op.Step(ctx, operation.Checkout, "Opening the directory", func(ctx context.Context) error {
		recorded, err := p.settleLostPush(ctx, p.state, p.op.ID())
		if err != nil || !recorded {
			return err
		}
		now, err := p.v.Workspaces.Get(ctx, p.state.ID)
		p.setState(now.State, p.repo)
		return err
	})
	if err != nil {
		return intent, err
	}
	err = p.op.Step(ctx, operation.PullStep, "Reading the directory", func(ctx context.Context) error {
		if err := p.checkUpToDate(ctx); err != nil {
			return err
		}
		intent, err = p.build(ctx)
		return err
	})
	return intent, err
}

// checkUpToDate refuses a push when the directory exists and differs from the base in any
// byte. Without a base it must be empty, or have the content of the workspace.
func (p *filePush) checkUpToDate(ctx context.Context) (err error) {
	if p.theirs, err = p.readFiles(ctx); err != nil {
		return err
	}
	base, err := p.v.baseTree(ctx, p.sync)
	if err != nil {
		return err
	}
	same := sameBytes(p.theirs, base) || len(p.theirs) == 0 // it is gone: nothing there can be lost
	if p.sync.Base == nil {
		same = p.v.isUpToDate(p.state, p.sync, base, p.files, &gitsync.Files{Managed: p.theirs}, true)
	}
	if !same {
		return notUpToDateError(p.repo, len(changedPaths(p.files, base, p.v.limits().Document)), countChanged(base, p.theirs))
	}
	if p.former == nil {
		return nil
	}
	before, err := p.Read(ctx, p.former.Root)
	if err == nil {
		_, err = p.formerFiles(ctx, before, p.repo)
	}
	return err
}

// build makes the next state of the directory, and the intent.
func (p *filePush) build(ctx context.Context) (intent workspace.Intent, err error) {
	v := p.v
	put, remove := v.treeChanges(p.files, p.theirs, heldPathFilter(p.state, p.sync))
	p.next = applyChanges(p.theirs, put, remove)
	if p.next[archive.ImportPath], err = p.importFileText(ctx, p.next); err != nil {
		return intent, err
	}
	files, err := v.storeTree(ctx, p.next)
	return p.newIntent(workspace.Base{Files: files}, gitsync.Compare(p.theirs, p.next)), err
}

// write replaces the files of the directory.
func (p *filePush) write(ctx context.Context, intent workspace.Intent) (result outcome, err error) {
	err = p.op.Step(ctx, operation.Write, "Writing the files", func(ctx context.Context) error {
		if err := p.op.Commit(ctx); err != nil {
			return err
		}
		_, err := p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Intend{Epoch: p.op.Epoch(), RepositoryID: p.repo.ID, Location: p.location, Intent: intent})
		if err != nil {
			return err
		}
		err = p.Replace(ctx, p.repo.Root, p.next, p.op.ID(), p.theirs)
		switch {
		case errors.Is(err, filesync.ErrMoved):
			result = raced
			return nil
		case err != nil && ctx.Err() != nil:
			return errors.Join(operations.ErrUnsettled, err) // who takes over finds out
		}
		return err
	})
	return result, err
}

// record records that the directory has the version.
func (p *filePush) record(ctx context.Context, intent workspace.Intent) (any, error) {
	if err := p.removeFormer(ctx, intent); err != nil {
		return nil, err
	}
	done, err := p.v.recordPush(ctx, p.state.ID, p.op.Epoch(), p.repo.ID, p.location, intent)
	return NewVersionResponse(done, intent.Changes), err
}

// resume continues an interrupted push: the directory has it, or is unchanged.
func (p *filePush) resume(ctx context.Context, intent workspace.Intent) (any, error) {
	state, err := p.findPush(ctx, intent)
	if err != nil {
		return nil, err
	}
	if state == stored {
		return p.record(ctx, intent)
	}
	return p.run(ctx)
}

// filePull is one running pull from a directory. It replaces the content: there is no base
// to merge with (contract 2.3).
type filePull struct {
	*pull
	*directory
}

func (v *Versioning) newFilePull(ctx context.Context, workspaceID string, repo repositories.Repository, in PullRequest, may content.ImportOptions) (filePull, error) {
	p := filePull{pull: &pull{
		v: v, part: &Part{}, in: in, may: may, user: commands.RequestFrom(ctx).Meta.UserID, remote: &remote{repo: repo, location: LocationOf(repo)},
	}}
	p.setExcludes(repo)
	if err := p.refresh(ctx, workspaceID, repo); err != nil {
		return p, err
	}
	var err error
	p.directory, err = v.openDirectory(repo)
	return p, err
}

// pullFiles imports the files of a directory.
func (v *Versioning) pullFiles(ctx context.Context, run *operations.Run, repo repositories.Repository, in PullRequest, may content.ImportOptions) (any, error) {
	p, err := v.newFilePull(ctx, run.WorkspaceID(), repo, in, may)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.op = run
	err = run.Step(ctx, operation.Checkout, "Opening the directory", func(ctx context.Context) error {
		recorded, err := p.directory.settleLostPush(ctx, p.state, "")
		if err != nil || !recorded {
			return err
		}
		return p.refresh(ctx, run.WorkspaceID(), repo)
	})
	if err == nil {
		err = run.Step(ctx, operation.PullStep, "Reading the directory", p.read)
	}
	if err != nil {
		return nil, err
	}
	return p.importPulled(ctx, p.theirs.Managed, true)
}

// planFiles finds out what pullFiles would do.
func (v *Versioning) planFiles(ctx context.Context, workspaceID string, repo repositories.Repository, in PullRequest, may content.ImportOptions) (Plan, error) {
	p, err := v.newFilePull(ctx, workspaceID, repo, in, may)
	if err != nil {
		return Plan{}, err
	}
	defer p.close()
	if err := p.read(ctx); err != nil {
		return Plan{}, err
	}
	op := &content.ImportOperation{Pull: true, Verify: true, Notes: p.securityWarnings()}
	return v.plan(ctx, workspaceID, string(discard), p.theirs.Managed, op, p.may, in)
}

// read reads both sides. The directory has one version, named by its import file or, without
// one, by the hash of its files.
func (p filePull) read(ctx context.Context) error {
	tree, err := p.readNonEmpty(ctx)
	if err != nil {
		return err
	}
	if err := checkIndex(tree, p.directory.repo.Root); err != nil {
		return err
	}
	p.theirs = &gitsync.Files{Managed: tree}
	p.commit = strings.TrimPrefix(archive.Digest(tree.Checksums()), "sha256:")
	if name := p.in.Version; name != Latest && name != p.versionName(tree) {
		return workspace.NoVersion(name)
	}
	p.in.Version = Latest
	p.files, err = p.v.workspaceTree(ctx, p.state.ID, p.seq, p.sync, nil)
	return err
}

// setExcludes sets what a pull does not change. The security document is excluded when the
// caller may not change it.
func (p *pull) setExcludes(repo repositories.Repository) {
	if p.may.Excludes = repo.Excludes; !p.may.Secure {
		p.may.Excludes = append(slices.Clone(repo.Excludes), "security")
	}
}

// checkIndex refuses a tree without an index document.
func checkIndex(tree archive.Tree, root string) error {
	if objects(tree)["index"] != nil {
		return nil
	}
	return domain.Refuse(domain.CodeValidation, "there is no index.yml in the repository at %s", cmp.Or(root, "its root")).
		Reason("missing_index").With("path", root)
}

// observeFiles is observe for a directory.
func (v *Versioning) observeFiles(ctx context.Context, s workspace.State, repo repositories.Repository) (observation, error) {
	at, err := v.openDirectory(repo)
	if err != nil {
		return observation{}, err
	}
	defer at.close()
	recorded, err := at.settleLostPush(ctx, s, runningPush(s))
	if s, err = v.reloadAfterPush(ctx, s, recorded, err); err != nil {
		return observation{}, err
	}
	there, err := at.readFiles(ctx)
	if err != nil {
		return observation{}, err
	}
	sync := s.SyncWith(repo.ID, at.location)
	found := observation{at: time.Now(), has: meaningsOf(there, v.limits().Document), location: at.location, base: baseID(sync), files: true}
	base, err := v.baseTree(ctx, sync)
	found.behind = countChanged(base, there)
	found.other = sync.Base != nil && found.behind > 0
	return found, err
}
