package node

import (
	"context"
	"time"

	"svc/projections"
)

// How often states are looked for whose tree is over, and how old trees are then: one that
// is younger may have begun just before.
const (
	parkedEvery = time.Hour
	parkedAge   = 24 * time.Hour
)

// sweepParked forgets where trees stood that are over: the node that ended one may have gone
// before it did that.
func (n *Node) sweepParked(ctx context.Context) error {
	before := time.Now().Add(-parkedAge)
	if err := n.everything(ctx); err != nil {
		return err
	}
	open := map[string]bool{}
	err := n.models.View(func(r projections.Reader) error {
		return projections.Runs{}.Unfinished(r, func(t projections.UnfinishedTree) bool {
			open[t.ExecutionID] = true
			return true
		})
	})
	if err != nil {
		return err
	}
	swept, err := n.running.parked.Sweep(ctx, before, func(treeID string) bool { return open[treeID] })
	if swept > 0 {
		n.log.InfoContext(ctx, "where trees stood that are over was forgotten", "trees", swept)
	}
	return err
}
