package collection_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/collection"
	"svc/domain/value"
)

const indexed = `updateSchema {"collection":"c","properties":{"n":"number","s":"string","l":"array","j":"json","u":"string","v":"number"},` +
	`"indexes":[["n"],["s","n"],["l"],["j"]],"uniques":[["u"],["u","v"]]}`

func TestQueriesLookAtFewRows(t *testing.T) {
	m := newMemory()
	m.line(t, indexed)
	for i := range 100 {
		m.line(t, fmt.Sprintf(`create {"collection":"c","data":{"id":"r%02d","n":%d,"s":"s%d","l":[%d,"x%d"],"u":"u%d"}}`, i, i%50, i%10, i%20, i%5, i))
	}
	tests := map[string]struct{ rows, seen int }{
		`{"id":"r01"}`:                       {1, 0},
		`{"_id":{"$in":["r01","r02","zz"]}}`: {2, 0},
		`{"n":7}`:                            {2, 2},
		`{"n":{"$in":[7,8]}}`:                {4, 4},
		`{"n":{"$gte":48}}`:                  {4, 4},
		`{"n":{"$gt":1,"$lt":3}}`:            {2, 6},
		`{"n":{"$gt":"a"}}`:                  {0, 0},
		`{"n":{"$lt":null}}`:                 {0, 0},
		`{"s":"s3"}`:                         {10, 10},
		`{"s":"s3","n":{"$gt":20}}`:          {6, 6},
		`{"s":"s3","n":13}`:                  {2, 2},
		`{"$and":[{"s":"s3"},{"n":13}]}`:     {2, 2},
		`{"l":"x3"}`:                         {20, 20},
		`{"l":[3,"x3"]}`:                     {5, 5},
		`{"u":"u7"}`:                         {1, 1},
		`{"u":null}`:                         {0, 100},
		`{"v":1}`:                            {0, 100},
		`{"$or":[{"n":7}]}`:                  {2, 100},
		`{"n":{"$ne":7}}`:                    {98, 100},
	}
	for query, want := range tests {
		m.seen = 0
		found := m.line(t, `count {"collection":"c","query":`+query+`}`)
		require.Equal(t, fmt.Sprint(want.rows), found, query)
		require.Equal(t, want.seen, m.seen, query)
	}
}

// generator makes values that are often equal, or nearly so.
type generator struct{ *rand.Rand }

func (g generator) scalar() any {
	return []any{nil, true, false, 0.0, 1.0, -1.5, 1e9, "", "a", "b", "a\x00b", strings.Repeat("a", 300), strings.Repeat("a", 256), strings.Repeat("a", 299) + "b"}[g.IntN(14)]
}

func (g generator) any() any {
	switch g.IntN(5) {
	case 0:
		return []any{g.scalar(), g.scalar()}
	case 1:
		return value.NewObject("k", g.scalar())
	}
	return g.scalar()
}

func (g generator) condition() *value.Object {
	cond := &value.Object{}
	for range 1 + g.IntN(3) {
		field := []string{"n", "s", "l", "j", "u", "v", "id"}[g.IntN(7)]
		op := []string{"$eq", "$in", "$gt", "$gte", "$lt", "$lte", "$ne"}[g.IntN(7)]
		operand := g.any()
		if op == "$in" {
			operand = []any{g.any(), g.any()}
		}
		if old, ok := cond.At(field).(*value.Object); ok {
			old.Set(op, operand)
			continue
		}
		cond.Set(field, value.NewObject(op, operand))
	}
	return cond
}

