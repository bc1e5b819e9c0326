package versioning

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/merge"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	domainmerge "svc/domain/merge"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// saveAndMerge saves the local content on I, merges T into it, and imports the result
// (contract 9.3).
func (p *pull) saveAndMerge(ctx context.Context, c choice) (any, error) {
	err := p.op.Step(ctx, operation.Write, "Saving the workspace on "+p.own, p.saveOwn)
	if err != nil {
		return nil, err
	}
	err = p.op.Step(ctx, operation.Merge, "Merging "+p.target+" into "+p.own, func(ctx context.Context) error {
		if len(c.merged.Conflicts) > 0 {
			return p.recordConflict(ctx, p.sync.Base, c.merged)
		}
		if len(c.merged.Theirs) == 0 {
			return nil
		}
		return p.commitMerge(ctx, c.merged.Files, p.saved.Commit, "Merge "+p.target+" into "+p.own)
	})
	if err != nil {
		return nil, err
	}
	return p.importPulled(ctx, c.tree, c.clean)
}

// saveOwn commits the local content to I. Its parent is never newer than the base: a merge
// would take later changes of the remote for undone.
func (p *pull) saveOwn(ctx context.Context) error {
	whose, err := p.ownerOfBranch(p.sync)
	if err != nil {
		return err
	}
	if whose == foreign {
		return p.branchInUse()
	}
	parent := ""
	if whose == mine {
		parent = p.ownHead()
	} else if p.sync.Base != nil && p.sync.Base.Commit != "" {
		in, err := p.Objects().IsAncestor(p.sync.Base.Commit, p.head())
		if err != nil {
			return err
		}
		if in {
			parent = p.sync.Base.Commit
		}
	}
	author, err := p.v.authorOf(ctx, p.user, p.when)
	if err != nil {
		return err
	}
	files, err := p.v.storeTree(ctx, p.files)
	if err != nil {
		return err
	}
	p.saved = workspace.SavedState{
		Files: files, Parent: parent, Author: [2]string{author.Name, author.Email}, When: p.when,
		Message: message("Save "+p.state.Settings.Slug+" before merge", trailers{workspace: p.state.ID, operation: p.op.ID(), revision: p.seq}),
	}
	if p.saved.Commit, err = p.commitSaved(p.saved, p.files); err != nil {
		return err
	}
	return p.moveOwnBranch(ctx, p.saved.Commit)
}

// commitSaved writes the commit of a saved state, or returns its parent when there is no
// change.
func (p *pull) commitSaved(s workspace.SavedState, files archive.Tree) (string, error) {
	objects := p.Objects()
	before, err := objects.ReadTree(s.Parent, p.repo.Root)
	if err != nil {
		return "", err
	}
	put, remove := p.v.treeChanges(files, before.Managed, func(string) bool { return false })
	if s.Parent != "" && len(put) == 0 && len(remove) == 0 {
		return s.Parent, nil
	}
	tree, err := objects.WriteTree(s.Parent, p.repo.Root, put, remove)
	if err != nil {
		return "", err
	}
	var parents []string
	if s.Parent != "" {
		parents = []string{s.Parent}
	}
	return objects.WriteCommit(gitsync.Commit{
		Tree: tree, Parents: parents, Message: s.Message, Committer: p.v.committer(s.When),
		Author: gitsync.Signature{Name: s.Author[0], Email: s.Author[1], When: s.When},
	})
}

// commitMerge commits files with T and the saved commit as parents, and moves I there.
func (p *pull) commitMerge(ctx context.Context, files archive.Tree, saved, text string) error {
	put, remove := p.v.treeChanges(files, p.theirs.Managed, func(string) bool { return false })
	tree, err := p.Objects().WriteTree(p.head(), p.repo.Root, put, remove)
	if err != nil {
		return err
	}
	rewritten, err := p.isRewritten(p.sync)
	if err != nil {
		return err
	}
	parents := []string{saved, p.head()}
	if rewritten || saved == "" {
		parents = []string{p.head()}
	}
	author, err := p.v.authorOf(ctx, p.user, p.when)
	if err != nil {
		return err
	}
	commit, err := p.Objects().WriteCommit(gitsync.Commit{
		Tree: tree, Parents: parents, Author: author, Committer: p.v.committer(p.when),
		Message: message(text, trailers{workspace: p.state.ID, operation: p.op.ID(), revision: p.seq}),
	})
	if err != nil {
		return err
	}
	return p.moveOwnBranch(ctx, commit)
}

