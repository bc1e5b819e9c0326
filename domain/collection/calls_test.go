package collection_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/collection"
	"svc/domain/value"
)

const three = `bulkCreate {"collection":"c","data":[{"id":"a","n":1,"t":["x","y"],"o":{"k":1}},{"id":"b","n":2,"t":["y"]},{"id":"c","n":null,"s":"z"}]}`
const threeDone = `{"acknowledged":true,"insertedCount":3,"insertedIds":["a","b","c"]}`

func TestFunctionsDoWhatTheContractSays(t *testing.T) {
	tests := map[string]callScript{
		"an unknown collection reads as empty": {
			`findMany {"collection":"c"}`, `[]`,
			`findOne {"collection":"c"}`, `undefined`,
			`findAndCount {"collection":"c"}`, `[[],0]`,
			`count {"collection":"c"}`, `0`,
			`distinct {"collection":"c","field":"n"}`, `[]`,
			`aggregate {"collection":"c","steps":[{"$count":"n"}]}`, `[{"n":0}]`,
			`getCollectionStats {"collection":"c"}`, `{"rows":0,"bytes":0,"indexes":0}`,
			`inferCollectionSchema {"collection":"c"}`, `{}`,
			`updateMany {"collection":"c","query":{"a":1},"update":{"a":2}}`, `{"matchedCount":0,"modifiedCount":0}`,
			`deleteMany {"collection":"c","query":{"a":1}}`, `{"deletedCount":0}`,
			`listCollections {}`, `[]`,
		},
		"the first write makes a collection": {
			`create {"collection":"c","data":{"a":1}}`, `{"acknowledged":true,"insertedId":"new1"}`,
			`create {"collection":"c","schema":"s","data":{}}`, `{"acknowledged":true,"insertedId":"new2"}`,
			`bulkCreate {"collection":"d","data":[]}`, `{"acknowledged":true,"insertedCount":0,"insertedIds":[]}`,
			`listCollections {}`, `["c"]`,
			`listCollections {"schema":"s"}`, `["c"]`,
			`findMany {"collection":"c"}`, `[{"id":"new1","a":1}]`,
			`getCollectionSchemas {}`, `[{"collection":"c","properties":{},"indexes":[],"uniques":[]}]`,
		},
		"rows are found": {
			three, threeDone,
			`findMany {"collection":"c","query":{"n":{"$gte":1}}}`, `[{"id":"a","n":1,"t":["x","y"],"o":{"k":1}},{"id":"b","n":2,"t":["y"]}]`,
			`findMany {"collection":"c","query":{"t":"y"},"opts":{"fields":["n"]}}`, `[{"id":"a","n":1},{"id":"b","n":2}]`,
			`findMany {"collection":"c","query":{"_id":{"$in":["c","a"]}},"opts":{"fields":["_id"]}}`, `[{"id":"a"},{"id":"c"}]`,
			`findMany {"collection":"c","query":{"n":"1"}}`, `[]`,
			`findOne {"collection":"c","query":{"n":null},"opts":{"fields":{"t":0}}}`, `{"id":"c","n":null,"s":"z"}`,
			`findMany {"collection":"c","opts":{"sort":{"n":-1},"fields":{"o.k":1}}}`, `[{"id":"b"},{"id":"a","o":{"k":1}},{"id":"c"}]`,
			`findMany {"collection":"c","opts":{"limit":1,"page":1,"fields":["id"]}}`, `[{"id":"a"}]`,
			`findMany {"collection":"c","opts":{"limit":1,"page":0,"fields":["id"]}}`, `[{"id":"a"}]`,
			`findMany {"collection":"c","opts":{"limit":1,"page":2,"fields":["id"]}}`, `[{"id":"b"}]`,
			`findMany {"collection":"c","opts":{"limit":1,"sort":{"n":1},"fields":["n"],"idAlias":true}}`, `[{"_id":"c","id":"c","n":null}]`,
			`findOne {"collection":"c","query":{"id":"b"},"opts":{"fields":["n"],"idAlias":true}}`, `{"_id":"b","id":"b","n":2}`,
			`findMany {"collection":"c","opts":{"limit":2,"page":2,"sort":{"id":-1},"fields":["id"]}}`, `[{"id":"a"}]`,
			`findMany {"collection":"c","opts":{"sort":{"n":1},"limit":1,"skip":2,"fields":["id"]}}`, `[{"id":"b"}]`,
			`findMany {"collection":"c","opts":{"limit":0}}`, `[]`,
			`findAndCount {"collection":"c","opts":{"limit":1,"fields":["id"]}}`, `[[{"id":"a"}],3]`,
			`findAndCount {"collection":"c","query":{"n":{"$exists":true}},"opts":{"sort":{"n":-1},"limit":1,"fields":["id"]}}`, `[[{"id":"b"}],3]`,
			`count {"collection":"c","query":{"$or":[{"n":1},{"s":"z"}]}}`, `2`,
			`distinct {"collection":"c","field":"t"}`, `["x","y"]`,
			`distinct {"collection":"c","field":"n"}`, `[null,1,2]`,
			`distinct {"collection":"c","field":"o.k","query":{"id":"a"}}`, `[1]`,
		},
		"rows are updated": {
			three, threeDone,
			`updateOne {"collection":"c","query":{"t":"y"},"update":{"n":5}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`updateMany {"collection":"c","query":{"t":"y"},"update":{"$set":{"n":5,"o.k":2},"$push":{"t":"z"}}}`, `{"matchedCount":2,"modifiedCount":2}`,
			`findMany {"collection":"c","query":{"n":5}}`, `[{"id":"a","n":5,"t":["x","y","z"],"o":{"k":2}},{"id":"b","n":5,"t":["y","z"],"o":{"k":2}}]`,
			`updateMany {"collection":"c","query":{"n":5},"update":{"n":5}}`, `{"matchedCount":2,"modifiedCount":0}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$unset":{"o":1,"nope":1},"$inc":{"n":-1,"m":2},"$addToSet":{"t":{"$each":["x","w"]}}}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$pull":{"t":"y"}}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`findOne {"collection":"c","query":{"id":"a"}}`, `{"id":"a","n":4,"t":["x","z","w"],"m":2}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$pull":{"t":{"$in":["x","w"]}},"$unset":["m"]}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"id":"a","createdAt":"x","t.0":"q","t.1":"r"}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`findOne {"collection":"c","query":{"id":"a"}}`, `{"id":"a","n":4,"t":["q","r"]}`,
			`updateMany {"collection":"c","query":{},"allowMatchAll":true,"update":{"$set":{"all":true}}}`, `{"matchedCount":3,"modifiedCount":3}`,
			`updateMany {"collection":"c","query":{},"opts":{"allowMatchAll":true},"update":{"$unset":{"all":1}}}`, `{"matchedCount":3,"modifiedCount":3}`,
		},
		"lists of objects are pulled from by a condition": {
			`create {"collection":"c","data":{"id":"a","l":[{"k":1,"v":1},{"k":2}]}}`, `{"acknowledged":true,"insertedId":"a"}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$pull":{"l":{"k":1}}}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`findMany {"collection":"c"}`, `[{"id":"a","l":[{"k":2}]}]`,
		},
		"rows are deleted": {
			three, threeDone,
			`deleteOne {"collection":"c","query":{"t":"y"}}`, `{"deletedCount":1}`,
			`deleteMany {"collection":"c","query":{"id":"none"}}`, `{"deletedCount":0}`,
			`deleteMany {"collection":"c","query":{},"allowMatchAll":true}`, `{"deletedCount":2}`,
			`count {"collection":"c"}`, `0`,
			`listCollections {}`, `["c"]`,
			`deleteCollections {"collections":["c","nope"]}`, `{"deleted":["c"]}`,
			`listCollections {}`, `[]`,
		},
		"an upsert finds its row by the id or a unique": {
			`updateSchema {"collection":"c","properties":{"mail":"string","n":"integer","by":"string"},"uniques":[["mail"]]}`, `{"collection":"c","properties":{"mail":{"type":"string"},"n":{"type":"integer"},"by":{"type":"string"}},"indexes":[],"uniques":[["mail"]]}`,
			`upsert {"collection":"c","data":{"mail":"a@x","n":"1"},"opts":{"onConflictFields":["mail"],"onInsertValues":{"by":"me","n":7}}}`, `{"insertedCount":1,"modifiedCount":0,"ids":["new1"]}`,
			`upsert {"collection":"c","data":{"mail":"a@x","n":2},"opts":{"onConflictFields":"mail"}}`, `{"insertedCount":0,"modifiedCount":1,"ids":["new1"]}`,
			`upsert {"collection":"c","data":{"mail":"a@x","n":2},"opts":{"onConflictFields":"mail"}}`, `{"insertedCount":0,"modifiedCount":0,"ids":["new1"]}`,
			`bulkUpsert {"collection":"c","data":[{"mail":"b@x"},{"mail":"b@x","n":3},{"n":4},{"n":5,"mail":null}],"opts":{"onConflictFields":["mail"]}}`, `{"insertedCount":3,"modifiedCount":1,"ids":["new2","new2","new3","new4"]}`,
			`upsert {"collection":"c","data":{"_id":"new3","n":9},"opts":{"onConflictFields":["id"]}}`, `{"insertedCount":0,"modifiedCount":1,"ids":["new3"]}`,
			`upsert {"collection":"c","data":{"id":"own","zz":1},"opts":{"onConflictFields":["id"]}}`, `{"insertedCount":1,"modifiedCount":0,"ids":["own"],"droppedFields":["zz"]}`,
			`findMany {"collection":"c","opts":{"sort":{"n":1}}}`, `[{"id":"own"},{"id":"new1","mail":"a@x","n":2,"by":"me"},{"id":"new2","mail":"b@x","n":3},{"id":"new4","n":5,"mail":null},{"id":"new3","n":9}]`,
			`upsert {"collection":"c","data":{"id":"other","mail":"a@x"},"opts":{"onConflictFields":["mail"]}}`, `CollectionError validation`,
		},
		"fields that rows are found by become a unique": {
			`bulkCreate {"collection":"c","data":[{"id":"a","k":1,"m":1},{"id":"b","k":2,"m":1},{"id":"d"}]}`, `{"acknowledged":true,"insertedCount":3,"insertedIds":["a","b","d"]}`,
			`upsert {"collection":"c","data":{"m":1,"v":1},"opts":{"onConflictFields":["m"]}}`, `CollectionError unique`,
			`bulkUpsert {"collection":"c","data":[{"k":2,"v":1},{"k":3,"v":1},{"k":3,"v":2},{"v":3}],"opts":{"onConflictFields":["k"]}}`, `{"insertedCount":2,"modifiedCount":2,"ids":["b","new1","new1","new2"]}`,
			`findMany {"collection":"c","opts":{"fields":["k","v"]}}`, `[{"id":"a","k":1},{"id":"b","k":2,"v":1},{"id":"d"},{"id":"new1","k":3,"v":2},{"id":"new2","v":3}]`,
			`create {"collection":"c","data":{"k":3}}`, `CollectionError unique`,
			`updateOne {"collection":"c","query":{"id":"b"},"update":{"k":1}}`, `CollectionError unique`,
			`create {"collection":"c","data":{"id":"e","any":{"field":[1]}}}`, `{"acknowledged":true,"insertedId":"e"}`,
			`findOne {"collection":"c","query":{"id":"e"}}`, `{"id":"e","any":{"field":[1]}}`,
			`getCollectionSchemas {}`, `[{"collection":"c","properties":{},"indexes":[],"uniques":[["k"]]}]`,
			`upsert {"collection":"c","data":{"k":5,"m":5},"opts":{"onConflictFields":["m","k"]}}`, `{"insertedCount":1,"modifiedCount":0,"ids":["new4"]}`,
			`updateSchema {"collection":"c","properties":{"k":"integer"},"indexes":[["k"]]}`, `{"collection":"c","properties":{"k":{"type":"integer"}},"indexes":[["k"]],"uniques":[["k"]]}`,
			`upsert {"collection":"c","data":{"k":5,"m":6},"opts":{"onConflictFields":["m"]}}`, `CollectionError validation`,
			`updateSchema {"collection":"c","properties":{"k":"integer"},"uniques":[]}`, `{"collection":"c","properties":{"k":{"type":"integer"}},"indexes":[],"uniques":[]}`,
			`create {"collection":"c","data":{"id":"f","k":5}}`, `{"acknowledged":true,"insertedId":"f"}`,
		},
		"a collection that an upsert makes has the unique": {
			`upsert {"collection":"c","data":{"k":1},"opts":{"onConflictFields":"k"}}`, `{"insertedCount":1,"modifiedCount":0,"ids":["new1"]}`,
			`upsert {"collection":"c","data":{"k":1,"free":"x"},"opts":{"onConflictFields":"k"}}`, `{"insertedCount":0,"modifiedCount":1,"ids":["new1"]}`,
			`findMany {"collection":"c"}`, `[{"id":"new1","k":1,"free":"x"}]`,
		},
		"the odd names of parameters are known": {
			`create {"collection":"c","data":{"_id":"a","n":1},"outputMode":"row"}`, `{"id":"a","n":1}`,
			`create {"collection":"c","data":{"_id":"b"},"outputMode":"result"}`, `{"acknowledged":true,"insertedId":"b"}`,
			`updateOne {"collection":"c","query":{"_id":"a"},"data":{"n":2}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`updateMany {"collection":"c","query":{"_id":"a"},"data":{"$inc":{"n":1}}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`findMany {"collection":"c","opts":{"sort":{"_id":-1},"fields":{"_id":1,"n":1}}}`, `[{"id":"b"},{"id":"a","n":3}]`,
			`distinct {"collection":"c","field":"_id"}`, `["a","b"]`,
			`aggregate {"collection":"c","query":{"n":3},"steps":[{"$count":"n"}]}`, `[{"n":1}]`,
			`aggregate {"collection":"c","query":{"n":3},"steps":[{"$match":{"_id":"b"}}]}`, `[]`,
			`create {"collection":"d","data":{}}`, `{"acknowledged":true,"insertedId":"new1"}`,
			`deleteCollections {"all":true}`, `{"deleted":["c","d"]}`,
		},
		"indexes are lists of fields or objects": {
			`updateSchema {"collection":"c","properties":{"a":"string","b":"number"},"indexes":[{"properties":["a","b"],"name":"both"},{"properties":["b"]},["a"]],"uniques":[{"properties":["a"]}]}`,
			`{"collection":"c","properties":{"a":{"type":"string"},"b":{"type":"number"}},"indexes":[{"properties":["a","b"],"name":"both"},["b"],["a"]],"uniques":[["a"]]}`,
			`bulkCreate {"collection":"c","data":[{"id":"1","a":"x","b":1},{"id":"2","a":"y","b":1}]}`, `{"acknowledged":true,"insertedCount":2,"insertedIds":["1","2"]}`,
			`create {"collection":"c","data":{"a":"x"}}`, `CollectionError unique`,
			`findMany {"collection":"c","query":{"b":1,"a":"y"}}`, `[{"id":"2","a":"y","b":1}]`,
		},
		"what is left out of a row is named with it": {
			`updateSchema {"collection":"c","properties":{"n":"number"}}`, `{"collection":"c","properties":{"n":{"type":"number"}},"indexes":[],"uniques":[]}`,
			`create {"collection":"c","data":{"id":"a","n":"1","x":1},"outputMode":"row"}`, `{"id":"a","n":1,"droppedFields":["x"]}`,
		},
		"fields that are not declared are named": {
			`updateSchema {"collection":"c","properties":{"n":"number"}}`, `{"collection":"c","properties":{"n":{"type":"number"}},"indexes":[],"uniques":[]}`,
			`bulkCreate {"collection":"c","data":[{"id":"a","n":1,"x":1},{"id":"b","y":1,"x":2}]}`, `{"acknowledged":true,"insertedCount":2,"insertedIds":["a","b"],"droppedFields":["x","y"]}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$set":{"z.k":1,"n":2}}}`, `{"matchedCount":1,"modifiedCount":1,"droppedFields":["z"]}`,
			`findMany {"collection":"c"}`, `[{"id":"a","n":2},{"id":"b"}]`,
		},
		"a schema is guessed": {
			`bulkCreate {"collection":"c","data":[{"i":1,"f":1,"b":true,"d":"2024-01-31","w":"2024-01-31","s":"x","l":[1],"o":{},"e":null,"m":1},{"i":2,"f":1.5,"d":"2024-01-31T10:00:00Z","w":"z","m":"x"}]}`, `{"acknowledged":true,"insertedCount":2,"insertedIds":["new1","new2"]}`,
			`inferCollectionSchema {"collection":"c"}`, `{"i":{"type":"integer"},"f":{"type":"number"},"b":{"type":"boolean"},"d":{"type":"datetime"},"w":{"type":"string"},"s":{"type":"string"},"l":{"type":"array"},"o":{"type":"json"},"e":{"type":"json"},"m":{"type":"json"}}`,
		},
	}
	for name, told := range tests {
		t.Run(name, func(t *testing.T) { told.run(t, newMemory()) })
	}
}

