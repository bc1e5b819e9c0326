package collections_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/commands/collections"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/eventstore"
	"svc/projections/rows"
)

// entries returns how many messages there are of a namespace, its parts included.
func (h *fixture) entries(tb testing.TB) (count int) {
	tb.Helper()
	require.NoError(tb, h.store.Collections.Since(tb.Context(), workspace, 0, func(e collection.Logged) error {
		if e.Snapshot {
			count = 0
		}
		count++
		return nil
	}))
	return count
}

func TestALogThatHasGrownBecomesASnapshot(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "updateSchema", `{"collection":"c","properties":{"n":"number","s":"string","t":"text"},"indexes":[["n"]],"uniques":[["s"]]}`)
	for i := range 20 {
		n.call(t, "create", fmt.Sprintf(`{"collection":"c","data":{"id":"r%d","n":%d,"s":"s%d"}}`, i, i, i))
	}
	text := strings.Repeat("x", 20_000)
	for i := range 120 {
		n.call(t, "updateOne", fmt.Sprintf(`{"collection":"c","query":{"id":"r%d"},"update":{"t":"%s","n":%d}}`, i%3, text, i))
	}
	require.Eventually(t, func() bool { return h.entries(t) < 100 }, patience, 1e7, "the log was not replaced")
	n.call(t, "deleteOne", `{"collection":"c","query":{"s":"s7"}}`)

	fresh := h.node(t, h.store.Collections, "fresh")
	require.Equal(t, n.call(t, "findMany", `{"collection":"c"}`), fresh.call(t, "findMany", `{"collection":"c"}`))
	same(t, n.dump(t), fresh.dump(t))
}

func TestALargeWriteIsOneEntry(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "updateSchema", `{"collection":"c","properties":{"n":"number","s":"string","t":"text"},"indexes":[["n"]],"uniques":[["s"]]}`)
	data := make([]any, 1000)
	for i := range data {
		data[i] = value.NewObject("id", fmt.Sprintf("r%05d", i), "n", float64(i%25), "s", fmt.Sprint("s", i), "t", strings.Repeat("t", 1600))
	}
	before := h.entries(t)
	result, err := n.Call(t.Context(), somebody, "bulkCreate", value.NewObject("collection", "c", "data", data))
	require.NoError(t, err)
	require.Equal(t, 1000.0, value.At(result, "insertedCount"))
	require.Equal(t, before+1, h.entries(t))
	require.Equal(t, "40", n.call(t, "count", `{"collection":"c","query":{"n":5}}`))

	_, err = n.Call(t.Context(), somebody, "bulkCreate", value.NewObject("collection", "c", "data", []any{
		value.NewObject("s", "new"), value.NewObject("s", "s77")}))
	require.Equal(t, "unique", reason(err))
	require.Equal(t, "1000", n.call(t, "count", `{"collection":"c"}`), "all rows or none")

	n.call(t, "updateSchema", `{"collection":"c","properties":{"n":"decimal","s":"string","t":"text"},"indexes":[["n","s"]]}`)
	require.Equal(t, "40", n.call(t, "count", `{"collection":"c","query":{"n":"5"}}`))
	for range 3 {
		n.call(t, "updateMany", `{"collection":"c","query":{},"allowMatchAll":true,"update":{"$inc":{"n":1}}}`)
	}
	require.Eventually(t, func() bool { return h.entries(t) == 1 }, patience, 1e7)
	want := n.dump(t)
	n.end()
	same(t, want, h.node(t, h.store.Collections, "fresh").dump(t))
}

