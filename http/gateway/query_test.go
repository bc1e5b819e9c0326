package gateway_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

func TestQuery(t *testing.T) {
	w := serve(t, gateway.Route{Method: "GET", Path: "/q", Permission: gateway.Public, Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		out := map[string]any{
			"dirty": q.Bool("dirty"), "dryRun": q.Flag("dryRun"), "n": q.Int("n", 7, 1, 9), "labels": q.List("labels"),
			"since": q.Time("since"), "kind": q.OneOf("kind", "all", "all", "some"), "page": q.Page(20, 100),
			"sort": q.Sort("name", "updatedAt"), "timeout": q.Seconds("timeout", 15*time.Second), "text": q.Text("text"),
		}
		if q.Has("strict") {
			q.Required("must")
		}
		return out, q.Err()
	})})
	usual := w.do("GET", "/q", "")
	require.JSONEq(t, `{"dirty":null,"dryRun":false,"n":7,"labels":null,"since":"0001-01-01T00:00:00Z","kind":"all","text":"",
		"page":{"Number":0,"Limit":20},"sort":{"Field":"updatedAt","Down":true},"timeout":15000000000}`, usual.body)
	full := w.do("GET", "/q?dirty=false&dryRun=true&n=9&labels=a,%20b,,&labels=c&since=2025-01-01T02:00:00%2B02:00&kind=some&page=2&limit=100&sort=-name&timeout=20s&text=a%20b", "")
	require.JSONEq(t, `{"dirty":false,"dryRun":true,"n":9,"labels":["a","b","c"],"since":"2025-01-01T00:00:00Z","kind":"some","text":"a b",
		"page":{"Number":2,"Limit":100},"sort":{"Field":"name","Down":true},"timeout":20000000000}`, full.body)

	for query, parameter := range map[string]string{
		"dirty=yes": "dirty", "dirty=": "dirty", "dirty=true&dirty=false": "dirty", "dryRun=1": "dryRun", "n=0": "n", "n=10": "n", "n=x": "n",
		"n=1e3": "n", "n=99999999999999999999": "n", "since=yesterday": "since", "since=2025-01-01T00:00:00": "since",
		"kind=none": "kind", "page=-1": "page", "page=99999999999": "page", "limit=0": "limit", "limit=101": "limit", "sort=secret": "sort",
		"timeout=-1": "timeout", "timeout=soon": "timeout", "text=%ff": "text", "text=a%00": "text", "text=%zz": "query", "n=1;page=2": "query",
	} {
		f := w.do("GET", "/q?"+query, "").requireFailure(t, 400, domain.CodeInvalidParameter)
		require.Equal(t, parameter, f.Details["parameter"], query)
	}
	f := w.do("GET", "/q?strict=1&page=x", "").requireFailure(t, 400, domain.CodeInvalidParameter)
	require.Len(t, f.Details["errors"], 2)
	w.do("GET", "/q?strict=1", "").requireFailure(t, 400, domain.CodeMissingParameter)
}

func TestLists(t *testing.T) {
	all := []int{1, 2, 3, 4, 5}
	w := serve(t, gateway.Route{Method: "GET", Path: "/list", Surface: gateway.Versioned, Permission: gateway.Public,
		Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) {
			q := gateway.NewQuery(r)
			p := q.Page(2, 100)
			from := min(p.Offset(), len(all))
			return gateway.List(r, all[from:min(from+p.Limit, len(all))], len(all), p), q.Err()
		})})
	first := w.do("GET", "/v2/list?search=a%20b", "")
	require.Equal(t, `[1,2]`, first.body)
	require.Equal(t, "5", first.header.Get("X-Total-Count"))
	require.Equal(t, `</v2/list?page=1&search=a+b>; rel="next"`, first.header.Get("Link"))
	last := w.do("GET", "/v2/list?page=2", "")
	require.Equal(t, `[5]`, last.body)
	require.Empty(t, last.header.Get("Link"))
	require.Equal(t, `[]`, w.do("GET", "/v2/list?page=9", "").body)
	require.Len(t, w.do("GET", "/v1/list", "").header.Values("Link"), 2, "the successor and the next page")

	var none []string
	a := gateway.List(&http.Request{URL: &url.URL{}}, none, 0, gateway.Page{})
	require.NotNil(t, a.Body)
}
