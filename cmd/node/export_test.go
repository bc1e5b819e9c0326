package node

import (
	"context"
	"time"

	"svc/http/api"
	"svc/http/gateway"
)

// Routes is the table that the node serves.
func (n *Node) Routes() []gateway.Route { return api.Routes(n.deps()) }

// HasBlob reports whether a content is kept.
func (n *Node) HasBlob(ctx context.Context, name string) bool {
	_, err := n.store.GetBlob(ctx, name)
	return err == nil
}

// Resolve replaces references to secrets of a workspace.
func (n *Node) Resolve(ctx context.Context, workspaceID, text string) (string, error) {
	return n.secrets().Resolve(ctx, workspaceID, text)
}

// SetRecordsClock lets the cleanup take another time for now, as far as records of runs
// are concerned.
func (n *Node) SetRecordsClock(now func() time.Time) {
	if l, ok := n.cleanup.Apart.(erasing); ok {
		l.records.Now = now
	}
}

// ForgetLife forgets the last sign of life of this node, as happens to one that was
// suspended.
func (n *Node) ForgetLife(ctx context.Context) error {
	return n.running.alive.Delete(ctx, n.running.runtime.Current())
}
