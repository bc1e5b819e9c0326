package versioning

import (
	"context"
	"slices"

	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

// built is what a push has built so far.
type built struct {
	there   *gitsync.Files // under root at the start commit
	leaves  []string       // the files to take away from where the workspace was before
	parents []string
	tree    string
	intent  workspace.Intent
}

// from is the commit whose other files are kept: the one that the push builds on,
// or what is left of it on I when T is gone.
func (b *built) from(start string) string {
	if start == "" && len(b.parents) > 0 {
		return b.parents[0]
	}
	return start
}

// tagFree refuses a version whose tag is at the remote already, unless this push
// put it there.
func (p *push) tagFree() error {
	name := p.tag(p.version.Name)
	if id := p.refs.Tag(name); id == "" || slices.Contains(p.tags, id) {
		return nil
	}
	return domain.Refuse(domain.CodeAlreadyExists, "the repository has a tag %s already: choose another name for the version", name).
		With("field", "name").With("value", p.version.Name).With("repositoryId", p.repo.ID)
}

// inSync refuses a push when the remote has changes that the workspace has not
// seen (contract 8.2), or when somebody else works on the intermediate branch.
func (p *push) inSync(ctx context.Context, b *built) (err error) {
	if b.there, err = p.Objects().ReadTree(p.start(), p.repo.Root); err != nil {
		return err
	}
	whose, err := p.classify(p.sync)
	if err != nil {
		return err
	}
	rewritten, err := p.rewritten(p.sync)
	if err != nil {
		return err
	}
	if p.head() != "" {
		base, err := p.v.base(ctx, p.sync)
		if err != nil {
			return err
		}
		if !p.v.upToDate(p.state, p.sync, base, p.files, b.there, p.repo.Platform) {
			return p.behind(base, whose, rewritten)
		}
	}
	if whose == foreign {
		return p.inUse()
	}
	if b.leaves, err = p.leaves(ctx); err != nil {
		return err
	}
	b.parents, err = p.parents(whose, rewritten)
	return err
}

// leaves lists what is to be taken away from where the workspace was before it was
// renamed.
func (p *push) leaves(ctx context.Context) ([]string, error) {
	if p.was == nil {
		return nil, nil
	}
	there, err := p.Objects().ReadTree(p.start(), p.was.Root)
	if err != nil {
		return nil, err
	}
	return p.abandoned(ctx, there.Managed, p.repo)
}

// upToDate reports whether a workspace has everything that is under its root at
// the remote, or the remote has what the workspace has.
func (v *Versioning) upToDate(s workspace.State, sync workspace.Sync, base, ours archive.Tree, there *gitsync.Files, platform bool) bool {
	if sync.Base != nil && !platform && sync.Base.Unmanaged != digest(there.Unmanaged) {
		return false
	}
	if sync.Base != nil && sameBytes(there.Managed, base) {
		return true
	}
	if sync.Base == nil && len(objects(there.Managed)) == 0 {
		return true
	}
	return len(differ(overlay(ours, there.Managed, stillHeld(s, sync)), there.Managed, v.limits().Document)) == 0
}

// stillHeld tells of the places whose file at the remote could not be read, and
// whose object nobody has edited since: the remote's bytes stay there.
func stillHeld(s workspace.State, sync workspace.Sync) func(place string) bool {
	return func(place string) bool {
		revision, held := sync.Held[place]
		return held && s.RevisionOf(place) == revision
	}
}

// behind is the refusal of a push when the remote has more.
func (p *push) behind(base archive.Tree, whose class, rewritten bool) error {
	since := ""
	if p.sync.Base != nil && !rewritten {
		since = p.sync.Base.Commit
	}
	behind, err := p.Objects().CountCommits(since, p.head(), p.repo.Root)
	if err != nil {
		return err
	}
	ahead, err := p.ahead(base, whose)
	if err != nil {
		return err
	}
	return notUpToDate(p.repo, ahead, behind).With("rewritten", rewritten)
}

func notUpToDate(repo repositories.Repository, ahead, behind int) *domain.Error {
	refusal := domain.Refuse(domain.CodeConflict, "Remote has changes that are not in this workspace. Pull first.").Reason("not_up_to_date").
		With("ahead", ahead).With("behind", max(behind, 1)).With("rewritten", false).With("repositoryId", repo.ID)
	if repo.Branch != "" {
		refusal.With("targetBranch", repo.Branch)
	}
	return refusal
}

// ahead counts the commits on I that are not in T, and one for changes that are in
// no commit yet.
func (p *push) ahead(base archive.Tree, whose class) (ahead int, err error) {
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
	if len(differ(p.files, base, p.v.limits().Document)) > 0 {
		ahead++
	}
	return ahead, nil
}

// parents returns those of the commit (contract 8.3). After a rewrite it has none
// but where T is now, so that history which was removed does not come back.
func (p *push) parents(whose class, rewritten bool) ([]string, error) {
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
