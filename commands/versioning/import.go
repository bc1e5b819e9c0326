package versioning

import (
	"context"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/operations"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Import brings an archive into a workspace.
func (v *Versioning) Import(ctx context.Context, workspaceID string, tree archive.Tree, o content.ImportOptions) (*operations.Handle, error) {
	spec := operations.Spec{
		Kind: operation.Import, WorkspaceID: workspaceID, Reason: workspace.ImportInProgress, Steps: 1,
		Request: map[string]bool{"prune": o.Prune, "force": o.Force, "strict": o.Strict},
	}
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		o.Held = &content.Held{OperationID: run.ID(), Epoch: run.Epoch()}
		return v.importTree(ctx, run, tree, o)
	})
}
