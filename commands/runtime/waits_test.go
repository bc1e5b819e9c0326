package runtime_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
)

// waiting are so many branches that wait at the same time.
func waiting(n int) documents {
	return documents{"a": fmt.Sprintf(`[{"repeat":{"until":%d,"batch":{"size":%d},"do":[{"wait":{"timeout":0.2}}]}}]`, n, n)}
}

func TestATreeStandsInSoManyWaitsAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, waiting(1000))
	h.runs(h.evented())

	h = open(t, waiting(1001))
	out, err := h.ends(h.Launch(h.evented()))
	require.NoError(t, err)
	require.NotNil(t, out.Err)
	require.Equal(t, automation.InvalidInstruction, out.Err.Name)
	require.InDelta(t, 1000, out.Err.Details.At("limit"), 0)
}
