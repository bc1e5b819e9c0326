package collection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/value"
)

const three = `bulkCreate {"collection":"c","data":[{"id":"a","n":1,"t":["x","y"],"o":{"k":1}},{"id":"b","n":2,"t":["y"]},{"id":"c","n":null,"s":"z"}]}`
const threeDone = `{"acknowledged":true,"insertedCount":3,"insertedIds":["a","b","c"]}`

func TestFunctionsDoWhatTheContractSays(t *testing.T) {
	tests := map[string]story{
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
