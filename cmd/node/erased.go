package node

import (
	"context"
	"time"

	"svc/projections"
)

// erasedBroadcast is where nodes tell each other which workspaces were erased.
const erasedBroadcast = "erased"

// memory is something that this node remembers of workspaces.
type memory struct {
	name   string
	forget func(workspaceID string) error
}

// remembers notes what has to forget a workspace that is erased.
func (n *Node) remembers(name string, forget func(workspaceID string) error) {
	n.memories = append(n.memories, memory{name, forget})
}

// forget forgets a workspace that was erased. What fails is forgotten in time.
func (n *Node) forget(workspaceID string) {
	for _, m := range n.memories {
		if err := m.forget(workspaceID); err != nil {
			n.log.Warn("something of an erased workspace is remembered for a while", "what", m.name, "workspace", workspaceID, "err", err)
		}
	}
}

// erasing erases what is left of workspaces, and tells all nodes. It implements
// cleanup.Data.
type erasing struct {
	leftovers

	node *Node
}

// Erase implements cleanup.Data.
func (e erasing) Erase(ctx context.Context, workspaceID string) error {
	if err := e.leftovers.Erase(ctx, workspaceID); err != nil {
		return err
	}
	e.node.forget(workspaceID)
	return e.node.store.Broadcast(erasedBroadcast).Send([]byte(workspaceID))
}

// evictEvery is how often trees are looked for whose workspace was deleted.
const evictEvery = time.Second

// openEviction ends the trees of workspaces that were deleted, and forgets those that
// were erased, on whichever node.
func (n *Node) openEviction(context.Context) error {
	n.remembers("contexts", func(workspaceID string) error {
		n.running.contexts.Forget(workspaceID)
		return nil
	})
	n.remembers("runs", func(workspaceID string) error {
		n.running.runtime.CancelWorkspace(workspaceID)
		return nil
	})
	stop, err := n.store.Broadcast(erasedBroadcast).Listen(func(body []byte) { n.forget(string(body)) })
	if err != nil {
		return err
	}
	n.closeWith("erasures", func(context.Context) error {
		stop()
		return nil
	})
	n.repeat("runs of deleted workspaces", evictEvery, "runs of deleted workspaces are not ended yet", n.eviction())
	return nil
}

// eviction returns what ends the trees of deleted workspaces. After a change it looks
// twice: a tree that was about to begin at the first time is there at the second.
func (n *Node) eviction() func(context.Context) error {
	var once, twice uint64
	return func(context.Context) error {
		at := n.models.Position().State
		if at == twice {
			return nil
		}
		ended, err := n.running.runtime.CancelDeleted(n.isDeleted)
		if err != nil {
			return err
		}
		if ended > 0 {
			n.log.Info("runs of deleted workspaces were cancelled", "trees", ended)
		}
		if once == at {
			twice = at
		}
		once = at
		return nil
	}
}

// isDeleted reports whether a workspace was deleted.
func (n *Node) isDeleted(workspaceID string) (deleted bool, err error) {
	err = n.models.View(func(r projections.Reader) error {
		rec, found, err := projections.Workspaces{}.Record(r, workspaceID)
		deleted = found && rec.Deleted != nil
		return err
	})
	return deleted, err
}
