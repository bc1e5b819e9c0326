package operation_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/operation"
)

type scenario = domaintest.Scenario[operation.State, operation.Command]

var at = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func started() operation.Started {
	return operation.Started{About: operation.About{ID: "op_1", Kind: operation.Push, WorkspaceID: "w1", RepositoryID: "origin", Branch: "main", Epoch: 3, Steps: 4}}
}

func progress(step string, state operation.StepState) operation.Progress {
	return operation.Progress{Operation: operation.Push, OperationID: "op_1", RepositoryID: "origin", Branch: "main", Step: step, State: state, StartedAt: at}
}

func TestAnOperationGoesThroughItsSteps(t *testing.T) {
	t.Parallel()
	begun := []domain.Event{started()}
	report := operation.Report{Epoch: 3, Progress: operation.Progress{Step: operation.Checkout, State: operation.StepStarted, StartedAt: at}}
	end := operation.End{Epoch: 3, Now: at, Status: operation.Succeeded, Result: json.RawMessage(`{}`)}
	ended := operation.Ended{ID: "op_1", Kind: operation.Push, Status: operation.Succeeded, Result: json.RawMessage(`{}`), EndedAt: at}
	for name, sc := range map[string]scenario{
		"it starts":                  {When: operation.Start{About: started().About}, Then: begun},
		"it starts once":             {Given: begun, When: operation.Start{About: started().About}},
		"a step of none":             {When: report, Refuse: domain.CodeNotFound},
		"a step":                     {Given: begun, When: report, Then: []domain.Event{progress(operation.Checkout, operation.StepStarted)}},
		"a step of one taken over":   {Given: append(begun, operation.Resumed{ID: "op_1", Epoch: 4}), When: report, Refuse: domain.CodeConflict},
		"it is cancelled":            {Given: begun, When: operation.Cancel{By: "u1"}, Then: []domain.Event{operation.CancelRequested{ID: "op_1", By: "u1"}}},
		"it is cancelled once":       {Given: append(begun, operation.CancelRequested{}), When: operation.Cancel{By: "u1"}},
		"it ends":                    {Given: begun, When: end, Then: []domain.Event{ended}},
		"it ends once":               {Given: append(begun, ended), When: end, Refuse: domain.CodeConflict},
		"it is cancelled after that": {Given: append(begun, ended), When: operation.Cancel{}, Refuse: domain.CodeConflict},
		"it is taken over":           {Given: begun, When: operation.Resume{Epoch: 4}, Then: []domain.Event{operation.Resumed{ID: "op_1", Epoch: 4}}},
		"it is taken over too late":  {Given: append(begun, ended), When: operation.Resume{Epoch: 4}, Refuse: domain.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); sc.Check(t, operation.Decider) })
	}
}

func TestStepsAndPercentage(t *testing.T) {
	t.Parallel()
	s := operation.Decider.Fold(operation.State{}, started())
	require.Zero(t, s.Percentage())
	s = operation.Decider.Fold(s, progress(operation.Checkout, operation.StepStarted), progress(operation.Checkout, operation.StepDone), progress(operation.PullStep, operation.StepStarted))
	require.Len(t, s.Done, 2)
	require.Equal(t, operation.StepDone, s.Done[0].State)
	require.Equal(t, 25, s.Percentage())
	s = operation.Decider.Fold(s, operation.Ended{Status: operation.Succeeded, EndedAt: at})
	require.Equal(t, 100, s.Percentage())
	require.True(t, s.Status.Ended())
}
