package node

import (
	"context"
	"time"

	"svc/commands/signing"
)

// SessionToken is a token of a session, as automations call the platform with it.
func (n *Node) SessionToken(ctx context.Context, a signing.Acting, ttl time.Duration) (string, error) {
	return n.people.keys.SessionToken(ctx, a, ttl)
}
