package collections_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/value"
)

func benchRow(i int) *value.Object {
	return value.NewObject("name", fmt.Sprint("name ", i), "mail", fmt.Sprint("m", i, "@example.org"), "group", fmt.Sprint("g", i%1000),
		"n", float64(i), "active", i%2 == 0, "tags", []any{"a", "b"})
}

const benchSchema = `{"collection":"c","properties":{"name":"string","mail":"string","group":"string","n":"number","active":"boolean","tags":"array"},"indexes":[["group"]],"uniques":[["mail"]]}`

func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			_, n := openSingleNode(b)
			n.call(b, "updateSchema", benchSchema)
			var next atomic.Int64
			b.SetParallelism(writers/2 + writers%2)
			if writers == 1 {
				for b.Loop() {
					_, err := n.Call(context.Background(), somebody, "create", value.NewObject("collection", "c", "data", benchRow(int(next.Add(1)))))
					require.NoError(b, err)
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, err := n.Call(context.Background(), somebody, "create", value.NewObject("collection", "c", "data", benchRow(int(next.Add(1)))))
					if err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func BenchmarkRead(b *testing.B) {
	_, n := openSingleNode(b)
	n.call(b, "updateSchema", benchSchema)
	for i := range 20 {
		data := make([]any, 5000)
		for j := range data {
			data[j] = benchRow(i*5000 + j)
		}
		_, err := n.Call(b.Context(), somebody, "bulkCreate", value.NewObject("collection", "c", "data", data))
		require.NoError(b, err)
	}
	for name, call := range map[string][2]string{
		"findMany by index, 100 of 100k":   {"findMany", `{"collection":"c","query":{"group":"g7"}}`},
		"findOne by unique":                {"findOne", `{"collection":"c","query":{"mail":"m77777@example.org"}}`},
		"count by scan of 100k":            {"count", `{"collection":"c","query":{"n":{"$gt":99990}}}`},
		"sorted findMany of 100k":          {"findMany", `{"collection":"c","opts":{"sort":{"n":-1},"limit":10}}`},
		"aggregate of 100k in 1000 groups": {"aggregate", `{"collection":"c","steps":[{"$group":{"_id":"$group","n":{"$sum":"$n"}}}]}`},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := n.try(b.Context(), call[0], call[1])
				require.NoError(b, err)
			}
		})
	}
}
