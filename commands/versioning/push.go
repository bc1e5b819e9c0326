package versioning

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// PushRequest is the body of a push.
type PushRequest struct {
	Name         string             `json:"name,omitempty"` // "": NewName
	Description  document.Localized `json:"description,omitzero"`
	RepositoryID string             `json:"repositoryId,omitempty"` // "": the native one
	// Platform selects the platform repository, even where the workspace has one of its
	// own with that id.
	Platform bool `json:"platform,omitempty"`
	// ID is the id of the operation; "": a new one. A push with the id of an existing
	// operation returns that operation.
	ID string `json:"-"`
	// Under is the epoch of the lock of the bulk run that it is part of; 0: it acquires a
	// lock of its own.
	Under uint64 `json:"-"`
}

// NewName returns the name of a version that was given none.
func NewName(ctx context.Context, now time.Time) string {
	return now.UTC().Format("20060102-150405-") + commands.NewID(ctx, 6)
}

// VersionResponse is a version as the API shows it.
type VersionResponse struct {
	Name            string                   `json:"name"`
	Description     document.Localized       `json:"description,omitzero"`
	CreatedAt       string                   `json:"createdAt"`
	CreatedBy       string                   `json:"createdBy"`
	Repository      *workspace.RepositoryRef `json:"repository,omitempty"`
	Commit          string                   `json:"commit,omitempty"`
	Tag             string                   `json:"tag,omitempty"`
	ContentRevision uint64                   `json:"contentRevision"`
	Changes         *workspace.Changes       `json:"changes,omitempty"`
	Warnings        []archive.Item           `json:"warnings,omitempty"` // of the push that made it
}

// NewVersionResponse returns the response for a version.
func NewVersionResponse(v workspace.Version, changes *workspace.Changes) VersionResponse {
	return VersionResponse{
		Name: v.Name, Description: v.Description, CreatedAt: domain.FormatTime(v.CreatedAt), CreatedBy: v.CreatedBy,
		Repository: v.Repository, Commit: v.Commit, Tag: v.Tag, ContentRevision: v.ContentRevision, Changes: changes,
	}
}

// DeleteVersion forgets a version. A tag at a remote stays.
func (v *Versioning) DeleteVersion(ctx context.Context, workspaceID, name string) error {
	_, err := v.Workspaces.Execute(ctx, workspaceID, workspace.DeleteVersion{Name: name})
	return err
}

// Push saves a workspace as a version, in a repository or as a native version.
func (v *Versioning) Push(ctx context.Context, workspaceID string, in PushRequest) (*operations.Handle, error) {
	id, known, err := v.Operations.Reserve(ctx, workspaceID, in.ID)
	if err != nil || known != nil {
		return known, err
	}
	current, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	if in.Name == "" {
		in.Name = NewName(ctx, v.Workspaces.Now())
	}
	if err := current.State.CheckVersion(in.Name, in.RepositoryID); err != nil {
		return nil, err
	}
	spec := operations.Spec{
		ID: id, Kind: operation.Push, WorkspaceID: workspaceID, RepositoryID: in.RepositoryID, Reason: workspace.PushInProgress, Request: in, Steps: 1,
	}
	if in.Under != 0 {
		spec.Reason, spec.Under = "", in.Under
	}
	if in.RepositoryID == "" {
		return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) { return v.pushNative(ctx, run, in) })
	}
	repo, err := v.pushRepository(ctx, current.State, in)
	if err == nil {
		err = repo.CanPush()
	}
	if err != nil {
		return nil, err
	}
	if spec.Branch, spec.Steps = repo.Branch, 5; repo.Type == repositories.Filesystem {
		spec.Steps = 3
	}
	user := commands.RequestFrom(ctx).Meta.UserID
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		joinBatch := func() {}
		if repo.Platform && repo.Type == repositories.Git {
			joinBatch = v.batches.expect(LocationOf(repo))
			defer joinBatch()
		}
		ps, err := v.newPushState(ctx, run, repo, in, user)
		if err != nil {
			return nil, err
		}
		if err := ps.runChecks(ctx, repo); err != nil {
			return nil, err
		}
		if repo.Type == repositories.Filesystem {
			return v.pushFiles(ctx, ps, repo)
		}
		p := &push{pushState: ps, joinBatch: joinBatch}
		if err := p.open(ctx, repo); err != nil {
			return nil, err
		}
		defer p.Close()
		return p.run(ctx)
	})
}

