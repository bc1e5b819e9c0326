package bulk

import (
	"context"
	"encoding/json"

	"svc/commands/archive"
	"svc/commands/versioning"
	"svc/domain/operation"
)

// skipped tells of a workspace that has the version already.
func (im *importing) skipped(ctx context.Context, w Workspace, info found, part versioning.Part) (f operation.Finished, skip bool, err error) {
	if im.in.Force || part.Create || info.file.Version == "" || info.file.Version != w.Version {
		return f, false, nil
	}
	if open, err := im.unpublished(ctx, info, w.ID); err != nil || open {
		return f, false, err
	}
	f = operation.Finished{Slug: w.Slug, WorkspaceID: w.ID, Name: w.Name, Version: w.Version, Status: operation.Skipped, Reason: "up_to_date"}
	if part.Digest() != w.Digest {
		f.Warnings = listed([]archive.Item{note(WarnContentDiffers, w.Slug, "has the version "+w.Version+" already, but not this content: import it again with forceReimport")})
	}
	return f, true, nil
}

// unpublished reports whether the app that a workspace is to publish is not its yet:
// the last import may have failed at that, or was broken off before it.
func (im *importing) unpublished(ctx context.Context, info found, workspaceID string) (bool, error) {
	if info.file.AppSlug == "" {
		return false, nil
	}
	by, err := im.Known.Publisher(ctx, info.file.AppSlug)
	return by != workspaceID, err
}

// told is what became of a workspace, as its operation tells it.
func (im *importing) told(ctx context.Context, p operation.Planned, end operation.State) (operation.Finished, error) {
	if end.Failure != nil {
		return operation.Finished{}, end.Failure.Error()
	}
	var done versioning.Brought
	body, err := im.result(ctx, end)
	if err == nil {
		err = json.Unmarshal(body, &done)
	}
	if err != nil {
		return operation.Finished{}, err
	}
	f := operation.Finished{
		Slug: p.Slug, WorkspaceID: done.Workspace.ID, Name: done.Workspace.Name, Status: operation.Imported, Created: p.WorkspaceID == "",
		Imported: len(done.Imported), Deleted: len(done.Deleted), Errors: some(done.Errors), Warnings: some(done.Warnings),
	}
	if done.Version != nil {
		f.Version = done.Version.Name
	}
	if len(done.PublishedApps) > 0 {
		f.App = done.PublishedApps[0]
	}
	if len(done.Errors) > 0 {
		f.Status, f.Reason = operation.Faulty, done.Errors[0].Err
	}
	return f, nil
}

// note remembers what became of a workspace, for those that use its app.
func (im *importing) note(f operation.Finished) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.faulty[f.Slug] = f.Status == operation.Faulty
}

// failedBefore tells of those that a workspace waited for in vain.
func (im *importing) failedBefore(slug string) []any {
	im.mu.Lock()
	defer im.mu.Unlock()
	var items []archive.Item
	for _, of := range im.after[slug] {
		if im.faulty[of] {
			items = append(items, note(WarnFailed, slug, "uses the app of "+of+", which was not imported well"))
		}
	}
	return some(items)
}
