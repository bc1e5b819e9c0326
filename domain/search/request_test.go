package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/feed"
	"svc/domain/search"
)

func TestSorting(t *testing.T) {
	t.Parallel()
	for sort, want := range map[string]string{
		`[]`:                                             "87654321",
		`[{"@timestamp":"desc"}]`:                        "87654321",
		`[{"createdAt":"asc"}]`:                          "12345678",
		`["@timestamp"]`:                                 "12345678",
		`[{"createdAt":{"order":"ASC"}}]`:                "12345678",
		`[{"payload.amount":"asc"}]`:                     "65784321",
		`[{"payload.amount":"desc"}]`:                    "76584321",
		`[{"type":"asc"},{"payload.amount":"desc"}]`:     "27654318",
		`[{"source.userId":"desc"},{"id":"asc"}]`:        "71568234",
		`[{"payload.rush":"asc"}]`:                       "78654321",
		`[{"payload.text":"asc"},{"payload.no":"desc"}]`: "18765432",
		`[{"type":"desc"},{"createdAt":"asc"}]`:          "81345672",
		`[{"payload.items.name":"asc"}]`:                 "78654321",
	} {
		require.Equal(t, want, ids(t, run(t, `{"query":{"match_all":{}},"sort":`+sort+`}`, shop...)), sort)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`"limit":3`:          "876",
		`"limit":3,"page":1`: "543",
		`"limit":3,"page":2`: "21",
		`"limit":3,"page":3`: "",
		`"limit":0`:          "",
		`"limit":3,"page":1,"sort":[{"id":"asc"}]`: "456",
		`"limit":3,"page":9,"sort":[{"id":"asc"}]`: "",
	} {
		result := run(t, `{"query":{"match_all":{}},`+body+`}`, shop...)
		require.Equal(t, want, ids(t, result), body)
		require.Equal(t, 8, result.Size)
	}
	empty, err := json.Marshal(run(t, `{"query":{"match_all":{}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"size":0,"documents":[]}`, string(empty))
}

func TestHitsAreCountedUpTo10000(t *testing.T) {
	t.Parallel()
	events := numbered(10_200)
	require.Equal(t, 10_000, run(t, `{"query":{"match_all":{}}}`, events...).Size)
	require.Equal(t, 10_000, run(t, `{"query":{"match_all":{}},"track_total_hits":false,"sort":[{"payload.n":"desc"}]}`, events...).Size)
	require.Equal(t, 10_200, run(t, `{"query":{"match_all":{}},"track_total_hits":true}`, events...).Size)
	require.Equal(t, "10199", ids(t, run(t, `{"query":{"match_all":{}},"sort":[{"payload.n":"desc"}],"limit":1}`, events...)), "all of them were looked at")
	require.Len(t, run(t, `{"query":{"match_all":{}},"limit":1000,"page":10}`, events...).Documents, 200, "those of the page are found beyond")
}

func TestSource(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`["id"]`:                      `{"id":"7"}`,
		`["id","payload.items.name"]`: `{"id":"7","payload":{"items":[{"name":"Pen"},{"name":"Ink"}]}}`,
		`["payload.items.n"]`:         `{"payload":{"items":[{"n":2}]}}`,
		`["source.*Id"]`:              `{"source":{"workspaceId":"w1","userId":"bob","sessionId":"s1","correlationId":"c2"}}`,
		`["@timestamp"]`:              `{"createdAt":"2026-11-18T11:30:00.000Z"}`,
		`["nothing"]`:                 `{}`,
		`[]`:                          `{}`,
	} {
		result := run(t, `{"query":{"ids":{"values":["7"]}},"source":`+source+`}`, shop...)
		require.JSONEq(t, want, string(result.Documents[0]), source)
	}
	require.JSONEq(t, string(shop[1].JSON()), string(run(t, `{"query":{"ids":{"values":["7"]}},"source":["*"]}`, shop...).Documents[0]))
	require.Equal(t, string(shop[1].JSON()), string(run(t, `{"query":{"ids":{"values":["7"]}}}`, shop...).Documents[0]))
}

func TestBodiesOfAnotherShapeAreRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		code  domain.Code
		field string
	}{
		`{}`:                                     {domain.CodeMissingParameter, "query"},
		`{"query":"x"}`:                          {domain.CodeInvalidRequest, "query"},
		`{"query":{"match_all":{}},"limit":"5"}`: {domain.CodeInvalidRequest, "limit"},
		`{"query":{"match_all":{}},"sort":"type"}`:        {domain.CodeInvalidRequest, "sort"},
		`{"query":{"match_all":{}},"source":"type"}`:      {domain.CodeInvalidRequest, "source"},
		`{"query":{"match_all":{}},"aggs":[]}`:            {domain.CodeInvalidRequest, "aggs"},
		`{"query":{"match_all":{}},"scope":1}`:            {domain.CodeInvalidRequest, "scope"},
		`{"query":{"match_all":{}},"track_total_hits":1}`: {domain.CodeInvalidRequest, "track_total_hits"},

		`{"query":{"match_all":{}},"limit":1001}`:                                      {domain.CodeValidation, "limit"},
		`{"query":{"match_all":{}},"limit":-1}`:                                        {domain.CodeValidation, "limit"},
		`{"query":{"match_all":{}},"limit":1.5}`:                                       {domain.CodeValidation, "limit"},
		`{"query":{"match_all":{}},"page":-1}`:                                         {domain.CodeValidation, "page"},
		`{"query":{"match_all":{}},"page":11,"limit":1000}`:                            {domain.CodeValidation, "page"},
		`{"query":{"match_all":{}},"page":1e300}`:                                      {domain.CodeValidation, "page"},
		`{"query":{"match_all":{}},"scope":"files"}`:                                   {domain.CodeValidation, "scope"},
		`{"query":{"match_all":{}},"runtime_mappings":{}}`:                             {domain.CodeValidation, "runtime_mappings"},
		`{"query":{"match_all":{}},"script_fields":{}}`:                                {domain.CodeValidation, "script_fields"},
		`{"query":{"match_all":{}},"size":5}`:                                          {domain.CodeValidation, "size"},
		`{"query":{"match_all":{}},"sort":[{"a":"up"}]}`:                               {domain.CodeValidation, "sort.a"},
		`{"query":{"match_all":{}},"sort":["a",{"a":"asc","b":"asc"}]}`:                {domain.CodeValidation, "sort[1]"},
		`{"query":{"match_all":{}},"sort":[{"a":{"order":"asc","mode":"min"}}]}`:       {domain.CodeValidation, "sort.a.mode"},
		`{"query":{"match_all":{}},"sort":[` + strings.Repeat(`"a",`, 10) + `"a"]}`:    {domain.CodeValidation, "sort"},
		`{"query":{"match_all":{}},"source":[5]}`:                                      {domain.CodeValidation, "source[0]"},
		`{"query":{"match_all":{}},"source":["` + strings.Repeat("a", 1001) + `"]}`:    {domain.CodeValidation, "source[0]"},
		`{"query":{"match_all":{}},"source":[` + strings.Repeat(`"a",`, 200) + `"a"]}`: {domain.CodeValidation, "source"},
		`{"query":{"match_all":{}},"aggs":{},"aggregations":{}}`:                       {domain.CodeValidation, "aggregations"},
	} {
		_, err := parse(t, body)
		require.Equal(t, want.code, domain.CodeOf(err), "%s: %v", body, err)
		require.Contains(t, faults(t, err), want.field, body)
	}
}