func TestEveryRowTellsWhoWroteItAndWhen(t *testing.T) {
	m := newMemory()
	_, err := m.call(t, "create", object(t, `{"collection":"c","data":{"id":"a","n":1,"createdAt":"never","createdBy":"nobody"}}`))
	require.NoError(t, err)
	row, err := m.call(t, "findOne", object(t, `{"collection":"c"}`))
	require.NoError(t, err)
	require.Equal(t, `{"id":"a","n":1,"createdAt":"2026-01-02T12:00:00.000Z","updatedAt":"2026-01-02T12:00:00.000Z","createdBy":"u1","updatedBy":"u1"}`, value.JSON(row, ""))
}

func TestAggregatesRunTheirSteps(t *testing.T) {
	const rows = `bulkCreate {"collection":"c","data":[{"id":"1","g":"a","n":1,"t":["x","y"]},{"id":"2","g":"b","n":2,"t":[]},{"id":"3","g":"a","n":4,"t":["y"]},{"id":"4","n":"text","o":{"k":7}}]}`
	tests := map[string]struct{ steps, want string }{
		"none":            {`[]`, `[{"id":"1","g":"a","n":1,"t":["x","y"]},{"id":"2","g":"b","n":2,"t":[]},{"id":"3","g":"a","n":4,"t":["y"]},{"id":"4","n":"text","o":{"k":7}}]`},
		"match and count": {`[{"$match":{"g":"a"}},{"$count":"rows"}]`, `[{"rows":2}]`},
		"match by _id":    {`[{"$match":{"_id":"2"}},{"$project":{"n":1}}]`, `[{"id":"2","n":2}]`},
		"later match":     {`[{"$limit":2},{"$match":{"_id":"2"}},{"$project":{"n":1}}]`, `[{"id":"2","n":2}]`},
		"sort and cut":    {`[{"$sort":{"n":-1}},{"$skip":1},{"$limit":2},{"$project":{"n":1}}]`, `[{"id":"3","n":4},{"id":"2","n":2}]`},
		"limit 0":         {`[{"$limit":0}]`, `[]`},
		"exclude":         {`[{"$limit":1},{"$project":{"t":0,"g":0}}]`, `[{"id":"1","n":1}]`},
		"new fields":      {`[{"$limit":1},{"$project":{"_id":0,"n":1,"first":"$t.0","both":["$g","$nope"],"of":{"g":"$g"}}}]`, `[{"n":1,"first":"x","both":["a",null],"of":{"g":"a"}}]`},
		"only new fields": {`[{"$limit":1},{"$project":{"m":"$n"}}]`, `[{"id":"1","m":1}]`},
		"new and hidden":  {`[{"$limit":1},{"$project":{"t":0,"g":0,"m":"$n"}}]`, `[{"id":"1","n":1,"m":1}]`},
		"unwind":          {`[{"$unwind":"$t"},{"$project":{"t":1}}]`, `[{"id":"1","t":"x"},{"id":"1","t":"y"},{"id":"3","t":"y"}]`},
		"unwind keeping":  {`[{"$unwind":{"path":"$t","preserveNullAndEmptyArrays":true}},{"$project":{"t":1}}]`, `[{"id":"1","t":"x"},{"id":"1","t":"y"},{"id":"2","t":[]},{"id":"3","t":"y"},{"id":"4"}]`},
		"unwind a scalar": {`[{"$match":{"id":"4"}},{"$unwind":"$n"},{"$project":{"n":1}}]`, `[{"id":"4","n":"text"}]`},
		"group": {`[{"$group":{"_id":"$g","sum":{"$sum":"$n"},"rows":{"$count":{}},"ones":{"$sum":1},"avg":{"$avg":"$n"},"min":{"$min":"$n"},"max":{"$max":"$n"}}},{"$sort":{"_id":1}}]`,
			`[{"_id":null,"sum":0,"rows":1,"ones":1,"avg":null,"min":"text","max":"text"},{"_id":"a","sum":5,"rows":2,"ones":2,"avg":2.5,"min":1,"max":4},{"_id":"b","sum":2,"rows":1,"ones":1,"avg":2,"min":2,"max":2}]`},
		"group lists": {`[{"$group":{"_id":null,"f":{"$first":"$n"},"l":{"$last":"$n"},"p":{"$push":"$g"},"s":{"$addToSet":"$g"}}}]`,
			`[{"_id":null,"f":1,"l":"text","p":["a","b","a"],"s":["a","b"]}]`},
		"group by several":   {`[{"$match":{"g":{"$exists":true}}},{"$group":{"_id":{"g":"$g"},"n":{"$count":{}}}},{"$match":{"_id.g":"a"}}]`, `[{"_id":{"g":"a"},"n":2}]`},
		"group match by _id": {`[{"$group":{"_id":"$g","n":{"$sum":"$n"}}},{"$match":{"_id":"b"}}]`, `[{"_id":"b","n":2}]`},
		"group and project":  {`[{"$group":{"_id":"$g","n":{"$sum":"$n"}}},{"$match":{"_id":"b"}},{"$project":{"n":1}}]`, `[{"_id":"b","n":2}]`},
		"group of nothing":   {`[{"$match":{"g":"none"}},{"$group":{"_id":null,"n":{"$sum":1}}}]`, `[]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.line(t, rows)
			callScript{`aggregate {"collection":"c","steps":` + test.steps + `}`, test.want}.run(t, m)
		})
	}
}

func TestBadCallsAreRefused(t *testing.T) {
	const declared = `updateSchema {"collection":"c","properties":{"n":"integer","s":"string","l":"array","d":"decimal"},"uniques":[["s"]]}`
	const row = `create {"collection":"c","data":{"id":"a","n":1,"s":"x","l":[1],"d":"1.10"}}`
	tests := map[string][]string{
		"InvalidInstructionError": {`nosuch {}`, `Create {"collection":"c","data":{}}`},
		"CollectionError validation": {
			`findMany {}`, `findMany {"collection":""}`, `findMany {"collection":5}`, `findMany {"collection":"a\u0000"}`, `findMany {"collection":"c","schema":""}`,
			`findMany {"collection":"c","limit":5}`, `findMany {"collection":"c","opts":5}`, `findMany {"collection":"c","opts":{"order":1}}`,
			`distinct {"collection":"c"}`, `distinct {"collection":"c","field":5}`,
			`create {"collection":"c"}`, `create {"collection":"c","data":[]}`, `create {"collection":"c","data":{"n":"x"}}`, `create {"collection":"c","data":{"n":1.5}}`,
			`create {"collection":"c","data":{"s":5}}`, `create {"collection":"c","data":{"id":5}}`, `create {"collection":"c","data":{"id":""}}`, `create {"collection":"c","data":{"id":"a\u0001"}}`,
			`create {"collection":"d","data":{"$a":1}}`, `create {"collection":"d","data":{"a.b":1}}`,
			`bulkCreate {"collection":"c","data":{}}`, `bulkCreate {"collection":"c","data":[5]}`, `bulkCreate {"collection":"c"}`,
			`updateOne {"collection":"c","query":{"id":"a"}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":5}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$set":{"n":1},"n":2}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":{"id":"b"}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$unset":{"_id":1}}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$inc":{"s":1}}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":{"$inc":{"n":"x"}}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$inc":{"n":0.5}}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":{"$push":{"s":1}}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$pull":{"n":1}}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":{"$set":{"s.k":1}}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$set":{"l.9":1}}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":{"l":5}}`,
			`upsert {"collection":"c","data":{"s":"x"}}`, `upsert {"collection":"c","data":{"s":"x"},"opts":{"onConflictFields":[]}}`,
			`upsert {"collection":"c","data":{"s":"x"},"opts":{"onConflictFields":["z"]}}`, `upsert {"collection":"d","data":{"s":"x"},"opts":{"onConflictFields":["s","s"]}}`,
			`upsert {"collection":"d","data":{"s":"x"},"opts":{"onConflictFields":["a.b"]}}`, `upsert {"collection":"d","data":{"s":"x"},"opts":{"onConflictFields":["$a"]}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"n":2},"data":{"n":2}}`, `create {"collection":"c","data":{},"outputMode":"rows"}`,
			`deleteCollections {"all":"yes"}`, `deleteCollections {"all":false}`, `deleteCollections {"all":true,"collections":["c"]}`,
			`updateSchema {"collection":"c","properties":{"a":"string"},"indexes":[{"fields":["a"]}]}`, `updateSchema {"collection":"c","properties":{"a":"string"},"indexes":[{"properties":["a"],"name":5}]}`,
			`updateSchema {"collection":"c","properties":{"a":"string"},"indexes":[{"properties":[]}]}`, `updateSchema {"collection":"c","properties":{"a":"string"},"uniques":{"properties":["a"]}}`,
			`upsert {"collection":"c","data":{"s":"x"},"opts":{"onConflictFields":["s"],"onInsertValues":5}}`, `upsert {"collection":"c","data":[],"opts":{"onConflictFields":["s"]}}`,
			`bulkUpsert {"collection":"c","data":{},"opts":{"onConflictFields":["s"]}}`,
			`deleteCollections {}`, `deleteCollections {"collections":"c"}`, `deleteCollections {"collections":[5]}`,
			`updateSchema {"collection":"c"}`, `updateSchema {"collection":"c","properties":[]}`, `updateSchema {"collection":"c","properties":{"a":"nope"}}`,
			`updateSchema {"collection":"c","properties":{"a":5}}`, `updateSchema {"collection":"c","properties":{"a":{}}}`, `updateSchema {"collection":"c","properties":{"a":"enum"}}`,
			`updateSchema {"collection":"c","properties":{"a.b":"string"}}`, `updateSchema {"collection":"c","properties":{"":"string"}}`,
			`updateSchema {"collection":"c","properties":{"a":"string"},"indexes":"a"}`, `updateSchema {"collection":"c","properties":{"a":"string"},"indexes":[["b"]]}`,
			`updateSchema {"collection":"c","properties":{"a":"string"},"uniques":[["a","a"]]}`, `updateSchema {"collection":"c","properties":{"a":"string"},"uniques":[[]]}`,
			`updateSchema {"collection":"c","properties":{"a":"string"},"oldCollection":5}`,
			`updateSchema {"collection":"c","properties":{"s":"integer"}}`,
		},
		"CollectionError unique": {
			`create {"collection":"c","data":{"id":"a"}}`, `create {"collection":"c","data":{"s":"x"}}`,
			`bulkCreate {"collection":"c","data":[{"s":"p"},{"s":"p"}]}`, `bulkCreate {"collection":"d","data":[{"id":"p"},{"id":"p"}]}`,
		},
		"CollectionError empty_query": {
			`updateOne {"collection":"c","query":{},"update":{"n":1}}`, `updateMany {"collection":"c","update":{"n":1}}`, `deleteOne {"collection":"c","query":null}`,
			`deleteMany {"collection":"c","query":{}}`, `deleteMany {"collection":"c","query":{"$and":[{}]}}`, `deleteMany {"collection":"c","query":{},"allowMatchAll":false}`,
		},
		"CollectionError bad_query": {
			`findMany {"collection":"c","query":5}`, `findMany {"collection":"c","query":{"n":{"$nope":1}}}`, `findMany {"collection":"c","query":{"n":{"$regex":"("}}}`,
			`findMany {"collection":"c","query":{"$or":5}}`, `deleteMany {"collection":"c","query":[]}`,
			`findMany {"collection":"c","opts":{"sort":{"n":2}}}`, `findMany {"collection":"c","opts":{"sort":"n"}}`, `findMany {"collection":"c","opts":{"limit":-1}}`,
			`findMany {"collection":"c","opts":{"limit":1.5}}`, `findMany {"collection":"c","opts":{"skip":"1"}}`, `findMany {"collection":"c","opts":{"skip":1,"page":1}}`,
			`findMany {"collection":"c","opts":{"fields":5}}`, `findMany {"collection":"c","opts":{"fields":{"a":1,"b":0}}}`, `findMany {"collection":"c","opts":{"fields":{"a":2}}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$nope":{"n":1}}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":{"$set":5}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$unset":5}}`, `updateOne {"collection":"c","query":{"id":"a"},"update":{"$set":{"a..b":1}}}`,
			`updateOne {"collection":"c","query":{"id":"a"},"update":{"$pull":{"l":{"$nope":1}}}}`,
			`aggregate {"collection":"c"}`, `aggregate {"collection":"c","steps":[5]}`, `aggregate {"collection":"c","steps":[{}]}`, `aggregate {"collection":"c","steps":[{"$nope":1}]}`,
			`aggregate {"collection":"c","steps":[{"$match":1}]}`, `aggregate {"collection":"c","steps":[{"$limit":1},{"$match":{"a":{"$nope":1}}}]}`,
			`aggregate {"collection":"c","steps":[{"$sort":{}}]}`, `aggregate {"collection":"c","steps":[{"$skip":-1}]}`, `aggregate {"collection":"c","steps":[{"$limit":null}]}`,
			`aggregate {"collection":"c","steps":[{"$project":{}}]}`, `aggregate {"collection":"c","steps":[{"$unwind":5}]}`, `aggregate {"collection":"c","steps":[{"$count":""}]}`,
			`aggregate {"collection":"c","steps":[{"$group":5}]}`, `aggregate {"collection":"c","steps":[{"$group":{"n":{"$sum":1}}}]}`,
			`aggregate {"collection":"c","steps":[{"$group":{"_id":null,"n":{"$nope":1}}}]}`, `aggregate {"collection":"c","steps":[{"$group":{"_id":null,"n":5}}]}`,
		},
		"CollectionError too_large": {
			`findMany {"collection":"c","opts":{"limit":21}}`, `bulkCreate {"collection":"c","data":[{},{},{},{}]}`, `create {"collection":"d","data":{"s":"` + strings.Repeat("x", 300) + `"}}`,
			`findMany {"collection":"c","opts":{"sort":{"n":1},"skip":100000,"limit":1}}`,
		},
	}
	for want, lines := range tests {
		for _, line := range lines {
			m := newMemory()
			m.limits = collection.Limits{MaxWrite: 3, MaxLimit: 20, MaxRowSize: 250}
			m.line(t, declared)
			m.line(t, row)
			before := fmt.Sprint(m.Collections, m.Stored)
			require.Equal(t, want, m.line(t, line), line)
			require.Equal(t, before, fmt.Sprint(m.Collections, m.Stored), "%s changed something", line)
		}
	}
}

