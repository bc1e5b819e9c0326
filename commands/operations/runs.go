package operations

import (
	"context"
	"fmt"
	"time"

	"svc/commands"
	"svc/domain/operation"
)

// Close stops what runs here, and waits until it has ended, or ctx does.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	for _, run := range r.runs {
		run.stop(errStopping)
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.working.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.runs) > 0 {
			return fmt.Errorf("%d operations were still running: %w", len(r.runs), context.Cause(ctx))
		}
	}
	return nil
}

// Runs reports whether this node is at an operation, or waits to take it over.
func (r *Runner) Runs(id string) bool { return r.find(id) != nil }

func (r *Runner) find(id string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id]
}

// enter notes a run; entered is false when there is one already.
func (r *Runner) enter(base context.Context, about operation.About) (run *Run, entered bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false, commands.Refused(errStopping)
	}
	if known := r.runs[about.ID]; known != nil {
		return known, false, nil
	}
	if r.runs == nil {
		r.runs = map[string]*Run{}
	}
	run = &Run{runner: r, about: about, base: base, request: commands.RequestFrom(base), done: make(chan struct{})}
	r.runs[about.ID] = run
	r.working.Add(1)
	return run, true, nil
}

func (r *Runner) leave(run *Run) {
	r.mu.Lock()
	delete(r.runs, run.about.ID)
	r.mu.Unlock()
	close(run.done)
	r.working.Done()
}

// now is the time on the log's clock, as answers tell it.
func (r *Runner) now() time.Time { return r.Workspaces.Now().UTC().Truncate(time.Millisecond) }
