package collections_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/collections"
	"svc/domain/value"
)

// two opens two nodes that share a log.
func two(t *testing.T) (*fixture, [2]*node) {
	t.Helper()
	h := open(t)
	return h, [2]*node{h.node(t, shared{h.store.Collections}, "rows1"), h.node(t, shared{h.store.Collections}, "rows2")}
}

func TestOneOfManyRacersTakesAUnique(t *testing.T) {
	_, nodes := two(t)
	nodes[0].call(t, "updateSchema", `{"collection":"c","properties":{"s":"string"},"uniques":[["s"]]}`)
	for round := range 10 {
		var racing sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			racing.Go(func() {
				_, errs[i] = nodes[i%2].try(context.Background(), "create", fmt.Sprintf(`{"collection":"c","data":{"s":"v%d"}}`, round))
			})
		}
		racing.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				require.Equal(t, "unique", reason(err), "%v", err)
			}
		}
		require.Equal(t, 1, won)
	}
	require.Equal(t, "10", nodes[1].call(t, "count", `{"collection":"c"}`))
}

func TestNoUpdateIsLostBetweenNodes(t *testing.T) {
	_, nodes := two(t)
	nodes[0].call(t, "create", `{"collection":"c","data":{"id":"a","n":0}}`)
	var writing sync.WaitGroup
	for i := range 8 {
		writing.Go(func() {
			for range 10 {
				_, err := nodes[i%2].try(context.Background(), "updateOne", `{"collection":"c","query":{"id":"a"},"update":{"$inc":{"n":1},"$push":{"l":1}}}`)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	require.Equal(t, `[{"id":"a","n":80}]`, nodes[0].call(t, "findMany", `{"collection":"c","opts":{"fields":["n"]}}`))
	require.Equal(t, nodes[0].call(t, "findMany", `{"collection":"c"}`), nodes[1].call(t, "findMany", `{"collection":"c"}`))
}

func TestANodeSeesAtOnceWhatAnotherWasAcknowledged(t *testing.T) {
	_, nodes := two(t)
	for i := range 50 {
		nodes[i%2].call(t, "create", fmt.Sprintf(`{"collection":"c","data":{"id":"r%02d"}}`, i))
		require.Equal(t, fmt.Sprint(i+1), nodes[(i+1)%2].call(t, "count", `{"collection":"c"}`))
		_, err := nodes[(i+1)%2].try(t.Context(), "create", fmt.Sprintf(`{"collection":"c","data":{"id":"r%02d"}}`, i))
		require.Equal(t, "unique", reason(err))
	}
}

func TestRowsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	store := openStore(t, log)
	h := openAt(t, dir, store)
	n := h.node(t, store.Collections, "rows")
	n.call(t, "updateSchema", `{"collection":"c","properties":{"n":"number","s":"string"},"indexes":[["n"]],"uniques":[["s"]]}`)
	for i := range 50 {
		n.call(t, "create", fmt.Sprintf(`{"collection":"c","data":{"id":"r%d","n":%d,"s":"s%d"}}`, i, i%5, i))
	}
	image := filepath.Join(dir, "image")
	require.NoError(t, os.CopyFS(image, os.DirFS(filepath.Join(dir, "rows")))) // as a killed process leaves them
	n.call(t, "deleteMany", `{"collection":"c","query":{"n":4}}`)
	want, rows := n.dump(t), n.call(t, "findMany", `{"collection":"c"}`)
	n.end()
	require.NoError(t, store.Close(context.Background()))

	again := openAt(t, dir, openStore(t, log))
	for _, rowsDir := range []string{"rows", "image", "nothing"} {
		n := again.node(t, again.store.Collections, rowsDir)
		require.Equal(t, rows, n.call(t, "findMany", `{"collection":"c"}`), rowsDir)
		same(t, want, n.dump(t))
		n.end()
	}
}

func TestRowsOfAnotherLogAreForgotten(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "create", `{"collection":"old","data":{}}`)
	n.end()
	other := openAt(t, h.dir, openStore(t, t.TempDir()))
	m := other.node(t, other.store.Collections, "rows")
	require.Equal(t, `[]`, m.call(t, "listCollections", `{}`))
	m.call(t, "create", `{"collection":"new","data":{}}`)
	require.Equal(t, `["new"]`, m.call(t, "listCollections", `{}`))
}

func TestInstancesDoNotSeeEachOther(t *testing.T) {
	_, n := openSingleNode(t)
	callers := []collections.Caller{{WorkspaceID: "w1"}, {WorkspaceID: "w2"}, {WorkspaceID: "w1", App: "p", Instance: "a"}, {WorkspaceID: "w1", App: "p", Instance: "a.b"}, {WorkspaceID: "w1", App: "q", Instance: "a"}}
	for i, caller := range callers {
		result, err := n.Call(t.Context(), caller, "count", object(`{"collection":"c"}`))
		require.NoError(t, err)
		require.Equal(t, 0.0, result, "%d", i)
		_, err = n.Call(t.Context(), caller, "create", object(`{"collection":"c","data":{}}`))
		require.NoError(t, err)
	}
}

func TestWhatIsKeptIsSealed(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "create", `{"collection":"c","data":{"id":"a","secret":"`+strings.Repeat("plaintext", 10)+`"}}`)
	n.call(t, "create", `{"collection":"c","data":{"id":"b","secret":"`+strings.Repeat("plaintext", 40_000)+`"}}`)
	require.NoError(t, filepath.WalkDir(filepath.Join(h.dir, "log"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), "plaintext", path)
		return err
	}))
}

