package collection_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/automation"
	"svc/domain/collection"
	"svc/domain/value"
)

// aggregate returns the call of an aggregate with these steps.
func aggregate(steps ...string) string {
	return `aggregate {"collection":"c","steps":[` + strings.Join(steps, ",") + `]}`
}

// times returns something so many times, with commas between.
func times(n int, step string) string { return strings.TrimSuffix(strings.Repeat(step+",", n), ",") }

// Each step doubles what a row holds, of a list that is there once.
func TestRowsThatHoldAListTooOftenAreRefused(t *testing.T) {
	const (
		begin  = `{"$limit":1},{"$project":{"a":["$s","$s"]}}`
		double = `{"$project":{"a":["$a","$a"]}}`
	)
	tests := map[string]string{
		"in the result":       aggregate(begin, times(60, double)),
		"before it is sorted": aggregate(begin, times(60, double), `{"$sort":{"a":1}}`),
		"before it is left":   aggregate(begin, times(60, double), `{"$count":"n"}`),
		"as a first value":    aggregate(begin, times(60, `{"$group":{"_id":null,"a":{"$first":["$a","$a"]}}}`)),
		"in a list":           aggregate(begin, times(60, `{"$group":{"_id":null,"a":{"$push":["$a","$a"]}}}`)),
		"in a set":            aggregate(begin, times(60, `{"$group":{"_id":null,"a":{"$addToSet":["$a","$a"]}}}`)),
		"in what is alike":    aggregate(`{"$group":{"_id":"$s"}}`, times(60, `{"$group":{"_id":["$_id","$_id"]}}`)),
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.line(t, `create {"collection":"c","data":{"s":"`+strings.Repeat("x", 100_000)+`"}}`)
			require.Equal(t, `CollectionError too_large`, m.line(t, line))
		})
	}
}

// endless unwinds one row to more rows than anyone could count.
var endless = aggregate(`{"$limit":1}`, times(49, `{"$project":{"l":[1,1]}},{"$unwind":"$l"}`), `{"$count":"n"}`)

func TestACallMayNotCostTooMuch(t *testing.T) {
	const rows = `bulkCreate {"collection":"c","data":[{"id":"a","l":[1,2,3]},{"id":"b","l":[4]},{"id":"c"}]}`
	tests := map[string]string{
		"rows":      endless,
		"sorting":   aggregate(times(90, `{"$sort":{"id":-1}}`)),
		"terms":     aggregate(`{"$project":{"o":{` + fields(10_000, `"$none"`) + `}}}`),
		"a query":   `count {"collection":"c","query":{"l":{"$in":[` + numbers(100_000) + `]}}}`,
		"a removal": `updateOne {"collection":"c","query":{"id":"a"},"update":{"$pull":{"l":{"$in":[` + numbers(10_000) + `]}}}}`,
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.line(t, rows)
			m.limits.MaxSteps = 10_000
			require.Equal(t, `CollectionError too_large`, m.line(t, line))
		})
	}
}

// What a query reads of long texts costs by the row about as much as to hand that on.
func TestAnOrdinaryQueryCostsLittle(t *testing.T) {
	m := newMemory()
	m.line(t, `create {"collection":"c","data":{"id":"a","note":"`+strings.Repeat("x", 1000)+`"}}`)
	m.limits.MaxSteps = 3000
	require.Equal(t, `0`, m.line(t, `count {"collection":"c","query":{"note":{"$regex":"an ordinary sentence"}}}`))
	require.Equal(t, `0`, m.line(t, `count {"collection":"c","query":{"note":{"$in":[`+times(1000, `"`+strings.Repeat("y", 36)+`"`)+`]}}}`))
}

// numbers returns whole numbers from 10 on, as items of a list; fields returns keys with
// one value each.
func numbers(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint(i + 10)
	}
	return strings.Join(items, ",")
}

func fields(n int, v string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`"f%d":%s`, i, v)
	}
	return strings.Join(items, ",")
}

