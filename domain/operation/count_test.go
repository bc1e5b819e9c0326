package operation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/operation"
)

func TestAnOperationThatCounts(t *testing.T) {
	t.Parallel()
	begun := operation.Started{About: operation.About{ID: "op_1", Kind: operation.Replay, WorkspaceID: "w1", Epoch: 3}}
	half := operation.Advanced{ID: "op_1", Count: operation.Count{Current: 500, Total: 1000}}
	for name, sc := range map[string]domaintest.Scenario[operation.State, operation.Command]{
		"tells how far it is": {
			Given: []domain.Event{begun},
			When:  operation.Advance{Epoch: 3, Count: half.Count},
			Then:  []domain.Event{half},
		},
		"tells nothing twice": {
			Given: []domain.Event{begun, half},
			When:  operation.Advance{Epoch: 3, Count: half.Count},
		},
		"is told of by its runner only": {
			Given:  []domain.Event{begun, operation.Resumed{ID: "op_1", Epoch: 4}},
			When:   operation.Advance{Epoch: 3, Count: half.Count},
			Refuse: domain.CodeConflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc.Check(t, operation.Decider)
		})
	}
	s := operation.Decider.Fold(operation.State{}, begun, half)
	current, total := s.Progress()
	require.Equal(t, []int{500, 1000, 50}, []int{current, total, s.Percentage()})
}