func TestWritesOfManyRowsAreRefused(t *testing.T) {
	m := newMemory()
	for range 5 {
		m.line(t, `create {"collection":"c","data":{"n":1}}`)
	}
	m.limits = collection.Limits{MaxWrite: 4, MaxLimit: 4}
	callScript{
		`updateMany {"collection":"c","query":{"n":1},"update":{"n":2}}`, `CollectionError too_large`,
		`deleteMany {"collection":"c","query":{"n":1}}`, `CollectionError too_large`,
		`distinct {"collection":"c","field":"id"}`, `CollectionError too_large`,
		`aggregate {"collection":"c","steps":[]}`, `CollectionError too_large`,
		`findAndCount {"collection":"c","opts":{"limit":1,"fields":["n"]}}`, `[[{"id":"new1","n":1}],5]`,
		`findMany {"collection":"c","opts":{"fields":["id"]}}`, `[{"id":"new1"},{"id":"new2"},{"id":"new3"},{"id":"new4"}]`,
	}.run(t, m)
}

func TestDeepValuesAreRefused(t *testing.T) {
	deep := strings.Repeat(`[`, 150) + strings.Repeat(`]`, 150)
	path := strings.TrimSuffix(strings.Repeat("k.", 90), ".")
	callScript{
		`create {"collection":"c","data":{"v":` + deep + `}}`, `CollectionError validation`,
		`create {"collection":"c","data":{"id":"a"}}`, `{"acknowledged":true,"insertedId":"a"}`,
		`updateOne {"collection":"c","query":{"id":"a"},"update":{"$set":{"` + path + `":` + deep[:40] + deep[260:] + `}}}`, `CollectionError validation`,
	}.run(t, newMemory())
}

