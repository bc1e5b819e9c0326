package runtime

import (
	"sync"
	"time"

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

func cancelledError() *automation.Error {
	return automation.Raise(automation.ExecutionCancelled, "the run was cancelled")
}

// lookCancelled cancels a tree that was begun before, when its run was cancelled since
// then: nobody could hear of that while no node ran it.
func (t *tree) lookCancelled(began time.Time) error {
	if t.rt.Cancelled == nil {
		return nil
	}
	cancelled, err := t.rt.Cancelled(t.ctx, t.workspaceID(), t.start.CorrelationID, began)
	if err != nil || !cancelled {
		return err
	}
	select {
	case t.cancelled <- cancelledError():
	default: // it was cancelled meanwhile
	}
	t.interrupt(cancelledError())
	return nil
}

// Cancel ends the trees of a run that are on this node, and returns how many there
// were.
func (r *Runtime) Cancel(workspaceID, correlationID string) (cancelled int) {
	r.trees.mu.Lock()
	defer r.trees.mu.Unlock()
	for t := range r.trees.runs[runKey(workspaceID, correlationID)] {
		err := cancelledError()
		select {
		case t.cancelled <- err:
			cancelled++
			t.interrupt(err)
		default: // it was cancelled already
		}
	}
	return cancelled
}
