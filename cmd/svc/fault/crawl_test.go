//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// A service that is killed in the middle of a crawl goes on with it: each page is one document, and the crawl ends once.
func TestKilledCrawlsAreFinished(t *testing.T) {
	t.Parallel()
	const pages, kills = 15, 3
	var mu sync.Mutex
	visits, held := map[string]int{}, make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml" {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		visits[r.URL.Path]++
		hold := visits[r.URL.Path] == 1 && (r.URL.Path == "/p3" || r.URL.Path == "/p7" || r.URL.Path == "/p11")
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
	start := time.Now()
	s := newService(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0")
	s.start(t)
	h := newFixture(t, s, "{}")
	h.do(t, http.StatusCreated, http.MethodPost, "/knowledgeBases", map[string]any{
		"name": "FAQ", "sources": map[string]any{"site": map[string]any{"urls": []string{site.URL + "/"}}},
	})
	var crawl struct{ ID string }
	require.NoError(t, json.Unmarshal(h.do(t, http.StatusAccepted, http.MethodPost, "/knowledgeBases/faq/sources/site/crawl", nil), &crawl))
	for range kills {
		<-held
		h.again(t)
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
	h.verify(t)
	require.Len(t, h.recorded("knowledge.crawls.completed", ""), 1)
	nodetest.Report(t, "crawl-kill", map[string]any{"kills": kills, "pages": pages, "visited_again": again, "seconds": int(time.Since(start).Seconds())})
}
