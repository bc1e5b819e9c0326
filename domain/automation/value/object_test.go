package value_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/value"
)

func TestAnObjectIsTheSameWithFewAndWithManyKeys(t *testing.T) {
	t.Parallel()
	o := &value.Object{}
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("k%d", 40-i))
		o.Set(keys[i], float64(i))
		o.Set(keys[0], "first")
		o.Set("none", value.Undefined)
		require.Equal(t, keys, o.Keys())
		require.Equal(t, i+1, o.Len())
		for n, key := range keys[1:] {
			require.Equal(t, float64(n+1), o.At(key))
		}
		require.Equal(t, "first", o.At("k40"))
		_, ok := o.Get("none")
		require.False(t, ok)
	}
}

func TestACopyIsAnotherObject(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 3, 30} {
		o := &value.Object{}
		for i := range size {
			o.Set(fmt.Sprint(i), true)
		}
		before := value.JSON(o, "")
		c := o.Copy()
		require.Equal(t, before, value.JSON(c, ""))
		c.Set("new", 1.0)
		c.Set("0", 2.0)
		require.Equal(t, before, value.JSON(o, ""))
		require.True(t, value.IsUndefined(o.At("new")))
	}
	require.Equal(t, &value.Object{}, value.NewObject())
}

func TestWithinLooksAtNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	many := []any{"x"}
	for range 100 {
		many = []any{many, many} // 2^100 items in all
	}
	require.False(t, value.Within(many, 1_000_000))
	require.False(t, value.Within(value.NewObject("a", many), 1_000_000))
	require.True(t, value.Within(value.NewObject("a", []any{1.0, "b", nil, value.Bytes("c")}), 100))
	require.False(t, value.Within(strings.Repeat("x", 99), 100))
	require.False(t, value.Within(value.NewObject(strings.Repeat("x", 99), 1.0), 100))
	require.True(t, value.Within(value.Undefined, 1))
}
