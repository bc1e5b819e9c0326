package collection_test

import "testing"

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
			story{`aggregate {"collection":"c","steps":` + test.steps + `}`, test.want}.run(t, m)
		})
	}
}