func TestACallEndsWhenNobodyWaitsForItAnyMore(t *testing.T) {
	const rows = `bulkCreate {"collection":"c","data":[{"id":"a","n":1,"l":[1,2,3]},{"id":"b","n":2,"l":[4]},{"id":"c","n":3}]}`
	for _, line := range []string{
		endless,
		`aggregate {"collection":"c","steps":[{"$sort":{"n":1}}]}`,
		`aggregate {"collection":"c","steps":[{"$group":{"_id":"$n"}}]}`,
		`findMany {"collection":"c"}`, `findMany {"collection":"c","opts":{"sort":{"n":1}}}`, `findOne {"collection":"c","query":{"id":"b"}}`,
		`findAndCount {"collection":"c"}`, `count {"collection":"c","query":{"n":3}}`, `distinct {"collection":"c","field":"n"}`,
		`inferCollectionSchema {"collection":"c"}`, `updateSchema {"collection":"c","properties":{"n":"string"}}`,
		`create {"collection":"c","data":{"n":1,"m":1}}`, `upsert {"collection":"c","data":{"id":"a","n":5},"opts":{"onConflictFields":["id"]}}`,
		`updateMany {"collection":"c","query":{"n":{"$gt":0}},"update":{"n":1}}`, `deleteMany {"collection":"c","query":{"n":{"$gt":0}}}`,
	} {
		m, gone := newMemory(), errors.New("nobody waits")
		m.line(t, rows)
		before := fmt.Sprint(m.Collections, m.Stored)
		looks := 0
		m.alive = func() error {
			if looks++; looks > 1 {
				return gone
			}
			return nil
		}
		function, params, _ := strings.Cut(line, " ")
		_, err := m.call(t, function, object(t, params))
		require.ErrorIs(t, err, gone, line)
		require.Equal(t, before, fmt.Sprint(m.Collections, m.Stored), "%s changed something", line)
	}
}

// The list has more items than there is time to compare each with each.
func TestLargeSetsAreAddedTo(t *testing.T) {
	m := newMemory()
	m.line(t, `create {"collection":"c","data":{"id":"a","l":[10,10,11]}}`)
	items := make([]any, 200_000)
	for i := range items {
		items[i] = float64(i)
	}
	add := func(op string) error {
		_, err := m.call(t, "updateOne", value.NewObject("collection", "c", "query", value.NewObject("id", "a"),
			"update", value.NewObject(op, value.NewObject("l", value.NewObject("$each", items)))))
		return err
	}
	require.NoError(t, add("$addToSet"))
	require.Equal(t, `1`, m.line(t, `count {"collection":"c","query":{"l":{"$size":200001}}}`))
	m.limits.MaxRowSize = 100_000
	for _, op := range []string{"$addToSet", "$push"} {
		require.Equal(t, collection.TooLarge, automation.ErrorOf(add(op)).Details.At("reason"))
	}
}

func TestASetHasNoItemTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := rapid.SliceOfN(rapid.SampledFrom([]string{`0`, `-0`, `[0]`, `[-0]`, `null`, `[null]`, `[]`, `{}`, `"0"`, `false`, `{"a":1,"b":[2]}`, `{"b":[2],"a":1}`, `{"a":-0}`, `{"a":0}`}), 0, 6)
		have, more := list(t, g.Draw(r, "have")), list(t, g.Draw(r, "more"))
		m := newMemory()
		_, err := m.call(t, "create", value.NewObject("collection", "c", "data", value.NewObject("id", "a", "l", have)))
		require.NoError(t, err)
		_, err = m.call(t, "updateOne", value.NewObject("collection", "c", "query", value.NewObject("id", "a"),
			"update", value.NewObject("$addToSet", value.NewObject("l", value.NewObject("$each", more)))))
		require.NoError(t, err)
		want := have
		for _, item := range more {
			if !contains(want, item) {
				want = append(want, item)
			}
		}
		row, err := m.Row(1, "a")
		require.NoError(t, err)
		require.True(t, value.StrictEqual(want, row.At("l")), "%v and %v is %v", value.JSON(have, ""), value.JSON(more, ""), value.JSON(row.At("l"), ""))
	})
}

func list(tb testing.TB, items []string) []any {
	tb.Helper()
	parsed, err := value.ParseJSON(`[` + strings.Join(items, ",") + `]`)
	require.NoError(tb, err)
	all, _ := parsed.([]any)
	return all
}

func contains(list []any, v any) bool {
	for _, item := range list {
		if value.StrictEqual(item, v) {
			return true
		}
	}
	return false
}

// What is done for each field and each value must not grow with their square.
func TestManyFieldsAreWritten(t *testing.T) {
	m := newMemory()
	many := fields(100_000, `1`)
	m.line(t, `updateSchema {"collection":"c","properties":{"n":"number","e":{"type":"enumArray","enum":[`+numbers(10_000)+`]}}}`)
	m.limits.MaxRowSize = 10 << 20
	dropped := func(function, params string) {
		t.Helper()
		result, err := m.call(t, function, object(t, params))
		require.NoError(t, err)
		require.Len(t, value.At(result, "droppedFields"), 100_000)
	}
	dropped("create", `{"collection":"c","data":{"id":"a","n":1,`+many+`}}`)
	dropped("updateOne", `{"collection":"c","query":{"id":"a"},"update":{`+many+`}}`)
	callScript{
		`updateOne {"collection":"c","query":{"id":"a"},"update":{"e":[` + times(100_000, "9999") + `]}}`, `{"matchedCount":1,"modifiedCount":1}`,
		`create {"collection":"d","data":{"id":"a"}}`, `{"acknowledged":true,"insertedId":"a"}`,
		`updateOne {"collection":"d","query":{"id":"a"},"update":{` + many + `}}`, `{"matchedCount":1,"modifiedCount":1}`,
		`count {"collection":"d","query":{"f99999":1}}`, `1`,
	}.run(t, m)
}

