package persistent_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/persistent"
)

// A Map is what a map is, whatever is done to it, and no version of it ever changes.
func TestAMapIsLikeAMap(t *testing.T) {
	t.Parallel()
	type version struct {
		is   persistent.Map[int]
		want map[string]int
	}
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.StringMatching(`[ab]{0,4}`)
		versions := []version{{want: map[string]int{}}}
		for i := range rapid.IntRange(0, 60).Draw(rt, "changes") {
			from := rapid.SampledFrom(versions).Draw(rt, "from")
			key, next := keys.Draw(rt, "key"), version{want: maps.Clone(from.want)}
			if rapid.Bool().Draw(rt, "deletes") {
				next.is = from.is.Delete(key)
				delete(next.want, key)
			} else {
				next.is = from.is.Set(key, i)
				next.want[key] = i
			}
			versions = append(versions, next)
		}
		prefix := keys.Draw(rt, "prefix")
		for _, v := range versions {
			require.Equal(rt, v.want, maps.Collect(v.is.All()))
			require.Equal(rt, len(v.want), v.is.Len())
			require.Equal(rt, len(v.want) == 0, v.is.IsZero())
			require.True(rt, slices.IsSorted(slices.Collect(v.is.Keys())))
			require.Equal(rt, persistent.Collect(v.want), v.is, "the same content is the same tree")
			for key, want := range v.want {
				require.Equal(rt, want, v.is.At(key))
			}
			_, found := v.want[prefix]
			require.Equal(rt, found, v.is.Has(prefix))
			var begin []string
			for key := range v.is.Prefix(prefix) {
				begin = append(begin, key)
			}
			var want []string
			for _, key := range slices.Sorted(maps.Keys(v.want)) {
				if strings.HasPrefix(key, prefix) {
					want = append(want, key)
				}
			}
			require.Equal(rt, want, begin)
			first, any := v.is.First(prefix)
			require.Equal(rt, len(want) > 0, any)
			if any {
				require.Equal(rt, v.want[want[0]], first)
			}
		}
	})
}

func TestChangesAreFoundBetweenVersions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.StringMatching(`[ab]{0,4}`)
		draw := func(m persistent.Map[int], label string) (persistent.Map[int], map[string]bool) {
			touched := map[string]bool{}
			for i := range rapid.IntRange(0, 20).Draw(rt, label) {
				key := keys.Draw(rt, "key")
				if rapid.Bool().Draw(rt, "deletes") {
					touched[key] = touched[key] || m.Has(key)
					m = m.Delete(key)
				} else {
					touched[key] = true
					m = m.Set(key, i%3) // also to the value that it has
				}
			}
			return m, touched
		}
		before, _ := draw(persistent.Map[int]{}, "before")
		after, touched := draw(before, "after")
		for _, found := range [][]string{slices.Collect(after.Changes(before)), slices.Collect(before.Changes(after))} {
			require.True(rt, slices.IsSorted(found))
			for key, is := range touched {
				if is && (before.Has(key) || after.Has(key)) {
					require.Contains(rt, found, key)
				}
			}
			for _, key := range found {
				require.True(rt, before.Has(key) || after.Has(key))
			}
		}
		require.Empty(rt, slices.Collect(after.Changes(after)))
	})
}

func TestChangesOfALargeMapAreFew(t *testing.T) {
	t.Parallel()
	m := numbered(10_000)
	for i := range 100 {
		key := fmt.Sprintf("k%06d", i*7919%m.Len())
		for what, next := range map[string]persistent.Map[int]{"set": m.Set(key, -1), "deleted": m.Delete(key), "added": m.Set(key+"x", 1)} {
			found := slices.Collect(next.Changes(m))
			require.Less(t, len(found), 100, "%s %s", key, what)
		}
	}
	for range m.Set("k000001", 0).Changes(m) {
		break
	}
}

func TestAWalkStopsWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	m := numbered(100)
	for stop := range 5 {
		visited := 0
		for range m.Prefix("k00001") {
			if visited++; visited > stop {
				break
			}
		}
		require.Equal(t, stop+1, visited)
	}
}

func TestJSONIsThatOfAMap(t *testing.T) {
	t.Parallel()
	type state struct {
		Items persistent.Map[int] `json:"items,omitzero"`
	}
	for _, want := range []string{`{}`, `{"items":{"\u003ca\u003e":1,"b":2}}`} {
		var s state
		require.NoError(t, json.Unmarshal([]byte(want), &s))
		body, err := json.Marshal(s)
		require.NoError(t, err)
		require.Equal(t, want, string(body))
	}
	var s state
	require.Error(t, json.Unmarshal([]byte(`{"items":[1]}`), &s))
}

// A change allocates the path to its key, not the map.
//
//nolint:paralleltest // allocations are counted
func TestAChangeCostsTheLogarithmOfTheSize(t *testing.T) {
	cost := func(m persistent.Map[int]) float64 {
		i := 0
		return testing.AllocsPerRun(2000, func() {
			i++
			key := fmt.Sprintf("k%06d", i*7919%m.Len())
			_, _ = m.Set(key, i), m.Delete(key)
		})
	}
	small, large := cost(numbered(100)), cost(numbered(10_000))
	require.Less(t, large, 3*small, "100 keys: %v allocations, 10,000 keys: %v", small, large)
}

func numbered(n int) persistent.Map[int] {
	m := make(map[string]int, n)
	for i := range n {
		m[fmt.Sprintf("k%06d", i)] = i
	}
	return persistent.Collect(m)
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		m := numbered(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Set(fmt.Sprintf("k%06d", i%n), i)
			}
		})
	}
}
