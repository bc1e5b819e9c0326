package versioning

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/merge"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// saveAndMerge saves what is here on I, merges T into it, and brings the result
// (contract 9.3).
func (p *pull) saveAndMerge(ctx context.Context, c choice) (any, error) {
	err := p.op.Step(ctx, operation.Write, "Saving the workspace on "+p.own, p.save)
	if err != nil {
		return nil, err
	}
	err = p.op.Step(ctx, operation.Merge, "Merging "+p.target+" into "+p.own, func(ctx context.Context) error {
		if len(c.merged.Conflicts) > 0 {
			return p.conflict(ctx, p.sync.Base, c.merged)
		}
		if len(c.merged.Theirs) == 0 {
			return nil
		}
		return p.join(ctx, c.merged.Files, p.saved.Commit, "Merge "+p.target+" into "+p.own)
	})
	if err != nil {
		return nil, err
	}
	return p.bring(ctx, c.tree, c.clean)
}

// save commits what is here and puts it on I. Its parent is never newer than what
// was integrated: a merge would take what the remote changed since for undone.
func (p *pull) save(ctx context.Context) error {
	whose, err := p.classify(p.sync)
	if err != nil {
		return err
	}
	if whose == foreign {
		return p.inUse()
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
	author, err := p.v.author(ctx, p.user, p.when)
	if err != nil {
		return err
	}
	files, err := p.v.keep(ctx, p.files)
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
	return p.moveOwn(ctx, p.saved.Commit)
}

// commitSaved makes the commit of a saved state. When that changes nothing, its
// parent stands for it.
func (p *pull) commitSaved(s workspace.SavedState, files archive.Tree) (string, error) {
	objects := p.Objects()
	before, err := objects.ReadTree(s.Parent, p.repo.Root)
	if err != nil {
		return "", err
	}
	put, remove := p.v.written(files, before.Managed, func(string) bool { return false })
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

// join commits files on top of T and of what was saved, and puts that on I.
func (p *pull) join(ctx context.Context, files archive.Tree, saved, text string) error {
	put, remove := p.v.written(files, p.there.Managed, func(string) bool { return false })
	tree, err := p.Objects().WriteTree(p.head(), p.repo.Root, put, remove)
	if err != nil {
		return err
	}
	rewritten, err := p.rewritten(p.sync)
	if err != nil {
		return err
	}
	parents := []string{saved, p.head()}
	if rewritten || saved == "" {
		parents = []string{p.head()}
	}
	author, err := p.v.author(ctx, p.user, p.when)
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
	return p.moveOwn(ctx, commit)
}

// moveOwn puts a commit on I. A repository that is only read keeps what it has: the
// commit stays inside.
func (p *pull) moveOwn(ctx context.Context, commit string) error {
	if p.repo.Mode == repositories.ReadOnly || p.ownHead() == commit {
		return nil
	}
	_, err := p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Mark{Epoch: p.op.Epoch(), RepositoryID: p.repo.ID, Place: p.place, Commit: commit})
	if err != nil {
		return err
	}
	name := "refs/heads/" + p.own
	for again := 0; ; again++ {
		results, err := p.Push(ctx, []gitsync.Update{{Name: name, Old: p.ownHead(), New: commit}})
		if err == nil && results[0].Outcome == gitsync.Accepted {
			p.refs.IDs[name], p.onOwn = commit, commit
			return nil
		}
		if err != nil && !isRemote(err) {
			return err
		}
		before := p.ownHead()
		if lookErr := p.lookAgain(ctx); lookErr != nil {
			return lookErr
		}
		switch now := p.ownHead(); {
		case now == commit:
			p.onOwn = commit
			return nil
		case now != before:
			return domain.Refuse(domain.CodeConflict, "somebody else just moved %s: pull again", p.own).Reason("remote_busy").With("repositoryId", p.repo.ID)
		case err == nil && results[0].Outcome == gitsync.Refused:
			if before == "" || !p.takeAway(ctx, name, commit) {
				refusal := refusedBy(p.remote, p.own, results[0].Text)
				refusal.Message += "; with mode read-only nothing is sent to it"
				return refusal
			}
		case again == resends:
			return cmp.Or(err, cutOff(p.remote))
		}
	}
}

// takeAway deletes I, for hosts that let nobody move a branch back: it is made anew
// then. It reports whether it did.
func (p *pull) takeAway(ctx context.Context, name, commit string) bool {
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

// lookAgain asks a remote that just did not answer for its refs.
func (p *pull) lookAgain(ctx context.Context) (err error) {
	for _, wait := range patience {
		if err := commands.Sleep(ctx, wait); err != nil {
			return err
		}
		if err = p.look(ctx); err == nil || !isRemote(err) {
			return err
		}
	}
	return err
}

// conflict records that somebody has to decide, and says so.
func (p *pull) conflict(ctx context.Context, base *workspace.Base, m *merge.Result) error {
	theirs, err := p.v.keep(ctx, p.there.Managed)
	if err != nil {
		return err
	}
	record := workspace.Conflicted{
		RepositoryID: p.repo.ID, OperationID: p.op.ID(), Place: p.place, By: p.user, At: p.v.Workspaces.Now(), Branch: p.own, Base: base,
		Ours: p.saved, Theirs: workspace.Base{Commit: p.head(), Files: theirs, Unmanaged: digest(p.there.Unmanaged)}, Unrelated: p.saved.Parent == "",
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

// Unresolved is the answer while a conflict waits to be decided.
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
		With("branch", c.Branch).With("targetBranch", c.Place.Branch).With("files", paths).With("repositoryId", c.RepositoryID)
	if c.Unrelated {
		refusal.With("unrelated", true)
	}
	return refusal
}

// stillOpen is the answer to a pull of a conflict that nobody has decided yet.
func stillOpen(c workspace.Conflicted, why string) *domain.Error {
	refusal := Unresolved(c).With("resolved", false)
	hint := "check out " + c.Branch + ", merge " + c.Place.Branch + " into it, resolve the conflicts, push it, and pull here again; or resolve it over the API"
	refusal.Message = strings.TrimSuffix(refusal.Message, ".") + ", not resolved yet: " + why + "."
	return refusal.With("hint", hint)
}
