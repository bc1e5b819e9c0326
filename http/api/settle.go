package api

import (
	"context"

	"svc/commands"
	"svc/domain"
	"svc/domain/workspace"
)

// settle waits until a read here sees what the request has written, so that who
// has the answer to a write never meets what was before it. The write has
// happened in any case; settled is false when a read may not see it yet.
func settle(ctx context.Context, m ReadModel) (settled bool) {
	ctx, cancel := context.WithTimeout(ctx, writtenWait)
	defer cancel()
	return m.Reach(ctx, commands.RequestFrom(ctx).Position()) == nil
}

// lastUsed is when an access token or an API key was last used, as answers show
// it; "" when that is not known.
func lastUsed(ctx context.Context, d Deps, id string) (string, error) {
	at, err := d.LastUsed(ctx, id)
	if err != nil || at.IsZero() {
		return "", err
	}
	return at.UTC().Format(domain.Timestamp), nil
}

// fromState is the answer to a write that the read model does not show yet: it has
// to do without times and what is in the workspace.
func fromState(w commands.Workspace) (any, error) {
	doc := workspace.Snapshot{ID: w.State.ID, Settings: w.State.Settings}.Document()
	if w.State.Settings.Photo != "" {
		doc.Set("logo", w.State.Settings.Photo)
	}
	if len(w.State.Settings.Labels) == 0 {
		doc.Set("labels", []any{})
	}
	doc.Set("dirty", true)
	doc.Set("contentRevision", float64(w.Seq))
	if config := w.State.Settings.Config; config != nil {
		doc.Set("config", workspace.HideSecrets(config))
	}
	return jsonOf(doc, tagOf(w.State.Revision))
}