func TestDeclarationsChange(t *testing.T) {
	const shown = `"indexes":[],"uniques":[]}`
	tests := map[string]callScript{
		"a type changes when every row fits": {
			`bulkCreate {"collection":"c","data":[{"id":"a","n":"1","x":1},{"id":"b","n":2},{"id":"d"}]}`, `{"acknowledged":true,"insertedCount":3,"insertedIds":["a","b","d"]}`,
			`updateSchema {"collection":"c","properties":{"n":"integer"}}`, `{"collection":"c","properties":{"n":{"type":"integer"}},` + shown,
			`findMany {"collection":"c"}`, `[{"id":"a","n":1,"x":1},{"id":"b","n":2},{"id":"d"}]`,
			`updateSchema {"collection":"c","properties":{"n":"decimal"}}`, `{"collection":"c","properties":{"n":{"type":"decimal"}},` + shown,
			`findMany {"collection":"c","query":{"id":{"$ne":"d"}}}`, `[{"id":"a","n":"1","x":1},{"id":"b","n":"2"}]`,
			`updateSchema {"collection":"c","properties":{"n":"boolean"}}`, `CollectionError validation`,
			`getCollectionSchemas {"collection":"c"}`, `[{"collection":"c","properties":{"n":{"type":"decimal"}},` + shown + `]`,
		},
		"a number becomes its text, and back": {
			`bulkCreate {"collection":"c","data":[{"id":"a","n":1.5,"b":true},{"id":"b","n":-2,"b":false},{"id":"d","n":null}]}`, `{"acknowledged":true,"insertedCount":3,"insertedIds":["a","b","d"]}`,
			`updateSchema {"collection":"c","properties":{"n":"string","b":"text"}}`, `{"collection":"c","properties":{"n":{"type":"string"},"b":{"type":"text"}},` + shown,
			`findMany {"collection":"c"}`, `[{"id":"a","n":"1.5","b":"true"},{"id":"b","n":"-2","b":"false"},{"id":"d","n":null}]`,
			`updateSchema {"collection":"c","properties":{"n":"integer","b":"boolean"}}`, `CollectionError validation`,
			`updateSchema {"collection":"c","properties":{"n":"number","b":"boolean"}}`, `{"collection":"c","properties":{"n":{"type":"number"},"b":{"type":"boolean"}},` + shown,
			`findMany {"collection":"c"}`, `[{"id":"a","n":1.5,"b":true},{"id":"b","n":-2,"b":false},{"id":"d","n":null}]`,
		},
		"a text becomes a number when it says the same": {
			`bulkCreate {"collection":"c","data":[{"id":"a","n":"007"},{"id":"b","n":" -1.50e3 "},{"id":"d","n":"0.1"},{"id":"e","n":"-0.00"},{"id":"f","n":"123456789012345E-3"},{"id":"g","n":"1e-320"}]}`, `{"acknowledged":true,"insertedCount":6,"insertedIds":["a","b","d","e","f","g"]}`,
			`updateSchema {"collection":"c","properties":{"n":"number"}}`, `{"collection":"c","properties":{"n":{"type":"number"}},` + shown,
			`findMany {"collection":"c","query":{"id":{"$ne":"g"}}}`, `[{"id":"a","n":7},{"id":"b","n":-1500},{"id":"d","n":0.1},{"id":"e","n":0},{"id":"f","n":123456789012.345}]`,
		},
		"a text becomes a point in time when it says the same": {
			`bulkCreate {"collection":"c","data":[{"id":"a","w":"2024-01-31T12:00:00.1200000000000+02:00"},{"id":"b","w":"2024-01-31"},{"id":"d","w":1706695200123}]}`, `{"acknowledged":true,"insertedCount":3,"insertedIds":["a","b","d"]}`,
			`updateSchema {"collection":"c","properties":{"w":"datetime"}}`, `{"collection":"c","properties":{"w":{"type":"datetime"}},` + shown,
			`findMany {"collection":"c"}`, `[{"id":"a","w":"2024-01-31T10:00:00.120Z"},{"id":"b","w":"2024-01-31T00:00:00.000Z"},{"id":"d","w":"2024-01-31T10:00:00.123Z"}]`,
		},
		"a unique that rows break is refused": {
			`bulkCreate {"collection":"c","data":[{"n":1,"m":1},{"n":1,"m":2},{"m":3}]}`, `{"acknowledged":true,"insertedCount":3,"insertedIds":["new1","new2","new3"]}`,
			`updateSchema {"collection":"c","properties":{"n":"integer","m":"integer"},"uniques":[["n"]]}`, `CollectionError unique`,
			`updateSchema {"collection":"c","properties":{"n":"integer","m":"integer"},"uniques":[["n","m"]]}`, `{"collection":"c","properties":{"n":{"type":"integer"},"m":{"type":"integer"}},"indexes":[],"uniques":[["n","m"]]}`,
			`create {"collection":"c","data":{"n":1,"m":2}}`, `CollectionError unique`,
			`create {"collection":"c","data":{"n":2,"m":2}}`, `{"acknowledged":true,"insertedId":"new5"}`,
			`updateOne {"collection":"c","query":{"n":2},"update":{"n":1}}`, `CollectionError unique`,
			`updateOne {"collection":"c","query":{"n":2},"update":{"n":1,"m":9}}`, `{"matchedCount":1,"modifiedCount":1}`,
			`deleteMany {"collection":"c","query":{"m":2}}`, `{"deletedCount":1}`,
			`create {"collection":"c","data":{"n":1,"m":2}}`, `{"acknowledged":true,"insertedId":"new6"}`,
		},
		"rows without a value do not hold a unique": {
			`updateSchema {"collection":"c","properties":{"n":"integer"},"uniques":["n"]}`, `{"collection":"c","properties":{"n":{"type":"integer"}},"indexes":[],"uniques":[["n"]]}`,
			`bulkCreate {"collection":"c","data":[{},{"n":null},{}]}`, `{"acknowledged":true,"insertedCount":3,"insertedIds":["new1","new2","new3"]}`,
			`count {"collection":"c","query":{"n":null}}`, `3`,
		},
		"a collection is renamed": {
			`create {"collection":"c","data":{"id":"a"}}`, `{"acknowledged":true,"insertedId":"a"}`,
			`create {"collection":"taken","data":{}}`, `{"acknowledged":true,"insertedId":"new1"}`,
			`updateSchema {"collection":"taken","oldCollection":"c","properties":{}}`, `CollectionError validation`,
			`updateSchema {"collection":"d","oldCollection":"c","properties":{}}`, `{"collection":"d","properties":{},` + shown,
			`updateSchema {"collection":"d","oldCollection":"c","properties":{}}`, `{"collection":"d","properties":{},` + shown,
			`listCollections {}`, `["d","taken"]`,
			`findMany {"collection":"d"}`, `[{"id":"a"}]`,
			`updateSchema {"collection":"d","schema":"s","oldSchema":"default","properties":{"n":{"type":"number","title":"N"}},"indexes":[["n"],["createdAt"]]}`, `{"collection":"d","properties":{"n":{"type":"number","title":"N"}},"indexes":[["n"],["createdAt"]],"uniques":[]}`,
			`listCollections {"schema":"s"}`, `["d"]`,
			`getCollectionStats {"collection":"d","schema":"s"}`, `{"rows":1,"bytes":108,"indexes":2}`,
		},
	}
	for name, told := range tests {
		t.Run(name, func(t *testing.T) { told.run(t, newMemory()) })
	}
}