func TestADeletedWorkspaceLeavesNothing(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "create", `{"collection":"c","data":{"id":"a"}}`)
	_, err := n.Call(t.Context(), collections.Caller{WorkspaceID: "w2"}, "create", object(`{"collection":"c","data":{}}`))
	require.NoError(t, err)

	require.NoError(t, h.vault.Destroy(t.Context(), "w1"))
	rebuilt := h.node(t, h.store.Collections, "late")
	_, err = rebuilt.try(t.Context(), "findMany", `{"collection":"c"}`)
	require.ErrorContains(t, err, "destroyed", "the key is gone, the entries are not yet")
	require.NoError(t, h.store.EraseWorkspaceData(t.Context(), "w1"))
	require.NoError(t, rebuilt.model.DropErased(t.Context()))
	require.NoError(t, n.model.DropWorkspace("w1"))
	same(t, n.dump(t), rebuilt.dump(t))
	require.Equal(t, `[]`, n.call(t, "listCollections", `{}`))
	n.call(t, "create", `{"collection":"c","data":{"id":"b"}}`)
	require.Equal(t, `["b"]`, n.call(t, "distinct", `{"collection":"c","field":"id"}`))
}

func TestACallThatIsGivenUpDoesNotHoldUpOthers(t *testing.T) {
	_, n := openSingleNode(t)
	var calling sync.WaitGroup
	for i := range 32 {
		calling.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%2 == 0 {
				cancel()
			}
			_, err := n.Call(ctx, somebody, "create", value.NewObject("collection", "c", "data", value.NewObject("n", float64(i))))
			if i%2 == 1 && err != nil || err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	calling.Wait()
	n.call(t, "create", `{"collection":"c","data":{}}`)
}

func TestNodesThatWriteAtRandomHaveTheSameRows(t *testing.T) {
	h, nodes := two(t)
	nodes[0].call(t, "updateSchema", `{"collection":"c","properties":{"n":"number","s":"string","t":"text"},"indexes":[["n"],["s","n"]],"uniques":[["s"]]}`)
	text := strings.Repeat("x", 5000)
	var writing sync.WaitGroup
	for i := range 6 {
		writing.Go(func() {
			g := rand.New(rand.NewPCG(7, uint64(i)))
			for range 80 {
				id, s := fmt.Sprint("r", g.IntN(20)), fmt.Sprint("s", g.IntN(20))
				call := [][2]string{
					{"create", fmt.Sprintf(`{"collection":"c","data":{"id":"%s","n":%d,"s":"%s"}}`, id, g.IntN(5), s)},
					{"upsert", fmt.Sprintf(`{"collection":"c","data":{"s":"%s","t":"%s"},"opts":{"onConflictFields":["s"]}}`, s, text)},
					{"updateMany", fmt.Sprintf(`{"collection":"c","query":{"n":%d},"update":{"$inc":{"n":1}}}`, g.IntN(5))},
					{"deleteMany", fmt.Sprintf(`{"collection":"c","query":{"s":"%s"}}`, s)},
				}[g.IntN(4)]
				if _, err := nodes[i%2].try(context.Background(), call[0], call[1]); err != nil && reason(err) != "unique" {
					t.Error(call[0], err)
				}
			}
		})
	}
	writing.Wait()
	rows := nodes[0].call(t, "findMany", `{"collection":"c"}`)
	require.Equal(t, rows, nodes[1].call(t, "findMany", `{"collection":"c"}`))
	require.Equal(t, `[]`, nodes[0].call(t, "aggregate", `{"collection":"c","steps":[{"$group":{"_id":"$s","n":{"$sum":1}}},{"$match":{"n":{"$gt":1}}}]}`), "a unique is there twice")
	fresh := h.node(t, shared{h.store.Collections}, "fresh")
	require.Equal(t, rows, fresh.call(t, "findMany", `{"collection":"c"}`))
}

func TestTheLargestRowFits(t *testing.T) {
	_, n := openSingleNode(t)
	_, err := n.try(t.Context(), "create", `{"collection":"c","data":{"id":"a","t":"`+strings.Repeat("x", 999_800)+`"}}`)
	require.NoError(t, err)
	_, err = n.try(t.Context(), "create", `{"collection":"c","data":{"t":"`+strings.Repeat("x", 1_000_000)+`"}}`)
	require.Equal(t, "too_large", reason(err))
	require.Equal(t, `[{"id":"a"}]`, n.call(t, "findMany", `{"collection":"c","opts":{"fields":["id"]}}`))
}
