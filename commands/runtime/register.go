package runtime

import (
	"sync"

	"svc/domain/automation"
)

// register holds the trees that run on this node.
type register struct {
	mu   sync.Mutex
	runs map[string]map[*tree]bool // by workspace and correlation id
}

func runKey(workspaceID, correlationID string) string { return workspaceID + "\x00" + correlationID }

// add notes a tree, and returns what forgets it.
func (g *register) add(t *tree) (remove func()) {
	key := runKey(t.workspaceID(), t.start.CorrelationID)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs == nil {
		g.runs = map[string]map[*tree]bool{}
	}
	if g.runs[key] == nil {
		g.runs[key] = map[*tree]bool{}
	}
	g.runs[key][t] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if delete(g.runs[key], t); len(g.runs[key]) == 0 {
			delete(g.runs, key)
		}
	}
}

// Cancel ends the trees of a run that are on this node, and returns how many there
// were.
func (r *Runtime) Cancel(workspaceID, correlationID string) (cancelled int) {
	r.trees.mu.Lock()
	defer r.trees.mu.Unlock()
	for t := range r.trees.runs[runKey(workspaceID, correlationID)] {
		select {
		case t.cancelled <- automation.Raise(automation.ExecutionCancelled, "the run was cancelled"):
			cancelled++
		default: // it was cancelled already
		}
	}
	return cancelled
}
