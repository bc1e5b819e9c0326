package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`{"match_all":{}}`: "87654321",

		`{"term":{"type":"order.paid"}}`:                                              "76",
		`{"term":{"type":{"value":"order.paid"}}}`:                                    "76",
		`{"term":{"type":"order"}}`:                                                   "",
		`{"term":{"source.userId":"ada"}}`:                                            "8651",
		`{"term":{"payload.amount":7}}`:                                               "65",
		`{"term":{"payload.amount":"7"}}`:                                             "65",
		`{"term":{"payload.rush":true}}`:                                              "7",
		`{"term":{"payload.items.name":"Ink"}}`:                                       "7",
		`{"term":{"payload.items":"Ink"}}`:                                            "",
		`{"term":{"@timestamp":"2026-11-18T11:00:00+01:00"}}`:                         "5",
		`{"term":{"source.http.method":"POST"}}`:                                      "2",
		`{"term":{"payload.text":""}}`:                                                "",
		`{"terms":{"type":["error","workspaces.created","x"]}}`:                       "21",
		`{"terms":{"payload.amount":[42.5,"7"]}}`:                                     "765",
		`{"terms":{"type":[]}}`:                                                       "",
		`{"ids":{"values":["3","8","nobody"]}}`:                                       "83",
		`{"prefix":{"type":"order."}}`:                                                "765",
		`{"prefix":{"payload.currency":{"value":"E"}}}`:                               "7",
		`{"wildcard":{"type":"*.paid"}}`:                                              "76",
		`{"wildcard":{"type":{"value":"order.p????"}}}`:                               "",
		`{"wildcard":{"type":{"wildcard":"order.p???"}}}`:                             "76",
		`{"wildcard":{"payload.currency":"*S*"}}`:                                     "6",
		`{"wildcard":{"payload.currency":"*s*"}}`:                                     "",
		`{"wildcard":{"type":"error\\*"}}`:                                            "",
		`{"exists":{"field":"payload.currency"}}`:                                     "76",
		`{"exists":{"field":"payload.items"}}`:                                        "7",
		`{"exists":{"field":"payload.workspace"}}`:                                    "81",
		`{"exists":{"field":"payload.empty"}}`:                                        "",
		`{"exists":{"field":"payload.none"}}`:                                         "",
		`{"exists":{"field":"payload.zero"}}`:                                         "1",
		`{"exists":{"field":"error.error"}}`:                                          "42",
		`{"range":{"payload.amount":{"gt":7}}}`:                                       "7",
		`{"range":{"payload.amount":{"gte":"7","lt":42.5}}}`:                          "65",
		`{"range":{"payload.duration":{"gt":80,"lte":120}}}`:                          "4",
		`{"range":{"size":{"gte":1}}}`:                                                "87654321",
		`{"range":{"payload.currency":{"gte":"F"}}}`:                                  "6",
		`{"range":{"payload.rush":{"gte":0}}}`:                                        "",
		`{"range":{"@timestamp":{"gte":"now-1h"}}}`:                                   "87",
		`{"range":{"@timestamp":{"gt":"now-30m"}}}`:                                   "",
		`{"range":{"@timestamp":{"gte":"now-30m"}}}`:                                  "8",
		`{"range":{"@timestamp":{"gte":"now/d"}}}`:                                    "8765",
		`{"range":{"@timestamp":{"gte":"now-1d/d","lt":"now/d"}}}`:                    "4",
		`{"range":{"@timestamp":{"lte":"now-1d/d"}}}`:                                 "4321",
		`{"range":{"@timestamp":{"gt":"now-1d/d"}}}`:                                  "8765",
		`{"range":{"@timestamp":{"gte":"now/w"}}}`:                                    "87654",
		`{"range":{"@timestamp":{"gte":"now/M"}}}`:                                    "876543",
		`{"range":{"@timestamp":{"gte":"now/y"}}}`:                                    "8765432",
		`{"range":{"@timestamp":{"gte":"2026-11-17||+1d-1s/m"}}}`:                     "87654",
		`{"range":{"@timestamp":{"lte":"2026-11-17"}}}`:                               "4321",
		`{"range":{"@timestamp":{"lt":"2026-11-17"}}}`:                                "321",
		`{"range":{"@timestamp":{"gt":"2026-11"}}}`:                                   "",
		`{"range":{"@timestamp":{"lte":"2026-10"}}}`:                                  "21",
		`{"range":{"@timestamp":{"gte":"2026"}}}`:                                     "8765432",
		`{"range":{"createdAt":{"gte":1794996000000}}}`:                               "8765",
		`{"range":{"createdAt":{"gte":"2026-11-18T10:00","lte":"2026-11-18T10:00"}}}`: "5",
		`{"range":{"@timestamp":{"gte":"now-1w"}}}`:                                   "87654",
		`{"range":{"@timestamp":{"gte":"now-1M"}}}`:                                   "8765432",
		`{"range":{"@timestamp":{"gte":"now-1y"}}}`:                                   "87654321",
		`{"range":{"@timestamp":{"gte":"now-3600s"}}}`:                                "87",
		`{"range":{"@timestamp":{"gte":"now-1H/H"}}}`:                                 "87",
		`{"range":{"@timestamp":{"lte":"now/H","gt":"now-60m/m"}}}`:                   "8",
		`{"range":{"payload.note":{"gte":"nowhere"}}}`:                                "5",
		`{"range":{"payload.due":{"gt":"2026-11-30"}}}`:                               "5",
		`{"range":{"payload.due":{"lt":"now"}}}`:                                      "",

		`{"match":{"type":"order.paid"}}`:                                     "76",
		`{"match":{"type":"order"}}`:                                          "",
		`{"match":{"payload.note":"THANK"}}`:                                  "65",
		`{"match":{"payload.note":"much quick"}}`:                             "65",
		`{"match":{"payload.note":{"query":"much thank","operator":"and"}}}`:  "6",
		`{"match":{"payload.note":{"query":"much quick","operator":"AND"}}}`:  "",
		`{"match":{"payload.amount":42.5}}`:                                   "7",
		`{"match":{"payload.note":"..."}}`:                                    "",
		`{"match":{"error.message":"long"}}`:                                  "42",
		`{"match_phrase":{"payload.note":"thank you"}}`:                       "65",
		`{"match_phrase":{"payload.note":{"query":"thank you very"}}}`:        "6",
		`{"match_phrase":{"payload.note":"you thank"}}`:                       "",
		`{"match_phrase":{"payload.message":"too LONG"}}`:                     "2",
		`{"match_phrase":{"source.http.path":"/v2/workspaces"}}`:              "2",
		`{"term":{"aggPayload.amount":42.5}}`:                                 "7",
		`{"range":{"aggPayload.amount":{"gte":0}}}`:                           "76",
		`{"term":{"aggPayload.amount":"7"}}`:                                  "65",
		`{"range":{"aggPayload.due":{"gte":"2026-12-01","lt":"2026-12-02"}}}`: "5",
		`{"exists":{"field":"aggPayload.note"}}`:                              "6",
		`{"range":{"aggPayload.text":{"gte":7}}}`:                             "1",
		`{"term":{"aggPayload.no":"false"}}`:                                  "1",
		`{"prefix":{"aggPayload.items.n":"2"}}`:                               "7",
		`{"range":{"aggPayload.items.n":{"gte":0}}}`:                          "",
		`{"term":{"aggPayload.rush":true}}`:                                   "7",
		`{"range":{"aggPayload.zero":{"lte":"1970-01-01"}}}`:                  "1",
		`{"exists":{"field":"aggPayload.workspace.name"}}`:                    "",
		`{"exists":{"field":"aggPayload.duration"}}`:                          "",
		`{"exists":{"field":"aggPayloads"}}`:                                  "",
		`{"exists":{"field":"aggPayload"}}`:                                   "7651",
	} {
		require.Equal(t, want, find(t, query), query)
	}
}

