package content_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
)

// shelves is how many automations make a large workspace.
const shelves = 1998 / slowdown

// largeArchive is a workspace of 2000 files and 20 MB, all of one generation.
func largeArchive(t *testing.T, generation string) []byte {
	t.Helper()
	tree := archive.Tree{"index.yml": []byte("name: Warehouse\nslug: warehouse\ndescription: " + generation + "\n")}
	for i := range shelves {
		tree[fmt.Sprintf("automations/shelf%d/a%d.yml", i%40, i)] = fmt.Appendf(nil, "slug: shelf%d/a%d\nname: %s\ndo: []\noutput: %s\n", i%40, i, generation, strings.Repeat(generation+"-", 10_000/(len(generation)+1)))
	}
	tree["pages/large.yml"] = fmt.Appendf(nil, "slug: large\nname: %s\nstyles: %s\n", generation, strings.Repeat(generation, 300_000/len(generation)))
	var b bytes.Buffer
	require.NoError(t, tree.WriteZip(&b))
	return b.Bytes()
}

// whole says that an export has the files of an archive, and the security document
// of a new workspace besides.
func whole(t *testing.T, data []byte, exported []byte) {
	t.Helper()
	want, got := unpack(t, data), unpack(t, exported)
	delete(got, "current/security.yml")
	require.Len(t, got, len(want))
	for path, text := range want {
		require.Equal(t, text, got[path], path)
	}
}

// A large import is staged, and still one step: who reads meanwhile sees what was
// before, or what is after it.
func TestALargeImportIsOneStepToReaders(t *testing.T) {
	t.Parallel()
	h := startNode(t)
	old, fresh := largeArchive(t, "gen-one"), largeArchive(t, "gen-two")
	require.Greater(t, len(old), 20_000_000/slowdown)
	id, before := h.again(t, old)
	whole(t, old, before)

	seen := map[string]int{}
	var reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() {
		for {
			got, err := h.as("reader").send("GET", "/v2/workspaces/"+id+"/export", "", nil)
			if err == nil && got.status == http.StatusServiceUnavailable && strings.Contains(string(got.body), "read_model_behind") {
				seen["behind"]++ // a slow machine asks to come back, and tells nothing
			} else if err != nil || got.status != http.StatusOK {
				seen[fmt.Sprintf("%d %v %.200s", got.status, err, got.body)]++
			} else {
				seen[string(got.body)]++
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	imported := h.importing(t, id, "?prune=true&timeout=55", fresh)
	close(done)
	reading.Wait()
	require.Equal(t, http.StatusOK, imported.status, "%.500s", imported.body)
	require.Len(t, imported.fields(t)["imported"], shelves+2)
	after := h.export(t, id)
	delete(seen, "behind")
	delete(seen, string(before))
	delete(seen, string(after))
	for other := range seen {
		t.Errorf("neither the old nor the new: %.300s", other)
	}
	require.Contains(t, string(after), "gen-two")
	require.NotContains(t, string(after), "gen-one")
}

// Imports of one workspace at the same time: one runs, the others are told so, and
// each that ran is whole.
func TestImportsAtTheSameTimeDoNotMix(t *testing.T) {
	h := startNode(t)
	id := h.create(t, `{"name":"Busy"}`)
	var archives [][]byte
	for g := range 4 {
		tree := archive.Tree{"index.yml": fmt.Appendf(nil, "name: Generation %d\n", g)}
		for i := range 12 {
			tree[fmt.Sprintf("automations/a%d.yml", i)] = fmt.Appendf(nil, "name: Generation %d\ndo: []\noutput: '%s'\n", g, strings.Repeat(fmt.Sprint(g), 90_000))
		}
		var b bytes.Buffer
		require.NoError(t, tree.WriteZip(&b))
		archives = append(archives, b.Bytes())
	}
	var running sync.WaitGroup
	var ran atomic.Int32
	for _, data := range archives {
		running.Go(func() {
			for range 3 {
				got, err := h.send("POST", "/v2/workspaces/"+id+"/import", "application/zip", data)
				switch {
				case err == nil && got.status == http.StatusOK:
					ran.Add(1)
				case err != nil || got.status != http.StatusLocked:
					t.Errorf("%d %v %.300s", got.status, err, got.body)
				}
			}
		})
	}
	for range 20 {
		generations := map[string]bool{}
		for path, text := range unpack(t, h.export(t, id)) {
			if path != "current/security.yml" {
				_, rest, _ := strings.Cut(text, "name: ")
				rest = strings.TrimPrefix(rest, "Generation ")
				generations[rest[:min(1, len(rest))]] = true
			}
		}
		require.Len(t, generations, 1, "of one import")
	}
	running.Wait()
	require.NotZero(t, ran.Load())
}
