package value_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/value"
)

// decimal is what a number is in a text.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

func TestTextsThatAreNumbers(t *testing.T) {
	t.Parallel()
	drawn := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // nothing to guess
	for range 100_000 {
		b := make([]byte, drawn.IntN(7))
		for i := range b {
			b[i] = "019+-.eE_x"[drawn.IntN(10)]
		}
		_, is := value.Numeric(string(b))
		require.Equal(t, decimal.Match(b), is, "%q", b)
	}
	n, is := value.Numeric(" -1.5e3\n")
	require.True(t, is)
	require.Equal(t, -1500.0, n)
}

func TestAComparisonStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	list := func() any { return []any{1.0, "abc", value.NewObject("k", []any{nil, true})} }
	same, spent := value.SameWithin(list(), list(), 100)
	require.True(t, same)
	require.Equal(t, 10, spent, "seven values and a text of three bytes")
	same, spent = value.SameWithin(list(), list(), 10)
	require.True(t, same)
	require.Equal(t, 10, spent)
	same, spent = value.SameWithin(list(), list(), 9)
	require.False(t, same)
	require.Greater(t, spent, 9)
	equal, spent := value.EqualWithin("0012", 12.0, 5)
	require.True(t, equal)
	require.Equal(t, 5, spent)
	equal, spent = value.EqualWithin("0012", 12.0, 4)
	require.False(t, equal)
	require.Greater(t, spent, 4)
}

func TestPartsOfAValue(t *testing.T) {
	t.Parallel()
	var many any = []any{}
	for range 60 {
		many = []any{many, value.NewObject("a", many)}
	}
	require.Zero(t, value.Parts("a text", 10))
	require.Equal(t, 5, value.Parts([]any{1.0, value.NewObject("k", 1.0)}, 10)) // the object counts as an item and by itself
	parts := value.Parts(many, 1000)
	require.Greater(t, parts, 1000)
	require.Less(t, parts, 1010)
}

func TestOnlyTextsAreGoneThroughToReadAKey(t *testing.T) {
	t.Parallel()
	v := value.NewObject("s", strings.Repeat("é", 10), "l", []any{1.0, "xy"})
	for path, want := range map[string]int{
		"s": 0, "s length": 20, "s 4": 5, "s 15": 16, "s 20": 0, "s nope": 0, "l length": 0, "l 0": 0, "l 1 length": 2, "nope": 0,
	} {
		keys := strings.Fields(path)
		at, effort := value.Reach(v, keys...)
		require.Equal(t, want, effort, path)
		require.Equal(t, value.Walk(v, keys...), at, path)
	}
}
