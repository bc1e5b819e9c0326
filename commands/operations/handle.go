package operations

import (
	"context"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
)

// Handle is an operation that somebody waits for.
type Handle struct {
	runner      *Runner
	workspaceID string
	id          string
	run         *Run // nil: it runs elsewhere, or has ended
}

// Follow is the handle of an operation that was started before.
func (r *Runner) Follow(workspaceID, id string) *Handle {
	return &Handle{runner: r, workspaceID: workspaceID, id: id, run: r.find(id)}
}

// ID is the id of the operation.
func (h *Handle) ID() string { return h.id }

// poll is how often the log is asked about an operation that runs elsewhere.
const poll = 250 * time.Millisecond

// Wait waits until the operation has ended, for d at most. The request of ctx has
// then written what the operation has.
func (h *Handle) Wait(ctx context.Context, d time.Duration) (end operation.State, ended bool) {
	limit := time.NewTimer(d)
	defer limit.Stop()
	if h.run != nil {
		select {
		case <-h.run.done:
		case <-limit.C:
			return end, false
		case <-ctx.Done():
			return end, false
		}
		commands.RequestFrom(ctx).Saw(h.run.request.Position())
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		now, err := commands.Current(ctx, h.runner.Engine, operation.Decider, operation.Stream(h.workspaceID, h.id))
		if err == nil && now.State.Status.Ended() {
			commands.RequestFrom(ctx).Saw(domain.At(domain.State, now.Seq))
			return now.State, true
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return now.State, false
		case <-ctx.Done():
			return now.State, false
		}
	}
}
