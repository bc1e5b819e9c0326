package value_test

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/value"
)

func measure(scale *value.MemoryMeter, all ...any) int {
	for _, v := range all {
		scale.Add(v)
	}
	return scale.Weight
}

// TestWeightIsWhatValuesTake compares with what the heap grows by. The count of the heap
// is that of the whole process, so that it has no neighbours here.
func TestWeightIsWhatValuesTake(t *testing.T) { //nolint:paralleltest // see above
	for name, text := range map[string]string{
		"empty objects": "[" + strings.Repeat("{},", 200_000) + "{}]",
		"numbers":       "[" + strings.Repeat("0.5,", 200_000) + "1]",
		"small objects": "[" + strings.Repeat(`{"a":1,"b":"x"},`, 100_000) + "{}]",
		"large objects": "[" + strings.Repeat(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0},`, 20_000) + "{}]",
		"texts":         "[" + strings.Repeat(`"`+strings.Repeat("x", 100)+`",`, 50_000) + "0]",
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v, err := value.ParseJSON(text)
		require.NoError(t, err)
		runtime.GC()
		runtime.ReadMemStats(&after)
		took := float64(after.HeapAlloc) - float64(before.HeapAlloc)
		weight := float64(measure(&value.MemoryMeter{Limit: math.MaxInt}, v))
		require.Greater(t, weight, took/2, name)
		require.Less(t, weight, took*2, name)
		runtime.KeepAlive(text)
	}
}

func TestWhatIsSharedWeighsOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	list := make([]any, 1000)
	o := &value.Object{}
	for i := range 100 {
		o.Set(strings.Repeat("k", i+1), float64(i))
	}
	for _, v := range []any{long, value.Bytes(long), list, o} {
		once := measure(value.NewSharedMeter(math.MaxInt), v)
		require.Greater(t, once, 5_000)
		require.Less(t, measure(value.NewSharedMeter(math.MaxInt), v, v, []any{v, value.NewObject("a", v)}), once+500)
		require.Greater(t, measure(&value.MemoryMeter{Limit: math.MaxInt}, v, v), 2*once-500)
	}
	require.Greater(t, measure(value.NewSharedMeter(math.MaxInt), long, strings.Clone(long)), 20_000, "what is only equal is there twice")
	require.Greater(t, measure(value.NewSharedMeter(math.MaxInt), list, list[:900]), 30_000)
}

func TestNoMoreIsWeighedThanTheLimit(t *testing.T) {
	t.Parallel()
	bomb := any([]any{1.0})
	for range 60 {
		bomb = []any{bomb, value.NewObject("a", bomb)}
	}
	for _, scale := range []*value.MemoryMeter{{Limit: 10_000}, value.NewSharedMeter(10_000)} {
		require.Greater(t, measure(scale, bomb), 10_000)
		require.Less(t, scale.Values, 1_000)
	}
}
