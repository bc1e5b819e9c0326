package versioning

import (
	"context"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// pushNative saves a native version: a name for content that the history has already.
func (v *Versioning) pushNative(ctx context.Context, run *operations.Run, in PushRequest) (any, error) {
	version := workspace.Version{Name: in.Name, Description: in.Description, OperationID: run.ID(), CreatedBy: commands.RequestFrom(ctx).Meta.UserID}
	var changes *workspace.Changes
	err := run.Step(ctx, operation.Write, "Saving the version", func(ctx context.Context) (err error) {
		if version.ContentRevision, err = v.Revisions.Revision(ctx, run.WorkspaceID(), run.LockSeq()); err != nil {
			return err
		}
		if err := run.Commit(ctx); err != nil {
			return err
		}
		now, err := v.Workspaces.Get(ctx, run.WorkspaceID())
		if err == nil {
			err = now.State.CheckVersion(in.Name, in.RepositoryID) // the name may be taken since
		}
		if err != nil {
			return err
		}
		before, _ := newestNative(now.State, Latest)
		was, is, err := v.Content.Between(ctx, run.WorkspaceID(), before.ContentRevision, version.ContentRevision)
		if err != nil {
			return err
		}
		changes = changesOf(gitsync.Compare(was, is))
		version.CreatedAt = v.Workspaces.Now()
		_, err = v.Workspaces.Execute(ctx, run.WorkspaceID(), workspace.Push{Epoch: run.Epoch(), Version: version, Changes: changes})
		return err
	})
	return NewVersionResponse(version, changes), err
}

// nativeVersion returns a native version.
func (v *Versioning) nativeVersion(ctx context.Context, workspaceID, name string) (workspace.Version, error) {
	if name == "current" {
		return workspace.Version{}, domain.Refuse(domain.CodeInvalidParameter, "current is what the workspace has already").With("parameter", "version")
	}
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return workspace.Version{}, err
	}
	found, there := newestNative(now.State, name)
	if !there {
		return found, workspace.NoVersion(name)
	}
	return found, nil
}

// newestNative returns the native version with a name, or the newest one for Latest.
func newestNative(s workspace.State, name string) (found workspace.Version, there bool) {
	for _, version := range s.Versions {
		if version.Repository != nil || name != Latest && version.Name != name {
			continue
		}
		if version.CreatedAt.After(found.CreatedAt) || found.Name == "" {
			found = version
		}
	}
	return found, found.Name != ""
}

// pullNative imports the content of a native version.
func (v *Versioning) pullNative(ctx context.Context, run *operations.Run, version workspace.Version, in PullRequest, may content.ImportOptions) (any, error) {
	tree, err := v.Content.Export(ctx, run.WorkspaceID(), version.ContentRevision, nil)
	if err != nil {
		return nil, err
	}
	op := &content.ImportOperation{
		OperationID: run.ID(), Epoch: run.Epoch(), Version: &workspace.ImportedVersion{Name: version.Name}, Pull: true,
		Integrate: func(o content.Outcome) (*workspace.Integration, error) {
			if o.Errors > 0 {
				return nil, nil
			}
			return &workspace.Integration{Pulled: &workspace.Pulled{Version: version.Name}}, nil
		},
	}
	return v.importPruned(ctx, run, tree, op, may, in.Strict)
}