func TestBool(t *testing.T) {
	t.Parallel()
	paid, ada, euro := `{"term":{"type":"order.paid"}}`, `{"term":{"source.userId":"ada"}}`, `{"term":{"payload.currency":"EUR"}}`
	for query, want := range map[string]string{
		`{"bool":{}}`:                                                                              "87654321",
		`{"bool":{"must":` + paid + `}}`:                                                           "76",
		`{"bool":{"must":[` + paid + `,` + ada + `]}}`:                                             "6",
		`{"bool":{"must":` + paid + `,"filter":[` + euro + `]}}`:                                   "7",
		`{"bool":{"filter":` + paid + `,"must_not":` + euro + `}}`:                                 "6",
		`{"bool":{"must_not":[` + ada + `]}}`:                                                      "7432",
		`{"bool":{"should":[` + paid + `,` + ada + `]}}`:                                           "87651",
		`{"bool":{"should":[` + paid + `,{"prefix":{"type":"work"}}]}}`:                            "8761",
		`{"bool":{"must":` + paid + `,"should":[` + ada + `]}}`:                                    "76",
		`{"bool":{"must":` + paid + `,"should":` + ada + `,"minimum_should_match":1}}`:             "6",
		`{"bool":{"should":[` + paid + `,` + ada + `],"minimum_should_match":2}}`:                  "6",
		`{"bool":{"should":[` + paid + `,` + ada + `],"minimum_should_match":"100%"}}`:             "6",
		`{"bool":{"should":[` + paid + `,` + ada + `],"minimum_should_match":"50%"}}`:              "87651",
		`{"bool":{"should":[` + paid + `,` + ada + `],"minimum_should_match":"-50%"}}`:             "87651",
		`{"bool":{"should":[` + paid + `,` + ada + `],"minimum_should_match":-1}}`:                 "87651",
		`{"bool":{"should":[` + paid + `,` + ada + `],"minimum_should_match":"0"}}`:                "87654321",
		`{"bool":{"should":[` + paid + `],"minimum_should_match":2}}`:                              "",
		`{"bool":{"must":{"bool":{"should":[` + paid + `,` + ada + `],"must_not":` + euro + `}}}}`: "8651",
	} {
		require.Equal(t, want, find(t, query), query)
	}
}