func TestIndexesNeverChangeAnAnswer(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	with, without := newMemory(), newMemory()
	with.line(t, indexed)
	without.line(t, strings.Replace(indexed, `["n"],["s","n"],["l"],["j"]`, ``, 1))
	for i := range 200 {
		data := value.NewObject("id", fmt.Sprintf("r%d", i), "l", []any{g.any()}, "j", g.any())
		if n, ok := g.scalar().(float64); ok {
			data.Set("n", n)
			data.Set("v", n)
		}
		if s, ok := g.scalar().(string); ok {
			data.Set("s", s)
		}
		if g.IntN(3) > 0 {
			data.Set("u", fmt.Sprint("u", i))
		}
		params := value.NewObject("collection", "c", "data", data)
		for _, m := range []*memory{with, without} {
			_, err := m.call(t, "create", params)
			require.NoError(t, err)
		}
	}
	for range 800 {
		params := value.NewObject("collection", "c", "query", g.condition(), "opts", value.NewObject("sort", value.NewObject("n", -1.0), "limit", 50.0))
		if g.IntN(2) == 0 {
			params.Set("opts", value.NewObject("limit", 7.0))
		}
		fast, err := with.call(t, "findMany", params)
		require.NoError(t, err)
		slow, err := without.call(t, "findMany", params)
		require.NoError(t, err)
		require.Equal(t, value.JSON(slow, ""), value.JSON(fast, ""), value.JSON(params, ""))
	}
}

func TestKeysAreInTheOrderOfValues(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(3, 4))}
	for range 20_000 {
		a, b := g.any(), g.any()
		order := bytes.Compare(collection.Key(nil, a), collection.Key(nil, b))
		if long(a) && long(b) {
			require.Equal(t, value.StrictEqual(a, b), order == 0)
			continue
		}
		if wanted := collection.Compare(a, b); wanted != 0 {
			require.Equal(t, wanted < 0, order < 0, "%v %v", a, b)
		} else {
			require.Equal(t, value.StrictEqual(a, b), order == 0, "%v %v", a, b)
		}
	}
}

func long(v any) bool {
	s, ok := v.(string)
	return ok && len(s) > 256
}

func TestMixedValuesAreSorted(t *testing.T) {
	m := newMemory()
	for i, v := range []string{`"b"`, `2`, `true`, `null`, `"a"`, `{}`, `-1`, `false`, `[]`} {
		m.line(t, fmt.Sprintf(`create {"collection":"c","data":{"id":"r%d","v":%s}}`, i, v))
	}
	m.line(t, `create {"collection":"c","data":{"id":"r9"}}`)
	up := `[{"id":"r3","v":null},{"id":"r9"},{"id":"r7","v":false},{"id":"r2","v":true},{"id":"r6","v":-1},{"id":"r1","v":2},{"id":"r4","v":"a"},{"id":"r0","v":"b"},{"id":"r5","v":{}},{"id":"r8","v":[]}]`
	callScript{`findMany {"collection":"c","opts":{"sort":{"v":1}}}`, up}.run(t, m)
	callScript{`findMany {"collection":"c","opts":{"sort":{"v":-1},"limit":3,"fields":["id"]}}`, `[{"id":"r5"},{"id":"r8"},{"id":"r0"}]`}.run(t, m)
}

func FuzzStoredBytes(f *testing.F) {
	f.Add(collection.AppendValue(nil, value.NewObject("a", []any{nil, true, 1.0, 1.5, "x"})))
	f.Add(collection.AppendChange(nil, collection.Change{Kind: collection.Put, Collection: 1, RowID: "a", Row: []byte{0}}))
	f.Add(collection.Entry{Parts: 3, Name: "n", Size: 5}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := collection.DecodeValue(b); err == nil {
			again, err := collection.DecodeValue(collection.AppendValue(nil, v))
			require.NoError(t, err)
			require.Equal(t, value.JSON(v, ""), value.JSON(again, ""))
		}
		if changes, err := collection.DecodeChanges(b); err == nil {
			var encoded []byte
			for _, c := range changes {
				encoded = collection.AppendChange(encoded, c)
			}
			again, err := collection.DecodeChanges(encoded)
			require.NoError(t, err)
			require.Len(t, again, len(changes))
		}
		_, _ = collection.ParseEntry(b)
	})
}

