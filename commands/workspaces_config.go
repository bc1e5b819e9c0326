package commands

import (
	"context"
	"errors"

	"svc/domain"
	"svc/domain/document"
)

// configAttempts bounds how often a change of the config meets another one.
const configAttempts = 10

// ChangeConfig changes the config of a workspace: its schema, its block and its value.
// What others change at the same time is never lost, unless ifMatch says which config
// the change is for.
func (w Workspaces) ChangeConfig(ctx context.Context, id, ifMatch string, change func(config *document.Map) (*document.Map, error)) error {
	for attempt := 1; ; attempt++ {
		now, err := w.Get(ctx, id)
		if err != nil {
			return err
		}
		based := ifMatch
		if based == "" {
			based = ETag(now.State.Revision)
		}
		next, err := change(now.State.Settings.Config)
		if err != nil {
			return err
		}
		_, err = w.Update(ctx, id, document.MapOf(document.Pair{Key: "config", Value: next}), based)
		refusal, ok := errors.AsType[*domain.Error](err)
		if ok && refusal.Details["reason"] == "stale" && ifMatch == "" && attempt < configAttempts {
			continue
		}
		return err
	}
}
