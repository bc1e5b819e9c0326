package content

import (
	"cmp"
	"context"
	"errors"

	"svc/commands/archive"
	"svc/domain"
)

// ManyResult is what the import of an archive of many workspaces did, or would do.
type ManyResult struct {
	Results []Result // of those that were imported, in their order
	Created []string
	Updated []string
	Errors  []archive.Item // about whole workspaces
}

// items returns everything that went wrong.
func (m ManyResult) items() []archive.Item {
	all := append([]archive.Item{}, m.Errors...)
	for _, r := range m.Results {
		all = append(all, r.Errors...)
	}
	return all
}

// bulkTrees is how many times the files of one workspace those of an archive of
// many may be.
const bulkTrees = 4

// ImportMany imports the workspaces of an archive, each in one step, in the order
// in which they are listed. Those that exist are changed as far as allowed says:
// it returns the options for one of them, or why the caller must not. The apps
// they publish are published when their workspace is there, so that those after
// it find them. An archive with an unsafe one among them is refused whole.
func (c *Content) ImportMany(ctx context.Context, bulk archive.Bulk, o ImportOptions, allowed func(workspaceID string, o ImportOptions) (ImportOptions, error)) (ManyResult, error) {
	if err := c.checkTrees(bulk); err != nil {
		return ManyResult{}, err
	}
	if o.Strict && !o.DryRun {
		trial := o
		trial.DryRun = true
		if _, err := c.importEach(ctx, bulk, trial, allowed); err != nil {
			return ManyResult{}, err
		}
	}
	return c.importEach(ctx, bulk, o, allowed)
}

// checkTrees refuses archives that are unsafe, or too much together. One of them
// is unpacked at a time.
func (c *Content) checkTrees(bulk archive.Bulk) error {
	limits, total := c.Limits(), 0
	for _, id := range bulk.WorkspaceIDs {
		tree, _, err := archive.Unzip(bulk.Archives[id], limits)
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			return refusal.With("workspaceId", id)
		}
		if err != nil {
			return err
		}
		for _, text := range tree {
			total += len(text)
		}
		if total > bulkTrees*limits.TreeBytes {
			return beyond("treeBytes", bulkTrees*limits.TreeBytes)
		}
	}
	return nil
}

func (c *Content) importEach(ctx context.Context, bulk archive.Bulk, o ImportOptions, allowed func(string, ImportOptions) (ImportOptions, error)) (ManyResult, error) {
	var all ManyResult
	for _, id := range bulk.WorkspaceIDs {
		tree, others, err := archive.Unzip(bulk.Archives[id], c.Limits())
		if err != nil {
			return all, err
		}
		o.Others = others
		result, created, may, err := c.importOne(ctx, id, tree, o, allowed)
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			all.Errors = append(all.Errors, refusedItem(id, refusal))
			continue
		}
		if err != nil {
			return all, err
		}
		if !o.DryRun {
			c.publishListed(ctx, bulk, id, &result, may)
		}
		all.Results = append(all.Results, result)
		if created {
			all.Created = append(all.Created, result.WorkspaceID)
		} else {
			all.Updated = append(all.Updated, result.WorkspaceID)
		}
	}
	if wrong := all.items(); o.Strict && o.DryRun && len(wrong) > 0 {
		return all, domain.Refuse(domain.CodeValidation, "%d files have errors, the first: %s: %s", len(wrong), wrong[0].Filepath, wrong[0].Msg).
			Reason("invalid_files").With("errors", wrong)
	}
	return all, nil
}

// importOne changes the workspace with an id, or makes it. may says whether the
// caller may publish it.
func (c *Content) importOne(ctx context.Context, id string, tree archive.Tree, o ImportOptions, allowed func(string, ImportOptions) (ImportOptions, error)) (result Result, created, may bool, err error) {
	now, err := c.Workspaces.Get(ctx, id)
	if err != nil {
		return result, false, false, err
	}
	if now.State.ID == "" || now.State.Deleted != nil {
		result, err = c.CreateFrom(ctx, id, tree, o)
		return result, true, true, err
	}
	if o, err = allowed(id, o); err != nil {
		return result, false, false, err
	}
	result, err = c.Import(ctx, id, tree, o)
	return result, false, o.Publish, err
}

// refusedItem is the item for a workspace that could not be imported.
func refusedItem(id string, refusal *domain.Error) archive.Item {
	reason, _ := refusal.Details["reason"].(string)
	return archive.Item{Msg: refusal.Message, Err: cmp.Or(reason, string(refusal.Code)), Filepath: "workspaces/" + id + ".zip", WorkspaceID: id}
}

// publishListed publishes the app that the archive lists for a workspace.
func (c *Content) publishListed(ctx context.Context, bulk archive.Bulk, id string, result *Result, may bool) {
	for _, app := range bulk.PublishApps {
		if app.WorkspaceID != id || result.Publish != nil {
			continue // its own files name the app already
		}
		result.Publish = &archive.ImportFile{AppSlug: app.Slug, AppName: app.Name}
		c.publishApp(ctx, result, ImportOptions{Publish: may})
	}
}
