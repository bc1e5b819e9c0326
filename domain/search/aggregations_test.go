package search_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/feed"
)

// aggregate returns the aggregations of the whole shop.
func aggregate(t testing.TB, aggs string, events ...*feed.Event) string {
	t.Helper()
	if events == nil {
		events = shop
	}
	result := run(t, `{"query":{"match_all":{}},"limit":0,"aggs":`+aggs+`}`, events...)
	require.Empty(t, result.Documents)
	body, err := json.Marshal(result.Aggs)
	require.NoError(t, err)
	return string(body)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	for agg, want := range map[string]string{
		`{"min":{"field":"payload.amount"}}`:                                                       `{"value":7}`,
		`{"max":{"field":"payload.amount"}}`:                                                       `{"value":42.5}`,
		`{"sum":{"field":"payload.amount"}}`:                                                       `{"value":56.5}`,
		`{"avg":{"field":"payload.duration"}}`:                                                     `{"value":100}`,
		`{"value_count":{"field":"source.userId"}}`:                                                `{"value":5}`,
		`{"stats":{"field":"payload.duration"}}`:                                                   `{"count":2,"min":80,"max":120,"avg":100,"sum":200}`,
		`{"stats":{"field":"payload.nothing"}}`:                                                    `{"count":0,"min":null,"max":null,"avg":null,"sum":0}`,
		`{"min":{"field":"payload.currency"}}`:                                                     `{"value":null}`,
		`{"sum":{"field":"payload.nothing"}}`:                                                      `{"value":0}`,
		`{"max":{"field":"@timestamp"}}`:                                                           `{"value":1795003200000,"value_as_string":"2026-11-18T12:00:00.000Z"}`,
		`{"cardinality":{"field":"source.userId"}}`:                                                `{"value":2}`,
		`{"cardinality":{"field":"payload.amount"}}`:                                               `{"value":2}`,
		`{"percentiles":{"field":"payload.duration","percents":[0,50,95,87.5]}}`:                   `{"values":{"0.0":80,"50.0":100,"95.0":118,"87.5":115}}`,
		`{"percentiles":{"field":"payload.nothing","percents":[50]}}`:                              `{"values":{"50.0":null}}`,
		`{"percentiles":{"field":"payload.zero"}}`:                                                 `{"values":{"1.0":0,"5.0":0,"25.0":0,"50.0":0,"75.0":0,"95.0":0,"99.0":0}}`,
		`{"max":{"field":"aggPayload.amount"}}`:                                                    `{"value":42.5}`,
		`{"top_hits":{"size":1,"sort":[{"payload.amount":"desc"}],"_source":["id","payload.a*"]}}`: `{"hits":{"total":{"value":8,"relation":"eq"},"hits":[{"_source":{"id":"7","payload":{"amount":42.5}}}]}}`,
		`{"top_hits":{"size":2,"_source":"id"}}`:                                                   `{"hits":{"total":{"value":8,"relation":"eq"},"hits":[{"_source":{"id":"8"}},{"_source":{"id":"7"}}]}}`,
	} {
		require.JSONEq(t, `{"a":`+want+`}`, aggregate(t, `{"a":`+agg+`}`), agg)
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for agg, want := range map[string]string{
		`{"terms":{"field":"type","size":2}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":4,"buckets":[
			{"key":"order.paid","doc_count":2},{"key":"runtime.automations.executed","doc_count":2}]}`,
		`{"terms":{"field":"payload.amount","order":{"_key":"desc"}}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":0,"buckets":[
			{"key":42.5,"doc_count":1},{"key":7,"doc_count":2}]}`,
		`{"terms":{"field":"payload.rush"}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":0,"buckets":[{"key":1,"key_as_string":"true","doc_count":1}]}`,
		`{"terms":{"field":"@timestamp","size":1,"order":[{"_count":"asc"},{"_key":"desc"}]}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":7,"buckets":[
			{"key":1795003200000,"key_as_string":"2026-11-18T12:00:00.000Z","doc_count":1}]}`,
		`{"terms":{"field":"source.userId","order":{"paid":"desc"}},"aggs":{"paid":{"sum":{"field":"payload.amount"}}}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":0,"buckets":[
			{"key":"bob","doc_count":1,"paid":{"value":42.5}},{"key":"ada","doc_count":4,"paid":{"value":14}}]}`,
		`{"terms":{"field":"type","size":2,"order":{"s.max":"desc"}},"aggregations":{"s":{"stats":{"field":"payload.amount"}}}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":5,"buckets":[
			{"key":"order.paid","doc_count":2,"s":{"count":2,"min":7,"max":42.5,"avg":24.75,"sum":49.5}},
			{"key":"order.placed","doc_count":1,"s":{"count":1,"min":7,"max":7,"avg":7,"sum":7}}]}`,
		`{"terms":{"field":"type","size":1,"order":{"u.value":"desc"}},"aggs":{"u":{"cardinality":{"field":"source.userId"}}}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":6,"buckets":[
			{"key":"order.paid","doc_count":2,"u":{"value":2}}]}`,
		`{"terms":{"field":"payload.items.name"}}`: `{"doc_count_error_upper_bound":0,"sum_other_doc_count":0,"buckets":[{"key":"Ink","doc_count":1},{"key":"Pen","doc_count":1}]}`,

		`{"date_histogram":{"field":"@timestamp","calendar_interval":"month","min_doc_count":1}}`: `{"buckets":[
			{"key":1764547200000,"key_as_string":"2025-12-01T00:00:00.000Z","doc_count":1},
			{"key":1790812800000,"key_as_string":"2026-10-01T00:00:00.000Z","doc_count":1},
			{"key":1793491200000,"key_as_string":"2026-11-01T00:00:00.000Z","doc_count":6}]}`,
		`{"date_histogram":{"field":"createdAt","calendar_interval":"month","min_doc_count":1,"time_zone":"Europe/Paris"}}`: `{"buckets":[
			{"key":1767222000000,"key_as_string":"2026-01-01T00:00:00.000+01:00","doc_count":1},
			{"key":1790805600000,"key_as_string":"2026-10-01T00:00:00.000+02:00","doc_count":1},
			{"key":1793487600000,"key_as_string":"2026-11-01T00:00:00.000+01:00","doc_count":6}]}`,
		`{"date_histogram":{"field":"payload.due","calendar_interval":"1y"}}`:        `{"buckets":[{"key":1767225600000,"key_as_string":"2026-01-01T00:00:00.000Z","doc_count":1}]}`,
		`{"date_histogram":{"field":"payload.currency","calendar_interval":"1y"}}`:   `{"buckets":[]}`,
		`{"histogram":{"field":"payload.amount","interval":20}}`:                     `{"buckets":[{"key":0,"doc_count":2},{"key":20,"doc_count":0},{"key":40,"doc_count":1}]}`,
		`{"histogram":{"field":"payload.duration","interval":50,"min_doc_count":1}}`: `{"buckets":[{"key":50,"doc_count":1},{"key":100,"doc_count":1}]}`,
		`{"range":{"field":"payload.amount","ranges":[{"from":10},{"to":10},{"key":"all"}]}}`: `{"buckets":[
			{"key":"*-10.0","to":10,"doc_count":2},{"key":"all","doc_count":3},{"key":"10.0-*","from":10,"doc_count":1}]}`,
		`{"date_range":{"field":"@timestamp","ranges":[{"from":"now-1d/d","to":"now/d"},{"key":"today","from":"now/d"}]}}`: `{"buckets":[
			{"key":"2026-11-17T00:00:00.000Z-2026-11-18T00:00:00.000Z","from":1794873600000,"from_as_string":"2026-11-17T00:00:00.000Z","to":1794960000000,"to_as_string":"2026-11-18T00:00:00.000Z","doc_count":1},
			{"key":"today","from":1794960000000,"from_as_string":"2026-11-18T00:00:00.000Z","doc_count":4}]}`,
		`{"filter":{"term":{"type":"order.paid"}},"aggs":{"most":{"max":{"field":"payload.amount"}}}}`:              `{"doc_count":2,"most":{"value":42.5}}`,
		`{"filters":{"filters":{"paid":{"term":{"type":"order.paid"}},"by ada":{"term":{"source.userId":"ada"}}}}}`: `{"buckets":{"paid":{"doc_count":2},"by ada":{"doc_count":4}}}`,
		`{"filters":{"filters":[{"match_all":{}},{"term":{"type":"x"}}]}}`:                                          `{"buckets":[{"doc_count":8},{"doc_count":0}]}`,
		`{"missing":{"field":"source.userId"},"aggs":{"n":{"value_count":{"field":"id"}}}}`:                         `{"doc_count":3,"n":{"value":3}}`,
	} {
		require.JSONEq(t, `{"a":`+want+`}`, aggregate(t, `{"a":`+agg+`}`), agg)
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	at := func(texts ...string) (events []*feed.Event) {
		for i, text := range texts {
			events = append(events, event(string(rune('9'-i)), "x", text, `{}`, domain.Meta{}))
		}
		return events
	}
	for name, c := range map[string]struct {
		interval string
		events   []*feed.Event
		keys     string
	}{
		"a week begins on Monday":            {`"calendar_interval":"week"`, at("2026-11-22T23:00:00Z"), "2026-11-16T00:00:00.000Z"},
		"a quarter":                          {`"calendar_interval":"1q"`, at("2026-11-22T23:00:00Z"), "2026-10-01T00:00:00.000Z"},
		"a minute":                           {`"calendar_interval":"minute"`, at("2026-11-22T23:00:59Z"), "2026-11-22T23:00:00.000Z"},
		"empty ones between are shown":       {`"calendar_interval":"day"`, at("2026-11-03T23:00:00Z", "2026-11-01T01:00:00Z"), "2026-11-01T00:00:00.000Z 2026-11-02T00:00:00.000Z 2026-11-03T00:00:00.000Z"},
		"a fixed one":                        {`"fixed_interval":"90m"`, at("2026-11-22T01:40:00Z"), "2026-11-22T01:30:00.000Z"},
		"a fixed one begins with the place":  {`"fixed_interval":"1d","time_zone":"+02:00"`, at("2026-11-22T23:00:00Z"), "2026-11-23T00:00:00.000+02:00"},
		"an hour of a place with half hours": {`"calendar_interval":"hour","time_zone":"Asia/Kolkata"`, at("2026-11-22T01:40:00Z"), "2026-11-22T07:00:00.000+05:30"},
		"a day that has an hour more":        {`"calendar_interval":"day","time_zone":"Europe/Paris"`, at("2026-10-26T10:00:00Z", "2026-10-24T10:00:00Z"), "2026-10-24T00:00:00.000+02:00 2026-10-25T00:00:00.000+02:00 2026-10-26T00:00:00.000+01:00"},
		"a fixed one of that day":            {`"fixed_interval":"1d","time_zone":"Europe/Paris"`, at("2026-10-26T10:00:00Z", "2026-10-25T20:00:00Z", "2026-10-24T22:30:00Z"), "2026-10-25T00:00:00.000+02:00 2026-10-26T00:00:00.000+01:00"},
		"empty ones around an hour less":     {`"fixed_interval":"2h","time_zone":"America/New_York"`, at("2026-03-08T10:00:00Z", "2026-03-08T05:00:00Z"), "2026-03-08T00:00:00.000-05:00 2026-03-08T01:00:00.000-05:00 2026-03-08T04:00:00.000-04:00 2026-03-08T06:00:00.000-04:00"},
		"milliseconds":                       {`"fixed_interval":"500ms"`, at("2026-11-22T01:40:00.7Z"), "2026-11-22T01:40:00.500Z"},
		"before the epoch, too":              {`"fixed_interval":"1d"`, at("1969-12-31T10:00:00Z"), "1969-12-31T00:00:00.000Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got struct {
				A struct {
					Buckets []struct {
						Key string `json:"key_as_string"`
					}
				}
			}
			require.NoError(t, json.Unmarshal([]byte(aggregate(t, `{"a":{"date_histogram":{"field":"@timestamp",`+c.interval+`}}}`, c.events...)), &got))
			var keys []string
			for _, b := range got.A.Buckets {
				keys = append(keys, b.Key)
			}
			require.Equal(t, c.keys, strings.Join(keys, " "))
		})
	}
}

