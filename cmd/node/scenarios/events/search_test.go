package events_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// allWorkspaces is the search over all workspaces, for a super admin.
func allWorkspaces(t *testing.T, s *nodetest.Service) nodetest.Workspace {
	t.Helper()
	return nodetest.Workspace{Service: s, Path: "/v2", Auth: nodetest.Bearer(s.SignInAdmin(t))}
}

func TestEventsAreSearched(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	made, _ := p.Emit(t, `{"type":"order.placed","payload":{"id":1,"amount":7,"note":"Thank you very much"}},
		{"type":"order.paid","payload":{"id":1,"amount":7,"currency":"EUR"}},
		{"type":"order.paid","payload":{"id":2,"amount":42.5,"currency":"USD","note":"thanks"}},
		{"type":"order.forgotten","payload":{"id":3},"options":{"persist":false}}`)

	t.Run("at once, the newest first, as they are read one by one", func(t *testing.T) {
		found := p.Search(t, `{"query":{"prefix":{"type":"order."}}}`)
		require.Equal(t, 3, found.Size)
		require.Equal(t, []string{"order.paid", "order.paid", "order.placed"}, nodetest.TypesOf(found.Documents), "what is not kept is not found")
		require.Equal(t, made[2].ID, found.Documents[0].ID)
		var documents struct{ Documents []json.RawMessage }
		got := p.Do(t, http.StatusOK, "POST", p.Path+"/search", `{"query":{"ids":{"values":["`+made[2].ID+`"]}}}`)
		require.NoError(t, json.Unmarshal(got.Body, &documents))
		require.JSONEq(t, string(p.Do(t, http.StatusOK, "GET", p.Path+"/events/"+made[2].ID, "").Body), string(documents.Documents[0]))
	})
	t.Run("over what changed and what happened alike", func(t *testing.T) {
		found := p.Search(t, `{"query":{"range":{"@timestamp":{"gte":"now-1h"}}},"sort":[{"@timestamp":"asc"}],"limit":1}`)
		require.Equal(t, []string{"workspaces.created"}, nodetest.TypesOf(found.Documents))
		require.Equal(t, 4, found.Size)
		require.Zero(t, p.Search(t, `{"query":{"range":{"createdAt":{"lt":"now-1h"}}}}`).Size)
	})
	t.Run("by words, fields and their kinds", func(t *testing.T) {
		for query, want := range map[string]int{
			`{"query_string":{"query":"thank AND NOT usd"}}`:                                       1,
			`{"query_string":{"query":"type:order.paid AND payload.currency:(EUR OR USD)"}}`:       2,
			`{"match_phrase":{"payload.note":"very much"}}`:                                        1,
			`{"term":{"source.correlationId":"` + made[0].Source["correlationId"].(string) + `"}}`: 3,
			`{"term":{"source.userId":"` + p.UserID(t) + `"}}`:                                     4,
			`{"range":{"payload.amount":{"gt":7}}}`:                                                1,
			`{"term":{"source.workspaceId":"elsewhere"}}`:                                          0,
			`{"wildcard":{"type":"*.p*d"}}`:                                                        3,
			`{"bool":{"must_not":{"exists":{"field":"payload.amount"}}}}`:                          1,
		} {
			require.Equal(t, want, p.Search(t, `{"query":`+query+`}`).Size, query)
		}
	})
	t.Run("in an order, in pages, with some of their fields", func(t *testing.T) {
		body := p.Do(t, http.StatusOK, "POST", p.Path+"/search",
			`{"query":{"prefix":{"type":"order."}},"sort":[{"payload.amount":"desc"},{"type":"asc"}],"limit":2,"page":1,"source":["type","payload.a*"]}`).Body
		require.JSONEq(t, `{"size":3,"documents":[{"type":"order.placed","payload":{"amount":7}}]}`, string(body))
	})
	t.Run("and summed up", func(t *testing.T) {
		found := p.Search(t, `{"query":{"prefix":{"type":"order."}},"limit":0,"aggs":{"types":{"terms":{"field":"type"},"aggs":{"amount":{"sum":{"field":"payload.amount"}}}},"most":{"max":{"field":"payload.amount"}}}}`)
		require.Empty(t, found.Documents)
		require.JSONEq(t, `{"value":42.5}`, string(found.Aggs["most"]))
		require.JSONEq(t, `{"doc_count_error_upper_bound":0,"sum_other_doc_count":0,"buckets":[
			{"key":"order.paid","doc_count":2,"amount":{"value":49.5}},{"key":"order.placed","doc_count":1,"amount":{"value":7}}]}`, string(found.Aggs["types"]))
	})
	t.Run("among those that a list shows", func(t *testing.T) {
		for query, filter := range map[string]string{
			"types=order.*":                          `{"types":"order.*"}`,
			"types=order.paid,workspaces.*":          `{"types":["order.paid","workspaces.*"]}`,
			"text=thank&types=order.placed":          `{"text":"thank","types":"order.placed"}`,
			"payload.currency=EUR&payload.currency=": `{"payload.currency":["EUR",""]}`,
			"afterDate=2100-01-01T00:00:00Z":         `{"afterDate":"2100-01-01T00:00:00Z"}`,
			"source.userId=nobody":                   `{"source.userId":"nobody"}`,
		} {
			listed := p.Do(t, http.StatusOK, "GET", p.Path+"/events?"+query, "").JSON(t)["result"].(map[string]any)["events"].([]any)
			found := p.Search(t, `{"query":{"match_all":{}},"filter":`+filter+`,"aggs":{"n":{"value_count":{"field":"id"}}}}`)
			require.Equal(t, len(listed), found.Size, query)
			require.Equal(t, nodetest.Fields(nodetest.AsMaps(listed), "type"), anyOf(nodetest.TypesOf(found.Documents)), query)
			require.JSONEq(t, fmt.Sprintf(`{"value":%d}`, len(listed)), string(found.Aggs["n"]))
		}
		require.Equal(t, 1, p.Search(t, `{"query":{"term":{"type":"order.paid"}},"filter":{"payload.currency":"USD"}}`).Size, "both must hold")
		require.Equal(t, 2, allWorkspaces(t, s).Search(t, `{"query":{"match_all":{}},"filter":{"types":"order.paid"}}`).Size)
	})
	t.Run("as their types are declared", func(t *testing.T) {
		require.Zero(t, p.Search(t, `{"query":{"exists":{"field":"aggPayload.amount"}}}`).Size)
		p.Do(t, http.StatusOK, "PATCH", p.Path, `{"events":{"types":{"order.paid":{"schema":{"id":{"type":"string"},"amount":{"type":"number"}}}}}}`)
		require.Equal(t, 1, p.Search(t, `{"query":{"range":{"aggPayload.amount":{"gte":8}}}}`).Size)
		found := p.Search(t, `{"query":{"match_all":{}},"limit":0,"aggs":{"ids":{"terms":{"field":"aggPayload.id"}}}}`)
		require.Contains(t, string(found.Aggs["ids"]), `"key":"1"`)
	})
}

