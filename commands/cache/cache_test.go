package cache_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/cache"
)

type cellKey struct{ row, column int }

func TestWhatIsRememberedIsFound(t *testing.T) {
	c := cache.New[cellKey, error](10)
	_, ok := c.Get(cellKey{1, 2})
	require.False(t, ok)
	c.Set(cellKey{1, 2}, nil)
	value, ok := c.Get(cellKey{1, 2})
	require.True(t, ok, "nothing is a value, too")
	require.NoError(t, value)
	c.Set(cellKey{2, 1}, fmt.Errorf("wrong"))
	c.Drop(cellKey{1, 2})
	_, ok = c.Get(cellKey{1, 2})
	require.False(t, ok)
	value, _ = c.Get(cellKey{2, 1})
	require.EqualError(t, value, "wrong")
	c.Clear()
	_, ok = c.Get(cellKey{2, 1})
	require.False(t, ok)
}

func TestNoMoreIsRememberedThanFits(t *testing.T) {
	many, heavy := cache.New[int, int](10), cache.Weighing(1000, func(_ int, text string) uint32 { return uint32(len(text)) })
	for i := range 1000 {
		many.Set(i, i)
		heavy.Set(i, fmt.Sprintf("%0100d", i))
	}
	require.LessOrEqual(t, heavy.Weight(), uint64(1000))
	require.NotZero(t, heavy.Weight())
	many.Weight() // what is to be forgotten is now
	found := 0
	for i := range 1000 {
		if value, ok := many.Get(i); ok {
			require.Equal(t, i, value)
			found++
		}
	}
	require.NotZero(t, found)
	require.LessOrEqual(t, found, 10)
}

func TestOneAtATimeUpdates(t *testing.T) {
	c := cache.New[string, int](10)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { c.Update("a", func(old int, _ bool) (int, bool) { return old + 1, true }) })
	}
	all.Wait()
	seen := c.Update("a", func(_ int, found bool) (int, bool) { return 7, !found })
	require.Equal(t, 100, seen, "it is as it was")
	require.Equal(t, 7, c.Update("b", func(_ int, found bool) (int, bool) { return 7, !found }))
	require.Zero(t, c.Update("c", func(int, bool) (int, bool) { return 7, false }))
	_, ok := c.Get("c")
	require.False(t, ok)
}