// maxNamedCases is how many failed cases a refused push names.
const maxNamedCases = 20

// runChecks refuses to push to a repository that requires tests unless all of them pass, with the content that is pushed:
// what is saved meanwhile is neither tested nor pushed.
func (s *pushState) runChecks(ctx context.Context, repo repositories.Repository) error {
	if !repo.Checks || s.v.Checks == nil {
		return nil
	}
	failed, err := s.v.Checks(ctx, s.state.ID, s.seq)
	if err != nil || len(failed) == 0 {
		return err
	}
	named := failed[:min(len(failed), maxNamedCases)]
	return domain.Refuse(domain.CodeValidation, "nothing was pushed: the repository %s requires that tests pass, and %d failed: %s", repo.ID, len(failed), strings.Join(named, "; ")).
		Reason("checks_failed").With("repositoryId", repo.ID).With("failed", len(failed)).With("cases", named)
}

// pushRepository returns the repository of a push.
func (v *Versioning) pushRepository(ctx context.Context, s workspace.State, in PushRequest) (repositories.Repository, error) {
	if in.Platform {
		return v.Repositories.InPlatform(in.RepositoryID, s.Settings.Slug)
	}
	return v.Repositories.Find(ctx, s, in.RepositoryID)
}

// push is one running push to a Git repository.
type push struct {
	*remote
	pushState
	tags      []string // the ids that this push may have set its tag to
	warnings  []archive.Item
	joinBatch func() // called when it has joined a batch; nil: it is sent alone
}

// open loads the content and connects to the repository.
func (p *push) open(ctx context.Context, repo repositories.Repository) (err error) {
	if err := p.loadContent(ctx); err != nil {
		return err
	}
	p.remote, err = p.v.connect(repo, p.state.Settings.Slug)
	return err
}

// Close ends the conversation.
func (p *push) Close() {
	if p.remote != nil {
		p.remote.Close()
	}
}

// maxAttempts is how often a push that lost a race at the remote starts again.
const maxAttempts = 5

// run repeats the steps until the remote has the version, or refuses it.
func (p *push) run(ctx context.Context) (any, error) {
	for try := 1; ; try++ {
		intent, outcome, err := p.attempt(ctx, try > 1)
		switch {
		case err != nil:
			return nil, err
		case outcome == sent:
			return p.record(ctx, intent)
		case try == maxAttempts:
			return nil, remoteBusy(p.remote)
		}
		if err := backOff(ctx, try); err != nil {
			return nil, err
		}
	}
}

// attempt prepares and sends. A push that has lost a race waits for its turn before it
// prepares: otherwise others on this node that push to the branch would win again.
func (p *push) attempt(ctx context.Context, lost bool) (intent workspace.Intent, result outcome, err error) {
	if !lost && p.joinBatch != nil && p.repo.Platform {
		intent, result, alone, err := p.sendInBatch(ctx)
		if !alone {
			return intent, result, err
		}
	}
	turn := p.acquireTurn
	if lost {
		release, err := p.acquireTurn(ctx)
		if err != nil {
			return intent, raced, err
		}
		defer release()
		turn = noTurn
	}
	if intent, err = p.prepare(ctx); err != nil {
		return intent, raced, err
	}
	result, err = p.send(ctx, intent, turn, p.deliver)
	return intent, result, err
}

// acquireTurn waits until no other push of this node sends to the branch.
func (p *push) acquireTurn(ctx context.Context) (release func(), err error) {
	return p.v.branchTurns.Acquire(ctx, workspace.Location{URL: p.location.URL, Branch: p.location.Branch})
}

// prepare builds the commit on the current state of the remote.
func (p *push) prepare(ctx context.Context) (workspace.Intent, error) {
	var built built
	step := p.op.Step
	err := step(ctx, operation.Checkout, "Connecting to the repository", func(ctx context.Context) error {
		if err := p.settleLostPush(ctx); err != nil {
			return err
		}
		if err := p.listRefs(ctx); err != nil {
			return err
		}
		return p.checkTag()
	})
	if err == nil {
		err = step(ctx, operation.PullStep, "Fetching "+p.target, func(ctx context.Context) error {
			if err := p.fetch(ctx); err != nil {
				return err
			}
			return p.checkUpToDate(ctx, &built)
		})
	}
	if err == nil {
		err = step(ctx, operation.Write, "Writing the commit", func(ctx context.Context) error { return p.writeCommit(ctx, &built) })
	}
	if err == nil {
		err = step(ctx, operation.Merge, "Merging "+p.own+" into "+p.target, func(ctx context.Context) error { return p.planMoves(ctx, &built) })
	}
	return built.intent, err
}

