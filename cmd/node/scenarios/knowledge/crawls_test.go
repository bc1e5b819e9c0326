package knowledge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/llm/fakemodel"
)

// awaitCrawl waits until a crawl of a base has ended.
func awaitCrawl(t *testing.T, p nodetest.Workspace, base, id string) (crawl map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		crawl = p.Do(t, 200, "GET", base+"/crawls/"+id, "").JSON(t)
		return crawl["status"] != "running"
	}, 2*time.Minute, 50*time.Millisecond)
	return crawl
}

// A source is read over the API: its pages are documents that can be searched, and go with it.
func TestCrawls(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	var mu sync.Mutex
	refunds := "Within 30 days."
	var requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		mu.Lock()
		refund := refunds
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			_, _ = fmt.Fprint(w, `<title>Start</title><main><p>The start page of the manual.</p></main><a href="/refunds">Refunds</a><a href="/long">Long</a><a href="/missing">Missing</a>`)
		case "/refunds":
			w.Header().Set("ETag", `"refunds"`) // it lies
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = fmt.Fprint(w, `<title>Refunds</title><main><h1>Refunds</h1><p>`+refund+`</p></main>`)
		case "/long":
			_, _ = fmt.Fprintf(w, `<title>Long</title><main><p>%s</p></main>`, strings.Repeat("word", 400))
		case "/slow":
			select {
			case <-slow:
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
	await := func(id string) map[string]any { t.Helper(); return awaitCrawl(t, p, one, id) }

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

	// A page is loaded again on demand. The next crawl sees that its document is not what it left.
	setRefunds := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		refunds = text
	}
	page := one + "/documents/" + docs[1]["id"].(string)
	setRefunds("Within 60 days.")
	p.Do(t, 202, "POST", page+"/reindex", `{"fetch":true}`)
	require.Eventually(t, func() bool {
		doc := p.Do(t, 200, "GET", page, "").JSON(t)
		return doc["status"] == "ready" && doc["revision"] == 2.0
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "# Refunds\n\nWithin 60 days.", string(p.Do(t, 200, "GET", page+"/text", "").Body))
	require.Equal(t, string(text.Body), string(p.Do(t, 200, "GET", page+"/text?revision=1", "").Body))
	setRefunds("Within 30 days.")
	third := await(p.Do(t, 202, "POST", one+"/sources/manual/crawl", "").JSON(t)["id"].(string))
	require.Equal(t, 1.0, third["counts"].(map[string]any)["updated"])
	require.Equal(t, string(text.Body), string(p.Do(t, 200, "GET", page+"/text", "").Body))
	require.Equal(t, "crawl", p.Do(t, 200, "GET", page, "").JSON(t)["source"])

	// An index that is lost is made of what is stored: no site is asked.
	loaded := p.Do(t, 201, "POST", one+"/documents?wait=30", `{"url":"`+site.URL+`/refunds?by=hand"}`).JSON(t)
	require.Equal(t, []any{"ready", "url"}, []any{loaded["status"], loaded["source"]})
	asked, found := requests.Load(), search(t, p, "faq", `{"query":"manual refunds days"}`)
	require.Len(t, found.Results, 3)
	loseIndex(t, p, one+"/search", func() {
		require.Equal(t, found.Results, search(t, p, "faq", `{"query":"manual refunds days"}`).Results)
		require.Equal(t, asked, requests.Load())
	})

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
		return len(p.Do(t, 200, "GET", one+"/documents", "").List(t)) == 2 // those that were added by hand
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "crawl", p.ListEvents(t, "types=knowledge.documents.deleted&limit=1").Result.Events[0].Payload["cause"])
	close(slow)
}