func TestWhatEveryMatchHas(t *testing.T) {
	t.Parallel()
	r, err := parse(t, `{"query":{"bool":{"must":[{"term":{"type":"order.paid"}},{"match_phrase":{"payload.note":"Thank you"}}],
		"filter":[{"term":{"source.correlationId":"c1"}},{"range":{"@timestamp":{"gte":"2026-11-18","lt":"2026-11-19"}}},{"term":{"aggPayload.amount":7}}],
		"should":{"match":{"payload.note":"whatever"}}}}}`)
	require.NoError(t, err)
	f := r.Filter()
	require.Equal(t, []string{"order.paid"}, f.Types)
	require.Equal(t, []string{"thank", "you"}, f.Words)
	require.Len(t, f.Paths, 1)
	require.Equal(t, "2026-11-17T23:59:59.999Z", f.After.Format(domain.Timestamp))
	require.Equal(t, "2026-11-19T00:00:00.001Z", f.Before.Format(domain.Timestamp))

	for query, want := range map[string][]string{
		`{"bool":{"should":[{"term":{"type":"a"}},{"prefix":{"type":"b."}}]}}`: {"a", "b.*"},
		`{"bool":{"should":[{"term":{"type":"a"}},{"match_all":{}}]}}`:         nil,
		`{"bool":{"should":[{"term":{"type":"a"}}],"minimum_should_match":0}}`: nil,
		`{"query_string":{"query":"type:a OR type:b"}}`:                        {"a", "b"},
		`{"wildcard":{"type":"a.*"}}`:                                          {"a.*"},
		`{"wildcard":{"type":"a.?"}}`:                                          nil,
		`{"bool":{"must_not":[{"term":{"type":"a"}}]}}`:                        nil,
		`{"query_string":{"query":"NOT type:a"}}`:                              nil,
	} {
		r, err := parse(t, `{"query":`+query+`}`)
		require.NoError(t, err)
		require.Equal(t, want, r.Filter().Types, query)
	}
}

// anyQuery is a query of any kind, nested at most so deep.
func anyQuery(r *rand.Rand, depth int) string {
	fields := []string{"type", "payload.note", "payload.amount", "source.userId", "aggPayload.amount", "payload.items.name"}
	texts := []string{"order.paid", "thank", "7", "ada", "Ink", "order.*", "very much"}
	field, text := fields[r.IntN(len(fields))], texts[r.IntN(len(texts))]
	kinds := []string{"term", "match", "prefix", "wildcard", "match_phrase", "exists", "query_string", "range", "bool"}
	switch kind := kinds[r.IntN(len(kinds)-min(1, max(0, 1-depth)))]; kind {
	case "exists":
		return fmt.Sprintf(`{"exists":{"field":%q}}`, field)
	case "query_string":
		return fmt.Sprintf(`{"query_string":{"query":%q}}`, text+" "+[]string{"AND", "OR", "AND NOT"}[r.IntN(3)]+" "+texts[r.IntN(len(texts))])
	case "range":
		return fmt.Sprintf(`{"range":{"@timestamp":{"gte":"now-%dd/d"}}}`, r.IntN(10))
	case "bool":
		return fmt.Sprintf(`{"bool":{"must":[%s],"should":[%s,%s],"must_not":[%s]}}`, anyQuery(r, depth-1), anyQuery(r, depth-1), anyQuery(r, depth-1), anyQuery(r, depth-1))
	default:
		return fmt.Sprintf(`{%q:{%q:%q}}`, kind, field, text)
	}
}

func TestBoolIsAnAlgebra(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	matcher := func(query string) func(int) bool {
		r, err := parse(t, `{"query":`+query+`}`)
		require.NoError(t, err, query)
		known, filter := types(t), r.Filter()
		return func(i int) bool {
			matches := r.Match(known.Doc(shop[i]))
			require.True(t, !matches || filter.Match(shop[i]), "%s: the filter leaves a match out", query)
			return matches
		}
	}
	for range 500 {
		a, b := anyQuery(random, 3), anyQuery(random, 3)
		isA, isB := matcher(a), matcher(b)
		both := matcher(`{"bool":{"must":[` + a + `,` + b + `]}}`)
		either := matcher(`{"bool":{"should":[` + a + `,` + b + `]}}`)
		two := matcher(`{"bool":{"should":[` + a + `,` + b + `],"minimum_should_match":2}}`)
		butNot := matcher(`{"bool":{"filter":` + a + `,"must_not":` + b + `}}`)
		neither := matcher(`{"bool":{"must_not":[` + a + `,` + b + `]}}`)
		for i := range shop {
			require.Equal(t, isA(i) && isB(i), both(i), "%s and %s", a, b)
			require.Equal(t, both(i), two(i))
			require.Equal(t, isA(i) || isB(i), either(i), "%s or %s", a, b)
			require.Equal(t, isA(i) && !isB(i), butNot(i), "%s but not %s", a, b)
			require.Equal(t, !either(i), neither(i))
		}
	}
}