func TestQueryStrings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`thank`:                      "65",
		`THANK much`:                 "65",
		`thank AND much`:             "6",
		`much OR quick`:              "65",
		`pen OR ink AND thank`:       "7",
		`(pen OR quick) AND order`:   "75",
		`NOT order`:                  "84321",
		`order NOT paid`:             "87654321",
		`order AND NOT paid`:         "5",
		`NOT NOT pen`:                "7",
		`"very much"`:                "6",
		`"much very"`:                "",
		`type:order.paid`:            "76",
		`type:order.*`:               "765",
		`type:order`:                 "",
		`type:(order.paid OR error)`: "762",
		`type:"order.paid" AND payload.currency:eur`: "7",
		`order.paid`:                         "76",
		`tha*`:                               "65",
		`PAYLOAD.note:x`:                     "",
		`payload.note:qu*k`:                  "5",
		`payload.note:"very quick"`:          "5",
		`payload.currency:*`:                 "76",
		`payload.amount:7`:                   "65",
		`*`:                                  "87654321",
		`*:*`:                                "87654321",
		`*:ink`:                              "7",
		`source.http.path:"/v2/workspaces"`:  "2",
		`source.http.path:\/v2\/workspaces`:  "2",
		`type:order\.paid`:                   "76",
		`type:order.pai\*`:                   "",
		`createdAt:2026-11-18T10:00:00.000Z`: "5",
		`...`:                                "",
		`thank && much`:                      "6",
	} {
		require.Equal(t, want, find(t, fmt.Sprintf(`{"query_string":{"query":%q}}`, text)), text)
	}
	require.Equal(t, "6", find(t, `{"query_string":{"query":"thank much","default_operator":"AND"}}`))
	require.Equal(t, "65", find(t, `{"query_string":{"query":"thank much OR quick","default_operator":"and"}}`))
	require.Equal(t, "7", find(t, `{"query_string":"pen"}`))
}

