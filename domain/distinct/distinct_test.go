package distinct_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/distinct"
)

func TestASketchCountsWhatIsDifferent(t *testing.T) {
	var s distinct.Sketch
	require.Zero(t, s.Count())
	random, n := rand.New(rand.NewPCG(1, 2)), 0
	for _, upTo := range []int{1, 100, 5_000, 40_000, 1_000_000} {
		for ; n < upTo; n++ {
			hash := random.Uint64()
			s.Add(hash)
			s.Add(hash)
		}
		require.InEpsilon(t, n, s.Count(), 0.03)
	}
}