// record records that the remote has the version.
func (p *push) record(ctx context.Context, intent workspace.Intent) (any, error) {
	done, err := p.v.recordPush(ctx, p.state.ID, p.op.Epoch(), p.repo.ID, p.location, intent)
	if err != nil {
		return nil, err
	}
	response := NewVersionResponse(done, intent.Changes)
	response.Warnings = p.warnings
	return response, nil
}

// recordPush records a push that the remote has accepted, whoever holds the lock now.
func (v *Versioning) recordPush(ctx context.Context, workspaceID string, epoch uint64, repositoryID string, at workspace.Location, intent workspace.Intent) (workspace.Version, error) {
	ctx = context.WithoutCancel(ctx)
	_, err := v.Workspaces.Execute(ctx, workspaceID, workspace.Push{Epoch: epoch, Intent: &intent, RepositoryID: repositoryID, Location: at})
	v.observations.delete(workspaceID, repositoryID)
	return intent.Version, err
}

// pushState is the workspace that a push saves.
type pushState struct {
	v       *Versioning
	op      *operations.Run
	state   workspace.State
	sync    workspace.Sync
	former  *workspace.Left // the directory that the workspace had before it was renamed
	user    string
	when    time.Time // of its commits
	version workspace.Version
	seq     uint64 // of the content
	files   archive.Tree
}

// newPushState loads a workspace as it was when the lock was acquired.
func (v *Versioning) newPushState(ctx context.Context, run *operations.Run, repo repositories.Repository, in PushRequest, user string) (pushState, error) {
	now, err := v.Workspaces.Get(ctx, run.WorkspaceID())
	if err == nil {
		err = now.State.CheckVersion(in.Name, in.RepositoryID) // the name may be taken since
	}
	if err != nil {
		return pushState{}, err
	}
	began := v.Workspaces.Now()
	s := pushState{v: v, op: run, user: user, when: truncateToSecond(began), seq: run.LockSeq()}
	s.setState(now.State, repo)
	revision, err := v.Revisions.Revision(ctx, run.WorkspaceID(), s.seq)
	s.version = workspace.Version{
		Name: in.Name, Description: in.Description, CreatedAt: began, CreatedBy: user,
		Repository: &workspace.RepositoryRef{ID: repo.ID}, ContentRevision: revision, OperationID: run.ID(),
	}
	return s, err
}

// setState sets the state of the workspace and of its repository.
func (s *pushState) setState(state workspace.State, repo repositories.Repository) {
	s.state, s.sync = state, state.SyncWith(repo.ID, LocationOf(repo))
	if repo.Platform {
		s.former = state.LeftIn(repo.ID, LocationOf(repo))
	}
}

// loadContent exports the content of the workspace.
func (s *pushState) loadContent(ctx context.Context) (err error) {
	base, err := s.v.baseTree(ctx, s.sync)
	if err != nil {
		return err
	}
	if s.files, err = s.v.workspaceTree(ctx, s.state.ID, s.seq, s.sync, base); err != nil {
		return err
	}
	return s.files.Check(s.v.limits())
}

// built is the part of a push that is built so far.
type built struct {
	theirs  *gitsync.Files // under root at the start commit
	former  []string       // files to remove from the former directory of the workspace
	parents []string
	tree    string
	intent  workspace.Intent
}

// baseCommit is the commit whose other files stay: the one that the push builds on, or
// the head of I when T is gone.
func (b *built) baseCommit(start string) string {
	if start == "" && len(b.parents) > 0 {
		return b.parents[0]
	}
	return start
}

// checkTag refuses a version whose tag exists at the remote, unless this push has set it.
func (p *push) checkTag() error {
	name := p.tag(p.version.Name)
	if id := p.refs.Tag(name); id == "" || slices.Contains(p.tags, id) {
		return nil
	}
	return domain.Refuse(domain.CodeAlreadyExists, "the repository has a tag %s already: choose another name for the version", name).
		With("field", "name").With("value", p.version.Name).With("repositoryId", p.repo.ID)
}

