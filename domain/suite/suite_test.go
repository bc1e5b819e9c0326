package suite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/suite"
	"svc/domain/value"
)

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	v, err := value.ParseJSON(text)
	require.NoError(t, err, text)
	return v.(*value.Object)
}

func TestPatternsMatchAddresses(t *testing.T) {
	t.Parallel()
	for pattern, addresses := range map[string]map[string]bool{
		"https://a.example.com/x":   {"https://a.example.com/x": true, "https://a.example.com/x?q=1": true, "https://a.example.com/xy": false},
		"https://a.example.com/*":   {"https://a.example.com/": true, "https://a.example.com/x/y?q=1": true, "https://b.example.com/": false},
		"https://*/users/*/mail":    {"https://a.example.com/users/1/mail": true, "https://a.example.com/users/1": false},
		"https://a.example.com?q=*": {"https://a.example.com?q=1": true, "https://a.example.com": false},
		"*":                         {"https://a.example.com": true},
	} {
		for address, matches := range addresses {
			require.Equal(t, matches, suite.Pattern(pattern).Matches(address), "%s %s", pattern, address)
		}
	}
}

func TestStubsOfASuiteHoldForItsCases(t *testing.T) {
	t.Parallel()
	s := suite.Read("s", object(t, `{"automation":"a","stubs":{"now":"2026-05-01T00:00:00Z","secrets":{"a":"1","b":"2"},"fetch":[{"url":"https://all"}],"contexts":{"global":{"x":1}}},
		"cases":[{"name":"one","stubs":{"secrets":{"b":"3"},"fetch":[{"url":"https://own","method":"get"}]}},{"name":"two"}]}`))
	require.Equal(t, map[string]string{"a": "1", "b": "3"}, s.Cases[0].Stubs.Secrets)
	require.Equal(t, suite.Pattern("https://own"), s.Cases[0].Stubs.Fetch[0].URL, "its own go before")
	require.Equal(t, "GET", s.Cases[0].Stubs.Fetch[0].Method)
	require.Len(t, s.Cases[1].Stubs.Fetch, 1)
	require.Equal(t, 2026, s.Cases[1].Stubs.Now.Year())
}

func TestDifferencesHavePaths(t *testing.T) {
	t.Parallel()
	done := suite.Outcome{
		Status: 200, Output: object(t, `{"total":3,"items":[{"id":1},{"id":2}],"more":true}`), Events: []suite.Event{{Type: "a", Payload: object(t, `{"x":1}`)}},
		Fetches: []suite.Fetch{{Method: "GET", URL: "https://a.example.com/x", Headers: object(t, `{"accept":"text/plain"}`), Body: value.Undefined}},
		Chunks:  []any{1.0}, Contexts: object(t, `{"global":{"n":1}}`), Collections: object(t, `{"c":[{"id":"r1","n":1}]}`),
	}
	failed := suite.Outcome{Status: 500, Err: &automation.Error{Name: "FetchError", Message: "no answer"}, Output: value.Undefined}
	for expect, want := range map[string]map[string]suite.Outcome{
		`{}`: {"": done},
		`{"output":{"total":3,"items":[{"id":1},{"id":2}],"more":true},"status":"succeeded","chunks":[1]}`: {"": done},
		`{"output":{"total":4,"items":[{"id":1}]}}`:                                                        {"output.total output.items[1] output.more": done},
		`{"output":"text"}`: {"output": done},
		`{"outputMatches":{"total":{"$gte":3},"items.id":2}}`: {"": done},
		`{"outputMatches":{"total":{"$gt":3},"more":false}}`:  {"output.total output.more": done},
		`{"events":[]}`:                                                 {"events[0]": done},
		`{"events":[{"type":"b"},{"type":"c"}]}`:                        {"events[0].type events[1]": done},
		`{"events":[{"type":"a","payloadMatches":{"x":2}}]}`:            {"events[0].payload.x": done},
		`{"fetches":[{"url":"https://b.example.com","method":"post"}]}`: {"fetches[0].method fetches[0].url": done},
		`{"fetches":[{"headers":{"Accept":"text/plain","X":"1"}}]}`:     {`fetches[0].headers.X`: done},
		`{"contexts":{"global":{"n":2}},"collections":{"c":[{"n":1}]}}`: {"contexts.global.n": done},
		`{"collections":{"c":[{"id":"r2","n":1},{"n":2}]}}`:             {"collections.c[0].id collections.c[1]": done},
		`{"status":201}`:                                 {"status": done},
		`{"status":"failed"}`:                            {"status": done},
		`{"error":"FetchError"}`:                         {"error": done, "": failed},
		`{"status":500}`:                                 {"": failed},
		`{"status":"succeeded"}`:                         {"status": failed},
		`{"output":null}`:                                {"error output": failed},
		`{"error":{"error":"FetchError","message":"x"}}`: {"error.message": failed},
	} {
		for paths, outcome := range want {
			got := ""
			for i, d := range suite.Compare(suite.ReadExpectation(object(t, expect)), outcome) {
				if i > 0 {
					got += " "
				}
				got += d.Path
				require.NotEmpty(t, d.Message)
			}
			require.Equal(t, paths, got, expect)
		}
	}
}
