package node

import (
	"context"

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
