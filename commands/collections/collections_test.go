package collections_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsAreWrittenAndRead(t *testing.T) {
	_, n := alone(t)
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
