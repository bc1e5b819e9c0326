//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// aimCrawl is the share of the pages of a bare loop of GETs that become documents, and aimCrawlMB the memory of the service.
const (
	aimCrawl   = 0.3
	aimCrawlMB = 300
)

// readers is how many pages are asked for at once, on both sides.
const readers = 8

// newSite is a site of n pages. Each links to ten others, so that all are found from the first one.
func newSite(t *testing.T, n int) (site *httptest.Server, bytes int) {
	t.Helper()
	words := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 8, 20_000)
	pages := make(map[string]string, n)
	for i := range n {
		var page strings.Builder
		fmt.Fprintf(&page, "<html lang=en><title>Page %d</title><main><h1>Page %d</h1>", i, i)
		for range 5 {
			page.WriteString("<p>")
			for range 60 {
				fmt.Fprintf(&page, "w%d ", words.Uint64())
			}
			page.WriteString("</p>")
		}
		for link := range 10 {
			fmt.Fprintf(&page, `<a href="/p%d">next</a>`, (i*10+link+1)%n)
		}
		page.WriteString("</main></html>")
		pages[fmt.Sprintf("/p%d", i)] = page.String()
		bytes += page.Len()
	}
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, found := pages[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(site.Close)
	return site, bytes
}

// getAll is the control: every page once, by a bare loop.
func getAll(t *testing.T, site string, n int) sample {
	t.Helper()
	return requestAll(t, n, readers, func(client *http.Client, i int) (*http.Response, error) {
		return client.Get(fmt.Sprintf("%s/p%d", site, i))
	})
}

// benchCrawl reads a site in this process until all of its pages can be searched, beside a bare loop of GETs of the same pages.
func benchCrawl(t *testing.T, _ *history) {
	others := watchOthers(t)
	n := scaled(2000)
	site, bytes := newSite(t, n)
	port := freePort(t)
	service := launch(t, command(t, "serve", append(settingsOf(t.TempDir(), port), "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0", fmt.Sprintf("CRAWLER_HOST_CONCURRENCY=%d", readers))...), port)
	service.awaitReady(t, "/readyz")
	s := api{fmt.Sprintf("http://127.0.0.1:%d", port), &http.Client{Timeout: time.Minute}}
	workspace := "/v2/workspaces/" + s.must(t, "POST", "/v2/workspaces", `{"name":"W"}`, http.StatusCreated)
	var ours, control series
	for run := range runs {
		base := fmt.Sprintf("%s/knowledgeBases/b%d", workspace, run)
		s.must(t, "POST", workspace+"/knowledgeBases", fmt.Sprintf(`{"name":"B%d","slug":"b%d","sources":{"site":{"urls":["%s/p0"],"depth":10,"maxPages":%d}}}`, run, run, site.URL, n), http.StatusCreated)
		collectGarbage()
		cpu, start := cpuOf(t, service.Process.Pid), time.Now()
		s.must(t, "POST", base+"/sources/site/crawl", "", http.StatusAccepted)
		require.Eventually(t, func() bool {
			_, _, answer, err := s.ask("GET", base, "")
			require.NoError(t, err)
			var of struct{ Counts struct{ Ready int } }
			require.NoError(t, json.Unmarshal(answer, &of))
			return of.Counts.Ready == n
		}, 5*time.Minute, 100*time.Millisecond, "every page is a document that is ready")
		ours = append(ours, sample{count: n, took: time.Since(start), cpu: cpuOf(t, service.Process.Pid) - cpu})
		control = append(control, getAll(t, site.URL, n))
	}
	peak := float64(procField(t, service.Process.Pid, "status", "VmHWM")) / 1024
	out := line{
		"runs": runs, "others_cores": others(), "pages": n, "bytes_each": bytes / n, "at_once": readers,
		"control": "a bare loop of GETs of the same pages", "seed": 1,
		"aim": aimCrawl, "ratio": ours.ratio(control), "ratios": ours.ratios(control),
		"aim_mb": aimCrawlMB, "peak_mb": peak, "ok": ours.ratio(control) >= aimCrawl && peak <= aimCrawlMB,
	}
	service.stop(t)
	ours.describe(out, "crawl")
	out["per_s_control"] = control.of(sample.rate)
	out.print(t, "crawl")
}
