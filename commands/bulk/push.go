package bulk

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// PushRequest is the body of a push.
type PushRequest struct {
	RepositoryID string             `json:"repositoryId"` // "": the first that can be pushed to
	Groups       []string           `json:"groups"`
	Name         string             `json:"name"` // of the version; "": one is made up
	Description  document.Localized `json:"description,omitzero"`
	Force        bool               `json:"force,omitempty"`
}

// Push pushes the workspaces of some groups, in the background.
func (r *Runs) Push(ctx context.Context, in PushRequest) (*operations.Handle, error) {
	id, known, err := r.Operations.Reserve(ctx, domain.Platform, "")
	if err != nil || known != nil {
		return known, err
	}
	in, repo, err := r.checkPush(ctx, in)
	if err != nil {
		return nil, err
	}
	spec := operations.Spec{
		ID: id, Kind: operation.BulkPush, WorkspaceID: domain.Platform, RepositoryID: repo.ID, Branch: repo.Branch, Reason: workspace.BulkPushInProgress, Request: in,
	}
	return r.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		return nil, r.pushAll(ctx, run, in, nil)
	})
}

// PlanPush finds out what a push would do: which workspaces are pushed, and why the
// others are not.
func (r *Runs) PlanPush(ctx context.Context, in PushRequest) (PushPlan, error) {
	in, _, err := r.checkPush(ctx, in)
	if err != nil {
		return PushPlan{}, err
	}
	bulk, err := r.planPush(ctx, in)
	return PushPlan{DryRun: true, RepositoryID: in.RepositoryID, Groups: in.Groups, Name: in.Name, Workspaces: bulk.Sorted()}, err
}

// PushPlan is the plan of a push.
type PushPlan struct {
	DryRun       bool                    `json:"dryRun"`
	RepositoryID string                  `json:"repositoryId"`
	Groups       []string                `json:"groups"`
	Name         string                  `json:"name"`
	Workspaces   []operation.Categorised `json:"workspaces"`
}

// checkPush completes a request, and refuses unknown groups and repositories.
func (r *Runs) checkPush(ctx context.Context, in PushRequest) (PushRequest, repositories.Repository, error) {
	known := r.groups()
	unknown := []string{}
	for _, group := range in.Groups {
		if _, ok := known[group]; !ok {
			unknown = append(unknown, group)
		}
	}
	if len(unknown) > 0 {
		available := slices.Sorted(maps.Keys(known))
		return in, repositories.Repository{}, domain.Refuse(domain.CodeValidation, "there is no group %s; there are: %s", strings.Join(unknown, ", "), strings.Join(available, ", ")).
			Reason("unknown_group").With("groups", unknown).With("availableGroups", append([]string{}, available...))
	}
	repo, err := r.platform(in.RepositoryID, repositories.Repository.CanPush)
	if err != nil {
		return in, repo, err
	}
	if in.RepositoryID = repo.ID; in.Name == "" {
		in.Name = versioning.NewName(ctx, r.Workspaces.Now())
	}
	return in, repo, workspace.CheckVersionName(in.Name)
}

func (r *Runs) groups() map[string][]string {
	if r.Repositories.Groups == nil {
		return nil
	}
	return r.Repositories.Groups()
}

// planPush finds the workspaces of the groups, and the category of each.
func (r *Runs) planPush(ctx context.Context, in PushRequest) (operation.Bulk, error) {
	var labels []string
	for _, group := range in.Groups {
		labels = append(labels, r.groups()[group]...)
	}
	list, err := r.Known.Labelled(ctx, labels)
	if err == nil && len(list) > r.Limit() {
		err = domain.Refuse(domain.CodeValidation, "%d workspaces are more than one run may have", len(list)).Reason("limit_exceeded").
			With("limit", "workspaces").With("value", r.Limit())
	}
	bulk := operation.Bulk{Groups: in.Groups, Version: in.Name}
	for _, w := range list {
		bulk.Planned = append(bulk.Planned, operation.Planned{Slug: w.Slug, WorkspaceID: w.ID, Name: w.Name, Status: r.category(w, in)})
	}
	return bulk, err
}

// category says whether a workspace is pushed, or why not.
func (r *Runs) category(w Workspace, in PushRequest) string {
	switch {
	case w.Lock == workspace.MergeConflict:
		return operation.InConflict
	case w.Lock != "" && w.ID != domain.Platform: // that is the lock of the run itself
		return operation.InProgress
	case w.Dirty || in.Force || !r.isIn(w, in.RepositoryID):
		return operation.Candidate
	}
	return operation.AlreadyPushed
}

// isIn reports whether the current content of a workspace is in a platform repository: it may have
// been pushed only to another one. For a workspace that cannot be there it is true.
func (r *Runs) isIn(w Workspace, repositoryID string) bool {
	repo, err := r.Repositories.InPlatform(repositoryID, w.Slug)
	return err != nil || w.In[repositoryID] == versioning.LocationOf(repo)
}

// resumePush continues a push whose node is gone.
func (r *Runs) resumePush(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	var in PushRequest
	if err := json.Unmarshal(op.Request, &in); err != nil {
		return nil, err
	}
	return nil, r.pushAll(withCancel(ctx, op), run, in, op.Bulk)
}

// pushAll pushes what is planned, or the rest of it.
func (r *Runs) pushAll(ctx context.Context, run *operations.Run, in PushRequest, planned *operation.Bulk) error {
	p := &pushRun{bulkRun: bulkRun{Runs: r, op: run}, in: in}
	if planned == nil {
		alive, stop := uncancelled(ctx)
		defer stop()
		bulk, err := r.planPush(alive, in)
		if err == nil {
			err = run.Record(alive, operation.Plan{Epoch: run.Epoch(), Bulk: bulk})
		}
		if err != nil {
			return err
		}
		planned = &bulk
	}
	p.bulk = *planned
	return p.runAll(ctx, operation.Faulty, p.pushOne)
}

// pushRun is a running push.
type pushRun struct {
	bulkRun
	in PushRequest
}

// pushOne pushes one workspace.
func (p *pushRun) pushOne(ctx context.Context, w operation.Planned) (operation.Finished, error) {
	return p.tryOne(ctx, w, p.pushWorkspace)
}

// pushWorkspace pushes one workspace, unless that was done before the run was taken over.
func (p *pushRun) pushWorkspace(ctx context.Context, w operation.Planned) (operation.Finished, error) {
	end, child, err := p.findChild(ctx, w.WorkspaceID, p.indexOf(w.Slug), func(operation.State) bool { return false })
	if err == nil && end.ID == "" {
		request := versioning.PushRequest{Name: p.in.Name, Description: p.in.Description, RepositoryID: p.in.RepositoryID, Platform: true, ID: child}
		if w.WorkspaceID == domain.Platform {
			request.Under = p.op.Epoch()
		}
		var h *operations.Handle
		if h, err = p.Versioning.Push(ctx, w.WorkspaceID, request); err == nil {
			end, err = p.wait(ctx, h)
		}
	}
	if err != nil {
		return operation.Finished{}, err
	}
	if end.Failure != nil {
		return operation.Finished{}, end.Failure.Error()
	}
	var version versioning.VersionResponse
	body, err := p.result(ctx, end)
	if err == nil {
		err = json.Unmarshal(body, &version)
	}
	return operation.Finished{
		Slug: w.Slug, WorkspaceID: w.WorkspaceID, Name: w.Name, Version: version.Name, Status: operation.Pushed, Warnings: truncateItems(version.Warnings),
	}, err
}
