package operations_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// nothing is a step that is done at once.
func nothing(context.Context) error { return nil }

func TestAnOperationLocksStepsEndsAndUnlocks(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n := h.start(t)
	ctx := as(t, "u1", "")
	var lockSeq uint64
	started, err := n.Start(ctx, h.spec(), func(ctx context.Context, run *operations.Run) (any, error) {
		lockSeq = run.LockSeq()
		require.Equal(t, "u1", commands.RequestFrom(ctx).Meta.UserID)
		require.NoError(t, run.Step(ctx, operation.Checkout, "Checking out", nothing))
		require.NoError(t, run.Commit(ctx))
		return map[string]string{"id": run.ID(), "workspace": run.WorkspaceID()}, run.Step(ctx, operation.PushStep, "Pushing", nothing)
	})
	require.NoError(t, err)
	require.Regexp(t, `^op_\w{20}$`, started.ID())
	require.NotZero(t, commands.RequestFrom(ctx).Position().State, "the request has written")

	end := ended(t, started)
	require.Equal(t, operation.Succeeded, end.Status)
	require.Equal(t, map[string]any{"id": started.ID(), "workspace": h.id}, fields(t, end.Result))
	require.Equal(t, "u1", end.CreatedBy)
	require.Equal(t, "c1", end.CorrelationID)
	require.JSONEq(t, `{"name":"v1"}`, string(end.Request))
	require.Positive(t, end.Done[0].Duration)
	require.Nil(t, h.lock(t), "who waited meets no lock")
	require.Equal(t, []string{"workspaces.created", "locked push_in_progress", "unlocked completed"}, h.eventNames(t, workspace.Stream(h.id)))
	require.Equal(t, []string{
		"workspaces.operations.started", "checkout started", "checkout done", "push started", "push done", "ended succeeded",
	}, h.eventNames(t, operation.Stream(h.id, started.ID())))
	locked, ok, err := h.store.Log.Read(t.Context(), domain.State, lockSeq)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, end.Epoch, locked.Data.(workspace.Locked).Epoch)
	require.False(t, n.Runs(started.ID()))
}

func TestALargeResultIsKeptApart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	large := strings.Repeat("x", 300<<10)
	started, err := h.start(t).Start(t.Context(), h.spec(), func(context.Context, *operations.Run) (any, error) { return large, nil })
	require.NoError(t, err)
	end := ended(t, started)
	require.Empty(t, end.Result)
	kept, err := h.store.Blobs.Get(t.Context(), end.Apart)
	require.NoError(t, err)
	require.Equal(t, `"`+large+`"`, string(kept))
}

// What a work returns is how its operation ends; whatever that is, the lock goes.
func TestHowAnOperationFails(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	step := func(fail error) operations.Work {
		return func(ctx context.Context, run *operations.Run) (any, error) {
			return nil, run.Step(ctx, operation.Merge, "Merging", func(context.Context) error { return fail })
		}
	}
	conflict := func(ctx context.Context, run *operations.Run) (any, error) {
		_, err := h.workspaces(t).Execute(ctx, h.id, workspace.Conflict{Epoch: run.Epoch(), Conflicted: workspace.Conflicted{RepositoryID: "origin", By: "u1"}})
		require.NoError(t, err)
		return nil, domain.Refuse(domain.CodeConflict, "both sides changed").Reason("merge_conflict")
	}
	cleared := func(ctx context.Context, run *operations.Run) (any, error) {
		_, err := h.workspaces(t).Unlock(ctx, h.id)
		require.NoError(t, err)
		return nil, run.Commit(ctx)
	}
	for _, tt := range []struct {
		name, code, reason string
		work               operations.Work
		status             operation.Status
		step, log          string
	}{
		{"a refusal", "resource_not_found", "remote_empty", step(domain.Refuse(domain.CodeNotFound, "nothing there").Reason("remote_empty")), operation.Failed, "merge", ""},
		{"a fault", "internal_error", "", step(errors.New("EIO at block 7")), operation.Failed, "merge", "EIO at block 7"},
		{"a log that is closed", "service_unavailable", "", step(commands.Refused(errors.New("disk low"))), operation.Failed, "merge", "disk low"},
		{"a panic", "internal_error", "", func(context.Context, *operations.Run) (any, error) { panic("oh no") }, operation.Failed, "", "oh no"},
		{"not known what became of it", "service_unavailable", "outcome_unknown", step(operations.ErrUnsettled), operation.Failed, "merge", ""},
		{"the lock was cleared", "resource_conflict", "lock_lost", cleared, operation.Failed, "", ""},
		{"a conflict", "resource_conflict", "merge_conflict", conflict, operation.Conflict, "", ""},
	} {
		n := h.start(t)
		started, err := n.Start(t.Context(), h.spec(), tt.work)
		require.NoError(t, err, tt.name)
		end := ended(t, started)
		require.Equal(t, tt.status, end.Status, tt.name)
		require.Equal(t, domain.Code(tt.code), end.Failure.Code, tt.name)
		require.Equal(t, tt.reason, reason(end.Failure), tt.name)
		require.NotContains(t, end.Failure.Message, "EIO", "no internals")
		require.Contains(t, n.log.String(), tt.log, tt.name)
		told := h.eventNames(t, operation.Stream(h.id, started.ID()))
		require.Equal(t, []string{"error failed", "ended " + string(tt.status)}, told[len(told)-2:], tt.name)
		last, err := h.store.Log.Load(t.Context(), operation.Stream(h.id, started.ID()), 0)
		require.NoError(t, err)
		require.Equal(t, tt.step, last[len(last)-2].Data.(operation.Progress).FailedStep, tt.name)
		if tt.status != operation.Conflict {
			require.Nil(t, h.lock(t), tt.name)
		}
	}
	require.Equal(t, workspace.MergeConflict, h.lock(t).Reason, "a conflict keeps its lock")
}

func TestALockedWorkspaceIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, err := h.workspaces(t).Lock(t.Context(), h.id, "by hand")
	require.NoError(t, err)
	n := h.start(t)
	_, err = n.Start(t.Context(), h.spec(), nil)
	require.Equal(t, domain.CodeLocked, domain.CodeOf(err))
	require.Equal(t, []string{"workspaces.created", "locked by hand"}, h.eventNames(t, workspace.Stream(h.id)))
	unknown := h.spec()
	unknown.WorkspaceID = "nowhere"
	_, err = n.Start(t.Context(), unknown, nil)
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
}

// untilStopped waits in a step until the run is stopped.
func untilStopped(begun chan<- struct{}) operations.Work {
	return func(ctx context.Context, run *operations.Run) (any, error) {
		return nil, run.Step(ctx, operation.PullStep, "Pulling", func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			return domain.Refuse(domain.CodeGatewayTimeout, "the remote fell silent").Reason("remote_timeout")
		})
	}
}

func TestAnOperationIsCancelled(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	here, there := h.start(t), h.start(t)
	for name, from := range map[string]*node{"on its own node": here, "on another node": there} {
		begun := make(chan struct{})
		started, err := here.Start(t.Context(), h.spec(), untilStopped(begun))
		require.NoError(t, err)
		<-begun
		_, over := started.Wait(t.Context(), 0)
		require.False(t, over, name)
		asked, err := from.Cancel(as(t, "u2", ""), h.id, started.ID())
		require.NoError(t, err)
		require.True(t, asked.CancelRequested)
		end := ended(t, started)
		require.Equal(t, operation.Cancelled, end.Status, name)
		require.Equal(t, "cancelled", reason(end.Failure), "not what the work met on its way out")
		require.Nil(t, h.lock(t))
		_, err = from.Cancel(t.Context(), h.id, started.ID())
		require.Equal(t, domain.CodeConflict, domain.CodeOf(err), "once it has ended it is too late")
	}
	_, err := here.Cancel(t.Context(), h.id, "op_unknown")
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
}

