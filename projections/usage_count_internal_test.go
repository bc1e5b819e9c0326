package projections

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIDsAreCountedExactlyUpToAMillion(t *testing.T) {
	t.Parallel()
	var none *idCount
	require.Zero(t, none.total())
	random, n := rand.New(rand.NewPCG(3, 4)), &idCount{}
	first := make([]uint64, maxExactIDs)
	for i := range first {
		first[i] = random.Uint64()
	}
	for range 3 { // however often they come
		for _, id := range first {
			n.add(id)
		}
	}
	require.Equal(t, maxExactIDs, n.total())
	for range maxExactIDs + 1 {
		n.add(random.Uint64())
	}
	require.Nil(t, n.ids, "more are not kept")
	require.InEpsilon(t, 2*maxExactIDs, n.total(), 0.03)
}