// moveOwnBranch moves I to a commit. Nothing is sent to a read-only repository.
func (p *pull) moveOwnBranch(ctx context.Context, commit string) error {
	if p.repo.Mode == repositories.ReadOnly || p.ownHead() == commit {
		return nil
	}
	_, err := p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Mark{Epoch: p.op.Epoch(), RepositoryID: p.repo.ID, Location: p.location, Commit: commit})
	if err != nil {
		return err
	}
	name := "refs/heads/" + p.own
	for again := 0; ; again++ {
		results, err := p.Push(ctx, []gitsync.Update{{Name: name, Old: p.ownHead(), New: commit}})
		if err == nil && results[0].Outcome == gitsync.Accepted {
			p.refs.IDs[name], p.newOwnHead = commit, commit
			return nil
		}
		if err != nil && !isTransient(err) {
			return err
		}
		before := p.ownHead()
		if lookErr := p.listRefsAgain(ctx); lookErr != nil {
			return lookErr
		}
		switch now := p.ownHead(); {
		case now == commit:
			p.newOwnHead = commit
			return nil
		case now != before:
			return domain.Refuse(domain.CodeConflict, "somebody else just moved %s: pull again", p.own).Reason("remote_busy").With("repositoryId", p.repo.ID)
		case err == nil && results[0].Outcome == gitsync.Refused:
			if before == "" || !p.deleteOwnBranch(ctx, name, commit) {
				refusal := remoteRefused(p.remote, p.own, results[0].Text)
				refusal.Message += "; with mode read-only nothing is sent to it"
				return refusal
			}
		case again == maxResends:
			return cmp.Or(err, connectionLost(p.remote))
		}
	}
}

// deleteOwnBranch deletes I at hosts that do not let a branch move back, so that it can be
// created again. It reports whether it did.
func (p *pull) deleteOwnBranch(ctx context.Context, name, commit string) bool {
	forward, err := p.Objects().IsAncestor(p.ownHead(), commit)
	if err != nil || forward {
		return false
	}
	results, err := p.Push(ctx, []gitsync.Update{{Name: name, Old: p.ownHead()}})
	if err != nil || results[0].Outcome != gitsync.Accepted {
		return false
	}
	delete(p.refs.IDs, name)
	return true
}

// listRefsAgain lists the refs of a remote that did not answer before, with retries.
func (p *pull) listRefsAgain(ctx context.Context) (err error) {
	for _, wait := range lookDelays {
		if err := commands.Sleep(ctx, wait); err != nil {
			return err
		}
		if err = p.listRefs(ctx); err == nil || !isTransient(err) {
			return err
		}
	}
	return err
}

// recordConflict records a conflict, and returns it as an error.
func (p *pull) recordConflict(ctx context.Context, base *workspace.Base, m *merge.Result) error {
	theirs, err := p.v.storeTree(ctx, p.theirs.Managed)
	if err != nil {
		return err
	}
	record := workspace.Conflicted{
		RepositoryID: p.repo.ID, OperationID: p.op.ID(), Location: p.location, By: p.user, At: p.v.Workspaces.Now(), Branch: p.own, Base: base,
		Ours: p.saved, Theirs: workspace.Base{Commit: p.head(), Files: theirs, Unmanaged: digestUnmanaged(p.theirs.Unmanaged)}, Unrelated: p.saved.Parent == "",
		Excludes: p.may.Excludes,
	}
	for _, c := range m.Conflicts {
		record.Files = append(record.Files, workspace.ConflictFile{Path: c.Path, Kind: string(c.Kind), Keys: c.Keys})
	}
	if _, err := p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Conflict{Epoch: p.op.Epoch(), Conflicted: record}); err != nil {
		return err
	}
	return Unresolved(record)
}

// Unresolved is the error while a conflict is not resolved.
func Unresolved(c workspace.Conflicted) *domain.Error {
	paths := make([]string, len(c.Files))
	for i, f := range c.Files {
		paths[i] = f.Path
	}
	files := "1 file"
	if len(paths) != 1 {
		files = fmt.Sprintf("%d files", len(paths))
	}
	refusal := domain.Refuse(domain.CodeConflict, "Merge conflict in %s.", files).Reason("merge_conflict").
		With("branch", c.Branch).With("targetBranch", c.Location.Branch).With("files", paths).With("repositoryId", c.RepositoryID)
	if c.Unrelated {
		refusal.With("unrelated", true)
	}
	return refusal
}

