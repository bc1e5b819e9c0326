package operations_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// recovered settles an operation by telling what is known of it.
func recovered(_ context.Context, run *operations.Run, op operation.State) (any, error) {
	return map[string]any{"steps": len(op.Done), "epoch": run.Epoch(), "locked": run.LockSeq() > 0}, nil
}

// A node that hears nothing of its lease any more loses its operation to another
// one. Whatever it does after that counts for nothing.
func TestARunnerThatVanishedIsTakenOverAndFenced(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	lost, heir := h.start(t), h.start(t)
	heir.RegisterSettler(operation.Push, recovered)
	begun, back, late := make(chan struct{}), make(chan struct{}), make(chan error, 3)
	started, err := lost.Start(as(t, "u1", ""), h.spec(), func(ctx context.Context, run *operations.Run) (any, error) {
		require.NoError(t, run.Step(ctx, operation.Checkout, "Checking out", nothing))
		close(begun)
		<-back // whatever happens: the process was suspended
		ctx = context.WithoutCancel(ctx)
		_, err := lost.Workspaces.Execute(ctx, h.id, workspace.Mark{Epoch: run.Epoch(), RepositoryID: "origin", Commit: "c0ffee"})
		late <- err
		late <- run.Step(ctx, operation.PushStep, "Pushing", nothing)
		late <- run.Commit(ctx)
		return "mine", nil
	})
	require.NoError(t, err)
	<-begun
	lost.bucket.down.Store(true)
	require.NoError(t, heir.Adopt(t.Context(), h.id, started.ID()))

	op, err := heir.Get(t.Context(), h.id, started.ID())
	require.NoError(t, err)
	require.Equal(t, operation.Succeeded, op.Status)
	require.Equal(t, 1, op.Resumed)
	require.Equal(t, map[string]any{"steps": 1.0, "epoch": 2.0, "locked": true}, fields(t, op.Result))
	require.Equal(t, []string{"workspaces.created", "locked push_in_progress", "locked push_in_progress", "unlocked recovered"}, h.eventNames(t, workspace.Stream(h.id)))

	close(back)
	for range 3 {
		refusal, ok := errors.AsType[*domain.Error](<-late)
		require.True(t, ok)
		require.Contains(t, []any{"lock_lost", "already_ended"}, refusal.Details["reason"])
	}
	end := ended(t, started)
	require.Equal(t, op.Result, end.Result, "what the heir recorded stays")
	last, err := h.store.Log.Load(t.Context(), operation.Stream(h.id, started.ID()), 0)
	require.NoError(t, err)
	require.Equal(t, "u1", last[len(last)-1].Meta.UserID, "in the name of who started it")
}

// leftOver is an operation whose runner stopped without knowing what came of it.
func leftOver(t *testing.T, h *fixture, n *node) (id string) {
	t.Helper()
	begun := make(chan struct{})
	started, err := n.Start(as(t, "u1", ""), h.spec(), func(ctx context.Context, _ *operations.Run) (any, error) {
		close(begun)
		<-ctx.Done()
		return nil, operations.ErrUnsettled
	})
	require.NoError(t, err)
	<-begun
	n.stop(t)
	_, over := started.Wait(t.Context(), 0)
	require.False(t, over)
	require.Equal(t, started.ID(), h.lock(t).Operation.ID, "its lock is left behind")
	return started.ID()
}

