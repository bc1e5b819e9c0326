package knowledge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// A source is read over the API: its pages are documents that can be searched, and go with it.
func TestCrawls(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	slow := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		wait := slow
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			_, _ = fmt.Fprint(w, `<title>Start</title><main><p>The start page of the manual.</p></main><a href="/refunds">Refunds</a><a href="/long">Long</a><a href="/missing">Missing</a>`)
		case "/refunds":
			_, _ = fmt.Fprint(w, `<title>Refunds</title><main><h1>Refunds</h1><p>Within 30 days.</p></main>`)
		case "/long":
			_, _ = fmt.Fprintf(w, `<title>Long</title><main><p>%s</p></main>`, strings.Repeat("word", 400))
		case "/slow":
			select {
			case <-wait:
			case <-r.Context().Done():
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0", "MAX_CONTENT_LEN=1000", "REQUEST_QUEUES_POLLING_INTERVAL=0.2").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	one := p.Path + "/knowledgeBases/faq"
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","sources":{"manual":{"urls":["`+site.URL+`/"],"tags":["manual"]},"slow":{"urls":["`+site.URL+`/slow"]},"off":{"urls":["`+site.URL+`/"],"disabled":true}}}`)
	await := func(id string) map[string]any {
		t.Helper()
		var crawl map[string]any
		require.Eventually(t, func() bool {
			crawl = p.Do(t, 200, "GET", one+"/crawls/"+id, "").JSON(t)
			return crawl["status"] != "running"
		}, time.Minute, 50*time.Millisecond)
		return crawl
	}

	p.RequireRefusal(t, 404, "resource_not_found", "POST", one+"/sources/nope/crawl", "")
	require.Equal(t, "disabled", p.RequireRefusal(t, 409, "resource_conflict", "POST", one+"/sources/off/crawl", "")["reason"])
	p.RequireRefusal(t, 400, "invalid_request", "POST", one+"/sources/manual/crawl", `{"deep":true}`)
	begun := p.Do(t, 202, "POST", one+"/sources/manual/crawl", `{"full":true}`)
	id := begun.JSON(t)["id"].(string)
	require.Equal(t, id, begun.Header.Get("X-Svc-Operation-Id"))
	require.Equal(t, "manual", begun.JSON(t)["trigger"])
	crawl := await(id)
	require.Equal(t, "succeeded", crawl["status"], "%v", crawl)
	require.Equal(t, true, crawl["complete"])
	counts := crawl["counts"].(map[string]any)
	require.Equal(t, []any{4.0, 4.0, 3.0, 1.0}, []any{counts["queued"], counts["fetched"], counts["created"], counts["failed"]})
	pages := p.Do(t, 200, "GET", one+"/crawls/"+id+"/pages", "").List(t)
	require.Len(t, pages, 4)
	require.Equal(t, site.URL+"/", pages[0]["url"])
	missing := p.Do(t, 200, "GET", one+"/crawls/"+id+"/pages?outcome=failed", "").List(t)
	require.Len(t, missing, 1)
	require.Equal(t, []any{404.0, "not_found", 1.0}, []any{missing[0]["status"], missing[0]["reason"], missing[0]["depth"]})
	op := p.Do(t, 200, "GET", p.Path+"/operations/"+id, "").JSON(t)
	require.Equal(t, "crawl", op["kind"])
	require.Equal(t, map[string]any{"current": 4.0, "total": 4.0, "percentage": 100.0}, op["progress"])
	require.Equal(t, []any{id}, nodetest.Fields(p.Do(t, 200, "GET", one+"/crawls?sourceId=manual&status=succeeded", "").List(t), "id"))
	require.Empty(t, p.Do(t, 200, "GET", one+"/crawls?sourceId=slow", "").List(t))

	var docs []map[string]any
	require.Eventually(t, func() bool {
		docs = p.Do(t, 200, "GET", one+"/documents?source=crawl&sourceId=manual&status=ready&sort=title", "").List(t)
		return len(docs) == 3
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, []any{"Long", "Refunds", "Start"}, nodetest.Fields(docs, "title"))
	require.Equal(t, true, docs[0]["truncated"])
	require.Equal(t, 1000.0, docs[0]["characters"])
	require.Equal(t, []any{"manual"}, docs[1]["tags"])
	require.NotEmpty(t, docs[1]["checkedAt"])
	text := p.Do(t, 200, "GET", one+"/documents/"+docs[1]["id"].(string)+"/text", "")
	require.Equal(t, "# Refunds\n\nWithin 30 days.", string(text.Body))

	second := await(p.Do(t, 202, "POST", one+"/sources/manual/crawl", "").JSON(t)["id"].(string))
	require.Equal(t, 3.0, second["counts"].(map[string]any)["unchanged"])
	told := p.ListEvents(t, "types=knowledge.crawls.*&limit=100").Result.Events
	require.Len(t, told, 4, "%v", nodetest.TypesOf(told))
	require.Equal(t, "knowledge.crawls.completed", told[0].Type)
	require.Equal(t, map[string]any{"knowledgeBase": "faq", "sourceId": "manual", "operationId": second["id"], "trigger": "manual"}, told[1].Payload)
	require.Equal(t, "crawl", p.ListEvents(t, "types=knowledge.documents.added&limit=1").Result.Events[0].Payload["cause"])

	// One at a time; a cancel ends it at once.
	running := p.Do(t, 202, "POST", one+"/sources/slow/crawl", "").JSON(t)["id"].(string)
	require.Equal(t, "already_running", p.RequireRefusal(t, 409, "resource_conflict", "POST", one+"/sources/slow/crawl", "")["reason"])
	p.Do(t, 200, "POST", p.Path+"/operations/"+running+"/cancel", "")
	require.Equal(t, "cancelled", await(running)["status"])

	// A source that is removed takes its documents with it, and ends its crawl.
	running = p.Do(t, 202, "POST", one+"/sources/slow/crawl", "").JSON(t)["id"].(string)
	p.Do(t, 201, "POST", one+"/documents", `{"text":"By hand.","name":"hand.txt"}`)
	p.Do(t, 200, "PATCH", one, `{"sources":null}`)
	require.Equal(t, "cancelled", await(running)["status"])
	require.Eventually(t, func() bool {
		return len(p.Do(t, 200, "GET", one+"/documents", "").List(t)) == 1
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "crawl", p.ListEvents(t, "types=knowledge.documents.deleted&limit=1").Result.Events[0].Payload["cause"])
	close(slow)
}