func TestCallsThatNameTooMuchAreRefused(t *testing.T) {
	many := fields(2000, `1`)
	pairs := times(20, `["n","m"],["m","n"],["n"],["m"]`)
	callScript{
		`create {"collection":"c","data":{"id":"a"}}`, `{"acknowledged":true,"insertedId":"a"}`,
		`findMany {"collection":"c","query":{` + many + `}}`, `CollectionError bad_query`,
		`findMany {"collection":"c","query":{"$or":[{` + many + `}]}}`, `CollectionError bad_query`,
		`findMany {"collection":"c","opts":{"sort":{` + many + `}}}`, `CollectionError bad_query`,
		`findMany {"collection":"c","opts":{"fields":{` + many + `}}}`, `CollectionError bad_query`,
		`aggregate {"collection":"c","steps":[{"$sort":{` + many + `}}]}`, `CollectionError bad_query`,
		`aggregate {"collection":"c","steps":[{"$project":{` + many + `}}]}`, `CollectionError bad_query`,
		`updateSchema {"collection":"c","properties":{"e":{"type":"enum","enum":[` + numbers(10_001) + `]}}}`, `CollectionError validation`,
		`updateSchema {"collection":"c","properties":{"n":"number","m":"number"},"indexes":[` + pairs + `]}`, `{"collection":"c","properties":{"n":{"type":"number"},"m":{"type":"number"}},"indexes":[["n","m"],["m","n"],["n"],["m"]],"uniques":[]}`,
	}.run(t, newMemory())
}

func TestACallHoldsNoMoreThanItMay(t *testing.T) {
	m := newMemory()
	for i := range 80 {
		_, err := m.call(t, "create", value.NewObject("collection", "c", "data", value.NewObject("id", fmt.Sprintf("%02d", i), "s", fmt.Sprintf("%02d", i)+strings.Repeat("x", 900_000))))
		require.NoError(t, err)
		_, err = m.call(t, "create", value.NewObject("collection", "d", "data", value.NewObject("n", 1.0)))
		require.NoError(t, err)
	}
	callScript{
		`distinct {"collection":"c","field":"s"}`, `CollectionError too_large`,
		`aggregate {"collection":"c","steps":[{"$group":{"_id":"$id","s":{"$first":"$s"}}},{"$count":"n"}]}`, `CollectionError too_large`,
		`aggregate {"collection":"c","steps":[{"$group":{"_id":null,"s":{"$last":"$s"}}},{"$count":"n"}]}`, `[{"n":1}]`,
		`aggregate {"collection":"c","steps":[{"$group":{"_id":null,"s":{"$min":"$s"}}},{"$count":"n"}]}`, `[{"n":1}]`,
		`updateMany {"collection":"d","query":{"n":1},"update":{"s":"` + strings.Repeat("x", 900_000) + `"}}`, `CollectionError too_large`,
	}.run(t, m)
}

// A sorted export holds what it sorts by, never the rows, and says before the first row when
// that is too much.
func TestASortedExportHoldsOnlyWhatItSortsBy(t *testing.T) {
	m := newMemory()
	for i := range 75 {
		m.line(t, fmt.Sprintf(`create {"collection":"c","data":{"id":"%02d","n":%d,"s":"%s"}}`, i, (i*7)%75, strings.Repeat("x", 950_000)))
	}
	export := func(sort *value.Object) (numbers []float64, err error) {
		call, err := collection.ExportRows(collection.Target{Name: "c"}, collection.Export{Sort: sort, Visit: func(row *value.Object) error {
			numbers = append(numbers, row.At("n").(float64))
			return nil
		}}, collection.Limits{})
		require.NoError(t, err)
		_, err = call.Read(m, nil)
		return numbers, err
	}
	sorted, err := export(value.NewObject("n", -1.0))
	require.NoError(t, err, "the rows are 71 MB")
	require.Len(t, sorted, 75)
	for i, n := range sorted {
		require.InDelta(t, 74-i, n, 0)
	}
	none, err := export(value.NewObject("s", 1.0))
	require.ErrorContains(t, err, "export them without sort")
	require.Empty(t, none)
	all, err := export(nil)
	require.NoError(t, err)
	require.Len(t, all, 75)
}