// A page that has not changed costs one request: nothing is processed again, and no model is called.
func TestPagesThatHaveNotChangedCallNoModel(t *testing.T) {
	t.Parallel()
	fake := fakemodel.New()
	model := httptest.NewServer(fake)
	t.Cleanup(model.Close)
	var mu sync.Mutex
	answered := map[int]int{} // answers by status
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		switch {
		case r.URL.Path != "/" && r.URL.Path != "/refunds":
			status = http.StatusNotFound
		case r.Header.Get("If-None-Match") == `"1"`:
			status = http.StatusNotModified
		}
		mu.Lock()
		answered[status]++
		mu.Unlock()
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		if status == http.StatusOK {
			_, _ = fmt.Fprintf(w, `<title>%s</title><main><p>This is %s.</p></main><a href="/refunds">Refunds</a>`, r.URL.Path, r.URL.Path)
		}
	}))
	t.Cleanup(site.Close)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0", "LLM_BASE_URL="+model.URL+"/v1", "LLM_API_KEY="+fakemodel.Key,
		"LLM_EMBEDDING_MODEL="+fakemodel.EmbeddingModel).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	one := p.Path + "/knowledgeBases/faq"
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","embedding":{"model":"default/fake-embed"},"sources":{"site":{"urls":["`+site.URL+`/"],"sitemap":"off"}}}`)
	crawl := func() map[string]any {
		t.Helper()
		return awaitCrawl(t, p, one, p.Do(t, 202, "POST", one+"/sources/site/crawl", "").JSON(t)["id"].(string))
	}
	list := func() []map[string]any {
		t.Helper()
		return p.Do(t, 200, "GET", one+"/documents?sort=title", "").List(t)
	}
	require.Equal(t, 2.0, crawl()["counts"].(map[string]any)["created"])
	require.Eventually(t, func() bool {
		docs := list()
		return len(docs) == 2 && docs[0]["vectors"] == "ready" && docs[1]["vectors"] == "ready"
	}, time.Minute, 20*time.Millisecond)
	calls, before := fake.Count("/v1/embeddings"), list()
	require.Positive(t, calls)
	told := len(p.ListEvents(t, "types=knowledge.documents.*&limit=100").Result.Events)

	second := crawl()
	require.Equal(t, true, second["complete"])
	require.Equal(t, 2.0, second["counts"].(map[string]any)["unchanged"], "%v", second)
	pages := p.Do(t, 200, "GET", one+"/crawls/"+second["id"].(string)+"/pages", "").List(t)
	require.Len(t, pages, 2)
	for _, page := range pages {
		require.Equal(t, []any{304.0, "unchanged"}, []any{page["status"], page["outcome"]})
	}
	mu.Lock()
	require.Equal(t, 2, answered[http.StatusNotModified])
	require.Equal(t, 2, answered[http.StatusOK], "of the first crawl")
	mu.Unlock()
	for i, d := range list() {
		require.Equal(t, []any{"ready", "ready", 1.0}, []any{d["status"], d["vectors"], d["revision"]})
		require.Equal(t, before[i]["indexedAt"], d["indexedAt"])
		require.NotEqual(t, before[i]["checkedAt"], d["checkedAt"])
	}
	require.Len(t, p.ListEvents(t, "types=knowledge.documents.*&limit=100").Result.Events, told, "no document changed")
	require.Equal(t, calls, fake.Count("/v1/embeddings"))
}

// Two nodes read one host, for a crawl and for documents of addresses: together they send one request at a time, and leave
// the host alone after each.
func TestTwoNodesLeaveAHostAlone(t *testing.T) {
	t.Parallel()
	const count, delay = 20, 500 * time.Millisecond
	var mu sync.Mutex
	var starts, ends []time.Time
	atOnce, most := 0, 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		starts = append(starts, time.Now())
		atOnce++
		most = max(most, atOnce)
		mu.Unlock()
		select { // long enough for another request to come meanwhile
		case <-time.After(10 * time.Millisecond):
		case <-r.Context().Done():
		}
		mu.Lock()
		atOnce--
		ends = append(ends, time.Now())
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<main><p>This is page %s.</p></main>`, r.URL.Path)
		for i := range count - 1 {
			_, _ = fmt.Fprintf(w, `<a href="/p%d">next</a>`, i)
		}
	}))
	t.Cleanup(site.Close)
	here, other := nodetest.StartPair(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0.5", "CRAWLER_HOST_CONCURRENCY=1")
	p := nodetest.NewOwnedWorkspace(t, here)
	there := p
	there.Service = other
	one := p.Path + "/knowledgeBases/faq"
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", fmt.Sprintf(`{"name":"FAQ","sources":{"site":{"urls":["%s/"],"sitemap":"off","delay":0.5}}}`, site.URL))
	id := p.Do(t, 202, "POST", one+"/sources/site/crawl", "").JSON(t)["id"].(string)
	for i := range 2 {
		p.Do(t, 201, "POST", one+"/documents", fmt.Sprintf(`{"url":"%s/here%d"}`, site.URL, i))
		there.Do(t, 201, "POST", one+"/documents", fmt.Sprintf(`{"url":"%s/there%d"}`, site.URL, i))
	}
	crawl := awaitCrawl(t, p, one, id)
	require.Equal(t, float64(count), crawl["counts"].(map[string]any)["created"], "%v", crawl)
	require.Eventually(t, func() bool {
		return p.Do(t, 200, "GET", one+"/documents?status=ready&source=url", "").Header.Get("X-Total-Count") == "4"
	}, 2*time.Minute, 100*time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	require.GreaterOrEqual(t, len(starts), count+4)
	require.Equal(t, 1, most, "never two at once")
	for i := 1; i < len(starts); i++ {
		require.GreaterOrEqual(t, starts[i].Sub(ends[i-1]), delay, "request %d", i)
	}
}
