package runtime

import (
	"context"
	"errors"
	"fmt"

	"svc/domain/automation/machine"
	"svc/eventstore"
)

// ErrAway says that the other nodes take this one for lost: nothing is begun before it is
// back.
var ErrAway = fmt.Errorf("%w: the other nodes take this one for lost", eventstore.ErrUnavailable)

// Leave breaks off everything that runs, because the other nodes go on with it or begin it
// again: they have not heard of this one for so long that it is lost for them. Nothing is
// begun before Return.
func (r *Runtime) Leave() {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process = ""
	f.sink(ErrAway)
	f.ctx, f.sink = context.WithCancelCause(context.Background())
}

// Return lets trees begin again, as those of another process than before.
func (r *Runtime) Return(process string) {
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	r.fleet.process = process
}

// Current is the process that trees begin in; "" while the node is away.
func (r *Runtime) Current() string {
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	return r.fleet.process
}

// Holds reports whether a tree runs on this node.
func (r *Runtime) Holds(workspaceID, correlationID, executionID string) bool {
	r.trees.mu.Lock()
	defer r.trees.mu.Unlock()
	return r.trees.held[heldKey(workspaceID, correlationID, executionID)] > 0
}

// unlessInDoubt breaks the tree off when it is not known whether something happened, or
// nothing happens here any more: no automation makes good for that, and one that does it
// again does it twice. Every other answer it returns as it is.
func (t *tree) unlessInDoubt(a machine.Answer) machine.Answer {
	if errors.Is(a.Err, eventstore.ErrUnavailable) || errors.Is(a.Err, ErrClosing) {
		t.breakOff(a.Err)
	}
	return a
}