// A cancel that comes between two steps is met by the next one, or by Commit;
// after Commit it is too late.
func TestTheNextStepMeetsACancel(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n := h.start(t)
	n.PollInterval = time.Hour
	there := h.start(t)
	cancelled := func(ctx context.Context, run *operations.Run) {
		_, err := there.Cancel(context.WithoutCancel(ctx), h.id, run.ID())
		require.NoError(t, err)
	}
	for _, tt := range []struct {
		name   string
		work   operations.Work
		status operation.Status
	}{
		{"a step", func(ctx context.Context, run *operations.Run) (any, error) {
			cancelled(ctx, run)
			return nil, run.Step(ctx, operation.Write, "Writing", func(context.Context) error { panic("it must not begin") })
		}, operation.Cancelled},
		{"the point of no return", func(ctx context.Context, run *operations.Run) (any, error) {
			cancelled(ctx, run)
			return nil, run.Commit(ctx)
		}, operation.Cancelled},
		{"nothing", func(ctx context.Context, run *operations.Run) (any, error) {
			require.NoError(t, run.Commit(ctx))
			cancelled(ctx, run)
			_, err := n.Cancel(context.WithoutCancel(ctx), h.id, run.ID())
			require.NoError(t, err)
			require.NoError(t, ctx.Err())
			return "done", run.Step(ctx, operation.Write, "Writing", nothing)
		}, operation.Succeeded},
	} {
		started, err := n.Start(t.Context(), h.spec(), tt.work)
		require.NoError(t, err)
		require.Equal(t, tt.status, ended(t, started).Status, tt.name)
	}
}

func TestAnOperationThatTakesTooLong(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n := h.start(t)
	n.Timeout = func() time.Duration { return 50 * time.Millisecond }
	started, err := n.Start(t.Context(), h.spec(), func(ctx context.Context, _ *operations.Run) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	require.NoError(t, err)
	end := ended(t, started)
	require.Equal(t, operation.Failed, end.Status)
	require.Equal(t, domain.CodeGatewayTimeout, end.Failure.Code)
	require.Equal(t, "operation_timeout", reason(end.Failure))
	require.Nil(t, h.lock(t))
}

// After the point of no return a work that ran out of time has the word.
func TestTheWorkHasTheWordAfterCommit(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n := h.start(t)
	n.Timeout = func() time.Duration { return 500 * time.Millisecond }
	started, err := n.Start(t.Context(), h.spec(), func(ctx context.Context, run *operations.Run) (any, error) {
		require.NoError(t, run.Commit(ctx))
		<-ctx.Done()
		return nil, domain.Refuse(domain.CodeUnavailable, "nobody knows").Reason("outcome_unknown")
	})
	require.NoError(t, err)
	require.Equal(t, "outcome_unknown", reason(ended(t, started).Failure))
}

func TestTheEndOfTheRequestIsNotThatOfItsOperation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	started, err := h.start(t).Start(ctx, h.spec(), func(ctx context.Context, _ *operations.Run) (any, error) {
		<-gone
		return "done", ctx.Err()
	})
	require.NoError(t, err)
	leave()
	close(gone)
	require.Equal(t, operation.Succeeded, ended(t, started).Status)
}

func TestTheSameKeyIsTheSameOperation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	here, there := h.start(t), h.start(t)
	begun, ready := make(chan struct{}), make(chan struct{})
	first, err := here.Start(as(t, "u1", "key"), h.spec(), func(context.Context, *operations.Run) (any, error) {
		close(begun)
		<-ready
		return "once", nil
	})
	require.NoError(t, err)
	<-begun
	var again []*operations.Handle
	for _, n := range []*node{here, there} {
		same, err := n.Start(as(t, "u1", "key"), h.spec(), nil)
		require.NoError(t, err)
		require.Equal(t, first.ID(), same.ID())
		again = append(again, same)
	}
	close(ready)
	for _, same := range again {
		ctx := as(t, "u1", "")
		end, ok := same.Wait(ctx, patience)
		require.True(t, ok)
		require.Equal(t, `"once"`, string(end.Result))
		require.NotZero(t, commands.RequestFrom(ctx).Position().State, "who waited has met what it wrote")
	}
	after, err := there.Start(as(t, "u1", "key"), h.spec(), nil)
	require.NoError(t, err)
	require.Equal(t, operation.Succeeded, ended(t, after).Status, "also when it has ended")
	other, err := here.Start(as(t, "u1", "another"), h.spec(), func(context.Context, *operations.Run) (any, error) { return nil, nil })
	require.NoError(t, err)
	require.NotEqual(t, first.ID(), other.ID())
	ended(t, other)
}

func TestARunnerThatRunsNothingEndsWithoutTime(t *testing.T) {
	n := newFixture(t).start(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, n.Close(ended))
}