// checkUpToDate refuses a push when the remote has changes that the workspace has not
// seen (contract 8.2), or when somebody else works on the intermediate branch.
func (p *push) checkUpToDate(ctx context.Context, b *built) (err error) {
	if b.theirs, err = p.Objects().ReadTree(p.start(), p.repo.Root); err != nil {
		return err
	}
	whose, err := p.ownerOfBranch(p.sync)
	if err != nil {
		return err
	}
	rewritten, err := p.isRewritten(p.sync)
	if err != nil {
		return err
	}
	if p.head() != "" {
		base, err := p.v.baseTree(ctx, p.sync)
		if err != nil {
			return err
		}
		if !p.v.isUpToDate(p.state, p.sync, base, p.files, b.theirs, p.repo.Platform) {
			return p.behindError(base, whose, rewritten)
		}
	}
	if whose == foreign {
		return p.branchInUse()
	}
	if b.former, err = p.filesToRemove(ctx); err != nil {
		return err
	}
	b.parents, err = p.commitParents(whose, rewritten)
	return err
}

// filesToRemove lists the files of the directory that the workspace had before it was renamed.
func (p *push) filesToRemove(ctx context.Context) ([]string, error) {
	if p.former == nil {
		return nil, nil
	}
	there, err := p.Objects().ReadTree(p.start(), p.former.Root)
	if err != nil {
		return nil, err
	}
	return p.formerFiles(ctx, there.Managed, p.repo)
}

// isUpToDate reports whether a workspace has everything that is under its root at the
// remote, or both have the same content.
func (v *Versioning) isUpToDate(s workspace.State, sync workspace.Sync, base, ours archive.Tree, theirs *gitsync.Files, platform bool) bool {
	if sync.Base != nil && !platform && sync.Base.Unmanaged != digestUnmanaged(theirs.Unmanaged) {
		return false
	}
	if sync.Base != nil && sameBytes(theirs.Managed, base) {
		return true
	}
	if sync.Base == nil && len(objects(theirs.Managed)) == 0 {
		return true
	}
	return len(changedPaths(overlay(ours, theirs.Managed, heldPathFilter(s, sync)), theirs.Managed, v.limits().Document)) == 0
}

// heldPathFilter reports which places keep the bytes of the remote: those whose file there
// could not be read, and whose object was not edited since.
func heldPathFilter(s workspace.State, sync workspace.Sync) func(docPath string) bool {
	return func(docPath string) bool {
		revision, held := sync.Held[docPath]
		return held && s.RevisionOf(docPath) == revision
	}
}

// behindError is the refusal of a push when the remote has changes that are not here.
func (p *push) behindError(base archive.Tree, whose branchOwner, rewritten bool) error {
	since := ""
	if p.sync.Base != nil && !rewritten {
		since = p.sync.Base.Commit
	}
	behind, err := p.Objects().CountCommits(since, p.head(), p.repo.Root)
	if err != nil {
		return err
	}
	ahead, err := p.countAhead(base, whose)
	if err != nil {
		return err
	}
	return notUpToDateError(p.repo, ahead, behind).With("rewritten", rewritten)
}

func notUpToDateError(repo repositories.Repository, ahead, behind int) *domain.Error {
	refusal := domain.Refuse(domain.CodeConflict, "Remote has changes that are not in this workspace. Pull first.").Reason("not_up_to_date").
		With("ahead", ahead).With("behind", max(behind, 1)).With("rewritten", false).With("repositoryId", repo.ID)
	if repo.Branch != "" {
		refusal.With("targetBranch", repo.Branch)
	}
	return refusal
}

// countAhead counts the commits on I that are not in T, and one for changes that are in
// no commit yet.
func (p *push) countAhead(base archive.Tree, whose branchOwner) (ahead int, err error) {
	if p.ownHead() != "" {
		if ahead, err = p.Objects().CountCommits(p.head(), p.ownHead(), p.repo.Root); err != nil {
			return 0, err
		}
	}
	if whose == mine {
		saved, err := p.Objects().ReadTree(p.ownHead(), p.repo.Root)
		if err != nil {
			return 0, err
		}
		base = saved.Managed
	}
	if len(changedPaths(p.files, base, p.v.limits().Document)) > 0 {
		ahead++
	}
	return ahead, nil
}

// commitParents returns the parents of the commit (contract 8.3). After a rewrite of T
// its head is the only one, so that removed history does not come back.
func (p *push) commitParents(whose branchOwner, rewritten bool) ([]string, error) {
	start := p.start()
	if whose == mine && !rewritten {
		descends, err := p.Objects().IsAncestor(start, p.ownHead())
		switch {
		case err != nil:
			return nil, err
		case descends || start == "":
			return []string{p.ownHead()}, nil
		}
		return []string{p.ownHead(), start}, nil
	}
	if start == "" {
		return nil, nil
	}
	return []string{start}, nil
}

