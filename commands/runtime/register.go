package runtime

import (
	"sync"
	"time"

	"svc/domain/automation"
)

// runRegistry holds the trees that run on this node.
type runRegistry struct {
	mu            sync.Mutex
	byCorrelation map[string]map[*run]bool // by workspace and correlation id
	executions    map[string]int           // how many there are, by that and first execution
}

func correlationKey(workspaceID, correlationID string) string {
	return workspaceID + "\x00" + correlationID
}

func executionKey(workspaceID, correlationID, executionID string) string {
	return correlationKey(workspaceID, correlationID) + "\x00" + executionID
}

// add notes a tree, and returns what forgets it.
func (g *runRegistry) add(t *run) (remove func()) {
	key := correlationKey(t.workspaceID(), t.start.CorrelationID)
	first := executionKey(t.workspaceID(), t.start.CorrelationID, t.id)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byCorrelation == nil {
		g.byCorrelation, g.executions = map[string]map[*run]bool{}, map[string]int{}
	}
	if g.byCorrelation[key] == nil {
		g.byCorrelation[key] = map[*run]bool{}
	}
	g.byCorrelation[key][t] = true
	g.executions[first]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if delete(g.byCorrelation[key], t); len(g.byCorrelation[key]) == 0 {
			delete(g.byCorrelation, key)
		}
		if g.executions[first]--; g.executions[first] == 0 {
			delete(g.executions, first)
		}
	}
}

func cancelledError() *automation.Error {
	return automation.Raise(automation.ExecutionCancelled, "the run was cancelled")
}

// checkCancelled cancels a tree that was begun before, when its run was cancelled since
// then: nobody could hear of that while no node ran it.
func (t *run) checkCancelled(began time.Time) error {
	if t.rt.Cancelled == nil {
		return nil
	}
	cancelled, err := t.rt.Cancelled(t.ctx, t.workspaceID(), t.start.CorrelationID, began)
	if err != nil || !cancelled {
		return err
	}
	select {
	case t.cancelRequests <- cancelledError():
	default: // it was cancelled meanwhile
	}
	t.cancelStart(cancelledError())
	return nil
}

// Cancel ends the trees of a run that are on this node, and returns how many there
// were.
func (r *Runtime) Cancel(workspaceID, correlationID string) (cancelled int) {
	return r.runs.cancel(workspaceID, correlationID, func(*run) bool { return true })
}

// cancel ends those trees of a run that are meant.
func (g *runRegistry) cancel(workspaceID, correlationID string, meant func(*run) bool) (cancelled int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for t := range g.byCorrelation[correlationKey(workspaceID, correlationID)] {
		if !meant(t) {
			continue
		}
		err := cancelledError()
		select {
		case t.cancelRequests <- err:
			cancelled++
			t.cancelStart(err)
		default: // it was cancelled already
		}
	}
	return cancelled
}