func TestWhatIsNotSupportedIsRefusedWithItsPath(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"bool":{"must":`, 20) + `{"match_all":{}}` + strings.Repeat(`}}`, 20)
	for query, want := range map[string]string{
		`{}`:                                "query",
		`{"fuzzy":{"a":"b"}}`:               "query.fuzzy",
		`{"term":{"a":"b"},"match_all":{}}`: "query",
		`{"match_all":{"boost":2}}`:         "query.match_all.boost",
		`{"bool":{"must":[{"match_all":{}},{"fuzzy":{}}]}}`:               "query.bool.must[1].fuzzy",
		`{"bool":{"must":{"fuzzy":{}}}}`:                                  "query.bool.must.fuzzy",
		`{"bool":{"must":5}}`:                                             "query.bool.must",
		`{"bool":{"must":null}}`:                                          "query.bool.must",
		`{"bool":{"musty":[]}}`:                                           "query.bool.musty",
		`{"bool":{"minimum_should_match":"3<90%"}}`:                       "query.bool.minimum_should_match",
		`{"bool":{"minimum_should_match":1.5}}`:                           "query.bool.minimum_should_match",
		`{"bool":{"minimum_should_match":"101%"}}`:                        "query.bool.minimum_should_match",
		`{"term":"x"}`:                                                    "query.term",
		`{"term":{"a":"b","c":"d"}}`:                                      "query.term",
		`{"term":{"a":null}}`:                                             "query.term.a",
		`{"term":{"a":["b"]}}`:                                            "query.term.a",
		`{"term":{"a":{"value":"x","boost":1}}}`:                          "query.term.a.boost",
		`{"terms":{"a":"b"}}`:                                             "query.terms.a",
		`{"terms":{"a":["b",{}]}}`:                                        "query.terms.a[1]",
		`{"range":{"a":{"from":1}}}`:                                      "query.range.a.from",
		`{"range":{"a":{}}}`:                                              "query.range.a",
		`{"range":{"a":{"gt":1,"gte":1}}}`:                                "query.range.a.gt",
		`{"range":{"a":{"gt":true}}}`:                                     "query.range.a.gt",
		`{"range":{"a":{"gt":"now-1x"}}}`:                                 "query.range.a.gt",
		`{"range":{"a":{"gt":"now` + strings.Repeat("+1d", 21) + `"}}}`:   "query.range.a.gt",
		`{"range":{"a":{"gt":"now+"}}}`:                                   "query.range.a.gt",
		`{"range":{"a":{"gt":"now/2d"}}}`:                                 "query.range.a.gt",
		`{"range":{"a":{"gt":"now/q"}}}`:                                  "query.range.a.gt",
		`{"range":{"a":{"gt":"now-12345678h"}}}`:                          "query.range.a.gt",
		`{"range":{"createdAt":{"gt":"soon"}}}`:                           "query.range.createdAt.gt",
		`{"range":{"@timestamp":{"gt":"2026-13-01"}}}`:                    "query.range.@timestamp.gt",
		`{"range":{"@timestamp":{"gt":"2026-01-01||+1"}}}`:                "query.range.@timestamp.gt",
		`{"exists":{}}`:                                                   "query.exists.field",
		`{"exists":{"field":7}}`:                                          "query.exists.field",
		`{"prefix":{"a":""}}`:                                             "query.prefix.a",
		`{"wildcard":{"a":"` + strings.Repeat("*", 1001) + `"}}`:          "query.wildcard.a",
		`{"ids":{"type":"x","values":[]}}`:                                "query.ids.type",
		`{"ids":{}}`:                                                      "query.ids.values",
		`{"match":{"a":{"query":"x","fuzziness":1}}}`:                     "query.match.a.fuzziness",
		`{"match":{"a":{"query":"x","operator":"xor"}}}`:                  "query.match.a.operator",
		`{"match":{"a":[]}}`:                                              "query.match.a",
		`{"match_phrase":{"a":{"query":"x","operator":"and"}}}`:           "query.match_phrase.a.operator",
		`{"query_string":{"query":"x","fields":["a"]}}`:                   "query.query_string.fields",
		`{"query_string":{"query":""}}`:                                   "query.query_string.query",
		`{"query_string":{"query":"(a"}}`:                                 "query.query_string.query",
		`{"query_string":{"query":"a)"}}`:                                 "query.query_string.query",
		`{"query_string":{"query":"AND a"}}`:                              "query.query_string.query",
		`{"query_string":{"query":"a OR"}}`:                               "query.query_string.query",
		`{"query_string":{"query":"\"a"}}`:                                "query.query_string.query",
		`{"query_string":{"query":"a~"}}`:                                 "query.query_string.query",
		`{"query_string":{"query":"+a -b"}}`:                              "query.query_string.query",
		`{"query_string":{"query":"n:[1 TO 2]"}}`:                         "query.query_string.query",
		`{"query_string":{"query":"n:>5"}}`:                               "query.query_string.query",
		`{"query_string":{"query":"n:<=5"}}`:                              "query.query_string.query",
		`{"range":{"@timestamp":{"gt":1e300}}}`:                           "query.range.@timestamp.gt",
		`{"query_string":{"query":"` + strings.Repeat("a", 1000) + `*"}}`: "query.query_string.query",
		`{"query_string":{"query":"type:"}}`:                              "query.query_string.query",
		`{"query_string":{"query":"a:(b:c)"}}`:                            "query.query_string.query",
		`{"query_string":{"query":"` + strings.Repeat("(", 30) + `"}}`:    "query.query_string.query",
		`{"script":{"script":"x"}}`:                                       "query.script",
		deep:                                                              "query" + strings.Repeat(".bool.must", 20),
	} {
		_, err := parse(t, `{"query":`+query+`}`)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "%s", query)
		require.Contains(t, faults(t, err), want, "%s", query)
	}
}

func TestTheNumberOfClausesIsBounded(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`{"match_all":{}},`, 1022)
	_, err := parse(t, `{"query":{"bool":{"must":[`+many+`{"match_all":{}}]}}}`)
	require.NoError(t, err)
	_, err = parse(t, `{"query":{"bool":{"must":[`+many+`{"match_all":{}},{"match_all":{}}]}}}`)
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	_, err = parse(t, `{"query":{"query_string":{"query":"`+strings.Repeat("a ", 1100)+`"}}}`)
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	_, err = parse(t, `{"query":{"match_all":{}},"aggs":{"a":{"filters":{"filters":[`+many+many+`{"match_all":{}}]}}}}`)
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
}
