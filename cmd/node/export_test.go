package node

import (
	"context"
	"time"

	"svc/commands/operations"
	"svc/commands/secrets"
	"svc/commands/signing"
	"svc/http/api"
	"svc/http/gateway"
	"svc/streams/cleanup"
)

// Routes is the table that the node serves.
func (n *Node) Routes() []gateway.Route { return api.Routes(n.handlers()) }

// Resolve replaces references to secrets of a workspace.
func (n *Node) Resolve(ctx context.Context, workspaceID, text string) (string, error) {
	return secrets.Secrets{Values: n.workspaces.secrets}.Resolve(ctx, workspaceID, text)
}

// SetRecordsClock lets the cleanup take another time for now, as far as records of runs
// are concerned.
func (n *Node) SetRecordsClock(now func() time.Time) {
	if l, ok := n.events.cleanup.Data.(cleanup.StoredData); ok {
		l.Recordings.Now = now
	}
}

// ChecksOfNow returns what runs the tests of a workspace with the content that it has now, whatever is saved before it is
// called.
func (n *Node) ChecksOfNow(workspaceID string) func(context.Context) (failed []string, err error) {
	seq := n.store.Log.Known().State
	return func(ctx context.Context) ([]string, error) { return n.runChecks(ctx, workspaceID, seq) }
}

// SetCleanupClock lets the cleanup take another time for now.
func (n *Node) SetCleanupClock(now func() time.Time) { n.events.cleanup.Now = now }

// Operations runs the operations of this node.
func (n *Node) Operations() *operations.Runner { return n.workspaces.operations }

// SessionToken is a token of a session, as automations call the platform with it.
func (n *Node) SessionToken(ctx context.Context, a signing.Acting, ttl time.Duration) (string, error) {
	return n.identity.keys.SessionToken(ctx, a, ttl)
}
