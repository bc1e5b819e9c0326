package workspace_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/workspace"
)

// Whatever changes, the indexes say what a look at all documents would say.
func TestTheIndexesOfItemsFollowThem(t *testing.T) {
	t.Parallel()
	paths := rapid.SampledFrom([]string{"automations/a", "automations/A", "pages/ſ", "pages/s", "pages/S", "imports/k", "imports/\u212a"})
	names := rapid.SampledFrom([]string{"", "x", "x\x00", "xy"})
	rapid.Check(t, func(rt *rapid.T) {
		is, want := workspace.Items{}, map[string]workspace.Item{}
		for i := range rapid.IntRange(0, 40).Draw(rt, "changes") {
			path := paths.Draw(rt, "path")
			if rapid.Bool().Draw(rt, "deletes") {
				is = is.Delete(path)
				delete(want, path)
				continue
			}
			item := workspace.Item{
				Revision: uint64(i), Endpoint: names.Draw(rt, "endpoint"), ID: names.Draw(rt, "id"), App: names.Draw(rt, "app"),
			}
			is, want[path] = is.Set(path, item), item
		}
		require.Equal(rt, workspace.NewItems(want), is)
		require.Equal(rt, want, maps.Collect(is.All()))
		find := func(fits func(path string, item workspace.Item) bool) (found []string) {
			for _, path := range slices.Sorted(maps.Keys(want)) {
				if fits(path, want[path]) {
					found = append(found, path)
				}
			}
			return found
		}
		name, path := rapid.SampledFrom([]string{"x", "x\x00", "xy"}).Draw(rt, "name"), paths.Draw(rt, "like")
		require.Equal(rt, find(func(_ string, i workspace.Item) bool { return i.Endpoint == name }), slices.Collect(is.WithEndpoint(name)))
		require.Equal(rt, find(func(_ string, i workspace.Item) bool { return i.App == name }), slices.Collect(is.WithApp(name)))
		require.Equal(rt, find(func(_ string, i workspace.Item) bool { return i.ID == name }), slices.Collect(is.WithID(name)))
		require.Equal(rt, find(func(p string, _ workspace.Item) bool { return strings.EqualFold(p, path) }), slices.Collect(is.LikePath(path)))
	})
}

// Snapshots of earlier versions are read, and earlier versions read these.
func TestItemsAreStoredAsAMap(t *testing.T) {
	t.Parallel()
	items := map[string]workspace.Item{"automations/a": {Hash: "h", Revision: 3, Endpoint: "x"}, "imports/i": {Hash: "k", App: "app"}}
	body, err := json.Marshal(items)
	require.NoError(t, err)
	stored, err := json.Marshal(workspace.State{ID: "w", Items: workspace.NewItems(items)})
	require.NoError(t, err)
	require.Contains(t, string(stored), `"items":`+string(body))
	var s workspace.State
	require.NoError(t, json.Unmarshal(stored, &s))
	require.Equal(t, workspace.NewItems(items), s.Items)
	empty, err := json.Marshal(workspace.State{ID: "w"})
	require.NoError(t, err)
	require.NotContains(t, string(empty), `"items"`)
}

// A save costs what its document is, not what else is in the workspace: work is counted, not time.
//
//nolint:paralleltest // allocations are counted
func TestASaveDoesNotGrowWithTheWorkspace(t *testing.T) {
	cost := func(documents int) float64 {
		s := fold(append(owned(), workspace.Imported{Switch: workspace.Switch{Entries: numbered(documents)}})...)
		require.Equal(t, documents, s.Items.Len())
		i := 0
		return testing.AllocsPerRun(500, func() {
			i++
			path := fmt.Sprintf("automations/a%d", i%documents)
			saved := workspace.Entry{Path: path, Hash: fmt.Sprint("h", i), Endpoint: fmt.Sprint("e", i%documents)}
			events, err := workspace.Decider.Decide(s, workspace.Save{Entry: saved})
			require.NoError(t, err)
			s = workspace.Decider.Fold(s, events...)
			saved.Path, saved.Endpoint = "automations/new", "another"
			events, err = workspace.Decider.Decide(s, workspace.Save{Entry: saved, Create: true})
			require.NoError(t, err)
			workspace.Decider.Fold(s, events...)
			events, err = workspace.Decider.Decide(s, workspace.Remove{Path: path})
			require.NoError(t, err)
			workspace.Decider.Fold(s, events...)
		})
	}
	small, large := cost(10), cost(workspace.MaxDocuments-1)
	require.Less(t, large, 3*small, "%v allocations with 10 documents, %v with %d", small, large, workspace.MaxDocuments-1)
}

func numbered(n int) []workspace.Entry {
	entries := make([]workspace.Entry, n)
	for i := range entries {
		entries[i] = workspace.Entry{Path: fmt.Sprintf("automations/a%d", i), Hash: "h", Endpoint: fmt.Sprint("e", i)}
	}
	return entries
}
