//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/llm/fakemodel"
)

// takenDocument is what is answered of a document.
type takenDocument struct {
	ID        string
	Revision  int
	Unchanged bool
}

// addDocuments adds documents to the base texts; the error is nil only when all were taken.
func (h *fixture) addDocuments(documents []any) (taken []takenDocument, err error) {
	status, body, err := h.call(http.MethodPost, h.path+"/knowledgeBases/texts/documents/bulk", "", map[string]any{"documents": documents})
	if err != nil {
		return nil, err
	}
	var answers []struct{ Document *takenDocument }
	if status != http.StatusOK || json.Unmarshal(body, &answers) != nil {
		return nil, answered{status, body}
	}
	for _, a := range answers {
		if a.Document == nil {
			return nil, answered{status, body}
		}
		taken = append(taken, *a.Document)
	}
	return taken, nil
}

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
		switch {
		case r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml":
			http.NotFound(w, r)
			return
		case strings.HasPrefix(r.URL.Path, "/manual"):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s</title><p>The manual %s.</p>", r.URL.Path, r.URL.Path)
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
	models := httptest.NewServer(fakemodel.New())
	t.Cleanup(models.Close)
	s := newService(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0",
		"LLM_BASE_URL="+models.URL+"/v1", "LLM_API_KEY="+fakemodel.Key, "LLM_EMBEDDING_MODEL="+fakemodel.EmbeddingModel)
	s.start(t)
	h := newFixture(t, s, "{}")
	h.do(t, http.StatusCreated, http.MethodPost, "/knowledgeBases", map[string]any{
		"name": "FAQ", "sources": map[string]any{"site": map[string]any{"urls": []string{site.URL + "/"}}},
	})
	var crawl struct{ ID string }
	require.NoError(t, json.Unmarshal(h.do(t, http.StatusAccepted, http.MethodPost, "/knowledgeBases/faq/sources/site/crawl", nil), &crawl))
	h.do(t, http.StatusCreated, http.MethodPost, "/knowledgeBases", map[string]any{"name": "Texts", "embedding": map[string]any{"model": "default/" + fakemodel.EmbeddingModel}})
	text := strings.Repeat("A sentence of a text that has several passages. ", 100)
	acknowledged := 0
	count := func(status string) int { return h.total(h.path + "/knowledgeBases/texts/documents?limit=1" + status) }
	for kill := range kills {
		<-held
		address := map[string]any{"key": fmt.Sprintf("%d-0", kill), "url": fmt.Sprintf("%s/manual%d", site.URL, kill)}
		texts := make([]any, batch-1)
		for i := range texts {
			texts[i] = map[string]any{"key": fmt.Sprintf("%d-%d", kill, i+1), "text": fmt.Sprintf("Text %d of %d. %s", i, kill, text)}
		}
		var known []takenDocument // what was answered before the kill: the address, then texts in their order
		var asking sync.WaitGroup
		asking.Go(func() {
			for part := range slices.Chunk(append([]any{address}, texts...), batch/3) {
				taken, err := h.addDocuments(part)
				if err != nil {
					return // the service was killed
				}
				known = append(known, taken...)
			}
		})
		require.Eventually(t, func() bool { return count("&status=ready") >= kill*batch+5*(1+kill%3) }, time.Minute, moment)
		begun += (kill+1)*batch - count("&status=ready")
		h.again(t)
		asking.Wait()
		acknowledged += len(known)
		// Who asks again gets what was taken: it is not taken twice. An address would be loaded again, so it is looked for.
		var again []takenDocument
		status, body, err := h.call(http.MethodGet, fmt.Sprintf("%s/knowledgeBases/texts/documents/key:%d-0", h.path, kill), "", nil)
		require.NoError(t, err)
		if status == http.StatusNotFound {
			again, err = h.addDocuments([]any{address})
			require.NoError(t, err)
		} else {
			again = make([]takenDocument, 1)
			require.NoError(t, json.Unmarshal(body, &again[0]))
		}
		rest, err := h.addDocuments(texts)
		require.NoError(t, err)
		again = append(again, rest...)
		require.Len(t, again, batch)
		for i, d := range again {
			require.Equal(t, 1, d.Revision, "document %d of kill %d", i, kill)
			if i < len(known) {
				require.Equal(t, known[i].ID, d.ID, "document %d of kill %d", i, kill)
				require.True(t, d.Unchanged || i == 0, "document %d of kill %d", i, kill)
			}
		}
	}
	require.NotZero(t, acknowledged)
	done := h.awaitEvents(t, 1, "knowledge.crawls.completed", "")[0].Payload
	require.Equal(t, "succeeded", done["status"])
	require.Equal(t, true, done["complete"])
	counts := done["counts"].(map[string]any)
	require.EqualValues(t, pages, counts["queued"])
	require.EqualValues(t, pages, counts["created"].(float64)+counts["unchanged"].(float64)+counts["updated"].(float64), "%v", counts)
	require.Equal(t, pages, h.total(h.path+"/knowledgeBases/faq/documents?limit=1"))
	require.Equal(t, pages, h.total(h.path+"/knowledgeBases/faq/crawls/"+crawl.ID+"/pages?limit=1"))
	indexed := map[string]int{}
	for _, e := range h.recorded("knowledge.documents.ready", "payload.knowledgeBase=faq") {
		indexed[e.Payload["id"].(string)]++
	}
	require.Len(t, indexed, pages)
	for id, n := range indexed {
		require.Equal(t, 1, n, "page %s became searchable once", id)
	}
	mu.Lock()
	again := 0
	for _, n := range visits {
		again += n - 1
	}
	mu.Unlock()
	require.Len(t, visits, pages)
	taken := kills * batch
	require.Eventually(t, func() bool { return count("&status=ready") == taken }, time.Minute, moment)
	require.Equal(t, taken, count(""))
	ready := map[string]int{}
	for _, e := range h.recorded("knowledge.documents.ready", "payload.knowledgeBase=texts") {
		ready[e.Payload["id"].(string)]++
		require.EqualValues(t, 1, e.Payload["revision"], "%v", e.Payload)
	}
	require.Len(t, ready, taken)
	for id, n := range ready {
		require.Equal(t, 1, n, id)
	}
	var base struct {
		Counts struct{ Chunks, Ready int }
		Index  struct{ Vectors string }
	}
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal(h.do(t, http.StatusOK, http.MethodGet, "/knowledgeBases/texts", nil), &base))
		return base.Index.Vectors == "ready"
	}, time.Minute, moment)
	chunks := 0
	for id := range ready {
		var one struct {
			Chunks  int
			Vectors string
		}
		require.NoError(t, json.Unmarshal(h.do(t, http.StatusOK, http.MethodGet, "/knowledgeBases/texts/documents/"+id, nil), &one))
		require.Positive(t, one.Chunks)
		require.Equal(t, "ready", one.Vectors, id)
		chunks += one.Chunks
	}
	require.Equal(t, chunks, base.Counts.Chunks, "no passage is missing, and none is there twice")
	for _, mode := range []string{"text", "vector"} {
		var found struct{ Total int }
		require.NoError(t, json.Unmarshal(h.do(t, http.StatusOK, http.MethodPost, "/knowledgeBases/texts/search", map[string]any{"query": "text manual", "mode": mode, "minSimilarity": -1}), &found))
		require.Equal(t, taken, found.Total, "each document is found once by %s", mode)
	}
	h.verify(t)
	require.Len(t, h.recorded("knowledge.crawls.completed", ""), 1)
	nodetest.Report(t, "crawl-kill", map[string]any{"kills": kills, "pages": pages, "visited_again": again, "documents": taken, "acknowledged": acknowledged, "unfinished_at_kills": begun, "seconds": int(time.Since(start).Seconds())})
}

