package access_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation/expr"
	"svc/domain/domaintest"
	"svc/domain/value"
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
	w := sharedWorkspace(t, `[
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

// The contract has one language of conditions: rules and automations find the same in
// lists that a path crosses.
func TestRulesFindWhatAutomationsDo(t *testing.T) {
	for _, conditions := range []string{
		`{"a.b":{"$exists":true}}`, `{"a.b":{"$exists":false}}`, `{"a.b":{"$not":{"$exists":true}}}`, `{"a.b":{"$not":{"$exists":false}}}`,
		`{"a.b":null}`, `{"a.b":{"$ne":null}}`, `{"a.b":1}`, `{"a.b":{"$ne":1}}`, `{"a.b.c":{"$exists":false}}`, `{"a":{"$elemMatch":{"b":{"$exists":false}}}}`,
	} {
		parsed, err := value.ParseJSON(conditions)
		require.NoError(t, err)
		matcher, err := expr.CompileMatcher(parsed.(*value.Object), false)
		require.NoError(t, err)
		may := workspace(t, fileRule(object(t, conditions))).For(nobody).Filter("read", "files")
		for _, text := range []string{
			`{}`, `{"a":1}`, `{"a":null}`, `{"a":{}}`, `{"a":{"b":null}}`, `{"a":{"b":1}}`, `{"a":[]}`, `{"a":[{}]}`, `{"a":[5]}`,
			`{"a":[{"b":1}]}`, `{"a":[{},{"b":1}]}`, `{"a":[{"b":1},5]}`, `{"a":[{"b":null}]}`, `{"a":[{"b":1},{"b":2}]}`,
			`{"a":[{"b":[]}]}`, `{"a":[{"b":[{"c":1},{}]}]}`, `{"a":[{"b":{"c":1}},{"b":[{"c":2}]}]}`,
		} {
			asked, err := value.ParseJSON(text)
			require.NoError(t, err)
			fits, err := matcher.Match(asked)
			require.NoError(t, err)
			require.Equal(t, fits, may(with("files", here, object(t, text))), "%s of %s", conditions, text)
		}
	}
}

func TestPatternsAreBounded(t *testing.T) {
	for _, text := range []string{"", "^a+$", "(?i)x|y", `\pL{10}`, "x{900}", strings.Repeat("é", 256), "x{0}", "(?:a{2,}){0,3}", `\b`} {
		re, err := access.Pattern(text)
		require.NoError(t, err, text)
		require.Equal(t, text, re.String())
	}
	for text, message := range map[string]string{
		strings.Repeat("a", 257):              "must be a text of at most 256 characters",
		"(":                                   "is not a regular expression: missing closing ): `(`",
		"(?=x)":                               "is not a regular expression: invalid or unsupported Perl syntax: `(?=`",
		"a{1001}":                             "is not a regular expression: invalid repeat count: `{1001}`",
		"\xff":                                "is not a regular expression: invalid UTF-8: `\xff`",
		"x{1000}x{1000}":                      "is too large once its repetitions are written out",
		"(?:x{10}y{10}){0,99}":                "is too large once its repetitions are written out",
		"(?:x?){1000}":                        "is too large once its repetitions are written out",
		strings.Repeat("(?:x{1000}){0,}", 17): "is too large once its repetitions are written out",
		strings.Repeat("(x{0,1000})", 23):     "is too large once its repetitions are written out",
		strings.Repeat(`\b{1000}`, 32):        "is too large once its repetitions are written out",
		strings.Repeat("(){1000}", 32):        "is too large once its repetitions are written out",
		strings.Repeat("(?:[a-z]|yy){0,500}", 13): "is too large once its repetitions are written out",
	} {
		re, err := access.Pattern(text)
		require.EqualError(t, err, message, text)
		require.Nil(t, re)
		require.Equal(t, domain.CodeInternal, domain.CodeOf(err), "a plain error: what is refused is for the caller to say")
		require.Less(t, effortOf(t, func() { _, _ = access.Pattern(text) }), soon, text)
	}
}

// Whatever the text, it is refused or compiled, soon, and says the same as the
// conditions do.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"^a+$", "(", "x{1000}x{1000}", `(?:\pL{9}|){9,}`, "[^x]{2,5}?", "(?i)(?P<n>k)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var re *regexp.Regexp
		var err error
		require.Less(t, domaintest.MeasureEffort(t, func() { re, err = access.Pattern(text) }), most)
		require.Equal(t, err == nil, re != nil)
		_, refused := access.Compile(here, fileRule(map[string]any{"a": map[string]any{"$regex": text}}))
		require.True(t, refused != nil || err == nil, "%q", text)
	})
}

// executed is what is known of all ends of executions.
func executed() access.PartialObject {
	const kind = "runtime.automations.executed"
	return access.PartialObject{"type": kind, "source": access.PartialObject{"workspaceId": here, "serviceTopic": kind}, "target": access.Absent}
}

func TestWhatIsForeseenOfEventsOfOneType(t *testing.T) {
	const (
		all, none, some = "all", "none", "some"
	)
	fresh := workspace(t, access.Default(here), sampleShares()...)
	for name, tt := range map[string]struct {
		w    *access.Workspace
		who  access.Principal
		want string
	}{
		"a super admin":                  {fresh, root, all},
		"an owner":                       {fresh, ann, all},
		"an editor":                      {fresh, eve, all},
		"somebody without a role":        {fresh, rob, none},
		"a visitor":                      {fresh, visitor, none},
		"nobody":                         {fresh, nobody, none},
		"of one's session":               {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"source.sessionId":"{{session.id}}"}}]`), rob, some},
		"of an automation":               {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"payload.slug":"pay"}}]`), rob, some},
		"of all but one":                 {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"payload.slug":{"$ne":"pay"}}}]`), rob, some},
		"of the type":                    {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"type":{"$regex":"^runtime\\."}}}]`), rob, all},
		"of another type":                {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"type":"order.paid"}}]`), rob, none},
		"of all other types":             {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"type":{"$not":{"$regex":"^runtime\\."}}}}]`), rob, none},
		"one of two conditions":          {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"$or":[{"payload.slug":"pay"},{"type":{"$exists":true}}]}}]`), rob, all},
		"two conditions":                 {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"payload.slug":"pay","type":"order.paid"}}]`), rob, none},
		"for somebody":                   {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"target":{"$exists":true}}}]`), rob, none},
		"from a whole source":            {sharedWorkspace(t, `[{"action":"read","subject":"events","conditions":{"source":{"workspaceId":"x"}}}]`), rob, some},
		"denied":                         {sharedWorkspace(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true}]`), rob, none},
		"denied for the type":            {sharedWorkspace(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true,"conditions":{"type":{"$regex":"executed"}}}]`), rob, none},
		"denied for another":             {sharedWorkspace(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true,"conditions":{"type":"x"}}]`), rob, all},
		"denied for some":                {sharedWorkspace(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","inverted":true,"conditions":{"payload.slug":"pay"}}]`), rob, some},
		"denied but for some":            {sharedWorkspace(t, `[{"action":"read","subject":"events","inverted":true},{"action":"read","subject":"events","conditions":{"payload.slug":"pay"}}]`), rob, some},
		"allowed, and some once more":    {sharedWorkspace(t, `[{"action":"read","subject":"events"},{"action":"read","subject":"events","conditions":{"payload.slug":"pay"}}]`), rob, all},
		"what is denied does not matter": {sharedWorkspace(t, `[{"action":"read","subject":"events","inverted":true,"conditions":{"payload.slug":"pay"}},{"action":"read","subject":"events"}]`), rob, all},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, sure := tt.w.For(tt.who).DecideForAll("read", "events", executed())
			got := map[[2]bool]string{{true, true}: all, {false, true}: none}[[2]bool{allowed, sure}]
			if !sure {
				got = some
			}
			require.Equal(t, tt.want, got)
		})
	}
	_, sure := fresh.For(nobody).DecideForAll("read", "pages", access.PartialObject{"workspaceId": here})
	require.False(t, sure, "reading the workspace decides")
}