// unresolvedBecause is the error of a pull while a conflict is not resolved in Git.
func unresolvedBecause(c workspace.Conflicted, why string) *domain.Error {
	refusal := Unresolved(c).With("resolved", false)
	hint := "check out " + c.Branch + ", merge " + c.Location.Branch + " into it, resolve the conflicts, push it, and pull here again; or resolve it over the API"
	refusal.Message = strings.TrimSuffix(refusal.Message, ".") + ", not resolved yet: " + why + "."
	return refusal.With("hint", hint)
}

// findResolution looks for the resolution of a conflict in Git (contract 9.4).
func (p *pull) findResolution(ctx context.Context) (choice, error) {
	c := *p.state.Conflict
	objects := p.Objects()
	in := func(old, of string) bool {
		is, err := objects.IsAncestor(old, of)
		return err == nil && of != "" && is
	}
	if in(c.Ours.Commit, p.head()) {
		return choice{path: resolved, tree: p.theirs.Managed, clean: true}, nil
	}
	own := p.ownHead()
	if own == "" {
		return choice{}, p.restoreOwnBranch(ctx, c)
	}
	if own == c.Ours.Commit || !in(c.Ours.Commit, own) || !in(c.Theirs.Commit, own) {
		return choice{}, unresolvedBecause(c, "nothing on "+c.Branch+" merges both sides")
	}
	files, err := objects.ReadTree(own, p.repo.Root)
	if err != nil {
		return choice{}, err
	}
	for _, path := range files.Managed.Paths() {
		if domainmerge.HasMarkers(files.Managed[path]) {
			return choice{}, unresolvedBecause(c, path+" still has conflict markers")
		}
	}
	p.newOwnHead = own
	if in(p.head(), own) {
		return choice{path: resolved, tree: files.Managed, clean: p.sameTrees(files.Managed, p.theirs.Managed)}, nil
	}
	return p.mergeResolution(ctx, c, own, files.Managed)
}

// restoreOwnBranch creates I again, which somebody deleted, and returns an error that says so.
// When the remote does not have the parent of the saved state any more, the commit is
// another one, and the conflict is updated.
func (p *pull) restoreOwnBranch(ctx context.Context, c workspace.Conflicted) error {
	if p.repo.Mode == repositories.ReadOnly {
		return unresolvedBecause(c, "nothing is sent to this repository, so it is resolved over the API")
	}
	open := unresolvedBecause(c, "the branch "+c.Branch+" was deleted and has been put back")
	if p.op == nil {
		return open
	}
	commit, err := p.recreateSaved(ctx, c)
	if err != nil {
		return err
	}
	if commit != c.Ours.Commit {
		c.Ours.Commit, c.Ours.Parent, c.Unrelated = commit, "", true
		if _, err := p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Conflict{Epoch: p.op.Epoch(), Conflicted: c}); err != nil {
			return err
		}
	}
	return open
}

// recreateSaved moves I to the saved state again.
func (p *pull) recreateSaved(ctx context.Context, c workspace.Conflicted) (commit string, err error) {
	files, err := p.v.loadTree(ctx, c.Ours.Files)
	if err != nil {
		return "", err
	}
	commit = c.Ours.Commit
	if !p.Objects().Has(commit) {
		if c.Ours.Parent != "" && !p.Objects().Has(c.Ours.Parent) {
			c.Ours.Parent = "" // it was deleted at the remote
		}
		if commit, err = p.commitSaved(c.Ours, files); err != nil {
			return "", err
		}
	}
	return commit, p.moveOwnBranch(ctx, commit)
}

// mergeResolution merges the commits of T since a conflict into its resolution. A new
// conflict replaces the old one.
func (p *pull) mergeResolution(ctx context.Context, c workspace.Conflicted, resolution string, files archive.Tree) (choice, error) {
	before, err := p.v.loadTree(ctx, c.Theirs.Files)
	if err != nil {
		return choice{}, err
	}
	m, err := p.mergeTrees(ctx, before, files, p.theirs.Managed)
	if err != nil {
		return choice{}, err
	}
	c2 := choice{path: resolved, tree: m.Files, merged: m, clean: p.sameTrees(m.Files, p.theirs.Managed)}
	if p.op == nil {
		return c2, nil
	}
	if len(m.Conflicts) > 0 {
		return choice{}, p.replaceConflict(ctx, c, resolution, files, m)
	}
	return c2, p.commitMerge(ctx, m.Files, resolution, "Merge "+p.target+" into "+p.own)
}

