// Package runs has the handlers that start automations, and of what is known of their
// runs: executions, waits, recordings and contexts.
package runs

import (
	"context"
	"time"

	"svc/domain/automation/redact"
	"svc/http/api/events"
	"svc/http/api/handler"
	"svc/streams/feed"
)

// Handlers answer requests about runs.
type Handlers struct {
	ReadModel handler.ReadModel
	Programs  handler.Programs
	Runtime   Runtime
	Feed      *feed.Feed
	Emitter   events.Emitter
	Replays   Replays // executes what was recorded again; nil: nothing is recorded
	// Cancel stops a run, on whichever nodes it is.
	Cancel   func(workspaceID, correlationID string) error
	Contexts Contexts
	// Redactor knows the secrets of a workspace.
	Redactor func(ctx context.Context, workspaceID string) (*redact.Set, error)
	Now      func() time.Time
}