// What is foreseen of an object, however little of it is known, is so.
func TestWhatIsForeseenIsAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := workspace(t, someDocument(t), someShares(t)...).For(drawPrincipal(t))
		for range 10 {
			q := someQuestion(t)
			object, ok := q.object.(access.Fields)
			if !ok || len(q.fields) > 0 { // it is shared by itself
				continue
			}
			known := access.PartialObject{}
			for _, name := range []string{"name", "labels", "meta", "type", "target", "id", "workspaceId", "runningWorkspaceId", "source", "nothing"} {
				if !rapid.Bool().Draw(t, "knows "+name) {
					continue
				}
				if known[name] = access.Absent; object[name] != nil {
					known[name] = object[name]
				}
			}
			if allowed, sure := r.DecideForAll(q.action, q.subject, known); sure {
				require.Equal(t, q.of(r), allowed, "%v, of which %v is known", q, known)
			}
		}
	})
}

// expensiveCondition is a condition that takes about all the steps of a decision on a text
// of some thousand characters which does not match.
func expensiveCondition(field string) map[string]any {
	return map[string]any{field: map[string]any{"$regex": "(x+x+)+y"}}
}

// long is such a text. What it costs is just within the steps of a decision.
var long = strings.Repeat("x", 5000)

// soon is several times what one decision may take.
const soon = domaintest.RaceSlowdown * 20 * time.Millisecond