func TestHowAnOperationIsSettled(t *testing.T) {
	t.Parallel()
	refuse := domain.Refuse(domain.CodePermissionDenied, "no").Reason("remote_refused")
	for name, tt := range map[string]struct {
		settle operations.Settler
		status operation.Status
		reason string
	}{
		"it was done": {recovered, operation.Succeeded, ""},
		"nothing had happened": {func(context.Context, *operations.Run, operation.State) (any, error) {
			return nil, operations.ErrInterrupted
		}, operation.Failed, "interrupted"},
		"nobody knows how": {nil, operation.Failed, "interrupted"},
		"it was refused":   {func(context.Context, *operations.Run, operation.State) (any, error) { return nil, refuse }, operation.Failed, "remote_refused"},
		"the settler does not know": {func(context.Context, *operations.Run, operation.State) (any, error) {
			return nil, operations.ErrUnsettled
		}, operation.Failed, "outcome_unknown"},
		"the settler itself panics": {func(context.Context, *operations.Run, operation.State) (any, error) { panic("oh no") }, operation.Failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			id := leftOver(t, h, h.start(t))
			n := h.start(t)
			if tt.settle != nil {
				n.RegisterSettler(operation.Push, tt.settle)
			}
			require.NoError(t, n.Adopt(t.Context(), h.id, id))
			op, err := n.Get(t.Context(), h.id, id)
			require.NoError(t, err)
			require.Equal(t, tt.status, op.Status)
			require.Equal(t, tt.reason, reason(op.Failure))
			require.Nil(t, h.lock(t))
			told := h.eventNames(t, workspace.Stream(h.id))
			require.Equal(t, "unlocked recovered", told[len(told)-1])
			require.NoError(t, n.Adopt(t.Context(), h.id, id), "there is nothing left to do")
			require.Len(t, h.eventNames(t, workspace.Stream(h.id)), len(told))
		})
	}
}

// Somebody cleared the lock of an operation whose node is gone, and another one
// has it now: the operation ends, the lock stays.
func TestALockOfSomebodyElseStays(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	id := leftOver(t, h, h.start(t))
	ws := h.workspaces(t)
	_, err := ws.Unlock(t.Context(), h.id)
	require.NoError(t, err)
	_, err = ws.Lock(t.Context(), h.id, "by hand")
	require.NoError(t, err)
	n := h.start(t)
	n.RegisterSettler(operation.Push, recovered)
	require.NoError(t, n.Adopt(t.Context(), h.id, id))
	op, err := n.Get(t.Context(), h.id, id)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"steps": 0.0, "epoch": 1.0, "locked": false}, fields(t, op.Result))
	require.Equal(t, "by hand", h.lock(t).Reason)
}

// A node may die between locking and recording the operation, or between
// recording its end and unlocking.
func TestALockThatWasLeftBehindIsReleased(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n, ws := h.start(t), h.workspaces(t)
	take := func(id string) uint64 {
		locked, err := ws.Execute(t.Context(), h.id, workspace.AcquireLock{
			Reason: workspace.PullInProgress, Now: ws.Now(), Timeout: ws.LockFor(), Operation: &workspace.Operation{ID: id, Kind: operation.Pull},
		})
		require.NoError(t, err)
		return locked.State.Lock.Epoch
	}
	take("op_unknown")
	require.NoError(t, n.Adopt(t.Context(), h.id, "op_unknown"))
	require.Nil(t, h.lock(t))

	epoch := take("op_ended")
	for _, cmd := range []operation.Command{
		operation.Start{About: operation.About{ID: "op_ended", Kind: operation.Pull, WorkspaceID: h.id, Epoch: epoch}},
		operation.End{Epoch: epoch, Now: ws.Now(), Status: operation.Succeeded},
	} {
		_, err := commands.Execute(t.Context(), ws.Engine, operation.Decider, operation.Stream(h.id, "op_ended"), cmd)
		require.NoError(t, err)
	}
	require.NoError(t, n.Adopt(t.Context(), h.id, "op_ended"))
	require.Nil(t, h.lock(t))
	require.Len(t, h.eventNames(t, operation.Stream(h.id, "op_ended")), 2, "it stays as it ended")
}

