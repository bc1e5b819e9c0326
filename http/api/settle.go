package api

import (
	"context"

	"svc/commands"
)

// settle waits until a read here sees what the request has written, so that who
// has the answer to a write never meets what was before it. The write has
// happened in any case.
func settle(ctx context.Context, m ReadModel) {
	ctx, cancel := context.WithTimeout(ctx, writtenWait)
	defer cancel()
	_ = m.Reach(ctx, commands.RequestFrom(ctx).Position())
}

// lastUsed is when an access token or an API key was last used, as answers show
// it; "" when that is not known.
func lastUsed(ctx context.Context, d Deps, id string) (string, error) {
	at, err := d.LastUsed(ctx, id)
	if err != nil || at.IsZero() {
		return "", err
	}
	return at.UTC().Format(timestamp), nil
}
