package bulk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
)

// running is a run on its way.
type running struct {
	*Runs
	op    *operations.Run
	bulk  operation.Bulk      // its plan, and what was done before
	after map[string][]string // by slug: the slugs that it waits for
	made  map[string]string   // by slug: the ids of workspaces that the run makes, as far as it was taken over
}

// lot is what the cancelled rest of a run gets.
func (r *running) lot(p operation.Planned, status string) operation.Finished {
	return operation.Finished{Slug: p.Slug, WorkspaceID: p.WorkspaceID, Name: p.Name, Status: status, Reason: operation.CancelledReason, LeftOut: true}
}

// each does what is left, some at a time, each after those that it waits for. When
// somebody cancels the run nothing new is begun, and the rest gets status left.
func (r *running) each(ctx context.Context, left string, do func(ctx context.Context, p operation.Planned) (operation.Finished, error)) error {
	alive, stop := uncancelled(ctx)
	defer stop()
	todo := slices.DeleteFunc(r.bulk.Runs(), func(p operation.Planned) bool { return r.bulk.Ended(p.Slug) })
	ended := map[string]bool{}
	for _, f := range r.bulk.Done {
		ended[f.Slug] = true
	}
	type result struct {
		slug string
		err  error
	}
	results, busy := make(chan result), 0
	var failed error
	for {
		for failed == nil && ctx.Err() == nil && busy < max(1, r.Concurrency()) {
			at := slices.IndexFunc(todo, func(p operation.Planned) bool { return r.ready(p, ended) })
			if at < 0 {
				break
			}
			p := todo[at]
			todo = slices.Delete(todo, at, at+1)
			busy++
			go func() { results <- result{p.Slug, r.timed(alive, p, do)} }()
		}
		if busy == 0 {
			break
		}
		one := <-results
		busy--
		ended[one.slug] = true
		if failed == nil {
			failed = one.err
		}
	}
	for _, p := range todo {
		if failed == nil && isCancel(ctx) {
			failed = r.leaveOut(alive, p, left, do)
		}
	}
	if failed == nil && ctx.Err() != nil && !isCancel(ctx) {
		failed = operations.ErrUnsettled
	}
	return failed
}

// timed does one workspace, takes the time, and records what became of it.
func (r *running) timed(ctx context.Context, p operation.Planned, do func(context.Context, operation.Planned) (operation.Finished, error)) (err error) {
	defer commands.Recover(func(fell *commands.PanicError) {
		r.op.Log().ErrorContext(ctx, "a workspace of a bulk run fell over", "slug", p.Slug, "err", fell)
		err = r.finish(ctx, refused(p, fell))
	})
	began := time.Now()
	f, err := do(ctx, p)
	if err != nil {
		return err
	}
	f.Duration = (time.Since(began) + time.Millisecond - 1).Milliseconds()
	return r.finish(ctx, f)
}

// leaveOut records that a workspace was left out because somebody stopped the run;
// when it was begun before the run was taken over, what became of it.
func (r *running) leaveOut(ctx context.Context, p operation.Planned, status string, do func(context.Context, operation.Planned) (operation.Finished, error)) error {
	begun, err := r.Operations.Get(ctx, cmp.Or(p.WorkspaceID, r.made[p.Slug]), childID(r.op.ID(), r.place(p.Slug), 0))
	if err == nil && begun.ID != "" {
		return r.timed(ctx, p, do)
	}
	return r.finish(ctx, r.lot(p, status))
}

// attempt does one workspace. What is refused is what became of it; what is not known
// is left to who takes the run over.
func (r *running) attempt(ctx context.Context, p operation.Planned, do func(context.Context, operation.Planned) (operation.Finished, error)) (operation.Finished, error) {
	own := r.seeded(ctx, p.Slug)
	f, err := do(own, p)
	commands.RequestFrom(ctx).Saw(commands.RequestFrom(own).Position())
	switch {
	case err == nil:
		return f, nil
	case ctx.Err() != nil || errors.Is(err, operations.ErrUnsettled):
		return f, operations.ErrUnsettled
	case unexpected(err):
		r.op.Log().ErrorContext(ctx, "a workspace of a bulk run failed", "slug", p.Slug, "err", err)
	}
	return refused(p, err), nil
}