// A request that was broken off after it had locked, and is repeated when the
// lock was released, locks again.
func TestARepeatedRequestLocksAnew(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	seeded := commands.WithRequest(t.Context(), &commands.Request{Seed: "key/operation"})
	id := "op_" + commands.NewID(as(t, "u1", "key"), 20)
	ws := h.workspaces(t)
	_, err := ws.Execute(seeded, h.id, workspace.AcquireLock{
		Reason: workspace.PushInProgress, By: "u1", Now: ws.Now(), Timeout: ws.LockFor(), Operation: &workspace.Operation{ID: id, Kind: operation.Push},
	})
	require.NoError(t, err)
	n := h.start(t)
	require.NoError(t, n.Adopt(t.Context(), h.id, id))
	started, err := n.Start(as(t, "u1", "key"), h.spec(), func(ctx context.Context, run *operations.Run) (any, error) { return nil, run.Commit(ctx) })
	require.NoError(t, err)
	require.Equal(t, id, started.ID())
	end := ended(t, started)
	require.Equal(t, operation.Succeeded, end.Status)
	require.Equal(t, uint64(2), end.Epoch)
}

// After a crash, who goes on with a bulk run starts its operations again, also one that was about to begin, while its lock is
// being taken over.
func TestAnOperationThatHadNotBegunIsStartedWhenItsLockWasTakenOver(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n, holder, ws := h.start(t), h.start(t), h.workspaces(t)
	id := "op_" + commands.NewID(as(t, "u1", "key"), 20)
	_, err := ws.Execute(t.Context(), h.id, workspace.AcquireLock{
		Reason: workspace.PushInProgress, By: "u1", Now: ws.Now(), Timeout: ws.LockFor(), Operation: &workspace.Operation{ID: id, Kind: operation.Push},
	})
	require.NoError(t, err)
	held, free, adopted := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_ = holder.Leases.Hold(t.Context(), "operation/"+id, func(context.Context) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	go func() { adopted <- n.Adopt(t.Context(), h.id, id) }()
	require.Eventually(t, func() bool { return n.Runs(id) }, patience, 1e6)

	impatient, giveUp := context.WithCancel(as(t, "u1", "key"))
	giveUp()
	_, err = n.Start(impatient, h.spec(), nil)
	require.ErrorIs(t, err, context.Canceled)
	started := make(chan *operations.Handle, 1)
	go func() {
		handle, err := n.Start(as(t, "u1", "key"), h.spec(), func(ctx context.Context, run *operations.Run) (any, error) { return nil, run.Commit(ctx) })
		assert.NoError(t, err)
		started <- handle
	}()
	close(free)
	require.NoError(t, <-adopted)
	handle := <-started
	require.Equal(t, id, handle.ID())
	require.Equal(t, operation.Succeeded, ended(t, handle).Status)
	require.Nil(t, h.lock(t))
	require.Equal(t, []string{"workspaces.created", "locked push_in_progress", "unlocked recovered", "locked push_in_progress", "unlocked completed"}, h.eventNames(t, workspace.Stream(h.id)))
}

func TestAStopBreaksOff(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n, other := h.start(t), h.start(t)
	begun := make(chan struct{})
	started, err := n.Start(t.Context(), h.spec(), untilStopped(begun))
	require.NoError(t, err)
	<-begun
	waiting := make(chan error, 1)
	go func() { waiting <- other.Adopt(context.WithoutCancel(t.Context()), h.id, started.ID()) }()
	require.Eventually(t, func() bool { return other.Runs(started.ID()) }, patience, 1e6)
	other.stop(t)
	require.Error(t, <-waiting, "who waits to take over gives up")

	n.stop(t)
	end := ended(t, started)
	require.Equal(t, domain.CodeUnavailable, end.Failure.Code)
	require.Equal(t, "interrupted", reason(end.Failure))
	require.Zero(t, end.Resumed)
	require.Nil(t, h.lock(t))
	_, err = n.Start(t.Context(), h.spec(), nil)
	_, later := errors.AsType[*commands.Unavailable](err)
	require.True(t, later, "a node that stops starts nothing")
}