func FuzzCalls(f *testing.F) {
	for _, name := range []string{"findMany", "updateMany", "aggregate", "updateSchema", "bulkUpsert", "deleteMany"} {
		f.Add(name, `{"collection":"c","query":{"n":{"$gt":1}},"update":{"$inc":{"n":1}},"steps":[{"$match":{}}],"properties":{"n":"number"},"data":[{}],"opts":{}}`)
	}
	f.Add("aggregate", `{"collection":"c","steps":[{"$unwind":"$t"},{"$group":{"_id":"$g","n":{"$sum":1}}},{"$project":{"a":1,"b":"$c"}}]}`)
	f.Fuzz(func(t *testing.T, function, params string) {
		v, err := value.ParseJSON(params)
		o, ok := v.(*value.Object)
		if err != nil || !ok {
			return
		}
		m := newMemory()
		m.line(t, three)
		_, _ = m.call(t, function, o)
		for _, rows := range m.Stored {
			for _, row := range rows {
				_, err := collection.DecodeRow(row)
				require.NoError(t, err)
			}
		}
	})
}

func TestTheWholeOfANamespaceMakesItAgain(t *testing.T) {
	m := newMemory()
	m.line(t, three)
	m.line(t, indexed)
	m.line(t, `create {"collection":"d","schema":"s","data":{}}`)
	var again []collection.Change
	require.NoError(t, collection.SnapshotChanges(m, 10, func(piece []byte) error {
		changes, err := collection.DecodeChanges(slices.Clone(piece))
		again = append(again, changes...)
		return err
	}))
	copied := newMemory()
	copied.apply(t, again)
	require.Equal(t, m.Collections, copied.Collections)
	require.Equal(t, m.Stored, copied.Stored)
}

func TestDeclaredKeywordsAreEnforced(t *testing.T) {
	tests := []struct{ spec, fits, not string }{
		{`{"type":"string","required":true}`, `["a",""]`, `[null]`},
		{`{"type":"string","enum":["p","q"]}`, `["p",null]`, `["r","P",""]`},
		{`{"type":"integer","enum":[1,"2"]}`, `[1,"1",2]`, `[3]`},
		{`{"type":"number","minimum":1,"maximum":"2.5"}`, `[1,2.5,"2.5"]`, `[0.9,2.6,"3"]`},
		{`{"type":"integer","minimum":0}`, `[0,5]`, `[-1]`},
		{`{"type":"decimal","maximum":"10.10"}`, `["10.10","10.1",10]`, `["10.1000000000000000000001","1e3"]`},
		{`{"type":"date","minimum":"2024-01-01"}`, `["2024-01-01","2025-06-30"]`, `["2023-12-31"]`},
		{`{"type":"datetime","maximum":"2024-01-01T12:00:00+02:00"}`, `["2024-01-01T10:00:00Z"]`, `["2024-01-01T10:00:00.001Z"]`},
		{`{"type":"string","minLength":2,"maxLength":3}`, `["ab","äöü"]`, `["a","abcd"]`},
		{`{"type":"text","pattern":"^[A-Z]+$"}`, `["ABC"]`, `["abc",""]`},
		{`{"type":"string","format":"email"}`, `["a@example.org"]`, `["nope"]`},
		{`{"type":"string","format":"uri"}`, `["https://example.org/a"]`, `["/a"]`},
		{`{"type":"enumArray","enum":["p","q"],"required":true}`, `[["p"],[]]`, `[["r"],null]`},
		{`{"type":"array","enum":[[1],[2]]}`, `[[1]]`, `[[3]]`},
		{`{"type":"string","title":"T","description":"D"}`, `["x"]`, ``},
	}
	for _, test := range tests {
		m := newMemory()
		require.Contains(t, m.line(t, `updateSchema {"collection":"c","properties":{"v":`+test.spec+`}}`), `"collection"`, test.spec)
		for _, v := range values(t, test.fits) {
			require.Contains(t, m.line(t, `create {"collection":"c","data":{"v":`+v+`}}`), "insertedId", "%s %s", test.spec, v)
		}
		require.Contains(t, m.line(t, `upsert {"collection":"c","data":{"id":"u","v":`+values(t, test.fits)[0]+`},"opts":{"onConflictFields":["id"]}}`), "insertedCount")
		for _, v := range values(t, test.not) {
			for _, call := range []string{
				`create {"collection":"c","data":{"v":` + v + `}}`, `bulkCreate {"collection":"c","data":[{"v":` + v + `}]}`,
				`updateOne {"collection":"c","query":{"id":"u"},"update":{"v":` + v + `}}`, `upsert {"collection":"c","data":{"id":"u","v":` + v + `},"opts":{"onConflictFields":["id"]}}`,
			} {
				require.Equal(t, `CollectionError validation`, m.line(t, call), "%s %s", test.spec, call)
			}
		}
	}
}

