package projections_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
)

func TestOperationsAreFoldedListedAndFoundWhileTheyRun(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Workspaces{}, projections.Operations{})
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	last := map[domain.StreamID]uint64{}
	record := func(id domain.StreamID, events ...domain.Event) (r eventstore.Receipt) {
		for _, ev := range events {
			r = add(t, h.log.Log, id, last[id], ev)
			last[id] = r.Position.State
		}
		require.NoError(t, h.Reach(bounded(t), r.Position))
		return r
	}
	begin := func(workspaceID, id, kind string) operation.Started {
		return operation.Started{About: operation.About{ID: id, Kind: kind, WorkspaceID: workspaceID, Epoch: 1, Steps: 2, CreatedBy: "u1", CreatedAt: now}}
	}
	first, second, other := operation.Stream("w1", "op_1"), operation.Stream("w1", "op_2"), operation.Stream("w2", "op_3")
	record(first, begin("w1", "op_1", operation.Push), operation.Progress{OperationID: "op_1", Step: operation.Checkout, State: operation.StepStarted, StartedAt: now})
	record(second, begin("w1", "op_2", operation.Pull))
	record(other, begin("w2", "op_3", operation.Import), operation.CancelRequested{ID: "op_3", By: "u2"})
	record(first, operation.Ended{ID: "op_1", Status: operation.Succeeded, Result: json.RawMessage(`{"name":"v1"}`), EndedAt: now})
	record(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "Shop")})
	until := now.Add(time.Hour)
	record(workspace.Stream("w1"), workspace.Locked{
		Reason: workspace.PullInProgress, Epoch: 1, LockedAt: now, ExpiresAt: &until, Operation: &workspace.Operation{ID: "op_2", Kind: operation.Pull},
	})
	record(workspace.Stream("w3"), workspace.Created{Workspace: snapshot("w3", "By hand")}, workspace.Locked{Reason: "by hand", Epoch: 1, LockedAt: now, ExpiresAt: &until})

	require.NoError(t, h.View(func(r projections.Reader) error {
		ops := projections.Operations{}
		op, ok, err := ops.Get(r, "op_1")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, operation.Succeeded, op.Status)
		require.JSONEq(t, `{"name":"v1"}`, string(op.Result))
		require.Equal(t, operation.Checkout, op.Done[0].Step)
		_, ok, err = ops.Get(r, "op_9")
		require.NoError(t, err)
		require.False(t, ok)

		var ids []string
		require.NoError(t, ops.List(r, "w1", func(op operation.State) bool { ids = append(ids, op.ID); return true }))
		require.Equal(t, []string{"op_2", "op_1"}, ids, "the newest first, whatever happened last")
		running, err := ops.Running(r)
		require.NoError(t, err)
		require.Equal(t, []projections.OperationRef{{WorkspaceID: "w1", ID: "op_2"}, {WorkspaceID: "w2", ID: "op_3"}}, running)
		locking, err := projections.Workspaces{}.Operated(r)
		require.NoError(t, err)
		require.Equal(t, []projections.OperationRef{{WorkspaceID: "w1", ID: "op_2"}}, locking)
		return nil
	}))
}
