package collections_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/collections"
	"svc/domain"
	"svc/domain/collection"
	"svc/domain/value"
)

var people = collection.Target{Name: "people"}

// source hands over rows that are written as JSON, each in a line of its own.
func source(rows ...string) collections.Source {
	line := 0
	return func() (item collection.ImportItem, fault *collection.ImportFault, ok bool, err error) {
		if line == len(rows) {
			return item, nil, false, nil
		}
		line++
		return collection.ImportItem{Line: line, Data: object(rows[line-1])}, nil, true, nil
	}
}

// Upserts of many nodes that come at once agree on the unique that the first of them makes.
func TestRacingUpsertsMakeOneUnique(t *testing.T) {
	_, nodes := two(t)
	nodes[0].call(t, "bulkCreate", `{"collection":"c","data":[{"k":"a","n":0},{"k":"b","n":0}]}`)
	var racing sync.WaitGroup
	for i := range 16 {
		racing.Go(func() {
			_, err := nodes[i%2].try(context.Background(), "upsert", fmt.Sprintf(`{"collection":"c","data":{"k":"%c","n":%d},"opts":{"onConflictFields":["k"]}}`, 'a'+i%4, i))
			if err != nil {
				t.Error(err)
			}
			// What comes after it asks for the index that it made.
			if got, err := nodes[i%2].try(context.Background(), "updateMany", fmt.Sprintf(`{"collection":"c","query":{"k":"%c"},"update":{"seen":true}}`, 'a'+i%4)); err != nil || value.Text(value.At(got, "matchedCount")) != "1" {
				t.Error(value.JSON(got, ""), err)
			}
		})
	}
	racing.Wait()
	for _, n := range nodes {
		require.JSONEq(t, `["a","b","c","d"]`, n.call(t, "distinct", `{"collection":"c","field":"k"}`))
		require.JSONEq(t, `4`, n.call(t, "count", `{"collection":"c","query":{"seen":true}}`))
		require.JSONEq(t, `[{"collection":"c","properties":{},"indexes":[],"uniques":[["k"]]}]`, n.call(t, "getCollectionSchemas", `{}`))
	}
	same(t, nodes[0].dump(t), nodes[1].dump(t))
}

// The rows of a node that reads the log again are the same, with what upserts declared.
func TestUniquesOfUpsertsAreReadAgain(t *testing.T) {
	h, n := openSingleNode(t)
	n.call(t, "upsert", `{"collection":"c","data":{"k":1,"free":[1]},"opts":{"onConflictFields":["k"]}}`)
	n.call(t, "updateSchema", `{"collection":"c","properties":{"k":{"type":"integer","minimum":0},"free":"json"},"indexes":[{"properties":["k"],"name":"x"}]}`)
	n.call(t, "upsert", `{"collection":"c","data":{"k":2},"opts":{"onConflictFields":["k"]}}`)
	want := n.dump(t)
	n.end()
	again := h.node(t, h.store.Collections, "again")
	same(t, want, again.dump(t))
	_, err := again.try(t.Context(), "create", `{"collection":"c","data":{"k":2}}`)
	require.Equal(t, "unique", reason(err))
	require.JSONEq(t, `[{"collection":"c","properties":{"k":{"type":"integer","minimum":0},"free":{"type":"json"}},"indexes":[{"properties":["k"],"name":"x"}],"uniques":[["k"]]}]`, again.call(t, "getCollectionSchemas", `{}`))
}

func TestAnImportIsWrittenInBatches(t *testing.T) {
	h := open(t)
	n := h.node(t, h.store.Collections, "rows")
	rows := make([]string, 25_000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"k":%d,"n":%d}`, i%24_000, i)
	}
	dry, err := n.Import(t.Context(), somebody, collections.Import{Target: people, Next: source(rows...), OnConflict: []string{"k"}, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "0", n.call(t, "count", `{"collection":"people"}`))
	done, err := n.Import(t.Context(), somebody, collections.Import{Target: people, Next: source(rows...), OnConflict: []string{"k"}})
	require.NoError(t, err)
	require.Equal(t, []int{24_000, 1_000, 0, 0}, []int{done.Inserted, done.Updated, done.Unchanged, done.Refused})
	require.Equal(t, done, dry)
	require.Equal(t, "24000", n.call(t, "count", `{"collection":"people"}`))
	entries := 0
	require.NoError(t, h.store.Collections.Since(t.Context(), workspace, 0, func(collection.Logged) error { entries++; return nil }))
	require.Less(t, entries, 10)

	again, err := n.Import(t.Context(), somebody, collections.Import{Target: people, Next: source(rows[24_000:]...), OnConflict: []string{"k"}})
	require.NoError(t, err)
	require.Equal(t, []int{0, 0, 1_000}, []int{again.Inserted, again.Updated, again.Unchanged})
}

func TestOnlyTheFirstFaultsOfAnImportAreTold(t *testing.T) {
	_, n := openSingleNode(t)
	rows := make([]string, 3_000)
	for i := range rows {
		rows[i] = `{"$a":1}`
	}
	done, err := n.Import(t.Context(), somebody, collections.Import{Target: people, Next: source(rows...)})
	require.NoError(t, err)
	require.Equal(t, []int{0, 3_000, 1_000}, []int{done.Inserted, done.Refused, len(done.Faults)})
	require.JSONEq(t, `[]`, n.call(t, "listCollections", `{}`))
}

// A request that is repeated because its answer was lost finds what it has written.
func TestARepeatedRequestWritesItsRowsOnce(t *testing.T) {
	_, n := openSingleNode(t)
	attempt := func() context.Context { return commands.WithRequest(t.Context(), &commands.Request{Seed: "s1"}) }
	first, err := n.Create(attempt(), somebody, people, object(`{"a":1}`))
	require.NoError(t, err)
	again, err := n.Create(attempt(), somebody, people, object(`{"a":1}`))
	require.NoError(t, err)
	require.Equal(t, value.JSON(first.Row, ""), value.JSON(again.Row, ""))
	for range 2 {
		done, err := n.Import(attempt(), somebody, collections.Import{Target: collection.Target{Name: "files"}, Next: source(`{"a":1}`, `{"a":2}`)})
		require.NoError(t, err)
		require.Equal(t, 2, done.Inserted)
	}
	require.Equal(t, "1", n.call(t, "count", `{"collection":"people"}`))
	require.Equal(t, "2", n.call(t, "count", `{"collection":"files"}`))
}

func TestRowsThatAreNotThereAreNotFound(t *testing.T) {
	_, n := openSingleNode(t)
	_, err := n.Row(t.Context(), somebody, people, "a")
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
	_, err = n.Create(t.Context(), somebody, people, object(`{"id":"a"}`))
	require.NoError(t, err)
	stale := func(string) error { return domain.Refuse(domain.CodeConflict, "stale") }
	_, err = n.Change(t.Context(), somebody, people, "a", object(`{"n":1}`), stale)
	require.Equal(t, domain.CodeConflict, domain.CodeOf(err))
	require.Equal(t, domain.CodeConflict, domain.CodeOf(n.Remove(t.Context(), somebody, people, "a", stale)))
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(n.Remove(t.Context(), somebody, people, "b", nil)))
	require.NoError(t, n.Remove(t.Context(), somebody, people, "a", nil))
	require.NoError(t, n.Drop(t.Context(), somebody, people))
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(n.Drop(t.Context(), somebody, people)))
}