// effortOf returns the smallest effort of some attempts.
func effortOf(t *testing.T, work func()) time.Duration {
	t.Helper()
	best := time.Hour
	for range 10 {
		best = min(best, domaintest.MeasureEffort(t, work))
	}
	return best
}

// hostile is a document of 500 costly rules, each about everything.
func hostile(inverted bool, roles ...string) access.Security {
	doc := access.Security{Authorizations: access.Authorizations{Roles: map[string]access.Role{}}}
	for i := range 500 {
		field := "description"
		if i%2 == 0 {
			field = "name"
		}
		r := access.Rule{
			Action: access.Word("manage"), Subject: access.List(repeated("all", 100)...), Conditions: expensiveCondition(field),
			Role: access.List(roles...),
		}
		if len(roles) == 0 {
			r.Role = access.Words{}
		}
		if inverted {
			r.Inverted = new(true)
		}
		doc.Authorizations.Rules = append(doc.Authorizations.Rules, r)
	}
	for _, name := range roles {
		doc.Authorizations.Roles[name] = access.Role{}
	}
	return doc
}

func repeated(word string, n int) []string {
	return strings.Fields(strings.Repeat(word+" ", n))
}

// However many rules there are, a decision costs no more than one rule may.
func TestOneDecisionHasOneBudget(t *testing.T) {
	for _, inverted := range []bool{false, true} {
		w := workspace(t, hostile(inverted))
		w.Self = access.Fields{"name": long, "description": long}
		r := w.For(sam)
		page := with("pages", here, map[string]any{"name": long, "description": long})
		for name, work := range map[string]func(){
			"Allows":  func() { r.Allows("update", "workspaces", nil) },
			"fields":  func() { r.Allows("update", "pages", page, "a", "b", "c", "d", "e", "f") },
			"May":     func() { r.May("update", "pages", page, "a", "b", "c", "d", "e", "f") },
			"Filter":  func() { r.Filter("read", "pages")(page) },
			"Could":   func() { r.Could("read", "pages") },
			"Refusal": func() { _ = r.Refusal("read", "pages") },
			"Any":     func() { r.IsMember() },
			"all":     func() { r.Allows("read", "workspaces", nil); _ = r.Refusal("read", "workspaces"); r.IsMember() },
		} {
			require.Less(t, effortOf(t, work), soon, name)
		}
	}
}

// hundred is a document of 100 roles that are costly to judge, and rules that
// name all of them.
func hundred() access.Security {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("role-%03d", i))
	}
	doc := hostile(false, names...)
	for _, name := range names {
		doc.Authorizations.Roles[name] = access.Role{Auth: map[string]access.RoleAuth{
			"corp": {Conditions: expensiveCondition("authData.name")}, "lab": {},
		}}
	}
	return doc
}

func TestFindingRolesHasOneBudget(t *testing.T) {
	w := workspace(t, hundred())
	who := access.Principal{UserID: "u", AuthData: map[string]map[string]any{"corp": {"name": long}}}
	require.Empty(t, w.For(who).Roles())
	require.Less(t, effortOf(t, func() { w.For(who) }), soon)

	who.AuthData["lab"] = nil
	require.Len(t, w.For(who).Roles(), 100)
	require.Less(t, effortOf(t, func() { w.For(who) }), soon, "with all the roles")

	doc := hundred()
	for i := range doc.Authorizations.Rules {
		doc.Authorizations.Rules[i].Role = access.List(repeated("role-000", 100)...)
	}
	role := doc.Authorizations.Roles["role-000"]
	role.Auth = maps.Clone(role.Auth)
	delete(role.Auth, "lab")
	doc.Authorizations.Roles["role-000"] = role
	w = workspace(t, doc)
	require.Len(t, w.For(who).Roles(), 99)
	require.Less(t, effortOf(t, func() { w.For(who) }), soon, "with all but the one that matters")
}