func TestOneOfTwoSnapshotsGivesWay(t *testing.T) {
	h, _ := openSingleNode(t)
	n := h.idle(t, "idle")
	text := strings.Repeat("x", 200_000)
	for range 30 {
		n.call(t, "upsert", `{"collection":"c","data":{"id":"a","t":"`+text+`","u":"`+text+`"},"opts":{"onConflictFields":["id"]}}`)
		n.call(t, "updateOne", `{"collection":"c","query":{"id":"a"},"update":{"$inc":{"n":1},"$set":{"t":""}}}`)
	}
	var racing sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		racing.Go(func() { errs[i] = n.Compact(context.Background(), workspace) })
	}
	racing.Wait()
	require.Contains(t, errs, error(nil))
	for _, err := range errs {
		if err != nil {
			require.ErrorIs(t, err, eventstore.ErrConflict)
		}
	}
	require.Equal(t, 1, h.entries(t))
	require.Equal(t, n.call(t, "findMany", `{"collection":"c"}`), h.node(t, h.store.Collections, "fresh").call(t, "findMany", `{"collection":"c"}`))
}

func TestARowLargerThanAMessageIsKept(t *testing.T) {
	h, _ := openSingleNode(t)
	n := h.node(t, h.store.Collections, "big")
	c, err := collections.New(collections.Options{Log: h.store.Collections, Rows: n.model, Vault: h.vault, Limits: func() collection.Limits { return collection.Limits{MaxRowSize: 4 << 20} }})
	require.NoError(t, err)
	text := strings.Repeat("0123456789", 300_000)
	_, err = c.Call(t.Context(), somebody, "create", value.NewObject("collection", "c", "data", value.NewObject("id", "a", "t", text)))
	require.NoError(t, err)
	row, err := c.Call(t.Context(), somebody, "findOne", object(`{"collection":"c"}`))
	require.NoError(t, err)
	require.Equal(t, text, value.At(row, "t"))
}

