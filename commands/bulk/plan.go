package bulk

import (
	"context"
	"errors"

	"svc/commands/archive"
	"svc/commands/repositories"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/operation"
)

// ImportPlan is what an import would do.
type ImportPlan struct {
	DryRun       bool          `json:"dryRun"`
	RepositoryID string        `json:"repositoryId"`
	Groups       []string      `json:"groups"`
	Total        int           `json:"total"`
	Workspaces   []WouldImport `json:"workspaces"`
	Warnings     []any         `json:"warnings"`
}

// WouldImport is what an import would do to one workspace.
type WouldImport struct {
	Slug        string         `json:"slug"`
	WorkspaceID string         `json:"workspaceId,omitempty"`
	Name        string         `json:"name,omitempty"`
	Version     string         `json:"version,omitempty"`
	Would       string         `json:"wouldImport"` // created, updated, skipped, or error
	Files       []string       `json:"files"`
	Deleted     []string       `json:"deleted"`
	LocalLost   bool           `json:"localChangesLost"`
	Errors      []archive.Item `json:"errors"`
	Warnings    []archive.Item `json:"warnings"`
}

// PlanImport finds out what an import would do. Nothing is changed.
func (r *Runs) PlanImport(ctx context.Context, in ImportRequest) (ImportPlan, error) {
	repo, err := r.platform(in.RepositoryID, repositories.Repository.CanPull)
	if err != nil {
		return ImportPlan{}, err
	}
	source, err := r.Versioning.OpenSource(ctx, repo.ID, "")
	if err != nil {
		return ImportPlan{}, err
	}
	defer source.Close()
	bulk, _, err := r.plan(ctx, source, in)
	if err == nil {
		err = r.allowed(ctx, in.Who, bulk)
	}
	if err != nil {
		return ImportPlan{}, err
	}
	plan := ImportPlan{
		DryRun: true, RepositoryID: repo.ID, Groups: append([]string{}, in.Groups...), Total: len(bulk.Planned), Workspaces: []WouldImport{}, Warnings: bulk.Warnings,
	}
	trial := &importing{running: running{Runs: r, bulk: bulk}, in: in, source: source}
	for _, p := range bulk.Planned {
		one, err := trial.would(ctx, p)
		if err != nil {
			return ImportPlan{}, err
		}
		plan.Workspaces = append(plan.Workspaces, one)
	}
	return plan, nil
}

// would finds out what becomes of one workspace.
func (im *importing) would(ctx context.Context, p operation.Planned) (WouldImport, error) {
	w, exists, err := im.Known.BySlug(ctx, p.Slug)
	if err != nil {
		return WouldImport{}, err
	}
	one := WouldImport{
		Slug: p.Slug, WorkspaceID: w.ID, Name: w.Name, Would: "updated", LocalLost: w.Dirty, Files: []string{}, Deleted: []string{}, Errors: []archive.Item{}, Warnings: []archive.Item{},
	}
	if !exists {
		one.Would = "created"
	}
	info, files, err := take(ctx, im.source, p.Slug)
	if err != nil {
		return one, err
	}
	one.Version = info.file.Version
	err = info.refusal()
	part := versioning.Part{Slug: p.Slug, Files: files, Create: !exists, Force: im.in.Force}
	if err == nil {
		f, skip, err := im.skipped(ctx, w, info, part)
		if err != nil {
			return one, err
		}
		if skip {
			one.Would, one.LocalLost = operation.Skipped, false
			if len(f.Warnings) > 0 {
				one.Warnings = append(one.Warnings, f.Warnings[0].(archive.Item))
			}
			return one, nil
		}
	}
	if err == nil {
		err = im.tried(ctx, &one, part)
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		one.Would, one.LocalLost = operation.Faulty, false
		one.Errors = append(one.Errors, refused(p, refusal).Errors[0].(archive.Item))
		err = nil
	}
	return one, err
}

// tried lets the import of one workspace find out what it would do.
func (im *importing) tried(ctx context.Context, one *WouldImport, part versioning.Part) error {
	may, _, err := im.may(ctx, im.in.Who, one.WorkspaceID)
	if err != nil {
		return err
	}
	done, err := im.Versioning.PlanPart(ctx, one.WorkspaceID, im.source, part, may)
	if err != nil {
		return err
	}
	one.Files, one.Deleted = append(one.Files, done.Imported...), append(one.Deleted, done.Deleted...)
	one.Errors, one.Warnings = append(one.Errors, done.Errors...), append(one.Warnings, done.Warnings...)
	return nil
}

// refusal is why a workspace whose import file cannot be read is not imported.
func (f found) refusal() error {
	if f.broken == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*domain.Error](f.broken); ok {
		return refusal
	}
	return domain.Refuse(domain.CodeValidation, "%s/%s: %s", f.slug, archive.ImportPath, f.broken.Error()).Reason(WarnInvalidImportFile)
}
