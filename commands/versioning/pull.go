package versioning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/merge"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Latest is the version that a pull imports when none is named.
const Latest = "latest"

// PullRequest is the body of a pull.
type PullRequest struct {
	Version      string `json:"version"`                // Latest, a version, a tag or a commit
	RepositoryID string `json:"repositoryId,omitempty"` // "": the native one
	Discard      bool   `json:"discardLocalChanges"`
	Strict       bool   `json:"strict,omitempty"`
}

// Pull imports the content of a repository, or one of its versions, into a workspace. may
// has the permissions of the caller.
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
	repo, err := v.pullRepository(ctx, workspaceID, in)
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

// pullRepository returns the repository to pull from.
func (v *Versioning) pullRepository(ctx context.Context, workspaceID string, in PullRequest) (repositories.Repository, error) {
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

// pull is one running pull or resolution.
type pull struct {
	*remote
	v     *Versioning
	op    *operations.Run // nil: only a plan, nothing is changed
	part  *Part           // of a bulk run; nil: a pull of its own
	in    PullRequest
	may   content.ImportOptions
	state workspace.State
	seq   uint64
	sync  workspace.Sync
	user  string
	when  time.Time // of its commits

	commit string         // that is brought
	name   string         // of the version that is brought
	theirs *gitsync.Files // at the head of T
	base   archive.Tree
	files  archive.Tree // what is here, held places as they are there

	saved      workspace.SavedState // what is here, on I
	newOwnHead string               // of I after this pull; "": as it was

	rolledBack []archive.Item // a warning that the merge keeps what was rolled back here
}

func (v *Versioning) newPull(ctx context.Context, run *operations.Run, repo repositories.Repository, in PullRequest, may content.ImportOptions, user string) (*pull, error) {
	p := &pull{v: v, op: run, in: in, may: may, user: user, when: truncateToSecond(v.Workspaces.Now())}
	return p, p.prepare(ctx, run.WorkspaceID(), repo)
}

// prepare loads the workspace and connects to the repository.
func (p *pull) prepare(ctx context.Context, workspaceID string, repo repositories.Repository) (err error) {
	if err := p.refresh(ctx, workspaceID, repo); err != nil {
		return err
	}
	p.setExcludes(repo)
	p.remote, err = p.v.connect(repo, p.state.Settings.Slug)
	return err
}

// refresh loads the current state of the workspace.
func (p *pull) refresh(ctx context.Context, workspaceID string, repo repositories.Repository) error {
	now, err := p.v.Workspaces.Get(ctx, workspaceID)
	p.state, p.seq, p.sync = now.State, now.Seq, now.State.SyncWith(repo.ID, LocationOf(repo))
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
	err := p.connectAndFetch(ctx, func(ctx context.Context) error {
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
	if chosen.path == mergeBoth {
		return p.saveAndMerge(ctx, chosen)
	}
	return p.importPulled(ctx, chosen.tree, chosen.clean)
}

// connectAndFetch fetches what the remote has, and calls then in the same step.
func (p *pull) connectAndFetch(ctx context.Context, then func(context.Context) error) error {
	err := p.op.Step(ctx, operation.Checkout, "Connecting to the repository", func(ctx context.Context) error {
		if err := p.listRefs(ctx); err != nil {
			return err
		}
		return p.checkBranch()
	})
	if err != nil {
		return err
	}
	return p.op.Step(ctx, operation.PullStep, "Fetching "+p.target, func(ctx context.Context) error {
		if err := p.settleLostPush(ctx); err != nil {
			return err
		}
		if err := p.read(ctx); err != nil {
			return err
		}
		return then(ctx)
	})
}

// settleLostPush settles an earlier push before the pull.
func (p *pull) settleLostPush(ctx context.Context) error {
	changed, err := p.v.settleLostPush(ctx, p.remote, p.state, "")
	if err != nil || !changed {
		return err
	}
	return p.refresh(ctx, p.state.ID, p.repo)
}

// read reads the files of both sides, concurrently.
func (p *pull) read(ctx context.Context) error {
	var ours archive.Tree
	here := startAsync(func() (err error) {
		if p.base, err = p.v.baseTree(ctx, p.sync); err == nil {
			ours, err = p.v.workspaceTree(ctx, p.state.ID, p.seq, p.sync, p.base)
		}
		return err
	})
	err := p.readRemote(ctx)
	if failed := here(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	p.files = overlay(ours, p.theirs.Managed, heldPathFilter(p.state, p.sync))
	return nil
}

// readRemote fetches and reads the files of the remote.
func (p *pull) readRemote(ctx context.Context) (err error) {
	p.commit = p.head()
	if err := p.fetch(ctx); err != nil {
		return err
	}
	if p.in.Version != Latest {
		if err := p.findVersion(ctx); err != nil {
			return err
		}
	}
	if p.theirs, err = p.Objects().ReadTree(p.head(), p.repo.Root); err != nil {
		return err
	}
	return checkIndex(p.theirs.Managed, p.repo.Root)
}

// findVersion finds the commit of a named version: a tag, a version of the workspace, or
// a commit by the beginning of its id.
func (p *pull) findVersion(ctx context.Context) error {
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
	} else if !isCommitID(name) {
		return workspace.NoVersion(name)
	}
	commit, err := p.Objects().Resolve(name, p.head(), p.ownHead())
	if p.commit = commit; p.name == commit || isCommitID(p.name) {
		p.name = ""
	}
	return err
}

func isCommitID(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(s) >= 7 && len(s) <= 40
}

// startAsync runs do in a goroutine; wait returns its error. A panic of do is an error.
func startAsync(do func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() {
		defer commands.Recover(func(p *commands.PanicError) { done <- p })
		done <- do()
	}()
	return func() error { return <-done }
}

// path is the way in which a pull is done (contract 9.2).
type path string

// The paths.
const (
	named         path = "version"  // a named version is imported
	discard       path = "discard"  // local changes are discarded
	neverUsed     path = "new"      // the workspace was never edited
	unchangedHere path = "remote"   // there are no local changes
	mergeBoth     path = "merge"    // local changes are saved and merged
	resolved      path = "resolved" // a conflict was resolved in Git
)

// choice is a path with the files that it imports.
type choice struct {
	path   path
	tree   archive.Tree
	clean  bool          // afterwards both sides are the same
	merged *merge.Result // of both
}

// choose selects the path of the pull. Nothing is changed.
func (p *pull) choose(ctx context.Context) (choice, error) {
	if p.in.Version != Latest {
		files, err := p.Objects().ReadTree(p.commit, p.repo.Root)
		if err != nil {
			return choice{}, err
		}
		return choice{path: named, tree: files.Managed, clean: p.sync.Base != nil && p.sameTrees(files.Managed, p.base)}, nil
	}
	local := p.localChanges()
	switch {
	case p.state.Conflict != nil:
		return p.findResolution(ctx)
	case p.in.Discard:
		return choice{path: discard, tree: p.theirs.Managed, clean: true}, nil
	case p.sync.Base == nil && !p.state.Edited:
		return choice{path: neverUsed, tree: p.theirs.Managed, clean: true}, nil
	case len(local) == 0, p.sameTrees(p.files, p.theirs.Managed):
		return choice{path: unchangedHere, tree: p.theirs.Managed, clean: true}, nil
	}
	m, err := p.mergeTrees(ctx, p.base, p.files, p.theirs.Managed)
	if err != nil {
		return choice{}, err
	}
	if err := p.warnRolledBack(ctx, m); err != nil {
		return choice{}, err
	}
	return choice{path: mergeBoth, tree: m.Files, merged: m, clean: len(m.Conflicts) == 0 && p.sameTrees(m.Files, p.theirs.Managed)}, nil
}

// warnRolledBack adds a warning when the merge keeps files that were rolled back here since the
// last push or pull: the caller may expect to get those of the repository.
func (p *pull) warnRolledBack(ctx context.Context, m *merge.Result) error {
	lost := slices.DeleteFunc(slices.Clone(m.Ours), func(docPath string) bool { return slices.Contains(m.Theirs, docPath) })
	back, err := p.v.Revisions.RolledBack(ctx, p.state.ID, p.seq, lost)
	if err != nil || len(back) == 0 {
		return err
	}
	listed := back[:min(len(back), maxListedFiles)]
	p.rolledBack = []archive.Item{{
		Msg: fmt.Sprintf("%d of the files that were rolled back here since the last push or pull stay as they are, and differ from %s: push to publish them, or pull with discardLocalChanges to get those of the repository", len(back), p.target),
		Err: "rolled_back_content_kept", Filepath: back[0], WorkspaceID: p.state.ID, Details: map[string]any{"files": listed, "count": len(back)},
	}}
	return nil
}

// localChanges lists the places that were changed here since the last push or pull.
func (p *pull) localChanges() (paths []string) {
	for _, docPath := range changedPaths(p.files, p.base, p.v.limits().Document) {
		if !p.may.Excludes.Has(docPath) {
			paths = append(paths, docPath)
		}
	}
	return paths
}

func (p *pull) sameTrees(a, b archive.Tree) bool {
	return len(changedPaths(a, b, p.v.limits().Document)) == 0
}

// mergeTrees merges two sides. Merged documents must be valid.
func (p *pull) mergeTrees(ctx context.Context, base, ours, theirs archive.Tree) (*merge.Result, error) {
	return merge.Trees(ctx, base, ours, theirs, merge.Options{
		Excludes: p.may.Excludes, Limits: p.v.limits(), Validate: p.v.validator(p.state.ID),
	})
}

// PullResult is the result of a pull or an import.
type PullResult struct {
	Imported        []string                   `json:"imported"`
	Deleted         []string                   `json:"deleted"`
	Errors          []archive.Item             `json:"errors"`
	Warnings        []archive.Item             `json:"warnings"`
	Workspace       workspace.Named            `json:"workspace"`
	Version         *workspace.ImportedVersion `json:"version,omitempty"`
	ContentRevision uint64                     `json:"contentRevision"`
	PublishedApps   []string                   `json:"publishedApps,omitempty"`
}

func (v *Versioning) validator(workspaceID string) func(archive.Location, *document.Map) error {
	return func(p archive.Location, doc *document.Map) error { return v.Content.CheckFile(workspaceID, p, doc) }
}

// importPulled imports a tree, in one event with the sync state of the repository.
func (p *pull) importPulled(ctx context.Context, tree archive.Tree, clean bool) (any, error) {
	var theirs string
	saveOurs := sync.OnceValue(startAsync(func() (err error) {
		theirs, err = p.v.storeTree(ctx, p.theirs.Managed)
		return err
	}))
	version := &workspace.ImportedVersion{Name: p.versionName(tree), Repository: &workspace.RepositoryRef{ID: p.repo.ID}}
	notes := p.securityWarnings()
	op := &content.ImportOperation{
		OperationID: p.op.ID(), Epoch: p.op.Epoch(), Version: version, Pull: true, Own: !p.repo.Platform, Notes: append(slices.Clone(notes), p.rolledBack...),
		Integrate: func(o content.Outcome) (*workspace.Integration, error) {
			if err := saveOurs(); err != nil {
				return nil, err
			}
			in := &workspace.Integration{
				RepositoryID: p.repo.ID, Location: p.location, Intermediate: p.newOwnHead, Held: o.Held, RemoteSlug: o.RemoteSlug,
				Clean: clean && !o.Restricted && len(notes) == 0,
			}
			if p.in.Version == Latest {
				in.Held = p.holdSecurity(in.Held, clean || len(notes) > 0)
				in.Base = &workspace.Base{Commit: p.head(), Files: theirs, Unmanaged: digestUnmanaged(p.theirs.Unmanaged)}
			}
			if o.Errors == 0 {
				in.Pulled = &workspace.Pulled{Version: version.Name, Digest: archive.Digest(tree.Checksums())}
			}
			return in, nil
		},
	}
	if p.part != nil {
		if op.Verify = true; p.part.Create {
			op.Slug = p.part.Slug
		}
	}
	may := p.may
	may.Others = slices.Collect(maps.Keys(p.theirs.Unmanaged))
	return p.v.importPruned(ctx, p.op, tree, op, may, p.in.Strict)
}

// holdSecurity adds the security document to what is held: when the repository has none
// and nothing else is here that is not there, it stays without one; when the caller
// may not take its own over, it keeps that. Until somebody edits the one that is
// here, a push does not touch the one that is there.
func (p *pull) holdSecurity(held map[string]uint64, spare bool) map[string]uint64 {
	security := archive.Location{Kind: document.Security}.String()
	if !spare || p.may.Secure && objects(p.theirs.Managed)[security] != nil {
		return held
	}
	if held == nil {
		held = map[string]uint64{}
	}
	held[security] = p.state.RevisionOf(security)
	return held
}

// securityWarnings returns a warning when the security document differs and the caller may
// not change it.
func (p *pull) securityWarnings() []archive.Item {
	security := archive.Location{Kind: document.Security}.String()
	if p.may.Secure || sameMeaning(objects(p.files)[security], objects(p.theirs.Managed)[security], p.v.limits().Document) {
		return nil
	}
	return []archive.Item{{
		Msg: "the security document was not changed: that needs the permission manage_security", Err: "security_excluded", Filepath: security, WorkspaceID: p.state.ID,
	}}
}

// operationRun is the part of an operations.Run that an import uses.
type operationRun interface {
	Step(ctx context.Context, name, message string, do func(context.Context) error) error
	Commit(ctx context.Context) error
	WorkspaceID() string
}

// importPruned imports a tree and deletes what it does not have.
func (v *Versioning) importPruned(ctx context.Context, run operationRun, tree archive.Tree, op *content.ImportOperation, may content.ImportOptions, strict bool) (any, error) {
	may.Prune, may.Strict, may.Operation = true, strict, op
	return v.importTree(ctx, run, tree, may)
}

// importTree imports a tree as the step of an operation.
func (v *Versioning) importTree(ctx context.Context, run operationRun, tree archive.Tree, o content.ImportOptions) (any, error) {
	var done content.Result
	imp := v.Content.Import
	if o.Operation.Slug != "" { // the workspace does not exist yet
		imp = v.Content.CreateFrom
	}
	err := run.Step(ctx, operation.Bring, "Importing the content", func(ctx context.Context) (err error) {
		if err := run.Commit(ctx); err != nil {
			return err
		}
		if done, err = imp(ctx, run.WorkspaceID(), tree, o); err != nil && ctx.Err() != nil {
			err = errors.Join(operations.ErrUnsettled, err) // its event may be on the log
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	version := o.Operation.Version
	if version == nil && done.Version != "" {
		version = &workspace.ImportedVersion{Name: done.Version}
	}
	workspaceID := run.WorkspaceID()
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	revision, err := v.Revisions.Revision(ctx, workspaceID, done.Seq)
	return PullResult{
		Imported: done.Imported, Deleted: done.Deleted, Errors: done.Errors, Warnings: done.Warnings, Version: version, ContentRevision: revision,
		Workspace:     workspace.Named{ID: workspaceID, Slug: now.State.Settings.Slug, Name: now.State.Settings.Name},
		PublishedApps: done.Published,
	}, err
}

// versionName returns the name of the imported version: from its import file, its tag or
// its commit.
func (p *pull) versionName(tree archive.Tree) string {
	if text, ok := tree[archive.ImportPath]; ok {
		if file, err := archive.ReadImportFile(text, p.v.limits().Document); err == nil && file.Version != "" {
			return file.Version
		}
	}
	return cmp.Or(p.name, p.commit[:min(12, len(p.commit))])
}

// Plan is what a pull would do.
type Plan struct {
	Path        string                   `json:"path"`
	WouldImport []string                 `json:"wouldImport"`
	WouldDelete []string                 `json:"wouldDelete"`
	Conflicts   []workspace.ConflictFile `json:"conflicts"`
	Warnings    []archive.Item           `json:"warnings"`
	Errors      []archive.Item           `json:"errors"`
}

// PlanPull finds out what a pull would do. It acquires no lock and sends nothing.
func (v *Versioning) PlanPull(ctx context.Context, workspaceID string, in PullRequest, may content.ImportOptions) (Plan, error) {
	op := &content.ImportOperation{Pull: true}
	if in.RepositoryID == "" {
		version, err := v.nativeVersion(ctx, workspaceID, in.Version)
		if err != nil {
			return Plan{}, err
		}
		tree, err := v.Content.Export(ctx, workspaceID, version.ContentRevision, nil)
		if err != nil {
			return Plan{}, err
		}
		return v.plan(ctx, workspaceID, string(named), tree, op, may, in)
	}
	repo, err := v.pullRepository(ctx, workspaceID, in)
	if err != nil {
		return Plan{}, err
	}
	if repo.Type == repositories.Filesystem {
		return v.planFiles(ctx, workspaceID, repo, in, may)
	}
	p := &pull{v: v, in: in, may: may, user: commands.RequestFrom(ctx).Meta.UserID}
	if err := p.prepare(ctx, workspaceID, repo); err != nil {
		return Plan{}, err
	}
	defer p.Close()
	if err := p.listRefs(ctx); err != nil {
		return Plan{}, err
	}
	if err := p.checkBranch(); err != nil {
		return Plan{}, err
	}
	if err := p.read(ctx); err != nil {
		return Plan{}, err
	}
	choice, err := p.choose(ctx)
	if err != nil {
		return Plan{}, err
	}
	op.Own, op.Notes = !repo.Platform, append(p.securityWarnings(), p.rolledBack...)
	plan, err := v.plan(ctx, workspaceID, string(choice.path), choice.tree, op, p.may, in)
	if err == nil && choice.merged != nil {
		for _, c := range choice.merged.Conflicts {
			plan.Conflicts = append(plan.Conflicts, workspace.ConflictFile{Path: c.Path, Kind: string(c.Kind), Keys: c.Keys})
			plan.excludeConflicted(c.Path)
		}
	}
	return plan, err
}

// plan finds out what importing a tree would do.
func (v *Versioning) plan(ctx context.Context, workspaceID, path string, tree archive.Tree, op *content.ImportOperation, may content.ImportOptions, in PullRequest) (Plan, error) {
	may.Prune, may.Strict, may.DryRun, may.Operation = true, in.Strict, true, op
	plan := Plan{Path: path, Conflicts: []workspace.ConflictFile{}}
	done, err := v.Content.Import(ctx, workspaceID, tree, may)
	plan.WouldImport, plan.WouldDelete, plan.Warnings, plan.Errors = done.Imported, done.Deleted, done.Warnings, done.Errors
	return plan, err
}

// excludeConflicted removes a file in conflict from the files that would be deleted.
func (p *Plan) excludeConflicted(path string) {
	location, ok := archive.Locate(path)
	p.WouldDelete = slices.DeleteFunc(p.WouldDelete, func(deleted string) bool { return ok && deleted == location.String() })
}

// Import imports an archive into a workspace.
func (v *Versioning) Import(ctx context.Context, workspaceID string, tree archive.Tree, o content.ImportOptions) (*operations.Handle, error) {
	spec := operations.Spec{
		Kind: operation.Import, WorkspaceID: workspaceID, Reason: workspace.ImportInProgress, Steps: 1,
		Request: map[string]bool{"prune": o.Prune, "force": o.Force, "strict": o.Strict},
	}
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		if err := v.checkRevision(ctx, workspaceID, run.LockSeq(), o.IfRevision); err != nil {
			return nil, err
		}
		o.Operation = &content.ImportOperation{OperationID: run.ID(), Epoch: run.Epoch()}
		return v.importTree(ctx, run, tree, o)
	})
}

// checkRevision refuses an import that is based on other content than the locked one.
func (v *Versioning) checkRevision(ctx context.Context, workspaceID string, seq, wanted uint64) error {
	if wanted == 0 {
		return nil
	}
	revision, err := v.Revisions.Revision(ctx, workspaceID, seq)
	if err == nil && revision != wanted {
		err = domain.Refuse(domain.CodeConflict, "the content has changed since: read it again, and bring the changes together").
			Reason("stale").With("contentRevision", revision)
	}
	return err
}
