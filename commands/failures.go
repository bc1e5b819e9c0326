package commands

import (
	"context"
	"log/slog"

	"svc/domain"
	"svc/domain/activity"
)

// Failures records refused requests as `error` events of their workspace.
type Failures struct {
	Engine *Engine
	Log    *slog.Logger
}

// RecordFailure records err in workspaceID. A failure to do so is only logged:
// the caller has its answer already.
func (f Failures) RecordFailure(ctx context.Context, workspaceID string, err *domain.Error) {
	ev := activity.Failure{Error: string(err.Code), Message: err.Message, Details: err.Details}
	if recordErr := f.Engine.Record(ctx, workspaceID, ev); recordErr != nil {
		f.Log.WarnContext(ctx, "error event not recorded", "workspace", workspaceID, "err", recordErr)
	}
}
