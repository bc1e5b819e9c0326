package versioning

import (
	"context"
	"slices"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/repositories"
	"svc/domain/workspace"
)

// Plan is what a pull would do.
type Plan struct {
	Path        string                   `json:"path"` // how it would go about it
	WouldImport []string                 `json:"wouldImport"`
	WouldDelete []string                 `json:"wouldDelete"`
	Conflicts   []workspace.ConflictFile `json:"conflicts"`
	Warnings    []archive.Item           `json:"warnings"`
	Errors      []archive.Item           `json:"errors"`
}

// PlanPull finds out what a pull would do. No lock is taken and nothing is sent.
func (v *Versioning) PlanPull(ctx context.Context, workspaceID string, in PullRequest, may content.ImportOptions) (Plan, error) {
	held := &content.Held{Pull: true}
	if in.RepositoryID == "" {
		version, err := v.nativeVersion(ctx, workspaceID, in.Version)
		if err != nil {
			return Plan{}, err
		}
		tree, err := v.Content.Export(ctx, workspaceID, version.ContentRevision, nil)
		if err != nil {
			return Plan{}, err
		}
		return v.plan(ctx, workspaceID, string(named), tree, held, may, in)
	}
	repo, err := v.readable(ctx, workspaceID, in)
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
	if err := p.look(ctx); err != nil {
		return Plan{}, err
	}
	if err := p.exists(); err != nil {
		return Plan{}, err
	}
	if err := p.read(ctx); err != nil {
		return Plan{}, err
	}
	choice, err := p.choose(ctx)
	if err != nil {
		return Plan{}, err
	}
	held.Own, held.Notes = !repo.Platform, append(p.notes(), p.rolledBack...)
	plan, err := v.plan(ctx, workspaceID, string(choice.path), choice.tree, held, p.may, in)
	if err == nil && choice.merged != nil {
		for _, c := range choice.merged.Conflicts {
			plan.Conflicts = append(plan.Conflicts, workspace.ConflictFile{Path: c.Path, Kind: string(c.Kind), Keys: c.Keys})
			plan.spare(c.Path)
		}
	}
	return plan, err
}

// plan finds out what bringing a tree would do.
func (v *Versioning) plan(ctx context.Context, workspaceID, path string, tree archive.Tree, held *content.Held, may content.ImportOptions, in PullRequest) (Plan, error) {
	may.Prune, may.Strict, may.DryRun, may.Held = true, in.Strict, true, held
	plan := Plan{Path: path, Conflicts: []workspace.ConflictFile{}}
	done, err := v.Content.Import(ctx, workspaceID, tree, may)
	plan.WouldImport, plan.WouldDelete, plan.Warnings, plan.Errors = done.Imported, done.Deleted, done.Warnings, done.Errors
	return plan, err
}

// spare leaves a file in conflict out of what would be deleted: it waits to be
// decided.
func (p *Plan) spare(path string) {
	place, ok := archive.Locate(path)
	p.WouldDelete = slices.DeleteFunc(p.WouldDelete, func(deleted string) bool { return ok && deleted == place.String() })
}
