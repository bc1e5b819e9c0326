package spread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/spread"
)

func TestEveryPieceIsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 7, 8, 16, 1000} {
		done := make([]int, n) // the race detector watches it
		spread.Over(n, func(i int) { done[i]++ })
		for i := range done {
			require.Equal(t, 1, done[i])
		}
	}
}

// Whichever goroutine a piece is done in, the caller's own included.
func TestAPanicIsTheCallers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 100} {
		recovered := func() (v any) {
			defer func() { v = recover() }()
			spread.Over(n, func(i int) {
				if i == n/2 {
					panic("boom")
				}
			})
			return nil
		}()
		require.NotNil(t, recovered, "of %d", n)
		require.Contains(t, fmt.Sprint(recovered), "boom", "of %d", n)
	}
}