func TestATypeChangeThatWouldLoseSomethingIsRefused(t *testing.T) {
	tests := []struct{ before, after, kept string }{
		{"decimal", "number", "12345678901234567.89"},
		{"decimal", "double", "0.1000000000000000055511151231257827"},
		{"decimal", "integer", "9007199254740990.9"},
		{"decimal", "float", "1e-400"},
		{"decimal", "number", "1e-99999999999999999999"},
		{"decimal", "number", "1e400"},
		{"string", "number", "9007199254740993"},
		{"string", "number", "9007199254740993e-3"},
		{"string", "datetime", "2024-01-31T10:00:00.1234Z"},
		{"string", "datetime", "2024-01-31T10:00:00.0000000000001Z"},
		{"string", "datetime", "2024-01-31 10:00:00.123000001+02:00"},
		{"string", "date", "2024-01-31T00:00:00.0000000000001Z"},
	}
	for _, test := range tests {
		m := newMemory()
		m.line(t, `updateSchema {"collection":"c","properties":{"v":"`+test.before+`"}}`)
		require.Contains(t, m.line(t, `create {"collection":"c","data":{"id":"a","v":"`+test.kept+`"}}`), "insertedId")
		before := fmt.Sprint(m.Collections, m.Stored)
		require.Equal(t, `CollectionError validation`, m.line(t, `updateSchema {"collection":"c","properties":{"v":"`+test.after+`"}}`), "%v", test)
		require.Equal(t, before, fmt.Sprint(m.Collections, m.Stored), "%v changed something", test)
	}
}