func TestRequiredFieldsAndDefaults(t *testing.T) {
	callScript{
		`updateSchema {"collection":"c","properties":{"a":{"type":"string","required":true},"n":{"type":"integer","default":"7"},"b":{"type":"boolean","default":false,"required":true}}}`,
		`{"collection":"c","properties":{"a":{"type":"string","required":true},"n":{"type":"integer","default":"7"},"b":{"type":"boolean","default":false,"required":true}},"indexes":[],"uniques":[]}`,
		`create {"collection":"c","data":{}}`, `CollectionError validation`,
		`create {"collection":"c","data":{"id":"x","a":"1"},"outputMode":"row"}`, `{"id":"x","a":"1","n":7,"b":false}`,
		`create {"collection":"c","data":{"id":"y","a":"1","n":null,"b":true},"outputMode":"row"}`, `{"id":"y","a":"1","n":null,"b":true}`,
		`create {"collection":"c","data":{"a":"1","b":null}}`, `CollectionError validation`,
		`updateOne {"collection":"c","query":{"id":"x"},"update":{"$unset":["a"]}}`, `CollectionError validation`,
		`updateOne {"collection":"c","query":{"id":"x"},"update":{"$unset":["n"]}}`, `{"matchedCount":1,"modifiedCount":1}`,
		`findOne {"collection":"c","query":{"id":"x"}}`, `{"id":"x","a":"1","b":false}`,
		`bulkUpsert {"collection":"c","data":[{"id":"z"}],"opts":{"onConflictFields":["id"]}}`, `CollectionError validation`,
		`bulkUpsert {"collection":"c","data":[{"id":"x","n":1}],"opts":{"onConflictFields":["id"]}}`, `{"insertedCount":0,"modifiedCount":1,"ids":["x"]}`,
	}.run(t, newMemory())
}

func TestAKeywordThatRowsBreakIsRefused(t *testing.T) {
	const rows = `bulkCreate {"collection":"c","data":[{"id":"a","n":5,"s":"x"},{"id":"b","n":6}]}`
	const done = `{"acknowledged":true,"insertedCount":2,"insertedIds":["a","b"]}`
	for _, spec := range []string{`"n":{"type":"number","maximum":5}`, `"s":{"type":"string","required":true}`, `"s":{"type":"string","enum":["y"]}`, `"n":{"type":"string","minLength":2}`} {
		callScript{rows, done, `updateSchema {"collection":"c","properties":{` + spec + `}}`, `CollectionError validation`, `getCollectionSchemas {}`, `[{"collection":"c","properties":{},"indexes":[],"uniques":[]}]`}.run(t, newMemory())
	}
	m := newMemory()
	require.Equal(t, done, m.line(t, rows))
	require.Contains(t, m.line(t, `updateSchema {"collection":"c","properties":{"s":{"type":"string","required":true,"default":"d"}}}`), `"collection"`)
	require.Equal(t, `[{"id":"a","n":5,"s":"x"},{"id":"b","n":6,"s":"d"}]`, m.line(t, `findMany {"collection":"c"}`))
}

