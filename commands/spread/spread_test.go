package spread_test

import (
	"errors"
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

func TestAPanicIsTheCallers(t *testing.T) {
	t.Parallel()
	require.PanicsWithError(t, "boom", func() {
		defer func() {
			err, _ := recover().(error)
			require.ErrorContains(t, err, "boom")
			panic(errors.New("boom"))
		}()
		spread.Over(100, func(i int) {
			if i == 50 {
				panic("boom")
			}
		})
	})
}
