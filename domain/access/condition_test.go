package access_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/access"
	"svc/domain/domaintest"
)

// fileRule is a document with one rule: everyone reads files that match.
func fileRule(conditions map[string]any) access.Security {
	return access.Security{Authorizations: access.Authorizations{Rules: []access.Rule{
		{Action: access.Word("read"), Subject: access.Word("files"), Conditions: conditions},
	}}}
}

func object(t require.TestingT, text string) map[string]any {
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

// Each line: conditions, then objects that match, then objects that do not.
func TestConditions(t *testing.T) {
	for _, tt := range []struct {
		conditions string
		yes, no    []string
	}{
		{`{}`, []string{`{}`, `{"a":1}`}, nil},
		{`{"a":"x"}`, []string{`{"a":"x"}`, `{"a":["y","x"]}`}, []string{`{}`, `{"a":"X"}`, `{"a":["xx"]}`, `{"a":{"x":1}}`, `{"a":null}`}},
		{`{"a":1}`, []string{`{"a":1}`, `{"a":1.0}`, `{"a":[1]}`}, []string{`{"a":"1"}`, `{"a":true}`, `{"a":2}`}},
		{`{"a":0}`, []string{`{"a":0}`, `{"a":-0.0}`}, []string{`{"a":""}`, `{"a":false}`, `{"a":null}`, `{}`, `{"a":[]}`}},
		{`{"a":true}`, []string{`{"a":true}`}, []string{`{"a":"true"}`, `{"a":1}`}},
		{`{"a":null}`, []string{`{"a":null}`, `{}`, `{"a":[null]}`}, []string{`{"a":0}`, `{"a":""}`, `{"a":[]}`}},
		{`{"a.b":null}`, []string{`{}`, `{"a":{}}`, `{"a":5}`, `{"a":[]}`, `{"a":[{"b":1},{}]}`}, []string{`{"a":{"b":1}}`, `{"a":[{"b":1}]}`}},
		{`{"a":[1,2]}`, []string{`{"a":[1,2]}`, `{"a":[[1,2]]}`}, []string{`{"a":[2,1]}`, `{"a":[1]}`, `{"a":1}`}},
		{`{"a":{"b":1}}`, []string{`{"a":{"b":1}}`, `{"a":[{"b":1}]}`}, []string{`{"a":{"b":1,"c":2}}`, `{"a":{"c":1}}`, `{"a":{}}`, `{"a":1}`}},
		{`{"a":{}}`, []string{`{"a":{}}`}, []string{`{}`, `{"a":{"b":1}}`}},
		{`{"a.b.c":1}`, []string{`{"a":{"b":{"c":1}}}`, `{"a":[{"b":{"c":2}},{"b":[{"c":[3,1]}]}]}`}, []string{`{"a":{"b.c":1}}`, `{"a.b.c":1}`, `{"a":{"b":1}}`}},
		{`{"a":1,"b":2}`, []string{`{"a":1,"b":2}`}, []string{`{"a":1}`, `{"b":2}`, `{"a":1,"b":3}`}},

		{`{"a":{"$eq":"x"}}`, []string{`{"a":"x"}`}, []string{`{"a":"y"}`, `{}`}},
		{`{"a":{"$eq":{"$x":1}}}`, nil, []string{`{"a":"y"}`, `{}`}},
		{`{"a":{"$ne":"x"}}`, []string{`{"a":"y"}`, `{}`, `{"a":["y"]}`}, []string{`{"a":"x"}`, `{"a":["y","x"]}`}},
		{`{"a":{"$ne":null}}`, []string{`{"a":1}`}, []string{`{}`, `{"a":null}`}},
		{`{"a":{"$in":["x",1,null]}}`, []string{`{"a":"x"}`, `{"a":1}`, `{}`, `{"a":["z","x"]}`}, []string{`{"a":"1"}`, `{"a":"y"}`}},
		{`{"a":{"$in":[]}}`, nil, []string{`{}`, `{"a":1}`, `{"a":[]}`}},
		{`{"a":{"$in":[[1]]}}`, []string{`{"a":[1]}`}, []string{`{"a":1}`}},
		{`{"a":{"$nin":["x"]}}`, []string{`{"a":"y"}`, `{}`}, []string{`{"a":"x"}`, `{"a":["y","x"]}`}},
		{`{"a":{"$gt":1}}`, []string{`{"a":2}`, `{"a":[0,2]}`}, []string{`{"a":1}`, `{"a":"2"}`, `{}`, `{"a":null}`, `{"a":true}`}},
		{`{"a":{"$gte":1,"$lt":3}}`, []string{`{"a":1}`, `{"a":2.9}`}, []string{`{"a":0}`, `{"a":3}`}},
		{`{"a":{"$lte":"b"}}`, []string{`{"a":"b"}`, `{"a":"a"}`, `{"a":""}`}, []string{`{"a":"c"}`, `{"a":1}`, `{}`}},
		{`{"a":{"$regex":"^x+$"}}`, []string{`{"a":"xx"}`, `{"a":["y","x"]}`}, []string{`{"a":"xy"}`, `{}`, `{"a":1}`, `{"a":{"x":"x"}}`}},
		{`{"a":{"$regex":"X","$options":"i"}}`, []string{`{"a":"axb"}`}, []string{`{"a":"ayb"}`}},
		{`{"a":{"$exists":true}}`, []string{`{"a":1}`, `{"a":null}`, `{"a":[]}`}, []string{`{}`}},
		{`{"a.b":{"$exists":true}}`, []string{`{"a":{"b":null}}`, `{"a":[{},{"b":1}]}`}, []string{`{"a":[]}`, `{"a":[{}]}`}},
		{`{"a.b":{"$exists":false}}`, []string{`{}`, `{"a":1}`, `{"a":{}}`, `{"a":[]}`, `{"a":[{},{"b":1}]}`, `{"a":[{"b":1},5]}`}, []string{`{"a":{"b":null}}`, `{"a":[{"b":1},{"b":null}]}`}},
		{`{"a.b":{"$not":{"$exists":true}}}`, []string{`{}`, `{"a":[]}`, `{"a":[{}]}`}, []string{`{"a":[{},{"b":1}]}`}},
		{`{"a.b":{"$not":{"$exists":false}}}`, []string{`{"a":[{"b":1}]}`}, []string{`{}`, `{"a":[]}`, `{"a":[{},{"b":1}]}`}},
		{`{"a":{"$not":{"$gt":1}}}`, []string{`{"a":1}`, `{}`, `{"a":"x"}`}, []string{`{"a":2}`, `{"a":[0,2]}`}},
		{`{"a":{"$not":{"$gt":1,"$lt":5}}}`, []string{`{"a":1}`, `{"a":7}`}, []string{`{"a":2}`}},
		{`{"a":{"$not":{"$not":{"$eq":1}}}}`, []string{`{"a":1}`}, []string{`{"a":2}`}},
		{`{"a":{"$all":["x","y"]}}`, []string{`{"a":["y","z","x"]}`}, []string{`{"a":["x"]}`, `{"a":"x"}`, `{}`}},
		{`{"a":{"$all":["x"]}}`, []string{`{"a":"x"}`, `{"a":["x"]}`}, []string{`{"a":[]}`}},
		{`{"a":{"$all":[]}}`, nil, []string{`{"a":["x"]}`, `{}`}},
		{`{"a":{"$size":2}}`, []string{`{"a":[1,2]}`}, []string{`{"a":[1]}`, `{"a":"ab"}`, `{"a":{"x":1,"y":2}}`, `{}`}},
		{`{"a":{"$size":0}}`, []string{`{"a":[]}`}, []string{`{}`, `{"a":null}`}},
		{`{"a":{"$elemMatch":{"b":1,"c":2}}}`, []string{`{"a":[{"b":1,"c":2}]}`}, []string{`{"a":[{"b":1},{"c":2}]}`, `{"a":{"b":1,"c":2}}`, `{}`}},
		{`{"a":{"$elemMatch":{"$gt":1,"$lt":5}}}`, []string{`{"a":[0,3]}`}, []string{`{"a":[0,7]}`, `{"a":3}`}},
		{`{"a":{"$elemMatch":{"$or":[{"b":1},{"c":1}]}}}`, []string{`{"a":[{"c":1}]}`}, []string{`{"a":[{"b":2}]}`}},
		{`{"a":{"$elemMatch":{"$not":{"$eq":1}}}}`, []string{`{"a":[1,2]}`}, []string{`{"a":[1]}`}},

		{`{"$and":[{"a":1},{"b":1}]}`, []string{`{"a":1,"b":1}`}, []string{`{"a":1}`}},
		{`{"$or":[{"a":1},{"b":1}]}`, []string{`{"a":1}`, `{"b":1}`}, []string{`{"c":1}`}},
		{`{"$nor":[{"a":1},{"b":1}]}`, []string{`{"c":1}`}, []string{`{"a":1}`, `{"b":1}`}},
		{`{"$or":[{"$and":[{"a":1},{"$nor":[{"b":1}]}]},{"c":1}]}`, []string{`{"a":1}`, `{"b":1,"c":1}`}, []string{`{"a":1,"b":1}`}},
		{`{"$or":[{}]}`, []string{`{}`}, nil},
	} {
		t.Run(tt.conditions, func(t *testing.T) {
			w := workspace(t, fileRule(object(t, tt.conditions)))
			may := w.For(nobody).Filter("read", "files")
			for _, text := range tt.yes {
				require.True(t, may(with("files", here, object(t, text))), text)
			}
			for _, text := range tt.no {
				require.False(t, may(with("files", here, object(t, text))), text)
			}
		})
	}
}

func TestValuesOfGoAreValuesOfJSON(t *testing.T) {
	w := workspace(t, fileRule(object(t, `{"n": {"$gte": 2}, "labels": "core", "meta.a": {"$size": 1}}`)))
	may := w.For(nobody).Filter("read", "files")
	for _, n := range []any{2, int64(2), uint64(2), 2.0, json.Number("2")} {
		require.True(t, may(with("files", here, map[string]any{"n": n, "labels": []string{"x", "core"}, "meta": map[string]any{"a": []string{"y"}}})), "%T", n)
	}
	require.False(t, may(with("files", here, map[string]any{"n": struct{}{}, "labels": []string{"core"}})))
}

func TestBadConditionsAreNamed(t *testing.T) {
	deep := `{"a":1}`
	for range 12 {
		deep = `{"$or":[` + deep + `]}`
	}
	nots := `{"$eq":1}`
	for range 12 {
		nots = `{"$not":` + nots + `}`
	}
	elements := `{"$gt":1}`
	for range 12 {
		elements = `{"$elemMatch":` + elements + `}`
	}
	for conditions, field := range map[string]string{
		`{"a":` + elements + `}`:                              ".a" + strings.Repeat(".$elemMatch", 11),
		`{"$where":"1"}`:                                      ".$where",
		`{"$not":{"a":1}}`:                                    ".$not",
		`{"$or":{"a":1}}`:                                     ".$or",
		`{"$or":[]}`:                                          ".$or",
		`{"$and":[1]}`:                                        ".$and[0]",
		`{"":1}`:                                              ".",
		`{"a..b":1}`:                                          ".a..b",
		`{"a":{"$fly":1}}`:                                    ".a.$fly",
		`{"a":{"$eq":1,"b":1}}`:                               ".a.b",
		`{"a":{"$in":"x"}}`:                                   ".a.$in",
		`{"a":{"$in":"{{user.id}}"}}`:                         ".a.$in",
		`{"a":{"$nin":{}}}`:                                   ".a.$nin",
		`{"a":{"$all":1}}`:                                    ".a.$all",
		`{"a":{"$gt":null}}`:                                  ".a.$gt",
		`{"a":{"$lte":[1]}}`:                                  ".a.$lte",
		`{"a":{"$regex":1}}`:                                  ".a.$regex",
		`{"a":{"$regex":"("}}`:                                ".a.$regex",
		`{"a":{"$regex":"(?=x)"}}`:                            ".a.$regex",
		`{"a":{"$regex":"x{1000}x{1000}"}}`:                   ".a.$regex",
		`{"a":{"$regex":"x{1001}"}}`:                          ".a.$regex",
		`{"a":{"$regex":"^{{user.id}}"}}`:                     ".a.$regex",
		`{"a":{"$regex":"x","$options":"g"}}`:                 ".a.$regex",
		`{"a":{"$regex":"x","$options":1}}`:                   ".a.$regex",
		`{"a":{"$options":"i"}}`:                              ".a.$options",
		`{"a":{"$exists":1}}`:                                 ".a.$exists",
		`{"a":{"$size":-1}}`:                                  ".a.$size",
		`{"a":{"$size":1.5}}`:                                 ".a.$size",
		`{"a":{"$size":"1"}}`:                                 ".a.$size",
		`{"a":{"$size":1e300}}`:                               ".a.$size",
		`{"a":{"$elemMatch":1}}`:                              ".a.$elemMatch",
		`{"a":{"$elemMatch":{"$fly":1}}}`:                     ".a.$elemMatch.$fly",
		`{"a":{"$not":1}}`:                                    ".a.$not",
		`{"a":{"$not":{"b":1}}}`:                              ".a.$not",
		`{"a":{"$not":{"$fly":1}}}`:                           ".a.$not.$fly",
		`{"a":[` + strings.Repeat(`1,`, 1000) + `1]}`:         "",
		`{"a":{"$regex":"` + strings.Repeat("a", 257) + `"}}`: ".a.$regex",
		`{"` + strings.Repeat("a.", 100) + `a":1}`:            "." + strings.Repeat("a.", 100) + "…",
		`{"a":` + strings.Repeat("[", 12) + strings.Repeat("]", 12) + `}`: ".a",
		deep:                 strings.Repeat(".$or[0]", 11),
		`{"a":` + nots + `}`: ".a" + strings.Repeat(".$not", 12),
	} {
		t.Run(conditions[:min(len(conditions), 60)], func(t *testing.T) {
			_, err := access.Compile(here, fileRule(object(t, conditions)))
			requireFault(t, err, "authorizations.rules[0].conditions"+field)
		})
	}
}

func TestPlaceholders(t *testing.T) {
	full := access.Principal{UserID: "u1", SessionID: "s1", Email: "u@example.com", Topics: []string{"sales", "board"}}
	for conditions, tt := range map[string]struct{ yes, no string }{
		`{"a":"{{user.id}}"}`:                                 {`{"a":"u1"}`, `{"a":"{{user.id}}"}`},
		`{"a":"${user.id}"}`:                                  {`{"a":"u1"}`, `{"a":"u2"}`},
		`{"a":"{{ user.email }}"}`:                            {`{"a":"u@example.com"}`, `{}`},
		`{"a":"{{session.id}}"}`:                              {`{"a":"s1"}`, `{"a":"u1"}`},
		`{"a":"${user.sessionId}"}`:                           {`{"a":"s1"}`, `{"a":"u1"}`},
		`{"a":"of/{{user.id}}/{{session.id}}"}`:               {`{"a":"of/u1/s1"}`, `{"a":"of/u1/"}`},
		`{"a":{"$in":"{{user.topics}}"}}`:                     {`{"a":"board"}`, `{"a":"shop"}`},
		`{"a":{"$in":"${user.topics}"}}`:                      {`{"a":["x","sales"]}`, `{}`},
		`{"a":{"$in":["x","{{user.topics}}","{{user.id}}"]}}`: {`{"a":"board"}`, `{"a":"y"}`},
		`{"a":{"$all":"{{user.topics}}"}}`:                    {`{"a":["board","sales"]}`, `{"a":"board"}`},
		`{"a":"{{user.topics}}"}`:                             {`{"a":["sales","board"]}`, `{"a":"sales"}`},
		`{"a":{"b":["{{user.id}}"]}}`:                         {`{"a":{"b":["u1"]}}`, `{"a":{"b":["u2"]}}`},
		`{"a":{"$gt":"{{user.id}}"}}`:                         {`{"a":"u2"}`, `{"a":"u1"}`},
		`{"$or":[{"a":{"$elemMatch":{"b":"{{user.id}}"}}}]}`:  {`{"a":[{"b":"u1"}]}`, `{"a":[{}]}`},
	} {
		t.Run(conditions, func(t *testing.T) {
			w := workspace(t, fileRule(object(t, conditions)))
			require.True(t, w.For(full).Allows("read", "files", with("files", here, object(t, tt.yes))))
			require.False(t, w.For(full).Allows("read", "files", with("files", here, object(t, tt.no))))
			require.False(t, w.For(nobody).Allows("read", "files", with("files", here, object(t, tt.yes))), "unresolved: ignored")
		})
	}
}

func TestARuleWithAnUnresolvedPlaceholderIsIgnored(t *testing.T) {
	w := ruled(t, `[
		{"action":"read","subject":"files"},
		{"action":"read","subject":"files","inverted":true,"conditions":{"createdBy":{"$ne":"{{user.id}}"}}},
		{"action":"read","subject":"files","inverted":true,"conditions":{"name":"{{user.shoeSize}}"}},
		{"action":"read","subject":"files","inverted":true,"conditions":{"name":"a {{user.topics}}"}},
		{"action":"read","subject":"files","inverted":true,"conditions":{"topic":{"$nin":"{{user.topics}}"}}}
	]`)
	mine := with("files", here, map[string]any{"createdBy": "sam", "topic": "sales"})
	require.True(t, w.For(nobody).Allows("read", "files", mine), "there is no user, so nothing denies")
	own := map[string]any{"createdBy": "rob", "topic": "sales", "name": "a "}
	require.True(t, w.For(rob).Allows("read", "files", with("files", here, own)))
	require.False(t, w.For(rob).Allows("read", "files", mine))
	require.False(t, w.For(sam).Allows("read", "files", mine), "having no topics is an answer")
}

// The most expensive documents and objects that can be had: the evaluator gives
// up on what it cannot judge, against the caller.
func TestEffortIsBounded(t *testing.T) {
	doc := access.Security{}
	list := make([]any, 900)
	for i := range list {
		list[i] = float64(i)
	}
	for i := range 500 {
		conditions := map[string]any{"text": map[string]any{"$regex": "(x+x+)+y"}}
		if i%2 == 0 {
			conditions = map[string]any{"list.a.b": map[string]any{"$in": list}}
		}
		doc.Authorizations.Rules = append(doc.Authorizations.Rules,
			access.Rule{Action: access.Word("read"), Subject: access.Word("files"), Conditions: conditions})
	}
	w := workspace(t, doc)
	values := make([]any, 20000)
	for i := range values {
		values[i] = map[string]any{"a": map[string]any{"b": "none"}}
	}
	big := with("files", here, map[string]any{"text": strings.Repeat("x", 1<<20), "list": values})
	effort := domaintest.MeasureEffort(t, func() {
		require.False(t, w.For(nobody).Allows("read", "files", big))
	})
	require.Less(t, effort, 5*time.Second)
}

func TestWhatCannotBeJudgedCountsAgainstTheCaller(t *testing.T) {
	long := with("files", here, map[string]any{"text": strings.Repeat("x", 1<<20), "a": 1.0})
	for conditions, want := range map[string]struct{ allows, denies bool }{
		`{"text":{"$regex":"x+"}}`:                         {false, true},
		`{"text":{"$not":{"$regex":"x+"}}}`:                {false, true},
		`{"$nor":[{"text":{"$regex":"x+"}}]}`:              {false, true},
		`{"$or":[{"text":{"$regex":"x+"}},{"a":1}]}`:       {true, true},
		`{"$and":[{"text":{"$regex":"x+"}},{"a":2}]}`:      {false, false},
		`{"$or":[{"text":{"$regex":"x+"}},{"a":2}]}`:       {false, true},
		`{"text":{"$elemMatch":{"$regex":"x+"}}}`:          {false, false},
		`{"text":{"$in":["x"]}}`:                           {false, false},
		`{"text":{"$exists":true}}`:                        {true, true},
		`{"text":{"$regex":"x+"},"a":{"$exists":false}}`:   {false, false},
		`{"a":{"$exists":true},"text":{"$regex":"^x{9}"}}`: {false, true},
	} {
		doc := fileRule(object(t, conditions))
		require.Equal(t, want.allows, workspace(t, doc).For(nobody).Allows("read", "files", long), conditions)
		doc.Authorizations.Rules[0].Inverted = new(true)
		doc.Authorizations.Rules = append([]access.Rule{{Action: access.Word("read"), Subject: access.Word("files")}}, doc.Authorizations.Rules...)
		require.Equal(t, want.denies, !workspace(t, doc).For(nobody).Allows("read", "files", long), conditions)
	}
}

func TestTheRegularExpressionsOfADocumentAreBoundedTogether(t *testing.T) {
	doc := access.Security{}
	for range 30 {
		doc.Authorizations.Rules = append(doc.Authorizations.Rules, fileRule(map[string]any{"a": map[string]any{"$regex": "x{900}"}}).Authorizations.Rules...)
	}
	_, err := access.Compile(here, doc)
	requireFault(t, err, "authorizations.rules[11].conditions.a.$regex")
}