func TestBucketsInBuckets(t *testing.T) {
	t.Parallel()
	got := aggregate(t, `{"days":{"date_histogram":{"field":"@timestamp","calendar_interval":"day","min_doc_count":1},"aggs":{
		"types":{"terms":{"field":"type","size":1},"aggs":{"first":{"top_hits":{"size":1,"_source":["id"]}}}}}}}`)
	require.JSONEq(t, `{"key":1794960000000,"key_as_string":"2026-11-18T00:00:00.000Z","doc_count":4,"types":{"doc_count_error_upper_bound":0,"sum_other_doc_count":2,
		"buckets":[{"key":"order.paid","doc_count":2,"first":{"hits":{"total":{"value":2,"relation":"eq"},"hits":[{"_source":{"id":"7"}}]}}}]}}`,
		got[strings.LastIndex(got, `{"doc_count":4`):len(got)-len("]}}")])
}

func TestWrongAggregationsAreRefusedWithTheirPath(t *testing.T) {
	t.Parallel()
	nested := func(n int) string {
		return strings.Repeat(`{"a":{"filter":{"match_all":{}},"aggs":`, n-1) + `{"a":{"min":{"field":"x"}}}` + strings.Repeat(`}}`, n-1)
	}
	_, err := parse(t, `{"query":{"match_all":{}},"aggs":`+nested(5)+`}`)
	require.NoError(t, err)
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":{"min":{"field":"x"}}`, i)
	}
	for aggs, want := range map[string]string{
		`{"a":{}}`:                      "aggs.a",
		`{"a":5}`:                       "aggs.a",
		`{"":{"min":{"field":"x"}}}`:    "aggs.",
		`{"a>b":{"min":{"field":"x"}}}`: "aggs.a>b",
		`{"a":{"filter":{"match_all":{}},"aggs":{"doc_count":{"min":{"field":"x"}}}}}`: "aggs.a.aggs.doc_count",
		`{"a":{"min":{"field":"x"},"max":{"field":"x"}}}`:                              "aggs.a",
		`{"a":{"min":{}}}`:                                                                             "aggs.a.min.field",
		`{"a":{"min":{"field":"x","script":"y"}}}`:                                                     "aggs.a.min.script",
		`{"a":{"min":{"field":"x"},"aggs":{"b":{"max":{"field":"x"}}}}}`:                               "aggs.a.min",
		`{"a":{"median":{"field":"x"}}}`:                                                               "aggs.a.median",
		`{"a":{"min":{"field":"x"},"meta":{}}}`:                                                        "aggs.a",
		`{"a":{"terms":{"field":"x","missing":"n"}}}`:                                                  "aggs.a.terms.missing",
		`{"a":{"terms":{"field":"x","size":0}}}`:                                                       "aggs.a.terms.size",
		`{"a":{"terms":{"field":"x","size":10001}}}`:                                                   "aggs.a.terms.size",
		`{"a":{"terms":{"field":"x","order":{"b":"asc"}}}}`:                                            "aggs.a.terms.order.b",
		`{"a":{"terms":{"field":"x","order":{"_key":"up"}}}}`:                                          "aggs.a.terms.order._key",
		`{"a":{"terms":{"field":"x","order":"_key"}}}`:                                                 "aggs.a.terms.order",
		`{"a":{"terms":{"field":"x","order":{"p":"asc"}},"aggs":{"p":{"percentiles":{"field":"y"}}}}}`: "aggs.a.terms.order.p",
		`{"a":{"date_histogram":{"field":"x"}}}`:                                                       "aggs.a.date_histogram",
		`{"a":{"date_histogram":{"field":"x","calendar_interval":"2d"}}}`:                              "aggs.a.date_histogram.calendar_interval",
		`{"a":{"date_histogram":{"field":"x","fixed_interval":"1M"}}}`:                                 "aggs.a.date_histogram.fixed_interval",
		`{"a":{"date_histogram":{"field":"x","fixed_interval":"0s"}}}`:                                 "aggs.a.date_histogram.fixed_interval",
		`{"a":{"date_histogram":{"field":"x","fixed_interval":"2000000000d"}}}`:                        "aggs.a.date_histogram.fixed_interval",
		`{"a":{"date_histogram":{"field":"x","calendar_interval":"day","time_zone":"Atlantis"}}}`:      "aggs.a.date_histogram.time_zone",
		`{"a":{"date_histogram":{"field":"x","calendar_interval":"day","time_zone":"Local"}}}`:         "aggs.a.date_histogram.time_zone",
		`{"a":{"date_histogram":{"field":"x","calendar_interval":"day","min_doc_count":-1}}}`:          "aggs.a.date_histogram.min_doc_count",
		`{"a":{"histogram":{"field":"x","interval":0}}}`:                                               "aggs.a.histogram.interval",
		`{"a":{"histogram":{"field":"x"}}}`:                                                            "aggs.a.histogram.interval",
		`{"a":{"range":{"field":"x","ranges":[]}}}`:                                                    "aggs.a.range.ranges",
		`{"a":{"range":{"field":"x","ranges":[{"from":"1"}]}}}`:                                        "aggs.a.range.ranges[0].from",
		`{"a":{"range":{"field":"x","ranges":[5]}}}`:                                                   "aggs.a.range.ranges[0]",
		`{"a":{"date_range":{"field":"x","ranges":[{"to":"soon"}]}}}`:                                  "aggs.a.date_range.ranges[0].to",
		`{"a":{"filter":{"fuzzy":{}}}}`:                                                                "aggs.a.filter.fuzzy",
		`{"a":{"filters":{"filters":{"x":{"fuzzy":{}}}}}}`:                                             "aggs.a.filters.filters.x.fuzzy",
		`{"a":{"filters":{"filters":[]}}}`:                                                             "aggs.a.filters.filters",
		`{"a":{"percentiles":{"field":"x","percents":[101]}}}`:                                         "aggs.a.percentiles.percents[0]",
		`{"a":{"percentiles":{"field":"x","percents":5}}}`:                                             "aggs.a.percentiles.percents",
		`{"a":{"top_hits":{"size":11}}}`:                                                               "aggs.a.top_hits.size",
		nested(6):                                                                                      "aggs.a.aggs.a.aggs.a.aggs.a.aggs.a.aggs",
		`{` + strings.Join(many, ",") + `}`:                                                            "aggs",
	} {
		_, err := parse(t, `{"query":{"match_all":{}},"aggs":`+aggs+`}`)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "%s", aggs)
		require.Contains(t, faults(t, err), want, "%s", aggs)
	}
}

