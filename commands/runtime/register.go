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
	held map[string]int            // how many there are, by that and first execution
}

func runKey(workspaceID, correlationID string) string { return workspaceID + "\x00" + correlationID }

func heldKey(workspaceID, correlationID, executionID string) string {
	return runKey(workspaceID, correlationID) + "\x00" + executionID
}

// add notes a tree, and returns what forgets it.
func (g *register) add(t *tree) (remove func()) {
	key := runKey(t.workspaceID(), t.start.CorrelationID)
	first := heldKey(t.workspaceID(), t.start.CorrelationID, t.id)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs == nil {
		g.runs, g.held = map[string]map[*tree]bool{}, map[string]int{}
	}
	if g.runs[key] == nil {
		g.runs[key] = map[*tree]bool{}
	}
	g.runs[key][t] = true
	g.held[first]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if delete(g.runs[key], t); len(g.runs[key]) == 0 {
			delete(g.runs, key)
		}
		if g.held[first]--; g.held[first] == 0 {
			delete(g.held, first)
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
	return r.trees.cancel(workspaceID, correlationID, func(*tree) bool { return true })
}

// cancel ends those trees of a run that are meant.
func (g *register) cancel(workspaceID, correlationID string, meant func(*tree) bool) (cancelled int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for t := range g.runs[runKey(workspaceID, correlationID)] {
		if !meant(t) {
			continue
		}
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