// treeChanges returns the changes from theirs to ours: files with another meaning are
// put, files that ours lacks are removed. Files with the same meaning keep their bytes,
// and so do held ones.
func (v *Versioning) treeChanges(ours, theirs archive.Tree, held func(docPath string) bool) (put archive.Tree, remove []string) {
	put = archive.Tree{}
	mine, remote := objects(ours), objects(theirs)
	all := maps.Clone(mine)
	maps.Copy(all, remote)
	for _, docPath := range slices.Sorted(maps.Keys(all)) {
		a, b := mine[docPath], remote[docPath]
		if held(docPath) || sameMeaning(a, b, v.limits().Document) {
			continue
		}
		if a != nil {
			put[a.path] = a.text
		}
		if b == nil {
			continue
		}
		for _, path := range append([]string{b.path}, b.more...) {
			if a == nil || path != a.path {
				remove = append(remove, path)
			}
		}
	}
	return put, remove
}

// writeCommit writes the commit (contract 8.3), or uses its parent when there is no change.
func (p *push) writeCommit(ctx context.Context, b *built) (err error) {
	put, remove := p.v.treeChanges(p.files, b.theirs.Managed, heldPathFilter(p.state, p.sync))
	if p.repo.Platform {
		if put[archive.ImportPath], err = p.importFileText(ctx, applyChanges(b.theirs.Managed, put, remove)); err != nil {
			return err
		}
	}
	objects, from := p.Objects(), b.baseCommit(p.start())
	if len(b.former) > 0 {
		if from, err = objects.WriteTree(from, p.former.Root, nil, b.former); err != nil {
			return err
		}
	}
	if b.tree, err = objects.WriteTree(from, p.repo.Root, put, remove); err != nil {
		return err
	}
	if len(b.parents) == 1 {
		parent, err := objects.ReadCommit(b.parents[0])
		if err != nil {
			return err
		}
		if parent.Tree == b.tree {
			b.intent.Commit = b.parents[0]
			return nil
		}
	}
	author, err := p.v.authorOf(ctx, p.user, p.when)
	if err != nil {
		return err
	}
	b.intent.Commit, err = objects.WriteCommit(gitsync.Commit{
		Tree: b.tree, Parents: b.parents, Author: author, Committer: p.v.committer(p.when), Message: p.message(),
	})
	return err
}

func (p *push) message() string {
	text := p.version.Description
	return message(cmp.Or(text.In("en"), text.First(), fmt.Sprintf("Version %s of %s", p.version.Name, p.state.Settings.Slug)),
		trailers{p.state.ID, p.version.Name, p.version.OperationID, p.version.ContentRevision})
}

// planMoves completes the intent: the commit has the head of T as an ancestor, so merging
// I into T is moving T to it.
func (p *push) planMoves(ctx context.Context, b *built) error {
	author, err := p.v.authorOf(ctx, p.user, p.when)
	if err != nil {
		return err
	}
	tag := p.tag(p.version.Name)
	tagged, err := p.Objects().WriteTag(tag, b.intent.Commit, author, p.message())
	if err != nil {
		return err
	}
	changes, err := p.Objects().Diff(p.start(), b.intent.Commit, p.repo.Root)
	if err != nil {
		return err
	}
	now, err := p.Objects().ReadTree(b.intent.Commit, p.repo.Root)
	if err != nil {
		return err
	}
	files, err := p.v.storeTree(ctx, now.Managed)
	if err != nil {
		return err
	}
	p.version.Commit, p.version.Tag = b.intent.Commit, tag
	base := workspace.Base{Commit: b.intent.Commit, Files: files, Unmanaged: digestUnmanaged(now.Unmanaged)}
	b.intent = p.newIntent(base, changes)
	b.intent.Commit, b.intent.Moves = base.Commit, p.refMoves(base.Commit, tag, tagged)
	return nil
}

// newIntent returns the intent that is recorded before anything is sent.
func (s *pushState) newIntent(base workspace.Base, changes gitsync.Changes) workspace.Intent {
	return workspace.Intent{
		OperationID: s.version.OperationID, Version: s.version, Changes: changesOf(changes), Synced: s.seq, Base: base, Held: s.heldRevisions(), Left: s.former,
	}
}

