package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/domain/automation"
	"svc/domain/feed"
)

// openWaits are so many branches that wait at the same time.
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

func TestWhatATreeWaitsForIsBoundedTogether(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 90_000)
	h := open(t, documents{"a": fmt.Sprintf(`[{"repeat":{"until":60,"batch":{"size":60},"do":[{"wait":{"oneOf":[{"event":"e","filters":{"x":%q}}],"timeout":0.2}}]}}]`, long)}, nothingComes)
	out, err := h.ends(h.Launch(h.evented()))
	require.NoError(t, err)
	require.NotNil(t, out.Err)
	require.Equal(t, automation.InvalidInstruction, out.Err.Name)
	require.InDelta(t, 5_000_000, out.Err.Details.At("limit"), 0)
}

// nothingComes lets waits wait until their time is over.
func nothingComes(_ *house, o *runtime.Options) {
	o.Effects.Await = func(ctx context.Context, _ string, w runtime.Awaited, _ func(*feed.Event) bool) (*feed.Event, error) {
		within, cancel := context.WithDeadline(ctx, w.Before)
		defer cancel()
		<-within.Done()
		return nil, ctx.Err()
	}
}