// A service that is killed while an agent's function runs answers the message all the same: the function is not repeated, and the
// model is told that it was interrupted.
func TestKilledMessagesAreAnswered(t *testing.T) {
	t.Parallel()
	kills := nodetest.Cycles(2, 20)
	model := httptest.NewServer(fakemodel.New())
	t.Cleanup(model.Close)
	begun, released := make(chan string), make(chan struct{})
	var mu sync.Mutex
	asked := map[string]int{}
	remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.RawQuery]++
		mu.Unlock()
		select {
		case begun <- r.URL.RawQuery:
		case <-released:
		}
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}))
	t.Cleanup(remote.Close)
	t.Cleanup(func() { close(released) })
	start := time.Now()
	s := newService(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "LLM_BASE_URL="+model.URL+"/v1", "LLM_API_KEY="+fakemodel.Key, "LLM_MODEL="+fakemodel.ChatModel)
	s.start(t)
	h := newFixture(t, s, `pay: {arguments: {n: {type: number}}, do: [{fetch: {url: '`+remote.URL+`/pay?{{n}}', output: r}}], output: '{{r}}'}`)
	h.do(t, http.StatusCreated, http.MethodPost, "/agents", map[string]any{
		"name": "Helper", "instructions": "You help.", "limits": map[string]any{"seconds": 600}, "tools": []any{map[string]any{"automation": "pay"}},
	})
	h.do(t, http.StatusOK, http.MethodPost, "/agents/helper/publish", nil)
	// The user of these tests has no account, so that nothing but this gives them a right once the request has ended.
	h.do(t, http.StatusOK, http.MethodPost, "/agents/helper/permissions", map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"execute": true}}})
	type message struct {
		ID, Status, Text string
		ToolCalls        []struct{ Name, Error string }
	}
	for kill := range kills {
		var m message
		require.NoError(t, json.Unmarshal(h.do(t, http.StatusAccepted, http.MethodPost, "/agents/helper/messages?timeout=0", map[string]any{"text": fmt.Sprintf(`call:pay {"n":%d}`, kill)}), &m))
		require.Equal(t, strconv.Itoa(kill), <-begun)
		h.again(t)
		id := m.ID
		require.Eventually(t, func() bool {
			status, body, err := h.call(http.MethodGet, h.path+"/agents/helper/messages/"+id, "", nil)
			return err == nil && status == http.StatusOK && json.Unmarshal(body, &m) == nil && m.Status != "running"
		}, patience, moment)
		require.Equal(t, "completed", m.Status)
		require.Len(t, m.ToolCalls, 1)
		require.Equal(t, "interrupted", m.ToolCalls[0].Error)
		require.Contains(t, m.Text, "interrupted", "the model was told so")
		h.awaitEvents(t, 1, "agents.messages.completed", "payload.messageId="+id)
		h.awaitEvents(t, 1, "agents.tools.called", "payload.messageId="+id)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, asked, kills)
	for query, n := range asked {
		require.Equal(t, 1, n, query)
	}
	h.verify(t)
	nodetest.Report(t, "message-kill", map[string]any{"kills": kills, "seconds": int(time.Since(start).Seconds())})
}
