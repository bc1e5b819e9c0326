package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABusyHeapMayGrowFurtherUntilItIsQuiet(t *testing.T) {
	t.Parallel()
	p := gcPace{cycles: 10, growth: defaultGrowth}
	for _, look := range []struct {
		cycles, alive uint64
		growth        int
		why           string
	}{
		{11, 64 << 20, 100, "one collection is nothing"},
		{15, 64 << 20, 400, "it may grow by 256 MB"},
		{16, 128 << 20, 200, "less for what is larger"},
		{17, 1 << 30, 100, "and as usual for what is large"},
		{20, 64 << 20, 400, "many again"},
		{20, 64 << 20, 400, "none: that may be the room it has"},
		{20, 64 << 20, 400, "none"}, {20, 64 << 20, 400, "none"}, {20, 64 << 20, 400, "none"},
		{20, 64 << 20, 100, "it is quiet"},
	} {
		before := p.growth
		growth, changed := p.next(look.cycles, look.alive)
		require.Equal(t, look.growth, growth, look.why)
		require.Equal(t, growth != before, changed, look.why)
	}
}