// numbered are n events, a second apart, with a number each.
func numbered(n int) []*feed.Event {
	events := make([]*feed.Event, n)
	for i := range events {
		at := now.Add(-time.Duration(i) * time.Second)
		body := json.RawMessage(fmt.Sprintf(`{"n":%d,"text":"%08d"}`, i, i))
		events[i] = feed.Of(domain.Recorded{
			ID: fmt.Sprintf("%05d", i), Log: domain.Activity, Seq: uint64(n - i), At: at, Data: domain.Unknown{Name: "n"}, Body: body,
		}, domain.At(domain.Activity, uint64(n-i)), body)
	}
	return events
}

func TestTooManyBucketsAreRefused(t *testing.T) {
	t.Parallel()
	events := numbered(10_001)
	for _, agg := range []string{
		`{"terms":{"field":"payload.text","size":10000},"aggs":{"b":{"filters":{"filters":[{"match_all":{}}]}}}}`,
		`{"histogram":{"field":"payload.n","interval":1}}`,
		`{"histogram":{"field":"payload.n","interval":0.0001}}`,
		`{"date_histogram":{"field":"@timestamp","fixed_interval":"10ms"}}`,
	} {
		r, err := parse(t, `{"query":{"match_all":{}},"aggs":{"a":`+agg+`}}`)
		require.NoError(t, err)
		_, err = collect(t, r, events)
		require.Equal(t, []string{"aggs"}, faults(t, err), agg)
	}
	got := aggregate(t, `{"a":{"terms":{"field":"payload.text","size":1}},"n":{"cardinality":{"field":"payload.text"}},"p":{"percentiles":{"field":"payload.n","percents":[50]}}}`, events...)
	require.Contains(t, got, `"sum_other_doc_count":10000`, "the rest of the values makes no buckets")
	require.Contains(t, got, `"50.0":5000`)
	var about struct{ N struct{ Value float64 } }
	require.NoError(t, json.Unmarshal([]byte(got), &about))
	require.InDelta(t, 10_001, about.N.Value, 300)
}

func TestWhatIsHeldIsBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20)
	var events []*feed.Event
	for i := range 70 {
		events = append(events, event(string(rune('1'+i)), "large", "2026-11-18T12:00:00Z", fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, large), domain.Meta{}))
	}
	for body, field := range map[string]string{
		`{"query":{"match_all":{}}}`:                              "limit",
		`{"query":{"match_all":{}},"sort":[{"payload.n":"asc"}]}`: "limit",
		`{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"terms":{"field":"payload.n"},"aggs":{"b":{"top_hits":{}}}}}}`: "aggs",
	} {
		r, err := parse(t, body)
		require.NoError(t, err)
		_, err = collect(t, r, events)
		require.Equal(t, []string{field}, faults(t, err), body)
	}
	for _, agg := range []string{
		`{"filter":{"match_all":{}}`, `{"filters":{"filters":[{"match_all":{}}]}`, `{"range":{"field":"payload.n","ranges":[{}]}`,
		`{"histogram":{"field":"payload.n","interval":100}`, `{"date_histogram":{"field":"@timestamp","calendar_interval":"day"}`,
	} {
		r, err := parse(t, `{"query":{"match_all":{}},"limit":0,"aggs":{"a":`+agg+`,"aggs":{"b":{"terms":{"field":"payload.n","size":100},"aggs":{"c":{"top_hits":{}}}}}}}}`)
		require.NoError(t, err, agg)
		_, err = collect(t, r, events)
		require.Equal(t, []string{"aggs"}, faults(t, err), agg)
	}
	require.Len(t, run(t, `{"query":{"match_all":{}},"source":["id"]}`, events...).Documents, 70)
	require.Len(t, run(t, `{"query":{"match_all":{}},"sort":[{"payload.n":"desc"}],"limit":10}`, events...).Documents, 10, "what is replaced is given back")
}

func TestSumsThatNoNumberCanHoldAreNull(t *testing.T) {
	t.Parallel()
	huge := []*feed.Event{event("2", "x", "2026-11-18T12:00:00Z", `{"n":1.7e308}`, domain.Meta{}), event("1", "x", "2026-11-18T12:00:00Z", `{"n":1.7e308}`, domain.Meta{})}
	require.JSONEq(t, `{"a":{"value":null},"b":{"value":null}}`, aggregate(t, `{"a":{"sum":{"field":"payload.n"}},"b":{"avg":{"field":"payload.n"}}}`, huge...))
	require.JSONEq(t, `{"a":{"buckets":[]}}`, aggregate(t, `{"a":{"histogram":{"field":"payload.n","interval":1e-300}}}`, huge...))
}