// Rules that come too late to be judged count against the caller.
func TestWhatTheBudgetDoesNotReachCountsAgainstTheCaller(t *testing.T) {
	file := with("files", here, map[string]any{"text": long, "name": "a"})
	read := func(conditions map[string]any) access.Rule {
		return access.Rule{Action: access.Word("read"), Subject: access.Word("files"), Conditions: conditions}
	}
	deny := func(conditions map[string]any) access.Rule {
		r := read(conditions)
		r.Inverted = new(true)
		return r
	}
	cheap, other := map[string]any{"name": "a"}, map[string]any{"name": "b"}
	var spent []access.Rule // all the steps, without a match
	for range 300 {
		spent = append(spent, read(map[string]any{"none": map[string]any{"$in": numbers(5)}}))
	}
	for range 70 {
		spent = append(spent, read(map[string]any{"none": map[string]any{"$in": numbers(800)}}))
	}
	for name, tt := range map[string]struct {
		first []access.Rule
		want  [2]bool // without and with the costly rules after them
	}{
		"an allow does not match": {[]access.Rule{read(cheap)}, [2]bool{true, false}},
		"a deny does":             {[]access.Rule{read(nil), deny(other)}, [2]bool{true, false}},
		"nothing is nothing":      {[]access.Rule{read(other)}, [2]bool{false, false}},
	} {
		for i, more := range [][]access.Rule{nil, spent} {
			doc := access.Security{}
			doc.Authorizations.Rules = append(append(doc.Authorizations.Rules, tt.first...), more...)
			r := workspace(t, doc, access.OwnedBy("ann")).For(sam)
			require.Equal(t, tt.want[i], r.Allows("read", "files", file), name)
			require.Equal(t, tt.want[i], r.May("read", "files", file).Allowed, name)
			require.Equal(t, tt.want[i], r.Filter("read", "files")(file), name)
			require.True(t, workspace(t, doc, access.OwnedBy("ann")).For(ann).Allows("read", "files", file), "owners stand above")
		}
	}
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = float64(i)
	}
	return list
}

// Of a role that cannot be judged, what it denies binds, and what it allows
// does not.
func TestARoleThatCannotBeJudgedCountsAgainstTheCaller(t *testing.T) {
	doc := parse(t, `[
		{"action":["read","delete"],"subject":"files"},
		{"action":"read","subject":"files","role":"clerk","inverted":true},
		{"action":"update","subject":"files","role":"clerk"}
	]`)
	doc.Authorizations.Roles["clerk"] = access.Role{Auth: map[string]access.RoleAuth{"corp": {Conditions: expensiveCondition("authData.name")}}}
	w := workspace(t, doc)
	for name, want := range map[string]map[string]bool{
		"y":                       {"read": true, "update": false, "delete": true},
		"xxy":                     {"read": false, "update": true, "delete": true},
		strings.Repeat(long, 100): {"read": false, "update": false, "delete": true},
	} {
		who := access.Principal{UserID: "u", AuthData: map[string]map[string]any{"corp": {"name": name}}}
		for action, allowed := range want {
			require.Equal(t, allowed, w.For(who).Allows(action, "files", plain("files")), "%s with %d characters", action, len(name))
		}
	}
}

// Of many fields, the reasons are those of the refusal.
func TestReasonsAreThoseOfTheDecision(t *testing.T) {
	doc := access.Security{}
	doc.Authorizations.Rules = []access.Rule{
		{Action: access.Word("update"), Subject: access.Word("files")},
		{Action: access.Word("update"), Subject: access.Word("files"), Inverted: new(true), Conditions: expensiveCondition("text")},
	}
	r := workspace(t, doc).For(sam)
	for length := 1000; length < 12000; length += 500 {
		file := with("files", here, map[string]any{"text": strings.Repeat("x", length)})
		for n := range 6 {
			fields := repeated("name", n)
			require.Equal(t, r.Allows("update", "files", file, fields...), r.May("update", "files", file, fields...).Allowed, "%d fields", n)
		}
	}
}
