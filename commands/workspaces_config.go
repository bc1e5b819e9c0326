package commands

import (
	"context"
	"errors"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// configAttempts bounds how often a change of the config meets another one.
const configAttempts = 10

// ChangeConfig changes the config of a workspace: its schema, its block and its value.
// What others change at the same time is never lost, unless ifMatch says which config
// the change is for.
func (w Workspaces) ChangeConfig(ctx context.Context, id, ifMatch string, change func(config *document.Map) (*document.Map, error)) error {
	return w.Configure(ctx, id, ifMatch, func(config *document.Map) (*document.Map, workspace.Untold, error) {
		next, err := change(config)
		return next, nil, err
	})
}

// Configure is ChangeConfig for a change that also says what of its value is not to be
// told.
func (w Workspaces) Configure(ctx context.Context, id, ifMatch string, change func(config *document.Map) (*document.Map, workspace.Untold, error)) error {
	for attempt := 1; ; attempt++ {
		now, err := w.Get(ctx, id)
		if err != nil {
			return err
		}
		based := ifMatch
		if based == "" {
			based = ETag(now.State.Revision)
		}
		next, untold, err := change(now.State.Settings.Config)
		if err != nil {
			return err
		}
		patch := document.MapOf(document.Pair{Key: "config", Value: next})
		_, err = w.UpdateWith(ctx, id, workspace.Update{Patch: patch, Untold: untold}, based)
		refusal, ok := errors.AsType[*domain.Error](err)
		if ok && refusal.Details["reason"] == "stale" && ifMatch == "" && attempt < configAttempts {
			continue
		}
		return err
	}
}
