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

// BreakOffAll breaks off everything that runs, because the other nodes go on with it or begin it
// again: they have not heard of this one for so long that it is lost for them. Nothing is
// begun before Return.
func (r *Runtime) BreakOffAll() {
	f := r.lifecycle
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process = ""
	f.cancel(ErrAway)
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
}

// Reopen lets trees begin again, as those of another process than before.
func (r *Runtime) Reopen(process string) {
	r.lifecycle.mu.Lock()
	defer r.lifecycle.mu.Unlock()
	r.lifecycle.process = process
}

// CurrentProcess is the process that trees begin in; "" while the node is away.
func (r *Runtime) CurrentProcess() string {
	r.lifecycle.mu.Lock()
	defer r.lifecycle.mu.Unlock()
	return r.lifecycle.process
}

// IsRunning reports whether a tree runs on this node.
func (r *Runtime) IsRunning(workspaceID, correlationID, executionID string) bool {
	r.runs.mu.Lock()
	defer r.runs.mu.Unlock()
	return r.runs.executions[executionKey(workspaceID, correlationID, executionID)] > 0
}

// breakOffIfInDoubt breaks the tree off when it is not known whether something happened, or
// nothing happens here any more: no automation makes good for that, and one that does it
// again does it twice. Every other answer it returns as it is.
func (t *run) breakOffIfInDoubt(a machine.Answer) machine.Answer {
	if errors.Is(a.Err, eventstore.ErrUnavailable) || errors.Is(a.Err, ErrClosing) {
		t.breakOff(a.Err)
	}
	return a
}
