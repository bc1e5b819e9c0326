package versioning

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// filePull is one pull from a directory on its way. What is there is taken as it
// stands: there is nothing to merge with (contract 2.3).
type filePull struct {
	*pull
	*shelf
}

func (v *Versioning) newFilePull(ctx context.Context, workspaceID string, repo repositories.Repository, in PullRequest, may content.ImportOptions) (filePull, error) {
	p := filePull{pull: &pull{
		v: v, part: &Part{}, in: in, may: may, user: commands.RequestFrom(ctx).Meta.UserID, remote: &remote{repo: repo, place: PlaceOf(repo)},
	}}
	p.leaveOut(repo)
	if err := p.refresh(ctx, workspaceID, repo); err != nil {
		return p, err
	}
	var err error
	p.shelf, err = v.openShelf(repo)
	return p, err
}

// pullFiles brings what a directory has.
func (v *Versioning) pullFiles(ctx context.Context, run *operations.Run, repo repositories.Repository, in PullRequest, may content.ImportOptions) (any, error) {
	p, err := v.newFilePull(ctx, run.WorkspaceID(), repo, in, may)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.op = run
	err = run.Step(ctx, operation.Checkout, "Opening the directory", func(ctx context.Context) error {
		recorded, err := p.shelf.settleEarlier(ctx, p.state, "")
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
	return p.bring(ctx, p.there.Managed, true)
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
	held := &content.Held{Pull: true, Verify: true, Notes: p.notes()}
	return v.plan(ctx, workspaceID, string(discard), p.there.Managed, held, p.may, in)
}

// read reads what both sides have. The directory has one version, which its import
// file names; without one, its bytes do.
func (p filePull) read(ctx context.Context) error {
	tree, err := p.filled(ctx)
	if err != nil {
		return err
	}
	if err := missingIndex(tree, p.shelf.repo.Root); err != nil {
		return err
	}
	p.there = &gitsync.Files{Managed: tree}
	p.commit = strings.TrimPrefix(archive.Digest(tree.Checksums()), "sha256:")
	if name := p.in.Version; name != Latest && name != p.versionOf(tree) {
		return workspace.NoVersion(name)
	}
	p.in.Version = Latest
	p.files, err = p.v.ours(ctx, p.state.ID, p.seq, p.sync, nil)
	return err
}

// leaveOut says what a pull leaves as it is here. Who may not change the security
// document leaves it as it is.
func (p *pull) leaveOut(repo repositories.Repository) {
	if p.may.Excludes = repo.Excludes; !p.may.Secure {
		p.may.Excludes = append(slices.Clone(repo.Excludes), "security")
	}
}

// missingIndex refuses a tree that cannot be a workspace's.
func missingIndex(tree archive.Tree, root string) error {
	if objects(tree)["index"] != nil {
		return nil
	}
	return domain.Refuse(domain.CodeValidation, "there is no index.yml in the repository at %s", cmp.Or(root, "its root")).
		Reason("missing_index").With("path", root)
}

// observeFiles looks at a directory. A push that it turns out to have is recorded.
func (v *Versioning) observeFiles(ctx context.Context, s workspace.State, repo repositories.Repository) (seen, error) {
	at, err := v.openShelf(repo)
	if err != nil {
		return seen{}, err
	}
	defer at.close()
	recorded, err := at.settleEarlier(ctx, s, runningPush(s))
	if s, err = v.renewed(ctx, s, recorded, err); err != nil {
		return seen{}, err
	}
	there, err := at.has(ctx)
	if err != nil {
		return seen{}, err
	}
	sync := s.SyncWith(repo.ID, at.place)
	found := seen{at: time.Now(), has: meaningsOf(there, v.limits().Document), place: at.place, base: baseOf(sync), files: true}
	base, err := v.base(ctx, sync)
	found.behind = changed(base, there)
	found.other = sync.Base != nil && found.behind > 0
	return found, err
}
