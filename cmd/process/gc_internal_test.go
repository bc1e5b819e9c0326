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

func TestAnIdleHeapGivesMemoryBackOnce(t *testing.T) {
	t.Parallel()
	var h idleHeap
	for _, look := range []struct {
		allocated, unused uint64
		gives             bool
		why               string
	}{
		{300 << 20, 100 << 20, false, "it was busy"},
		{300 << 20, 100 << 20, false, "idle"}, {301 << 20, 100 << 20, false, "idle"}, {301 << 20, 100 << 20, false, "idle"},
		{310 << 20, 100 << 20, false, "busy again"},
		{310 << 20, 100 << 20, false, "idle"}, {310 << 20, 100 << 20, false, "idle"}, {310 << 20, 100 << 20, false, "idle"}, {310 << 20, 100 << 20, false, "idle"},
		{310 << 20, 100 << 20, true, "idle for long enough"},
		{310 << 20, 1 << 20, false, "little is left"}, {310 << 20, 1 << 20, false, "little is left"}, {310 << 20, 1 << 20, false, "little is left"},
		{310 << 20, 1 << 20, false, "little is left"}, {310 << 20, 1 << 20, false, "little is left"}, {310 << 20, 1 << 20, false, "little is left"},
		{311 << 20, 4 << 20, true, "it has become enough"},
	} {
		require.Equal(t, look.gives, h.next(look.allocated, look.unused), look.why)
	}
}

func TestALargeHeapOfWhichLittleWasReleasedGainsByHugePages(t *testing.T) {
	t.Parallel()
	require.True(t, gainsByHugePages(300<<20, 8<<20))
	require.True(t, gainsByHugePages(64<<20, 0))
	require.False(t, gainsByHugePages(63<<20, 0), "a small one")
	require.False(t, gainsByHugePages(80<<20, 200<<20), "all of it would come back")
}
