package cache_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

func TestWhatIsUsedStays(t *testing.T) {
	c := cache.New[int, int](10)
	for i := range 1000 {
		c.Set(i, i)
		_, ok := c.Get(0)
		require.True(t, ok, "after %d", i)
	}
}

func TestAValueThatWeighsMoreThanTheCacheMayHoldIsNotStored(t *testing.T) {
	c := cache.Weighing(10, func(_ string, text string) uint32 { return uint32(len(text)) })
	c.Set("a", "short")
	c.Set("b", "ten letter")
	c.Set("a", "far longer than all of it")
	_, ok := c.Get("a")
	require.False(t, ok, "nor is what it replaces")
	require.Equal(t, uint64(10), c.Weight())
}

// Whatever is done in whatever order, a value that is found is the last one that was stored, and the bound is kept.
func TestACacheNeverShowsAnOldValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bound = 12
		c := cache.Weighing(bound, func(_ int, v int) uint32 { return uint32(v % 5) })
		last := map[int]int{}
		drawKey := func() int { return rapid.IntRange(0, 9).Draw(t, "key") }
		found := func(key int) bool {
			value, ok := c.Get(key)
			if stored, has := last[key]; ok && (!has || stored != value) {
				t.Fatalf("%d is %d", key, value)
			}
			return ok
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				weight, all := uint64(0), 0
				for key := range 10 {
					if found(key) {
						weight += uint64(last[key] % 5)
						all++
					}
				}
				if c.Weight() != weight || weight > bound {
					t.Fatalf("%d values weigh %d, not %d", all, weight, c.Weight())
				}
			},
			"set": func(t *rapid.T) {
				key, value := drawKey(), rapid.IntRange(1, 100).Draw(t, "value")
				c.Set(key, value)
				last[key] = value
			},
			"update": func(t *rapid.T) {
				key, value, write := drawKey(), rapid.IntRange(1, 100).Draw(t, "value"), rapid.Bool().Draw(t, "write")
				c.Update(key, func(old int, has bool) (int, bool) {
					if has && last[key] != old {
						t.Fatalf("%d is %d", key, old)
					}
					return value, write
				})
				if write {
					last[key] = value
				}
			},
			"drop": func(*rapid.T) {
				key := drawKey()
				c.Drop(key)
				delete(last, key)
			},
			"clear": func(*rapid.T) {
				c.Clear()
				clear(last)
			},
		})
	})
}

func TestManyUseACacheAtOnce(t *testing.T) {
	c := cache.New[int, int](2000)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 20_000 {
				key := (i*7 + worker) % 5000
				if value, ok := c.Get(key); ok && value != key {
					t.Errorf("%d is %d", key, value)
				}
				c.Set(key, key)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, c.Weight(), uint64(2000))
	require.Greater(t, c.Weight(), uint64(1800), "the room is used")
}

func BenchmarkGet(b *testing.B) {
	c := cache.New[string, *int](2000)
	for i := range 1000 {
		c.Set(fmt.Sprint("key", i), &i)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Get("key500")
	}
}
