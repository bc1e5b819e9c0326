package runtime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneWorkspaceHasLanesForAllCoresAndLeavesSomeToOthers(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, cores := range []int{1, 2, 16} {
		lanes := newTurnSlots(cores)
		entered := func(workspaceID string) (n int) {
			for lanes.Acquire(gone, workspaceID) == nil {
				n++
			}
			return n
		}
		require.GreaterOrEqual(t, entered("busy"), cores)
		require.Positive(t, entered("calm"))
	}
}