func TestASnapshotLosesNothingThatIsWrittenMeanwhile(t *testing.T) {
	h, nodes := two(t)
	text := strings.Repeat("x", 30_000)
	var writing sync.WaitGroup
	for i := range 4 {
		writing.Go(func() {
			for j := range 40 {
				_, err := nodes[i%2].try(context.Background(), "upsert", fmt.Sprintf(
					`{"collection":"c","data":{"id":"r%d","t":"%s","n":%d},"opts":{"onConflictFields":["id"]}}`, i, text, j))
				if err == nil {
					_, err = nodes[i%2].try(context.Background(), "updateOne", `{"collection":"c","query":{"id":"`+fmt.Sprint("r", i)+`"},"update":{"$inc":{"sum":1}}}`)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	want := `[{"id":"r0","n":39,"sum":40},{"id":"r1","n":39,"sum":40},{"id":"r2","n":39,"sum":40},{"id":"r3","n":39,"sum":40}]`
	for _, n := range append(nodes[:], h.node(t, shared{h.store.Collections}, "fresh")) {
		require.Equal(t, want, n.call(t, "findMany", `{"collection":"c","opts":{"fields":["n","sum"]}}`))
	}
	require.Less(t, h.entries(t), 250, "there was no snapshot")
}

func TestABatchThatFailsHalfwayIsNeverSeen(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "updateSchema", `{"collection":"c","properties":{"n":"number","s":"string"},"indexes":[["n"]],"uniques":[["s"]]}`)
	data := make([]any, 5000)
	for i := range data {
		data[i] = value.NewObject("id", fmt.Sprintf("r%05d", i), "n", float64(i%100), "s", fmt.Sprint("s", i))
	}
	_, err := n.Call(t.Context(), somebody, "bulkCreate", value.NewObject("collection", "c", "data", data))
	require.NoError(t, err)
	n.call(t, "updateMany", `{"collection":"c","query":{"n":{"$lt":50}},"update":{"$inc":{"n":1000}}}`)
	n.call(t, "deleteMany", `{"collection":"c","query":{"n":{"$gte":75,"$lt":1000}}}`)
	n.call(t, "updateSchema", `{"collection":"c","properties":{"n":"number","s":"string"},"indexes":[["n","s"],["s"]]}`)

	db, err := badger.Open(badger.DefaultOptions(filepath.Join(h.dir, "failing")).WithLogger(nil))
	require.NoError(t, err)
	var commits atomic.Int64
	model, err := rows.New(rows.Options{DB: db, Log: h.store.Collections, Opener: &collections.Envelope{Parts: h.store.Collections, Vault: h.vault}, Logger: quiet, Commit: func(txn *badger.Txn) error {
		if n := commits.Add(1); n == 3 || n == 9 || n == 17 {
			return errors.New("the disk is full")
		}
		return txn.Commit()
	}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = model.Run(ctx) })
	failing := &node{store: h.store, model: model}
	require.NoError(t, model.View(t.Context(), workspace, func(v collection.Source, _ collection.Mark) error {
		infos, err := v.Infos()
		require.Len(t, infos, 1)
		return err
	}))
	require.Greater(t, commits.Load(), int64(17))
	same(t, n.dump(t), failing.dump(t))
	stop()
	running.Wait()
	require.NoError(t, db.Close())
}

// plain is collections as a test keeps them: rows with one number and one unique text.
type plain map[string]struct {
	n float64
	s string
}

func (p plain) isTaken(s, but string) bool {
	for id, row := range p {
		if row.s == s && id != but {
			return true
		}
	}
	return false
}

// random makes one random call on both and returns whether it counted on each.
func (p plain) random(g *rand.Rand, n *node) (want bool, err error) {
	id, s := fmt.Sprint("r", g.IntN(30)), fmt.Sprint("s", g.IntN(40))
	row, have := p[id]
	switch g.IntN(5) {
	case 0, 1:
		_, err = n.try(context.Background(), "create", fmt.Sprintf(`{"collection":"c","data":{"id":"%s","n":1,"s":"%s"}}`, id, s))
		if want = !have && !p.isTaken(s, ""); want {
			row.n, row.s = 1, s
			p[id] = row
		}
	case 2:
		_, err = n.try(context.Background(), "updateOne", fmt.Sprintf(`{"collection":"c","query":{"id":"%s"},"update":{"$inc":{"n":1},"$set":{"s":"%s"}}}`, id, s))
		if want = !have || !p.isTaken(s, id); want && have {
			row.n, row.s = row.n+1, s
			p[id] = row
		}
	case 3:
		_, err = n.try(context.Background(), "deleteMany", fmt.Sprintf(`{"collection":"c","query":{"s":"%s"}}`, s))
		maps.DeleteFunc(p, func(_ string, row struct {
			n float64
			s string
		}) bool {
			return row.s == s
		})
		want = true
	default:
		_, err = n.try(context.Background(), "updateMany", `{"collection":"c","query":{"n":{"$gt":2}},"update":{"n":0}}`)
		for id, row := range p {
			if row.n > 2 {
				row.n = 0
				p[id] = row
			}
		}
		want = true
	}
	return want, err
}

func TestRandomCallsLeaveWhatAPlainModelHas(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "updateSchema", `{"collection":"c","properties":{"n":"number","s":"string"},"indexes":[["n"],["s","n"]],"uniques":[["s"]]}`)
	g, p := rand.New(rand.NewPCG(5, 6)), plain{}
	for i := range 600 {
		want, err := p.random(g, n)
		require.Equal(t, want, err == nil, "%v", err)
		if i%100 == 99 {
			n.call(t, "updateSchema", fmt.Sprintf(`{"collection":"c","properties":{"n":"number","s":"string"},"indexes":[["n"],["s","n"]%s],"uniques":[["s"]]}`,
				[]string{"", `,["n","s"]`}[i/100%2]))
		}
	}
	var found []string
	for _, id := range slices.Sorted(maps.Keys(p)) {
		found = append(found, fmt.Sprintf(`{"id":"%s","n":%v,"s":"%s"}`, id, p[id].n, p[id].s))
	}
	require.Equal(t, "["+strings.Join(found, ",")+"]", n.call(t, "findMany", `{"collection":"c","opts":{"fields":["n","s"]}}`))
	same(t, n.dump(t), h.node(t, h.store.Collections, "fresh").dump(t))
}