// replaceConflict replaces a conflict by one between its resolution and the later commits
// of T.
func (p *pull) replaceConflict(ctx context.Context, c workspace.Conflicted, resolution string, files archive.Tree, m *merge.Result) error {
	stored, err := p.v.storeTree(ctx, files)
	if err != nil {
		return err
	}
	p.saved = c.Ours
	p.saved.Commit, p.saved.Files, p.saved.Parent = resolution, stored, c.Ours.Commit
	return p.recordConflict(ctx, &c.Theirs, m)
}

// Resolution says what to do with one file in conflict.
type Resolution struct {
	Use     string  `json:"use,omitempty"`     // ours or theirs
	Content *string `json:"content,omitempty"` // the text it gets
	Delete  bool    `json:"delete,omitempty"`  // content: null
}

// Conflicts returns the open conflict of a workspace, and its files with both sides; nil
// when there is none.
func (v *Versioning) Conflicts(ctx context.Context, workspaceID string) (*workspace.Conflicted, []merge.Conflict, error) {
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil || now.State.Conflict == nil {
		return nil, nil, err
	}
	sides, err := v.sides(ctx, *now.State.Conflict)
	if err != nil {
		return nil, nil, err
	}
	m, err := v.remerge(ctx, now.State, sides)
	if err != nil {
		return nil, nil, err
	}
	return now.State.Conflict, m.Conflicts, nil
}

// sides are the trees of a conflict.
type sides struct{ base, ours, theirs archive.Tree }

func (v *Versioning) sides(ctx context.Context, c workspace.Conflicted) (s sides, err error) {
	if c.Base != nil {
		if s.base, err = v.loadTree(ctx, c.Base.Files); err != nil {
			return s, err
		}
	}
	if s.ours, err = v.loadTree(ctx, c.Ours.Files); err != nil {
		return s, err
	}
	s.theirs, err = v.loadTree(ctx, c.Theirs.Files)
	return s, err
}

// remerge merges the sides of a conflict again: the same trees give the same.
func (v *Versioning) remerge(ctx context.Context, s workspace.State, all sides) (*merge.Result, error) {
	return merge.Trees(ctx, all.base, all.ours, all.theirs, merge.Options{
		Excludes: s.Conflict.Excludes, Limits: v.limits(), Validate: v.validator(s.ID),
	})
}

// Resolve resolves a conflict as files says.
func (v *Versioning) Resolve(ctx context.Context, workspaceID string, files map[string]Resolution, may content.ImportOptions) (*operations.Handle, error) {
	id, known, err := v.Operations.Reserve(ctx, workspaceID, "")
	if err != nil || known != nil {
		return known, err
	}
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	c := now.State.Conflict
	if c == nil {
		return nil, noConflict()
	}
	repo, err := v.Repositories.Find(ctx, now.State, c.RepositoryID)
	if err != nil {
		return nil, err
	}
	if _, decides := files[archive.Location{Kind: document.Security}.Path()]; decides && !may.Secure {
		return nil, domain.Refuse(domain.CodePermissionDenied, "resolving security.yml needs the permission manage_security").
			With("action", "manage_security").With("subject", "workspaces")
	}
	tree, err := v.resolveTree(ctx, now.State, files)
	if err != nil {
		return nil, err
	}
	spec := operations.Spec{
		ID: id, Kind: operation.Resolve, WorkspaceID: workspaceID, RepositoryID: repo.ID, Branch: repo.Branch, Reason: workspace.PullInProgress, Over: repo.ID,
		Request: map[string]any{"files": slices.Sorted(maps.Keys(files))}, Steps: 4,
	}
	user := commands.RequestFrom(ctx).Meta.UserID
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		p, err := v.newPull(ctx, run, repo, PullRequest{Version: Latest, RepositoryID: repo.ID}, may, user)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		return p.resolve(ctx, *c, tree)
	})
}

