package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// searched is the answer to a search.
type searched struct {
	Size      int                        `json:"size"`
	Documents []shownEvent               `json:"documents"`
	Aggs      map[string]json.RawMessage `json:"aggs"`
}

// searches sends a search that is answered.
func (p place) searches(t *testing.T, body string) (found searched) {
	t.Helper()
	got := p.does(t, http.StatusOK, "POST", p.path+"/search", body)
	require.NoError(t, json.Unmarshal(got.body, &found), "%s", got.body)
	return found
}

// everywhere is the place of all workspaces, for a super admin.
func (s *service) everywhere(t *testing.T) place {
	t.Helper()
	return place{s: s, path: "/v2", me: bearer(s.admin(t))}
}

func TestEventsAreSearched(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	made, _ := p.emits(t, `{"type":"order.placed","payload":{"id":1,"amount":7,"note":"Thank you very much"}},
		{"type":"order.paid","payload":{"id":1,"amount":7,"currency":"EUR"}},
		{"type":"order.paid","payload":{"id":2,"amount":42.5,"currency":"USD","note":"thanks"}},
		{"type":"order.forgotten","payload":{"id":3},"options":{"persist":false}}`)

	t.Run("at once, the newest first, as they are read one by one", func(t *testing.T) {
		found := p.searches(t, `{"query":{"prefix":{"type":"order."}}}`)
		require.Equal(t, 3, found.Size)
		require.Equal(t, []string{"order.paid", "order.paid", "order.placed"}, typesOf(found.Documents), "what is not kept is not found")
		require.Equal(t, made[2].ID, found.Documents[0].ID)
		var documents struct{ Documents []json.RawMessage }
		got := p.does(t, http.StatusOK, "POST", p.path+"/search", `{"query":{"ids":{"values":["`+made[2].ID+`"]}}}`)
		require.NoError(t, json.Unmarshal(got.body, &documents))
		require.JSONEq(t, string(p.does(t, http.StatusOK, "GET", p.path+"/events/"+made[2].ID, "").body), string(documents.Documents[0]))
	})
	t.Run("over what changed and what happened alike", func(t *testing.T) {
		found := p.searches(t, `{"query":{"range":{"@timestamp":{"gte":"now-1h"}}},"sort":[{"@timestamp":"asc"}],"limit":1}`)
		require.Equal(t, []string{"workspaces.created"}, typesOf(found.Documents))
		require.Equal(t, 4, found.Size)
		require.Zero(t, p.searches(t, `{"query":{"range":{"createdAt":{"lt":"now-1h"}}}}`).Size)
	})
	t.Run("by words, fields and their kinds", func(t *testing.T) {
		for query, want := range map[string]int{
			`{"query_string":{"query":"thank AND NOT usd"}}`:                                       1,
			`{"query_string":{"query":"type:order.paid AND payload.currency:(EUR OR USD)"}}`:       2,
			`{"match_phrase":{"payload.note":"very much"}}`:                                        1,
			`{"term":{"source.correlationId":"` + made[0].Source["correlationId"].(string) + `"}}`: 3,
			`{"term":{"source.userId":"` + p.userID(t) + `"}}`:                                     4,
			`{"range":{"payload.amount":{"gt":7}}}`:                                                1,
			`{"term":{"source.workspaceId":"elsewhere"}}`:                                          0,
			`{"wildcard":{"type":"*.p*d"}}`:                                                        3,
			`{"bool":{"must_not":{"exists":{"field":"payload.amount"}}}}`:                          1,
		} {
			require.Equal(t, want, p.searches(t, `{"query":`+query+`}`).Size, query)
		}
	})
	t.Run("in an order, in pages, with some of their fields", func(t *testing.T) {
		body := p.does(t, http.StatusOK, "POST", p.path+"/search",
			`{"query":{"prefix":{"type":"order."}},"sort":[{"payload.amount":"desc"},{"type":"asc"}],"limit":2,"page":1,"source":["type","payload.a*"]}`).body
		require.JSONEq(t, `{"size":3,"documents":[{"type":"order.placed","payload":{"amount":7}}]}`, string(body))
	})
	t.Run("and summed up", func(t *testing.T) {
		found := p.searches(t, `{"query":{"prefix":{"type":"order."}},"limit":0,"aggs":{"types":{"terms":{"field":"type"},"aggs":{"amount":{"sum":{"field":"payload.amount"}}}},"most":{"max":{"field":"payload.amount"}}}}`)
		require.Empty(t, found.Documents)
		require.JSONEq(t, `{"value":42.5}`, string(found.Aggs["most"]))
		require.JSONEq(t, `{"doc_count_error_upper_bound":0,"sum_other_doc_count":0,"buckets":[
			{"key":"order.paid","doc_count":2,"amount":{"value":49.5}},{"key":"order.placed","doc_count":1,"amount":{"value":7}}]}`, string(found.Aggs["types"]))
	})
	t.Run("as their types are declared", func(t *testing.T) {
		require.Zero(t, p.searches(t, `{"query":{"exists":{"field":"aggPayload.amount"}}}`).Size)
		p.does(t, http.StatusOK, "PATCH", p.path, `{"events":{"types":{"order.paid":{"schema":{"id":{"type":"string"},"amount":{"type":"number"}}}}}}`)
		require.Equal(t, 1, p.searches(t, `{"query":{"range":{"aggPayload.amount":{"gte":8}}}}`).Size)
		found := p.searches(t, `{"query":{"match_all":{}},"limit":0,"aggs":{"ids":{"terms":{"field":"aggPayload.id"}}}}`)
		require.Contains(t, string(found.Aggs["ids"]), `"key":"1"`)
	})
}

func TestSearchesFindWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	editor, reader, stranger := p.as(s.person(t, "editor")), p.as(s.person(t, "reader")), p.as(s.person(t, "stranger"))
	p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"policies":{"read":true}}}`)
	p.does(t, http.StatusCreated, "POST", p.path+"/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)
	p.emits(t, `{"type":"a","target":{"userId":"`+reader.userID(t)+`"}},{"type":"b"}`)
	reader.emits(t, `{"type":"c"}`)
	all, sums := `{"query":{"match_all":{}}}`, `{"query":{"match_all":{}},"aggs":{"n":{"value_count":{"field":"id"}}}}`

	require.Contains(t, typesOf(p.searches(t, all).Documents), "apikeys.created")
	require.NotContains(t, typesOf(editor.searches(t, all).Documents), "apikeys.created", "denied by a rule")
	require.JSONEq(t, fmt.Sprintf(`{"value":%d}`, editor.searches(t, all).Size), string(editor.searches(t, sums).Aggs["n"]), "what is summed up is what may be read")
	require.Equal(t, []string{"c", "a"}, typesOf(reader.searches(t, all).Documents), "their own, and what is for them")

	details := reader.refuses(t, http.StatusForbidden, "permission_denied", "POST", p.path+"/search", sums)
	require.Equal(t, map[string]any{"action": "aggregate_search", "subject": "workspaces"}, details)
	require.Zero(t, stranger.searches(t, all).Size, "everybody may read what is theirs, and nothing is")
	p.as(nil).refuses(t, http.StatusUnauthorized, "missing_token", "POST", p.path+"/search", all)
}

// A key finds what its rules say, and sums up only when one says so.
func TestSearchesByKey(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	p.emits(t, `{"type":"a"},{"type":"b"}`)
	key := func(rules string) place {
		made := p.does(t, http.StatusCreated, "POST", p.path+"/security/apikeys", `{"name":"k","rules":[`+rules+`]}`).json(t)
		return p.as(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	all, sums := `{"query":{"terms":{"type":["a","b"]}}}`, `{"query":{"terms":{"type":["a","b"]}},"aggs":{"n":{"value_count":{"field":"id"}}}}`

	reads := key(`{"action":"read","subject":"events","conditions":{"type":"a"}}`)
	require.Equal(t, []string{"a"}, typesOf(reads.searches(t, all).Documents))
	reads.refuses(t, http.StatusForbidden, "permission_denied", "POST", p.path+"/search", sums)
	sumsUp := key(`{"action":"read","subject":"events","conditions":{"type":"a"}},{"action":"aggregate_search","subject":"workspaces"}`)
	require.JSONEq(t, `{"value":1}`, string(sumsUp.searches(t, sums).Aggs["n"]))
	reads.refuses(t, http.StatusForbidden, "permission_denied", "POST", "/v2/search", all)
	key(`{"action":"read","subject":"files"}`).refuses(t, http.StatusForbidden, "permission_denied", "POST", p.path+"/search", all)
}

func TestAllWorkspacesAreSearchedAtOnce(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	other := place{s, "", s.must(t, "POST", "/v2/workspaces", p.me, `{"name":"Other"}`)["id"].(string), p.me}
	other.path = "/v2/workspaces/" + other.id
	p.emits(t, `{"type":"a","payload":{"n":"1"}}`)
	other.does(t, http.StatusOK, "PATCH", other.path, `{"events":{"types":{"a":{"schema":{"n":{"type":"number"}}}}}}`)
	other.emits(t, `{"type":"a","payload":{"n":"2"}},{"type":"b"}`)
	root := s.everywhere(t)

	found := root.searches(t, `{"query":{"term":{"type":"a"}},"aggs":{"places":{"terms":{"field":"source.workspaceId"}},"n":{"sum":{"field":"aggPayload.n"}}}}`)
	require.Equal(t, 2, found.Size)
	require.Equal(t, other.id, found.Documents[0].Source["workspaceId"])
	require.Contains(t, string(found.Aggs["places"]), p.id)
	require.JSONEq(t, `{"value":2}`, string(found.Aggs["n"]), "each workspace declares its own types")
	require.Positive(t, root.searches(t, `{"query":{"term":{"type":"gateway.signup.succeeded"}}}`).Size, "those of the platform, too")
	require.Zero(t, root.searches(t, `{"query":{"terms":{"type":["names.taken","names.released"]}}}`).Size, "but not what nobody reads")
	root.as(p.me).refuses(t, http.StatusForbidden, "permission_denied", "POST", "/v2/search", `{"query":{"match_all":{}}}`)
}

func TestSearchesThatAreNone(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	for body, want := range map[string]struct {
		status      int
		code, field string
	}{
		`{}`:                        {400, "missing_parameter", "query"},
		`{"query":5}`:               {400, "invalid_request", "query"},
		`{"query":{"match_all":{}}`: {400, "invalid_request", ""},
		`{"query":` + strings.Repeat(`{"bool":{"must":`, 400) + `{}` + strings.Repeat(`}}`, 400) + `}`:             {400, "invalid_request", ""},
		`{"query":` + strings.Repeat(`{"bool":{"must":`, 21) + `{"match_all":{}}` + strings.Repeat(`}}`, 21) + `}`: {422, "validation_failed", "query" + strings.Repeat(".bool.must", 20)},
		`{"query":{"match_all":{},"match_all":{}}}`:                                                                {400, "invalid_request", "query.match_all"},
		`{"query":{"match_all":{}},"limit":1001}`:                                                                  {422, "validation_failed", "limit"},
		`{"query":{"match_all":{}},"page":11,"limit":1000}`:                                                        {422, "validation_failed", "page"},
		`{"query":{"match_all":{}},"runtime_mappings":{"a":{}}}`:                                                   {422, "validation_failed", "runtime_mappings"},
		`{"query":{"bool":{"must":[{"fuzzy":{"type":"x"}}]}}}`:                                                     {422, "validation_failed", "query.bool.must[0].fuzzy"},
		`{"query":{"match_all":{}},"aggs":{"a":{"scripted_metric":{}}}}`:                                           {422, "validation_failed", "aggs.a.scripted_metric"},
	} {
		details := p.refuses(t, want.status, want.code, "POST", p.path+"/search", body)
		if want.field != "" {
			require.Contains(t, faults(details), `"`+want.field+`"`, body)
		}
	}
}

func TestSearchesAreLimited(t *testing.T) {
	t.Parallel()
	s := identified(t, "DISABLE_RATE_LIMIT=no", "RATE_LIMIT_SEARCH_EVENTS=1").start(t)
	p := ownedPlace(t, s)
	limited := 0
	for range 3 { // two of them are in one minute
		if p.ask(t, "POST", p.path+"/search", `{"query":{"match_all":{}}}`).StatusCode == http.StatusTooManyRequests {
			limited++
		}
	}
	require.Positive(t, limited)
}