func TestRefusedKeywordsAreNamed(t *testing.T) {
	tests := map[string]string{
		`{"type":"number","multipleOf":2}`:           "the property v: unknown keyword multipleOf; the keywords are: type, required, enum, minimum, maximum, minLength, maxLength, pattern, format, default",
		`{"type":"string","minimum":2}`:              "the property v: the keyword minimum does not apply to the type string",
		`{"type":"number","pattern":"x"}`:            "the property v: the keyword pattern does not apply to the type number",
		`{"type":"number","required":"yes"}`:         "the property v: required must be true or false",
		`{"type":"number","minimum":"x"}`:            "the property v: minimum must be a value of the type number",
		`{"type":"string","minLength":-1}`:           "the property v: minLength must be a whole number from 0 on",
		`{"type":"string","pattern":"("}`:            "the property v: pattern is not understood: bad regular expression: missing closing ): `(`",
		`{"type":"string","format":"phone"}`:         "the property v: format must be one of: date, date-time, duration, email, hostname, identifier, ipv4, ipv6, name, objectId, regex, time, uri, uuid, workspaceId",
		`{"type":"integer","default":"x"}`:           `the property v: default expected integer, got "x"`,
		`{"type":"integer","default":1,"minimum":2}`: "the property v: default must be at least 2",
		`{"type":"integer","enum":["x"]}`:            `the property v: enum has the value "x", which is not a valid integer`,
		`{"type":"string","enum":[]}`:                "the property v: enum must be a list of 1 to 10000 values",
		`{"type":"object"}`:                          "the property v: type must be one of: string, text, date, time, datetime, number, double, float, integer, decimal, boolean, uint8array, blob, array, enum, enumArray, json",
		`{"type":"enum"}`:                            "the property v: the type enum needs the list of its values: enum",
	}
	for spec, want := range tests {
		_, err := newMemory().call(t, "updateSchema", object(t, `{"collection":"c","properties":{"v":`+spec+`}}`))
		require.EqualError(t, err, automation.CollectionFailed+": "+want, spec)
		require.Equal(t, "v", automation.ErrorOf(err).Details.At("field"))
	}
}

func TestRefusedValuesSayWhatIsExpected(t *testing.T) {
	const declared = `{"collection":"c","properties":{"n":"integer","e":{"type":"string","enum":["x","y"]},"r":{"type":"number","required":true,"minimum":2},"m":{"type":"string","format":"email"}}}`
	tests := map[string]string{
		`{"r":2,"n":"x"}`:  `n of c: expected integer, got "x"`,
		`{"r":2,"n":true}`: `n of c: expected integer, got boolean`,
		`{"r":2,"e":5}`:    `e of c: expected string, got number`,
		`{"r":2,"e":"z"}`:  `e of c: must be one of: x, y`,
		`{"r":1}`:          `r of c: must be at least 2`,
		`{}`:               `r of c: is required`,
		`{"r":2,"m":"z"}`:  `m of c: must be an e-mail address (format email)`,
	}
	m := newMemory()
	_, err := m.call(t, "updateSchema", object(t, declared))
	require.NoError(t, err)
	for data, want := range tests {
		_, err := m.call(t, "create", value.NewObject("collection", "c", "data", object(t, data)))
		require.EqualError(t, err, automation.CollectionFailed+": "+want, data)
	}
}

// Before keywords were enforced, every one was stored. Such a declaration is read: of what
// it says, the keywords of today count that can be met.
func TestDeclarationsOfEarlierCommitsAreRead(t *testing.T) {
	old := object(t, `{"properties":{"v":{"type":"string","multipleOf":2,"minimum":1,"pattern":"(","format":"phone","maxLength":3,"default":"toolong","required":"yes","enum":5}},"indexes":[["v"]],"uniques":[]}`)
	b := collection.AppendValue([]byte{byte(collection.Declared), 1}, old)
	changes, err := collection.DecodeChanges(append(collection.AppendChange(nil, collection.Change{Kind: collection.Created, Collection: 1, Schema: "default", Name: "c"}), b...))
	require.NoError(t, err)
	m := newMemory()
	m.apply(t, changes)
	callScript{
		`create {"collection":"c","data":{"id":"a"}}`, `{"acknowledged":true,"insertedId":"a"}`,
		`create {"collection":"c","data":{"id":"b","v":"abc"}}`, `{"acknowledged":true,"insertedId":"b"}`,
		`create {"collection":"c","data":{"v":"abcd"}}`, `CollectionError validation`,
		`findMany {"collection":"c","query":{"v":"abc"}}`, `[{"id":"b","v":"abc"}]`,
	}.run(t, m)
	schemas, err := m.call(t, "getCollectionSchemas", &value.Object{})
	require.NoError(t, err)
	require.Contains(t, value.JSON(schemas, ""), `"multipleOf":2`)
}