func TestWritesMayRound(t *testing.T) {
	callScript{
		`updateSchema {"collection":"c","properties":{"n":"number","w":"datetime"}}`, `{"collection":"c","properties":{"n":{"type":"number"},"w":{"type":"datetime"}},"indexes":[],"uniques":[]}`,
		`create {"collection":"c","data":{"id":"a","n":"12345678901234567.89","w":"2024-01-31T10:00:00.1239Z"}}`, `{"acknowledged":true,"insertedId":"a"}`,
		`findMany {"collection":"c"}`, `[{"id":"a","n":12345678901234568,"w":"2024-01-31T10:00:00.123Z"}]`,
	}.run(t, newMemory())
}

func TestValuesFitTheirTypes(t *testing.T) {
	tests := []struct{ kind, fits, not string }{
		{"string", `["a",""]`, `[1,true,[],{}]`},
		{"text", `["a"]`, `[1]`},
		{"number", `[1,1.5,"-2e3"," 4 "]`, `["x","",true,[]]`},
		{"double", `[0.1]`, `["x"]`},
		{"float", `["1.5"]`, `[{}]`},
		{"integer", `[1,-1,"12"]`, `[1.5,"1.5",9007199254740993,"x"]`},
		{"decimal", `["1.10",2.5,"-0.001"]`, `["x",true]`},
		{"boolean", `[true,false]`, `[0,"true"]`},
		{"date", `["2024-02-29","2024-01-31T00:00:00Z",1706659200000]`, `["2023-02-29","2024-01-31T10:00:00Z","x",true]`},
		{"time", `["10:20","10:20:30","23:59:59.123","10:20Z","10:20+02:00"]`, `["24:00","10","x",5]`},
		{"datetime", `["2024-01-31T10:00:00+02:00","2024-01-31","2024-01-31T10:00",1706659200000]`, `["31.1.2024",1.5,true]`},
		{"uint8array", `["AQI=",[1,2],"AQI"]`, `["!",[256],[1.5],5]`},
		{"blob", `["AQI="]`, `[{}]`},
		{"array", `[[1],[]]`, `["x",{}]`},
		{"json", `[1,"x",{"k":[1]},[],false]`, ``},
		{"enum", `["p",1]`, `["q","1"]`},
		{"enumArray", `[["p",1],[]]`, `["p",["q"]]`},
	}
	for _, test := range tests {
		m := newMemory()
		enum := ""
		if strings.HasPrefix(test.kind, "enum") {
			enum = `,"enum":["p",1]`
		}
		m.line(t, `updateSchema {"collection":"c","properties":{"v":{"type":"`+test.kind+`"`+enum+`}}}`)
		for _, v := range values(t, test.fits) {
			require.Contains(t, m.line(t, `create {"collection":"c","data":{"v":`+v+`}}`), "insertedId", "%s %s", test.kind, v)
		}
		require.Contains(t, m.line(t, `create {"collection":"c","data":{"v":null}}`), "insertedId")
		for _, v := range values(t, test.not) {
			require.Equal(t, `CollectionError validation`, m.line(t, `create {"collection":"c","data":{"v":`+v+`}}`), "%s %s", test.kind, v)
		}
	}
}

