package operations

import (
	"context"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Adopt waits until no node runs an operation any more and, unless it has ended,
// settles it. A lock that was left behind is released. It returns at once when
// there is nothing to do, or this node runs it.
func (r *Runner) Adopt(ctx context.Context, workspaceID, id string) error {
	if done, err := r.isSettled(ctx, workspaceID, id); done || err != nil {
		return err
	}
	base := commands.WithRequest(context.WithoutCancel(ctx), &commands.Request{})
	run, entered, err := r.register(base, operation.About{ID: id, WorkspaceID: workspaceID})
	if err != nil || !entered {
		return err
	}
	defer r.unregister(run)
	return r.withLease(ctx, run, func(leaseCtx context.Context) error { return r.takeOver(leaseCtx, run) })
}

// isSettled reports whether an operation has ended, and its lock with it.
func (r *Runner) isSettled(ctx context.Context, workspaceID, id string) (bool, error) {
	op, err := r.Get(ctx, workspaceID, id)
	if err == nil && !op.Status.Ended() {
		return false, nil
	}
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return false, err
	}
	locked, err := r.Workspaces.Get(ctx, workspaceID)
	return err == nil && !isLockOf(locked.State.Lock, id), err
}

// takeOver settles an operation whose node is gone.
func (r *Runner) takeOver(ctx context.Context, run *Run) error {
	op, err := r.Get(ctx, run.about.WorkspaceID, run.about.ID)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	run.tookOver, run.request.Meta = true, domain.Meta{UserID: op.CreatedBy, CorrelationID: op.CorrelationID}
	if err != nil || op.Status.Ended() {
		return r.releaseLeftLock(ctx, run)
	}
	run.about = op.About
	if err := r.takeOverLock(ctx, run); err != nil {
		return err
	}
	_, err = commands.Execute(ctx, r.Engine, operation.Decider, run.stream(), operation.Command(operation.Resume{Epoch: run.about.Epoch}))
	if err != nil {
		return err
	}
	r.log(run).InfoContext(ctx, "took an operation over", "epoch", run.about.Epoch)
	settle := r.settlerOf(op.Kind)
	r.execute(ctx, run, func(ctx context.Context, run *Run) (any, error) { return settle(ctx, run, op) })
	return nil
}

// takeOverLock takes the lock over, so that the node that ran the operation before cannot change the
// workspace any more. When the lock is gone, or of another operation, it cannot either.
func (r *Runner) takeOverLock(ctx context.Context, run *Run) error {
	locked, err := r.Workspaces.Execute(ctx, run.about.WorkspaceID, workspace.TakeOver{
		OperationID: run.about.ID, Now: r.Workspaces.Now(), Timeout: r.Workspaces.LockFor(),
	})
	if code := domain.CodeOf(err); code == domain.CodeConflict || code == domain.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	run.about.Epoch, run.lockSeq = locked.State.Lock.Epoch, locked.Seq
	return nil
}

// releaseLeftLock releases the lock of an operation that has ended, or never began.
func (r *Runner) releaseLeftLock(ctx context.Context, run *Run) error {
	now, err := r.Workspaces.Get(ctx, run.about.WorkspaceID)
	if err == nil && isLockOf(now.State.Lock, run.about.ID) {
		run.about.Epoch = now.State.Lock.Epoch
		r.release(ctx, run, "recovered")
	}
	return err
}

func (r *Runner) settlerOf(kind string) Settler {
	r.mu.Lock()
	defer r.mu.Unlock()
	if settle := r.settlers[kind]; settle != nil {
		return settle
	}
	return func(context.Context, *Run, operation.State) (any, error) { return nil, ErrInterrupted }
}