// resolveTree returns the merged files with resolutions applied.
func (v *Versioning) resolveTree(ctx context.Context, s workspace.State, files map[string]Resolution) (archive.Tree, error) {
	all, err := v.sides(ctx, *s.Conflict)
	if err != nil {
		return nil, err
	}
	m, err := v.remerge(ctx, s, all)
	if err != nil {
		return nil, err
	}
	var faults []domain.FieldError
	refuse := func(path, message string) { faults = append(faults, domain.FieldError{Field: path, Message: message}) }
	known := map[string]bool{}
	for _, c := range m.Conflicts {
		known[c.Path] = true
		choice, given := files[c.Path]
		if !given {
			refuse(c.Path, "is in conflict: say what becomes of it")
			continue
		}
		if wrong := v.applyResolution(s.ID, m.Files, c, choice, all); wrong != "" {
			refuse(c.Path, wrong)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !known[path] {
			refuse(path, "is not in conflict")
		}
	}
	if len(faults) > 0 {
		return nil, domain.Invalid(faults...)
	}
	return m.Files, nil
}

// applyResolution applies the resolution of one file to a tree; it returns its fault.
func (v *Versioning) applyResolution(workspaceID string, tree archive.Tree, c merge.Conflict, choice Resolution, all sides) string {
	location, ok := archive.Locate(c.Path)
	if !ok {
		return "is no file of the content"
	}
	copyFrom := func(from archive.Tree) {
		for _, path := range from.Paths() {
			if p, ok := from.LocationOf(path); ok && p == location {
				tree[path] = from[path]
			}
		}
	}
	switch {
	case choice.Use == "ours" && choice.Content == nil && !choice.Delete:
		copyFrom(all.ours)
	case choice.Use == "theirs" && choice.Content == nil && !choice.Delete:
		copyFrom(all.theirs)
	case choice.Delete && choice.Use == "":
		if location.Kind.Folder == "" {
			return "cannot be deleted"
		}
	case choice.Content != nil && choice.Use == "":
		doc, err := yamltext.ReadMap([]byte(*choice.Content), v.limits().Document)
		if err == nil {
			err = v.Content.CheckFile(workspaceID, location, doc)
		}
		if err != nil {
			return err.Error()
		}
		tree[c.Path] = []byte(*choice.Content)
	default:
		return "must have use: ours, use: theirs, or content"
	}
	return ""
}

// checkConflict refuses to resolve a conflict that was, or is being, resolved by somebody else.
func (p *pull) checkConflict(c workspace.Conflicted) error {
	if now := p.state.Conflict; now == nil || now.Ours.Commit != c.Ours.Commit || now.Theirs.Commit != c.Theirs.Commit {
		return noConflict()
	}
	if own := p.ownHead(); p.repo.Mode != repositories.ReadOnly && own != "" && own != c.Ours.Commit {
		return domain.Refuse(domain.CodeConflict, "%s has moved since the conflict: somebody resolves it in Git; pull instead", c.Branch).
			Reason("intermediate_moved").With("branch", c.Branch).With("head", own)
	}
	return nil
}

func noConflict() error {
	return domain.Refuse(domain.CodeConflict, "there is no conflict to resolve").Reason("no_conflict")
}

// resolve commits a resolution to I and imports it (contract 11).
func (p *pull) resolve(ctx context.Context, c workspace.Conflicted, tree archive.Tree) (any, error) {
	err := p.connectAndFetch(ctx, func(context.Context) error { return p.checkConflict(c) })
	if err != nil {
		return nil, err
	}
	err = p.op.Step(ctx, operation.Merge, "Committing the resolution on "+p.own, func(ctx context.Context) error {
		if p.head() != c.Theirs.Commit {
			before, err := p.v.loadTree(ctx, c.Theirs.Files)
			if err != nil {
				return err
			}
			m, err := p.mergeTrees(ctx, before, tree, p.theirs.Managed)
			if err != nil {
				return err
			}
			if len(m.Conflicts) > 0 {
				return p.replaceConflict(ctx, c, c.Ours.Commit, tree, m)
			}
			tree = m.Files
		}
		saved := c.Ours.Commit
		if !p.Objects().Has(saved) {
			var err error
			if saved, err = p.recreateSaved(ctx, c); err != nil {
				return err
			}
		}
		return p.commitMerge(ctx, tree, saved, "Resolve conflicts of "+p.own)
	})
	if err != nil {
		return nil, err
	}
	return p.importPulled(ctx, tree, p.sameTrees(tree, p.theirs.Managed))
}
