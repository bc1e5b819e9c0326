//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// A service that is killed in the middle of a crawl, and while documents are processed, goes on with both: each page is one document,
// the crawl ends once, and each document that was taken is processed to its end once.
func TestKilledCrawlsAndDocumentsAreFinished(t *testing.T) {
	t.Parallel()
	const batch = 18
	kills := nodetest.Cycles(3, 50)
	pages := 4*kills + 3
	var mu sync.Mutex
	visits, held := map[string]int{}, make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml" {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		visits[r.URL.Path]++
		number, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p"))
		hold := visits[r.URL.Path] == 1 && err == nil && number%4 == 3 && number/4 < kills
		mu.Unlock()
		if hold {
			held <- struct{}{}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><p>The page %s.</p>", r.URL.Path, r.URL.Path)
		for i := range pages - 1 {
			fmt.Fprintf(w, `<a href="/p%d">x</a>`, i)
		}
	}))
	t.Cleanup(site.Close)
	start, begun := time.Now(), 0
	s := newService(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0")
	s.start(t)
	h := newFixture(t, s, "{}")
	h.do(t, http.StatusCreated, http.MethodPost, "/knowledgeBases", map[string]any{
		"name": "FAQ", "sources": map[string]any{"site": map[string]any{"urls": []string{site.URL + "/"}}},
	})
	var crawl struct{ ID string }
	require.NoError(t, json.Unmarshal(h.do(t, http.StatusAccepted, http.MethodPost, "/knowledgeBases/faq/sources/site/crawl", nil), &crawl))
	h.do(t, http.StatusCreated, http.MethodPost, "/knowledgeBases", map[string]any{"name": "Texts"})
	text := strings.Repeat("A sentence of a text that has several passages. ", 100)
	for kill := range kills {
		<-held
		documents := make([]any, batch)
		for i := range documents {
			documents[i] = map[string]any{"key": fmt.Sprintf("%d-%d", kill, i), "text": fmt.Sprintf("Text %d of %d. %s", i, kill, text)}
		}
		body, count := map[string]any{"documents": documents}, func(status string) int { return h.total(h.path + "/knowledgeBases/texts/documents?limit=1" + status) }
		var asking sync.WaitGroup
		asking.Go(func() { _, _, _ = h.call(http.MethodPost, h.path+"/knowledgeBases/texts/documents/bulk", "", body) })
		require.Eventually(t, func() bool { return count("&status=ready") >= kill*batch+5*(1+kill%3) }, time.Minute, moment)
		begun += (kill+1)*batch - count("&status=ready")
		h.again(t)
		asking.Wait()
		// Who got no answer asks again: what was taken is not taken twice.
		h.do(t, http.StatusOK, http.MethodPost, "/knowledgeBases/texts/documents/bulk", body)
	}
	done := h.awaitEvents(t, 1, "knowledge.crawls.completed", "")[0].Payload
	require.Equal(t, "succeeded", done["status"])
	require.Equal(t, true, done["complete"])
	counts := done["counts"].(map[string]any)
	require.EqualValues(t, pages, counts["queued"])
	require.EqualValues(t, pages, counts["created"].(float64)+counts["unchanged"].(float64)+counts["updated"].(float64), "%v", counts)
	require.Equal(t, pages, h.total(h.path+"/knowledgeBases/faq/documents?limit=1"))
	require.Equal(t, pages, h.total(h.path+"/knowledgeBases/faq/crawls/"+crawl.ID+"/pages?limit=1"))
	mu.Lock()
	again := 0
	for _, n := range visits {
		again += n - 1
	}
	mu.Unlock()
	require.Len(t, visits, pages)
	taken := kills * batch
	require.Eventually(t, func() bool { return h.total(h.path+"/knowledgeBases/texts/documents?limit=1&status=ready") == taken }, time.Minute, moment)
	require.Equal(t, taken, h.total(h.path+"/knowledgeBases/texts/documents?limit=1"))
	ready := map[string]int{}
	for _, e := range h.recorded("knowledge.documents.ready", "payload.knowledgeBase=texts") {
		ready[e.Payload["id"].(string)]++
		require.EqualValues(t, 1, e.Payload["revision"], "%v", e.Payload)
	}
	require.Len(t, ready, taken)
	for id, n := range ready {
		require.Equal(t, 1, n, id)
	}
	var base struct{ Counts struct{ Chunks, Ready int } }
	require.NoError(t, json.Unmarshal(h.do(t, http.StatusOK, http.MethodGet, "/knowledgeBases/texts", nil), &base))
	var one struct{ Chunks int }
	for id := range ready {
		require.NoError(t, json.Unmarshal(h.do(t, http.StatusOK, http.MethodGet, "/knowledgeBases/texts/documents/"+id, nil), &one))
		break
	}
	require.Equal(t, taken*one.Chunks, base.Counts.Chunks, "no passage is missing, and none is there twice")
	h.verify(t)
	require.Len(t, h.recorded("knowledge.crawls.completed", ""), 1)
	nodetest.Report(t, "crawl-kill", map[string]any{"kills": kills, "pages": pages, "visited_again": again, "documents": taken, "unfinished_at_kills": begun, "seconds": int(time.Since(start).Seconds())})
}
