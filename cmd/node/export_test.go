package node

import (
	"context"
	"time"

	"svc/http/api"
	"svc/http/gateway"
)

// Routes is the table that the node serves.
func (n *Node) Routes() []gateway.Route { return api.Routes(n.deps()) }

// Resolve replaces references to secrets of a workspace.
func (n *Node) Resolve(ctx context.Context, workspaceID, text string) (string, error) {
	return n.secrets().Resolve(ctx, workspaceID, text)
}

// SetRecordsClock lets the cleanup take another time for now, as far as records of runs
// are concerned.
func (n *Node) SetRecordsClock(now func() time.Time) {
	if l, ok := n.cleanup.Data.(erasing); ok {
		l.records.Now = now
	}
}

// SetCleanupClock lets the cleanup take another time for now.
func (n *Node) SetCleanupClock(now func() time.Time) { n.cleanup.Now = now }