// heldRevisions returns the places that stay as the remote has them.
func (s *pushState) heldRevisions() (held map[string]uint64) {
	still := heldPathFilter(s.state, s.sync)
	for docPath, revision := range s.sync.Held {
		if still(docPath) {
			if held == nil {
				held = map[string]uint64{}
			}
			held[docPath] = revision
		}
	}
	return held
}

// refMoves returns the refs to move: I, T and the tag. In an empty repository T is the
// first, because hosts make the first branch the default.
func (p *push) refMoves(commit, tag, tagged string) []workspace.Move {
	tagMove := workspace.Move{Name: "refs/tags/" + tag, Old: p.refs.Tag(tag), New: tagged}
	if commit == p.head() {
		return []workspace.Move{tagMove}
	}
	own := workspace.Move{Name: "refs/heads/" + p.own, Old: p.ownHead(), New: commit}
	target := workspace.Move{Name: "refs/heads/" + p.target, Old: p.head(), New: commit}
	moves := []workspace.Move{own, target, tagMove}
	if p.refs.Empty() {
		moves = []workspace.Move{target, own, tagMove}
	}
	return slices.DeleteFunc(moves, func(m workspace.Move) bool { return m.Old == m.New })
}

// maxListedFiles is the number of files that the event of a version lists.
const maxListedFiles = 500

// changesOf returns changes in the form of events and responses.
func changesOf(c gitsync.Changes) *workspace.Changes {
	t := &workspace.Changes{
		Files: truncate(c.Files), Created: truncate(c.Created), Deleted: truncate(c.Deleted), Insertions: map[string]int{}, Deletions: map[string]int{},
		Summary: workspace.Summary(c.Summary), Truncated: len(c.Files) > maxListedFiles,
	}
	for _, path := range t.Files {
		if n := c.Insertions[path]; n > 0 {
			t.Insertions[path] = n
		}
		if n := c.Deletions[path]; n > 0 {
			t.Deletions[path] = n
		}
	}
	return t
}

func truncate(list []string) []string {
	return append([]string{}, list[:min(len(list), maxListedFiles)]...)
}

// applyChanges returns a tree with files put and removed.
func applyChanges(tree, put archive.Tree, remove []string) archive.Tree {
	next := maps.Clone(tree)
	for _, p := range remove {
		delete(next, p)
	}
	maps.Copy(next, put)
	return next
}

// importFileText returns the import file of a push to a platform repository (contract
// 4.3). files are all files of the directory.
func (s *pushState) importFileText(ctx context.Context, files archive.Tree) ([]byte, error) {
	slug, name, err := s.v.Apps.AppOf(ctx, s.state.ID)
	if err != nil {
		return nil, err
	}
	return archive.ImportFile{
		WorkspaceID: s.state.ID, Version: s.version.Name, Groups: s.v.Repositories.GroupsOf(s.state.Settings.Labels),
		DependsOn: s.v.appDependencies(files, slug), AppSlug: slug, AppName: name, Checksums: files.Checksums(),
	}.Text()
}

// appDependencies lists the apps whose instances are among files, except the own app.
// Files that cannot be read are ignored.
func (v *Versioning) appDependencies(files archive.Tree, own string) (list []string) {
	for p, text := range files {
		location, ok := archive.Locate(p)
		if !ok || location.Kind != document.Import {
			continue
		}
		doc, err := yamltext.ReadMap(text, v.limits().Document)
		if err != nil {
			continue
		}
		if app := doc.Text("appSlug"); app != "" && app != own {
			list = append(list, "app/"+app)
		}
	}
	return list
}

// formerFiles lists the files to remove from the directory that the workspace had before
// it was renamed. They must be the ones that were integrated last. When another workspace
// has the directory now, there are none.
func (s *pushState) formerFiles(ctx context.Context, there archive.Tree, repo repositories.Repository) ([]string, error) {
	if text, ok := there[archive.ImportPath]; ok {
		if file, err := archive.ReadImportFile(text, s.v.limits().Document); err == nil && file.WorkspaceID != s.state.ID {
			return nil, nil
		}
	}
	before, err := s.v.loadTree(ctx, s.former.Files)
	if err != nil {
		return nil, err
	}
	if len(objects(there)) > 0 && !sameBytes(there, before) {
		return nil, notUpToDateError(repo, len(changedPaths(s.files, before, s.v.limits().Document)), countChanged(before, there)).With("path", s.former.Root)
	}
	return there.Paths(), nil
}
