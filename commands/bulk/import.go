package bulk

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// ImportRequest is what is asked of an import.
type ImportRequest struct {
	RepositoryID string   `json:"repositoryId"` // "": the first that can be pulled from
	Groups       []string `json:"groups,omitempty"`
	Force        bool     `json:"forceReimport,omitempty"`
	Who          Who      `json:"who"`
}

// Import brings the workspaces of a platform repository, in the background.
func (r *Runs) Import(ctx context.Context, in ImportRequest) (*operations.Handle, error) {
	repo, err := r.platform(in.RepositoryID, repositories.Repository.CanPull)
	if err != nil {
		return nil, err
	}
	in.RepositoryID = repo.ID
	spec := operations.Spec{
		Kind: operation.BulkImport, WorkspaceID: domain.Platform, RepositoryID: repo.ID, Branch: repo.Branch, Reason: workspace.BulkImportInProgress, Request: in,
	}
	return r.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		return nil, r.importAll(ctx, run, in, nil)
	})
}

// resumeImport goes on with an import whose runner is gone.
func (r *Runs) resumeImport(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	var in ImportRequest
	if err := json.Unmarshal(op.Request, &in); err != nil {
		return nil, err
	}
	return nil, r.importAll(heeding(ctx, op), run, in, op.Bulk)
}

// importAll brings what is planned, or what is left of it. Without a plan, one is
// made.
func (r *Runs) importAll(ctx context.Context, run *operations.Run, in ImportRequest, planned *operation.Bulk) error {
	alive, stop := uncancelled(ctx)
	defer stop()
	im := &importing{running: running{Runs: r, op: run}, in: in, faulty: map[string]bool{}}
	commit := ""
	if planned != nil {
		commit = planned.Commit
	}
	var err error
	if im.source, err = r.Versioning.OpenSource(alive, in.RepositoryID, commit); err != nil {
		return err
	}
	defer im.source.Close()
	if err := im.prepare(alive, planned); err != nil {
		return err
	}
	return im.each(ctx, operation.Skipped, im.one)
}

// importing is an import on its way.
type importing struct {
	running
	in     ImportRequest
	source *versioning.Source

	mu     sync.Mutex
	faulty map[string]bool // slugs of those that could not be imported well
}

// prepare makes the plan, or takes up the one that there is.
func (im *importing) prepare(ctx context.Context, planned *operation.Bulk) error {
	if planned != nil {
		return im.takeUp(ctx, *planned)
	}
	bulk, after, err := im.plan(ctx, im.source, im.in)
	if err == nil {
		err = im.allowed(ctx, im.in.Who, bulk)
	}
	if err == nil {
		err = im.op.Tell(ctx, operation.Plan{Epoch: im.op.Epoch(), Bulk: bulk})
	}
	im.bulk, im.after = bulk, after
	return err
}

