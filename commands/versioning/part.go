package versioning

import (
	"context"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Part is one workspace of a run that brings many from a source.
type Part struct {
	Operation string // the id of the operation that brings it
	Slug      string // of its directory
	Files     *gitsync.Files
	Create    bool   // there is no such workspace yet: it is made
	Force     bool   // a wrong checksum is a warning only
	Under     uint64 // the epoch of the lock that the run itself holds on it; 0: it has a lock of its own
}

// Digest is the hash of the checksums of what is brought.
func (p Part) Digest() string { return archive.Digest(p.Files.Managed.Checksums()) }

// Bring brings one workspace as it stands at a source: what was changed here goes.
func (v *Versioning) Bring(ctx context.Context, workspaceID string, s *Source, part Part, may content.ImportOptions) (*operations.Handle, error) {
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
	p, err := v.partial(s, part, may)
	if err != nil {
		return nil, err
	}
	p.user = commands.RequestFrom(ctx).Meta.UserID
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		p.op = run
		if err := p.meet(ctx, workspaceID); err != nil {
			return nil, err
		}
		return p.bring(ctx, part.Files.Managed, true)
	})
}

// PlanPart finds out what bringing one workspace would do.
func (v *Versioning) PlanPart(ctx context.Context, workspaceID string, s *Source, part Part, may content.ImportOptions) (content.Result, error) {
	p, err := v.partial(s, part, may)
	if err == nil {
		err = p.meet(ctx, workspaceID)
	}
	if err != nil {
		return content.Result{}, err
	}
	p.may.Prune, p.may.DryRun = true, true
	p.may.Held = &content.Held{Pull: true, Verify: true, Slug: part.Slug}
	if part.Create {
		return v.Content.CreateFrom(ctx, workspaceID, part.Files.Managed, p.may)
	}
	return v.Content.Import(ctx, workspaceID, part.Files.Managed, p.may)
}

// partial is the pull of one part, without a conversation of its own.
func (v *Versioning) partial(s *Source, part Part, may content.ImportOptions) (*pull, error) {
	repo, err := v.Repositories.InPlatform(s.repo.ID, part.Slug)
	if err != nil {
		return nil, err
	}
	if part.Create {
		may.Secure = true // of what one owns, one may change everything
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
		v: v, part: &part, name: named, in: PullRequest{Version: Latest, RepositoryID: repo.ID, Discard: true}, may: may, there: part.Files, commit: s.commit,
		remote: &remote{repo: repo, place: PlaceOf(repo), target: repo.Branch, refs: gitsync.Refs{IDs: map[string]string{"refs/heads/" + repo.Branch: s.commit}}},
	}, nil
}

// meet takes the workspace as it is now, or as it is about to be.
func (p *pull) meet(ctx context.Context, workspaceID string) (err error) {
	if p.part.Create {
		p.state, p.sync = workspace.State{ID: workspaceID}, workspace.Sync{Place: p.place}
		return nil
	}
	if err := p.refresh(ctx, workspaceID, p.repo); err != nil || p.may.Secure {
		return err
	}
	p.files, err = p.v.ours(ctx, workspaceID, p.seq, p.sync, nil) // to tell whether the security document differs
	return err
}

// into says how a part is brought.
func (p *Part) into(held *content.Held) {
	if p == nil {
		return
	}
	if held.Verify = true; p.Create {
		held.Slug = p.Slug
	}
}