func TestValuesAreKeptInOneForm(t *testing.T) {
	m := newMemory()
	m.line(t, `updateSchema {"collection":"c","properties":{"d":"date","w":"datetime","n":"number","m":"decimal","b":"blob"}}`)
	_, err := m.call(t, "create", value.NewObject("collection", "c", "data", value.NewObject(
		"id", "a", "d", "2024-01-31T00:00:00Z", "w", "2024-01-31T12:00+02:00", "n", " 5 ", "m", " 1.10 ", "b", value.Bytes{1, 2})))
	require.NoError(t, err)
	callScript{
		`updateOne {"collection":"c","query":{"id":"a"},"update":{"$inc":{"m":0.05}}}`, `{"matchedCount":1,"modifiedCount":1}`,
		`findMany {"collection":"c"}`, `[{"id":"a","d":"2024-01-31","w":"2024-01-31T10:00:00.000Z","n":5,"m":"1.15","b":"AQI="}]`,
	}.run(t, m)
}

// values returns the items of a JSON list as JSON; what is none is left out.
func values(tb testing.TB, list string) (items []string) {
	tb.Helper()
	parsed, err := value.ParseJSON(list)
	if list == "" {
		return nil
	}
	require.NoError(tb, err)
	all, _ := parsed.([]any)
	for _, item := range all {
		items = append(items, value.JSON(item, ""))
	}
	return items
}