func TestWithoutDeclaredTypesThereAreNone(t *testing.T) {
	t.Parallel()
	require.Empty(t, search.TypesOf(nil))
	doc := search.Types(nil).Doc(shop[1])
	require.Empty(t, doc.Values("aggPayload.amount"))
	require.True(t, doc.ContainsWords("ink", "pen"))
	emitted := event("9", "order.lost", "2026-11-18T12:00:00Z", `{"amount":"3"}`, domain.Meta{})
	emitted.Options.AggPayload = true
	require.Equal(t, []any{"3"}, search.Types(nil).Doc(emitted).Values("aggPayload.amount"), "as it was recorded")
}

func BenchmarkCollector(b *testing.B) {
	r, err := parse(b, `{"query":{"bool":{"filter":[{"term":{"type":"n"}},{"range":{"payload.n":{"gte":0}}}]}},"limit":10,
		"aggs":{"h":{"date_histogram":{"field":"@timestamp","calendar_interval":"hour"},"aggs":{"p":{"percentiles":{"field":"payload.n"}}}}}}`)
	require.NoError(b, err)
	known := types(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		events := numbered(1000) // none of them was decoded before
		b.StartTimer()
		c := search.NewCollector(r, nil)
		for _, e := range events {
			if doc := known.Doc(e); r.Match(doc) {
				_, err := c.Add(doc)
				require.NoError(b, err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{
		`{"query":{"bool":{"must":[{"match_all":{}}]}},"aggs":{"a":{"terms":{"field":"type"},"aggs":{"b":{"avg":{"field":"size"}}}}}}`,
		`{"query":{"range":{"@timestamp":{"gte":"now-1d/d"}}},"sort":[{"type":"asc"}],"source":["payload.*"]}`,
		`{"query":{"term":{"a":1}},"aggs":{"h":{"date_histogram":{"field":"@timestamp","fixed_interval":"1h","time_zone":"+01:00"}}}}`,
		`{"query":{"wildcard":{"type":"*a?"}},"aggs":{"p":{"percentiles":{"field":"size","percents":[1]}},"t":{"top_hits":{}}}}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var body map[string]any
		if json.Unmarshal([]byte(text), &body) != nil {
			return
		}
		r, err := search.Parse(body, terms())
		if err != nil {
			require.NotEqual(t, domain.CodeInternal, domain.CodeOf(err))
			return
		}
		result, err := collect(t, r, shop)
		if err == nil {
			_, err = json.Marshal(result)
			require.NoError(t, err)
		}
	})
}

func FuzzQueryString(f *testing.F) {
	for _, text := range []string{`a AND (b OR "c d") NOT e`, `type:order.* payload.x:(1 OR 2)`, `\( : "\"" *:*`, `a:b:c && d || e`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body := map[string]any{"query": map[string]any{"query_string": map[string]any{"query": text}}}
		r, err := search.Parse(body, terms())
		if err != nil {
			require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
			return
		}
		_, err = collect(t, r, shop)
		require.NoError(t, err)
	})
}

// What a request costs for one document is bounded by what the request may say.
func TestRequestsThatCostTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	long, pattern := strings.Repeat("a", 501), "*"+strings.Repeat("a", 900)
	several := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	for body, want := range map[string]string{
		`{"query":{"term":{"` + long + `":1}}}`:                                                     "query.term",
		`{"query":{"exists":{"field":"` + long + `"}}}`:                                             "query.exists.field",
		`{"query":{"query_string":{"query":"` + long + `:x"}}}`:                                     "query.query_string.query",
		`{"query":{"match_all":{}},"sort":["` + long + `"]}`:                                        "sort",
		`{"query":{"match_all":{}},"sort":[{"` + long + `":"asc"}]}`:                                "sort",
		`{"query":{"match_all":{}},"source":["` + long + `"]}`:                                      "source[0]",
		`{"query":{"match_all":{}},"aggs":{"a":{"terms":{"field":"` + long + `"}}}}`:                "aggs.a.terms.field",
		`{"query":{"bool":{"should":[` + several(5, `{"wildcard":{"type":"`+pattern+`"}}`) + `]}}}`: "query.bool.should[4].wildcard.type",
		`{"query":{"query_string":{"query":"` + strings.Repeat(pattern+" ", 5) + `"}}}`:             "query.query_string.query",
		`{"query":{"match":{"payload.note":"` + strings.Repeat("word ", 1025) + `"}}}`:              "query.match.payload.note",
		`{"query":{"match_phrase":{"payload.note":"` + strings.Repeat("word ", 1025) + `"}}}`:       "query.match_phrase.payload.note",
		`{"query":{"query_string":{"query":"\"` + strings.Repeat("word ", 1025) + `\""}}}`:          "query.query_string.query",
		`{"query":{"match_all":{}},"aggs":{"a":{"range":{"field":"n","ranges":[` + several(600, `{"from":1}`) + `]}},` +
			`"b":{"range":{"field":"n","ranges":[` + several(600, `{"from":1}`) + `]}}}}`: "aggs.b.range.ranges[423]",
	} {
		_, err := parse(t, body)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "%.100s: %v", body, err)
		require.Contains(t, faults(t, err), want, "%.100s", body)
	}
	_, err := parse(t, `{"query":{"`+strings.Repeat("x", 100_000)+`":{}}}`)
	require.Less(t, len(faults(t, err)[0]), 1100, "what is refused is not told at length")
}

// listing is an event with a list of numbers, each of them twice.
func listing(n int) *feed.Event {
	numbers := make([]int, 2*n)
	for i := range numbers {
		numbers[i] = i % n
	}
	body, err := json.Marshal(map[string]any{"list": numbers})
	if err != nil {
		panic(err)
	}
	return event("1", "n", now.Format(time.RFC3339), string(body), domain.Meta{})
}

func TestADocumentCountsOnceForEachOfManyValues(t *testing.T) {
	t.Parallel()
	large := listing(20_000)
	for _, agg := range []string{`{"terms":{"field":"payload.list","size":1}}`, `{"histogram":{"field":"payload.list","interval":10000}}`} {
		require.Contains(t, aggregate(t, `{"a":`+agg+`}`, large, large), `{"doc_count":2,"key":0}`, agg)
	}
	require.Contains(t, aggregate(t, `{"a":{"terms":{"field":"payload.list","size":1}}}`, large), `"sum_other_doc_count":19999`)
}

// One document may be in so many buckets that they alone take too long.
func TestACollectorStopsWhenItIsTold(t *testing.T) {
	t.Parallel()
	r, err := parse(t, `{"query":{"match_all":{}},"aggs":{"a":{"terms":{"field":"payload.list"},"aggs":{"s":{"sum":{"field":"payload.list"}}}}}}`)
	require.NoError(t, err)
	late, asked := errors.New("it is late"), 0
	c := search.NewCollector(r, func() error {
		if asked++; asked == 3 {
			return late
		}
		return nil
	})
	_, err = c.Add(search.Types(nil).Doc(listing(2000)))
	require.ErrorIs(t, err, late)
	require.Equal(t, 3, asked, "it does not go on")
}

func TestWhatHitsAreSortedByIsHeldToo(t *testing.T) {
	t.Parallel()
	r, err := parse(t, `{"query":{"match_all":{}},"limit":1000,"source":["id"],"sort":[{"payload.text":"asc"}]}`)
	require.NoError(t, err)
	c := search.NewCollector(r, nil)
	for i := range 1000 {
		text := fmt.Sprintf("%s%04d", strings.Repeat("x", 100_000), i)
		body := json.RawMessage(`{"text":"` + text + `"}`)
		e := feed.Of(domain.Recorded{ID: "e", At: now, Data: domain.Unknown{Name: "n"}, Body: body}, domain.Position{}, body)
		if _, err = c.Add(search.Types(nil).Doc(e)); err != nil {
			break
		}
	}
	require.Equal(t, []string{"limit"}, faults(t, err))
}

func TestOnlyTypedFieldsNeedTypes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"query":{"match_all":{}},"sort":["type"]}`:                                     false,
		`{"query":{"term":{"aggPayloads":1}}}`:                                           false,
		`{"query":{"term":{"aggPayload.a":1}}}`:                                          true,
		`{"query":{"query_string":{"query":"aggPayload.a:1"}}}`:                          true,
		`{"query":{"match_all":{}},"sort":[{"aggPayload.a":"asc"}]}`:                     true,
		`{"query":{"match_all":{}},"aggs":{"a":{"sum":{"field":"aggPayload.a"}}}}`:       true,
		`{"query":{"match_all":{}},"aggs":{"a":{"missing":{"field":"aggPayload"}}}}`:     true,
		`{"query":{"match_all":{}},"aggs":{"a":{"top_hits":{"sort":["aggPayload.a"]}}}}`: true,
	} {
		r, err := parse(t, body)
		require.NoError(t, err)
		require.Equal(t, want, r.Typed(), body)
	}
}

func TestAnIndexIsEnoughForWhatItKnows(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"query":{"match_all":{}},"limit":0}`: true,
		`{"query":{"bool":{"filter":[{"prefix":{"type":"a."}},{"range":{"@timestamp":{"gte":"now-1d"}}}]}},"limit":0,"aggs":{"a":{"terms":{"field":"type"},"aggs":{"c":{"cardinality":{"field":"source.correlationId"}}}}}}`: true,
		`{"query":{"ids":{"values":["1"]}},"limit":0}`:                                         true,
		`{"query":{"match_all":{}}}`:                                                           false,
		`{"query":{"match_all":{}},"limit":0,"sort":["payload.n"]}`:                            false,
		`{"query":{"exists":{"field":"payload.a"}},"limit":0}`:                                 false,
		`{"query":{"term":{"source.userId":"ada"}},"limit":0}`:                                 false,
		`{"query":{"query_string":{"query":"word"}},"limit":0}`:                                false,
		`{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"sum":{"field":"size"}}}}`:           false,
		`{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"top_hits":{}}}}`:                    false,
		`{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"filter":{"match":{"error":"x"}}}}}`: false,
	} {
		r, err := parse(t, body)
		require.NoError(t, err)
		require.Equal(t, want, r.NeedsIndexOnly(), body)
	}
}

func TestWhatIsKeptApartIsNeededWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"percentiles":{"field":"payload.duration"}}}}`: false,
		`{"query":{"exists":{"field":"payload.payloads"}},"limit":0}`:                                    false,
		`{"query":{"exists":{"field":"payload.error"}},"limit":0}`:                                       false,
		`{"query":{"match_all":{}},"limit":1}`:                                                           true,
		`{"query":{"exists":{"field":"payload.output"}},"limit":0}`:                                      true,
		`{"query":{"match":{"payload.payload.note":"x"}},"limit":0}`:                                     true,
		`{"query":{"term":{"stripped":true}},"limit":0}`:                                                 true,
		`{"query":{"query_string":{"query":"payload.duration:1"}},"limit":0}`:                            true,
		`{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"sum":{"field":"size"}}}}`:                     true,
		`{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"top_hits":{}}}}`:                              true,
	} {
		r, err := parse(t, body)
		require.NoError(t, err)
		require.Equal(t, want, r.NeedsRunData(), body)
	}
}
