package collections_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/commands/collections"
	"svc/commands/seal"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/catalog"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/eventstore/jetstream"
	"svc/projections/rows"
)

var quiet = slog.New(slog.DiscardHandler)

const patience = time.Minute

// fixture is a store with the collections of one node, or of several.
type fixture struct {
	store *jetstream.Store
	vault *vault.Vault
	dir   string
}

func open(tb testing.TB) *fixture {
	tb.Helper()
	dir := tb.TempDir()
	return openAt(tb, dir, openStore(tb, filepath.Join(dir, "log")))
}

// openStore opens a store that ends with the test.
func openStore(tb testing.TB, dir string) *jetstream.Store {
	tb.Helper()
	store, err := jetstream.Open(tb.Context(), jetstream.Options{Dir: dir, Events: events(), Log: quiet})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = store.Close(context.Background()) })
	return store
}

func openAt(tb testing.TB, dir string, store *jetstream.Store) *fixture {
	tb.Helper()
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: make([]byte, 32), Active: true}})
	require.NoError(tb, err)
	keys, err := store.Buckets.Open(tb.Context(), jetstream.BucketConfig{Name: "KEYS"})
	require.NoError(tb, err)
	return &fixture{store: store, vault: vault.New(box, keys), dir: dir}
}

// shared is a store that others append to as well.
type shared struct{ *jetstream.Collections }

func (shared) Alone() bool { return false }

// node is the collections of one node, and its rows.
type node struct {
	*collections.Collections
	store *jetstream.Store
	model *rows.Model
	end   func()
}

// node opens a node with its rows in a directory, and ends it with the test unless
// that does.
func (h *fixture) node(tb testing.TB, log collections.Log, dir string) *node {
	tb.Helper()
	return h.open(tb, log, dir, true)
}

// idle opens a node that makes no snapshots by itself.
func (h *fixture) idle(tb testing.TB, dir string) *node {
	return h.open(tb, h.store.Collections, dir, false)
}

func (h *fixture) open(tb testing.TB, log collections.Log, dir string, compacts bool) *node {
	tb.Helper()
	db, err := badger.Open(badger.DefaultOptions(filepath.Join(h.dir, dir)).WithLogger(nil).WithDetectConflicts(false).
		WithNumVersionsToKeep(1).WithMemTableSize(8 << 20).WithValueThreshold(1 << 20).WithValueLogFileSize(8 << 20)) // as projections.OpenDB has it
	require.NoError(tb, err)
	model, err := rows.New(rows.Options{DB: db, Log: h.store.Collections, Opener: &collections.Envelope{Parts: h.store.Collections, Vault: h.vault}, Logger: quiet})
	require.NoError(tb, err)
	c, err := collections.New(collections.Options{Log: log, Rows: model, Vault: h.vault, Logger: quiet})
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = model.Run(ctx) })
	if compacts {
		running.Go(func() { _ = c.Run(ctx) })
	}
	end := sync.OnceFunc(func() {
		stop()
		running.Wait()
		require.NoError(tb, db.Close())
	})
	tb.Cleanup(end)
	return &node{c, h.store, model, end}
}

// openSingleNode opens the only node of a fixture.
func openSingleNode(tb testing.TB) (*fixture, *node) {
	tb.Helper()
	h := open(tb)
	return h, h.node(tb, h.store.Collections, "rows")
}

var somebody = collections.Caller{WorkspaceID: "w1", UserID: "u1"}

// call makes a call with its parameters as JSON, and returns the result as JSON.
func (n *node) call(tb testing.TB, function, params string) string {
	tb.Helper()
	result, err := n.try(tb.Context(), function, params)
	require.NoError(tb, err)
	return value.JSON(result, "")
}

func (n *node) try(ctx context.Context, function, params string) (any, error) {
	return n.Call(ctx, somebody, function, object(params))
}

func object(text string) *value.Object {
	v, err := value.ParseJSON(text)
	if err != nil {
		panic(err) // a test that is written wrongly
	}
	o, _ := v.(*value.Object)
	return o
}

// reason returns why a call was refused.
func reason(err error) any {
	refusal := automation.ErrorOf(err)
	return refusal.Details.At("reason")
}

// dump returns everything that the rows of a node keep, once they have all that is in
// the log.
func (n *node) dump(tb testing.TB) map[string]string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	_, _, last, err := n.store.Collections.Info(ctx)
	require.NoError(tb, err)
	require.NoError(tb, n.model.Reach(ctx, last))
	all := map[string]string{}
	require.NoError(tb, n.model.Dump(func(key, value []byte) error {
		all[string(key)] = string(value)
		return nil
	}))
	return all
}

var workspace = collection.Stream("w1", "workspace")

func events() domain.Registry { return catalog.Events() }

// same requires that two models keep the same, byte by byte.
func same(tb testing.TB, want, got map[string]string) {
	tb.Helper()
	var differ []string
	for key := range maps.All(want) {
		if got[key] != want[key] {
			differ = append(differ, fmt.Sprintf("%q is %q, not %q", key, got[key], want[key]))
		}
	}
	for key := range maps.All(got) {
		if _, ok := want[key]; !ok {
			differ = append(differ, fmt.Sprintf("%q is there: %q", key, got[key]))
		}
	}
	require.Empty(tb, differ[:min(len(differ), 5)], "%d keys differ", len(differ))
}

func TestRowsAreWrittenAndRead(t *testing.T) {
	_, n := openSingleNode(t)
	require.JSONEq(t, `[]`, n.call(t, "findMany", `{"collection":"c"}`))
	require.JSONEq(t, `{"acknowledged":true,"insertedId":"a"}`, n.call(t, "create", `{"collection":"c","data":{"id":"a","n":1}}`))
	require.JSONEq(t, `{"acknowledged":true,"insertedCount":2,"insertedIds":["b","d"]}`,
		n.call(t, "bulkCreate", `{"collection":"c","data":[{"_id":"b","n":2},{"id":"d","n":3}]}`))
	require.JSONEq(t, `[{"id":"a","n":1},{"id":"b","n":2},{"id":"d","n":3}]`, n.call(t, "findMany", `{"collection":"c","opts":{"fields":["n"]}}`))
	require.JSONEq(t, `{"matchedCount":2,"modifiedCount":2}`, n.call(t, "updateMany", `{"collection":"c","query":{"n":{"$gt":1}},"update":{"$inc":{"n":10}}}`))
	require.JSONEq(t, `{"deletedCount":1}`, n.call(t, "deleteOne", `{"collection":"c","query":{"_id":"a"}}`))
	require.JSONEq(t, `[12,13]`, n.call(t, "distinct", `{"collection":"c","field":"n"}`))
	require.JSONEq(t, `2`, n.call(t, "count", `{"collection":"c"}`))
	require.JSONEq(t, `["c"]`, n.call(t, "listCollections", `{}`))
}