func anyOf(texts []string) (list []any) {
	for _, text := range texts {
		list = append(list, text)
	}
	return list
}

func TestSearchesFindWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	editor, reader, stranger := p.As(s.NewUser(t, "editor")), p.As(s.NewUser(t, "reader")), p.As(s.NewUser(t, "stranger"))
	p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"policies":{"read":true}}}`)
	p.Do(t, http.StatusCreated, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)
	p.Emit(t, `{"type":"a","target":{"userId":"`+reader.UserID(t)+`"}},{"type":"b"}`)
	reader.Emit(t, `{"type":"c"}`)
	all, sums := `{"query":{"match_all":{}}}`, `{"query":{"match_all":{}},"aggs":{"n":{"value_count":{"field":"id"}}}}`

	require.Contains(t, nodetest.TypesOf(p.Search(t, all).Documents), "apikeys.created")
	require.NotContains(t, nodetest.TypesOf(editor.Search(t, all).Documents), "apikeys.created", "denied by a rule")
	require.JSONEq(t, fmt.Sprintf(`{"value":%d}`, editor.Search(t, all).Size), string(editor.Search(t, sums).Aggs["n"]), "what is summed up is what may be read")
	require.Equal(t, []string{"c", "a"}, nodetest.TypesOf(reader.Search(t, all).Documents), "their own, and what is for them")

	details := reader.RequireRefusal(t, http.StatusForbidden, "permission_denied", "POST", p.Path+"/search", sums)
	require.Equal(t, map[string]any{"action": "aggregate_search", "subject": "workspaces"}, details)
	require.Zero(t, stranger.Search(t, all).Size, "everybody may read what is theirs, and nothing is")
	p.As(nil).RequireRefusal(t, http.StatusUnauthorized, "missing_token", "POST", p.Path+"/search", all)
}

// A key finds what its rules say, and sums up only when one says so.
func TestSearchesByKey(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Emit(t, `{"type":"a"},{"type":"b"}`)
	key := func(rules string) nodetest.Workspace {
		made := p.Do(t, http.StatusCreated, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[`+rules+`]}`).JSON(t)
		return p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	all, sums := `{"query":{"terms":{"type":["a","b"]}}}`, `{"query":{"terms":{"type":["a","b"]}},"aggs":{"n":{"value_count":{"field":"id"}}}}`

	reads := key(`{"action":"read","subject":"events","conditions":{"type":"a"}}`)
	require.Equal(t, []string{"a"}, nodetest.TypesOf(reads.Search(t, all).Documents))
	reads.RequireRefusal(t, http.StatusForbidden, "permission_denied", "POST", p.Path+"/search", sums)
	sumsUp := key(`{"action":"read","subject":"events","conditions":{"type":"a"}},{"action":"aggregate_search","subject":"workspaces"}`)
	require.JSONEq(t, `{"value":1}`, string(sumsUp.Search(t, sums).Aggs["n"]))
	reads.RequireRefusal(t, http.StatusForbidden, "permission_denied", "POST", "/v2/search", all)
	key(`{"action":"read","subject":"files"}`).RequireRefusal(t, http.StatusForbidden, "permission_denied", "POST", p.Path+"/search", all)
}

