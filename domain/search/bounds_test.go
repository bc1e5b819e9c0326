package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/feed"
	"svc/domain/search"
)

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
		require.Equal(t, want, r.Brief(), body)
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
		require.Equal(t, want, r.Whole(), body)
	}
}
