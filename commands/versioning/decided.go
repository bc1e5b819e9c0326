package versioning

import (
	"context"

	"svc/commands/archive"
	"svc/commands/merge"
	"svc/commands/repositories"
	domainmerge "svc/domain/merge"
	"svc/domain/workspace"
)

// decided finds out whether a conflict was resolved in Git (contract 9.4).
func (p *pull) decided(ctx context.Context) (choice, error) {
	c := *p.state.Conflict
	objects := p.Objects()
	in := func(old, of string) bool {
		is, err := objects.IsAncestor(old, of)
		return err == nil && of != "" && is
	}
	if in(c.Ours.Commit, p.head()) {
		return choice{path: resolved, tree: p.there.Managed, clean: true}, nil
	}
	own := p.ownHead()
	if own == "" {
		return choice{}, p.putBack(ctx, c)
	}
	if own == c.Ours.Commit || !in(c.Ours.Commit, own) || !in(c.Theirs.Commit, own) {
		return choice{}, stillOpen(c, "nothing on "+c.Branch+" merges both sides")
	}
	files, err := objects.ReadTree(own, p.repo.Root)
	if err != nil {
		return choice{}, err
	}
	for _, path := range files.Managed.Paths() {
		if domainmerge.HasMarkers(files.Managed[path]) {
			return choice{}, stillOpen(c, path+" still has conflict markers")
		}
	}
	p.onOwn = own
	if in(p.head(), own) {
		return choice{path: resolved, tree: files.Managed, clean: p.sameAs(files.Managed, p.there.Managed)}, nil
	}
	return p.rejoin(ctx, c, own, files.Managed)
}

// putBack makes I again, which somebody deleted, and says so. Where the remote has
// forgotten what the saved state was built on, that is another commit: the
// conflict goes on with it.
func (p *pull) putBack(ctx context.Context, c workspace.Conflicted) error {
	if p.repo.Mode == repositories.ReadOnly {
		return stillOpen(c, "nothing is sent to this repository, so it is resolved over the API")
	}
	open := stillOpen(c, "the branch "+c.Branch+" was deleted and has been put back")
	if p.op == nil {
		return open
	}
	commit, err := p.recreate(ctx, c)
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

// recreate puts what was saved back on I.
func (p *pull) recreate(ctx context.Context, c workspace.Conflicted) (commit string, err error) {
	files, err := p.v.kept(ctx, c.Ours.Files)
	if err != nil {
		return "", err
	}
	commit = c.Ours.Commit
	if !p.Objects().Has(commit) {
		if c.Ours.Parent != "" && !p.Objects().Has(c.Ours.Parent) {
			c.Ours.Parent = "" // the remote has forgotten it: what counts is what was saved
		}
		if commit, err = p.commitSaved(c.Ours, files); err != nil {
			return "", err
		}
	}
	return commit, p.moveOwn(ctx, commit)
}

// rejoin merges what T got after a conflict into its resolution. That may conflict
// anew: the record is replaced then.
func (p *pull) rejoin(ctx context.Context, c workspace.Conflicted, resolution string, files archive.Tree) (choice, error) {
	before, err := p.v.kept(ctx, c.Theirs.Files)
	if err != nil {
		return choice{}, err
	}
	m, err := p.mergeTrees(ctx, before, files, p.there.Managed)
	if err != nil {
		return choice{}, err
	}
	again := choice{path: resolved, tree: m.Files, merged: m, clean: p.sameAs(m.Files, p.there.Managed)}
	if p.op == nil {
		return again, nil
	}
	if len(m.Conflicts) > 0 {
		return choice{}, p.conflictAgain(ctx, c, resolution, files, m)
	}
	return again, p.join(ctx, m.Files, resolution, "Merge "+p.target+" into "+p.own)
}

// conflictAgain replaces a conflict by one between its resolution and what T got
// since.
func (p *pull) conflictAgain(ctx context.Context, c workspace.Conflicted, resolution string, files archive.Tree, m *merge.Result) error {
	kept, err := p.v.keep(ctx, files)
	if err != nil {
		return err
	}
	p.saved = c.Ours
	p.saved.Commit, p.saved.Files, p.saved.Parent = resolution, kept, c.Ours.Commit
	return p.conflict(ctx, &c.Theirs, m)
}