// seeded is a context for the work on one workspace: it draws the same ids when it is
// begun again.
func (r *running) seeded(ctx context.Context, slug string) context.Context {
	return commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta, Seed: r.op.ID() + "/" + slug})
}

// result is that of an operation; a large one is kept apart.
func (r *running) result(ctx context.Context, end operation.State) ([]byte, error) {
	if end.Apart == "" {
		return end.Result, nil
	}
	return r.Versioning.Blobs.Get(ctx, end.Apart)
}

// heeding is a context for who takes an operation over: somebody may have cancelled it.
func heeding(ctx context.Context, op operation.State) context.Context {
	if !op.CancelRequested {
		return ctx
	}
	stopped, stop := context.WithCancelCause(ctx)
	stop(operations.Cancelled())
	return stopped
}

// ready reports whether all that a workspace waits for has ended.
func (r *running) ready(p operation.Planned, ended map[string]bool) bool {
	return !slices.ContainsFunc(r.after[p.Slug], func(slug string) bool { return !ended[slug] })
}

// finish records what became of one workspace, and holds the lock longer.
func (r *running) finish(ctx context.Context, f operation.Finished) error {
	if err := r.op.Tell(ctx, operation.Finish{Epoch: r.op.Epoch(), Finished: f}); err != nil {
		return err
	}
	return r.op.Renew(ctx)
}

// uncancelled ends with ctx, but not because somebody cancels the operation: what was
// begun is waited for then.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	alive, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !isCancel(ctx) {
			end(context.Cause(ctx))
		}
	})
	return alive, func() { stop(); end(nil) }
}

// isCancel reports whether somebody cancelled the operation of ctx.
func isCancel(ctx context.Context) bool {
	refusal, ok := errors.AsType[*domain.Error](context.Cause(ctx))
	return ok && refusal.Details["reason"] == operation.CancelledReason
}

// child is the operation of one workspace of a run: how it ended when it was begun
// before, else the id that it gets. One that was broken off before it changed
// anything is begun anew, and so is one that has to be done again.
func (r *running) child(ctx context.Context, workspaceID string, at int, again func(operation.State) bool) (end operation.State, id string, err error) {
	for try := 0; ; try++ {
		id = childID(r.op.ID(), at, try)
		switch _, err := r.Operations.Get(ctx, workspaceID, id); {
		case domain.CodeOf(err) == domain.CodeNotFound:
			return operation.State{}, id, nil
		case err != nil:
			return end, id, err
		}
		if end, err = r.ended(ctx, workspaceID, id); err != nil || !brokenOff(end) && !again(end) {
			return end, id, err
		}
	}
}

func childID(run string, at, try int) string {
	id := run + "-" + strconv.Itoa(at)
	if try > 0 {
		id += "-" + strconv.Itoa(try)
	}
	return id
}

// place is the place of a workspace in the plan.
func (r *running) place(slug string) int {
	return slices.IndexFunc(r.bulk.Planned, func(p operation.Planned) bool { return p.Slug == slug })
}

// ended waits until an operation has ended: who was at it may be gone.
func (r *running) ended(ctx context.Context, workspaceID, id string) (operation.State, error) {
	if err := r.Operations.Adopt(ctx, workspaceID, id); err != nil {
		return operation.State{}, err
	}
	return r.wait(ctx, r.Operations.Follow(workspaceID, id))
}

// wait waits for the end of an operation.
func (r *running) wait(ctx context.Context, h *operations.Handle) (operation.State, error) {
	end, ended := h.Wait(ctx, long)
	if !ended {
		return end, operations.ErrUnsettled
	}
	return end, nil
}

// long is longer than any operation on one workspace.
const long = 24 * time.Hour

// brokenOff reports whether an operation ended before it changed anything.
func brokenOff(end operation.State) bool {
	return end.Failure != nil && (end.Failure.Details["reason"] == "interrupted" || end.Failure.Details["reason"] == "lock_lost")
}