func TestAllWorkspacesAreSearchedAtOnce(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	other := nodetest.Workspace{Service: s, Path: "", ID: s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other"}`)["id"].(string), Auth: p.Auth}
	other.Path = "/v2/workspaces/" + other.ID
	p.Emit(t, `{"type":"a","payload":{"n":"1"}}`)
	other.Do(t, http.StatusOK, "PATCH", other.Path, `{"events":{"types":{"a":{"schema":{"n":{"type":"number"}}}}}}`)
	other.Emit(t, `{"type":"a","payload":{"n":"2"}},{"type":"b"}`)
	root := allWorkspaces(t, s)

	found := root.Search(t, `{"query":{"term":{"type":"a"}},"aggs":{"places":{"terms":{"field":"source.workspaceId"}},"n":{"sum":{"field":"aggPayload.n"}}}}`)
	require.Equal(t, 2, found.Size)
	require.Equal(t, other.ID, found.Documents[0].Source["workspaceId"])
	require.Contains(t, string(found.Aggs["places"]), p.ID)
	require.JSONEq(t, `{"value":2}`, string(found.Aggs["n"]), "each workspace declares its own types")
	require.Positive(t, root.Search(t, `{"query":{"term":{"type":"gateway.signup.succeeded"}}}`).Size, "those of the platform, too")
	require.Zero(t, root.Search(t, `{"query":{"terms":{"type":["names.taken","names.released"]}}}`).Size, "but not what nobody reads")
	root.As(p.Auth).RequireRefusal(t, http.StatusForbidden, "permission_denied", "POST", "/v2/search", `{"query":{"match_all":{}}}`)
}

func TestSearchesThatAreNone(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
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
		`{"query":{"match_all":{}},"filter":"types=a"}`:                                                            {422, "validation_failed", "filter"},
		`{"query":{"match_all":{}},"filter":{"types":{}}}`:                                                         {400, "invalid_parameter", "types"},
		`{"query":{"match_all":{}},"filter":{"limit":1}}`:                                                          {400, "invalid_parameter", "limit"},
		`{"query":{"match_all":{}},"limit":1001}`:                                                                  {422, "validation_failed", "limit"},
		`{"query":{"match_all":{}},"page":11,"limit":1000}`:                                                        {422, "validation_failed", "page"},
		`{"query":{"match_all":{}},"runtime_mappings":{"a":{}}}`:                                                   {422, "validation_failed", "runtime_mappings"},
		`{"query":{"bool":{"must":[{"fuzzy":{"type":"x"}}]}}}`:                                                     {422, "validation_failed", "query.bool.must[0].fuzzy"},
		`{"query":{"match_all":{}},"aggs":{"a":{"scripted_metric":{}}}}`:                                           {422, "validation_failed", "aggs.a.scripted_metric"},
	} {
		details := p.RequireRefusal(t, want.status, want.code, "POST", p.Path+"/search", body)
		if want.field != "" {
			require.Contains(t, nodetest.Faults(details), `"`+want.field+`"`, body)
		}
	}
}

func TestSearchesAreLimited(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=no", "RATE_LIMIT_SEARCH_EVENTS=1").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	limited := 0
	for range 3 { // two of them are in one minute
		if p.Send(t, "POST", p.Path+"/search", `{"query":{"match_all":{}}}`).StatusCode == http.StatusTooManyRequests {
			limited++
		}
	}
	require.Positive(t, limited)
}