// takeUp goes on with a plan: its order stands.
func (im *importing) takeUp(ctx context.Context, planned operation.Bulk) error {
	im.bulk, im.after = planned, map[string][]string{}
	var list []found
	for _, p := range planned.Planned {
		one, _, err := look(ctx, im.source, p.Slug)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	o, _, err := im.arranged(ctx, list)
	for slug, before := range o.after {
		im.after[slug] = slices.DeleteFunc(before, func(other string) bool { return im.place(other) > im.place(slug) })
	}
	for _, f := range planned.Done {
		im.note(f)
	}
	if err != nil {
		return err
	}
	return im.madeBefore(ctx, list)
}

// madeBefore notes the ids of workspaces that the run has made, or was about to.
func (im *importing) madeBefore(ctx context.Context, list []found) error {
	im.made = map[string]string{}
	for _, one := range list {
		w, exists, err := im.Known.BySlug(ctx, one.slug)
		id := w.ID
		if err == nil && !exists {
			id, err = im.newID(im.seeded(ctx, one.slug), one)
		}
		if err != nil {
			return err
		}
		im.made[one.slug] = id
	}
	return nil
}

// plan finds out what an import of a source brings, and which workspaces wait for
// which.
func (r *Runs) plan(ctx context.Context, source *versioning.Source, in ImportRequest) (operation.Bulk, map[string][]string, error) {
	list, warnings, err := r.survey(ctx, source, in.Groups)
	if err != nil {
		return operation.Bulk{}, nil, err
	}
	o, more, err := r.arranged(ctx, list)
	if err != nil {
		return operation.Bulk{}, nil, err
	}
	bulk := operation.Bulk{Groups: in.Groups, Commit: source.Commit(), Warnings: some(append(warnings, more...))}
	for _, slug := range o.slugs {
		w, _, err := r.Known.BySlug(ctx, slug)
		if err != nil {
			return operation.Bulk{}, nil, err
		}
		bulk.Planned = append(bulk.Planned, operation.Planned{Slug: slug, WorkspaceID: w.ID, Name: w.Name})
	}
	return bulk, o.after, nil
}

// allowed refuses an import of somebody who may not change all of the workspaces
// that there are.
func (r *Runs) allowed(ctx context.Context, who Who, bulk operation.Bulk) error {
	denied := []string{}
	for _, p := range bulk.Planned {
		if p.WorkspaceID == "" {
			continue
		}
		_, ok, err := r.may(ctx, who, p.WorkspaceID)
		if err != nil {
			return err
		}
		if !ok {
			denied = append(denied, p.Slug)
		}
	}
	if len(denied) == 0 {
		return nil
	}
	return domain.Refuse(domain.CodeWorkspaceDenied, "the import would change workspaces that you may not change: %s", strings.Join(denied, ", ")).With("slugs", denied)
}

// may is what somebody may change by an import into a workspace; "" is one that the
// import makes.
func (r *Runs) may(ctx context.Context, who Who, workspaceID string) (content.ImportOptions, bool, error) {
	switch {
	case who.System:
		return content.ImportOptions{Secure: true, Publish: true}, true, nil
	case workspaceID == "":
		return r.Rights.Create(ctx, who)
	}
	return r.Rights.Import(ctx, who, workspaceID)
}

// one brings one workspace.
func (im *importing) one(ctx context.Context, p operation.Planned) (operation.Finished, error) {
	f, err := im.attempt(ctx, p, im.bring)
	f.Warnings = append(f.Warnings, im.failedBefore(p.Slug)...)
	im.note(f)
	return f, err
}

// bring brings one workspace, unless it is here already, or was brought before the
// run was taken over.
func (im *importing) bring(ctx context.Context, p operation.Planned) (operation.Finished, error) {
	w, exists, err := im.Known.BySlug(ctx, p.Slug)
	if err != nil {
		return operation.Finished{}, err
	}
	info, files, err := take(ctx, im.source, p.Slug)
	if err != nil {
		return operation.Finished{}, err
	}
	id := w.ID
	if !exists {
		if id, err = im.newID(ctx, info); err != nil {
			return operation.Finished{}, err
		}
	}
	end, child, err := im.child(ctx, id, im.place(p.Slug), func(end operation.State) bool {
		open, err := im.unpublished(ctx, info, id)
		return end.Failure == nil && end.Resumed > 0 && err == nil && open // it was broken off before that
	})
	if err != nil {
		return operation.Finished{}, err
	}
	if end.ID != "" {
		return im.told(ctx, p, end)
	}
	if err := info.refusal(); err != nil {
		return operation.Finished{}, err
	}
	part := versioning.Part{Operation: child, Slug: p.Slug, Files: files, Create: !exists, Force: im.in.Force}
	if id == domain.Platform {
		part.Under = im.op.Epoch()
	}
	if f, skip, err := im.skipped(ctx, w, info, part); err != nil || skip {
		return f, err
	}
	f, err := im.start(ctx, p, id, part)
	if im.source.Moved() && err == nil {
		f.Warnings = append(f.Warnings, note(WarnSourceMoved, p.Slug, "was brought from the head of the branch: the commit that the run began with cannot be had any more"))
	}
	return f, err
}

// start starts the operation that brings a workspace, and waits for it.
func (im *importing) start(ctx context.Context, p operation.Planned, id string, part versioning.Part) (operation.Finished, error) {
	into := id
	if part.Create {
		into = ""
	}
	may, ok, err := im.may(ctx, im.in.Who, into)
	if err != nil {
		return operation.Finished{}, err
	}
	if !ok { // since the run began
		return operation.Finished{}, domain.Refuse(domain.CodeWorkspaceDenied, "who started the import may not change the workspace %s any more", p.Slug)
	}
	h, err := im.Versioning.Bring(ctx, id, im.source, part, may)
	if err != nil {
		return operation.Finished{}, err
	}
	end, err := im.wait(ctx, h)
	if err != nil {
		return operation.Finished{}, err
	}
	return im.told(ctx, p, end)
}

// newID is the id of a workspace that the import makes: the one it was pushed with,
// when that was never used.
func (im *importing) newID(ctx context.Context, info found) (string, error) {
	if id := info.file.WorkspaceID; content.IsID(id) {
		now, err := im.Workspaces.Get(ctx, id)
		if err != nil || now.State.ID == "" {
			return id, err
		}
	}
	return commands.NewID(ctx, 7), nil
}
