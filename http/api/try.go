package api

import (
	"context"

	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
)

// trySettings refuses what the change of settings would be refused for, such as a
// secret that is written out. Repositories are judged by those who keep their
// credentials.
func trySettings(ctx context.Context, d Deps, id string, patch *document.Map) error {
	now, err := d.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	patch = patch.Copy()
	patch.Delete("repositories")
	return d.Content.Workspaces.TryUpdate(ctx, now.State, patch)
}

// trySecurity refuses a security document that the workspace would refuse.
func trySecurity(ctx context.Context, d Deps, id string, security access.Security) error {
	now, err := d.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	return tryOn(now.State, workspace.Secure{Security: security})
}

// tryOn returns the refusal of a command, and changes nothing.
func tryOn(s workspace.State, cmd workspace.Command) error {
	_, err := workspace.Decider.Decide(s, cmd)
	return err
}
