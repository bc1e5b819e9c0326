package site_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/streams/site"
)

// host is a site of a test that notes its requests.
type host struct {
	*httptest.Server

	mu     sync.Mutex
	asked  []string
	starts []time.Time
	ends   []time.Time
	atOnce int
	most   int
}

func newHost(t *testing.T, answer http.HandlerFunc) *host {
	t.Helper()
	h := &host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked, h.starts = append(h.asked, r.URL.Path), append(h.starts, time.Now())
		h.atOnce++
		h.most = max(h.most, h.atOnce)
		h.mu.Unlock()
		select { // long enough for another request to come meanwhile
		case <-time.After(5 * time.Millisecond):
		case <-r.Context().Done():
		}
		h.mu.Lock()
		h.atOnce--
		h.ends = append(h.ends, time.Now())
		h.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func newFetcher(t *testing.T, delay time.Duration) *site.Fetcher {
	t.Helper()
	guard, err := egress.New(egress.Options{Rules: egress.Rules{AllowHosts: []string{"127.0.0.1"}}})
	require.NoError(t, err)
	t.Cleanup(guard.Close)
	return site.New(site.Options{
		Client: guard.Client(10 * time.Second), UserAgent: "svc-crawler/1 (test)", MaxBody: 1 << 20, PerHost: 1, Delay: func() time.Duration { return delay },
	})
}

// Documents of addresses take the same turns as crawls.
func TestDocumentsOfOneHostTakeTurns(t *testing.T) {
	t.Parallel()
	const delay = 50 * time.Millisecond
	h := newHost(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "User-agent: x") })
	f := newFetcher(t, delay)
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			_, err := f.Fetch(t.Context(), fmt.Sprintf("%s/p%d", h.URL, i))
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			_, err := f.Get(t.Context(), site.Request{URL: fmt.Sprintf("%s/q%d", h.URL, i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(t, h.asked, 11, "robots.txt once")
	require.Equal(t, 1, h.most, "never two at once")
	for i := 1; i < len(h.starts); i++ {
		require.GreaterOrEqual(t, h.starts[i].Sub(h.ends[i-1]), delay, "request %d", i)
	}
}

// A document does not wait for the end of a long pause: others are processed meanwhile.
func TestADocumentIsLoadedLaterWhenItsHostAsksForAPause(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Retry-After", "1800")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	f := newFetcher(t, 0)
	_, err := f.Fetch(t.Context(), h.URL+"/a")
	fault := &site.Fault{}
	require.ErrorAs(t, err, &fault)
	require.False(t, fault.Busy)
	require.Equal(t, 30*time.Minute, fault.Again)
	_, err = f.Fetch(t.Context(), h.URL+"/b")
	require.ErrorAs(t, err, &fault)
	require.True(t, fault.Busy)
	require.InDelta(t, 30*time.Minute, fault.Again, float64(10*time.Minute))
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Equal(t, []string{"/robots.txt", "/a"}, h.asked)
}

func TestRobotsOfSites(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		robots  http.HandlerFunc
		allowed bool
		reason  string
	}{
		"none":                             {http.NotFound, true, ""},
		"a client error allows everything": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, true, ""},
		"too many requests is one":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, true, ""},
		"a server error forbids everything": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, false, "fetch_failed",
		},
		"of one without an end the first 500 KB count": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, "Allow: /private\n"+strings.Repeat("# more\n", 100_000)); err != nil {
					return
				}
			}
		}, true, ""},
		"of a large one the beginning counts": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, "User-agent: *\nDisallow: /private\n"+strings.Repeat("# more\n", 300_000))
		}, false, "robots_disallowed"},
		"a line that is cut does not count": {func(w http.ResponseWriter, _ *http.Request) {
			head := "User-agent: *\n"
			_, _ = fmt.Fprint(w, head+strings.Repeat("#", 500<<10-len(head)-len("\nDisallow: /"))+"\nDisallow: /else")
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					test.robots(w, r)
					return
				}
				_, _ = fmt.Fprint(w, "a page")
			})
			page, err := newFetcher(t, 0).Fetch(t.Context(), h.URL+"/private")
			if test.allowed {
				require.NoError(t, err)
				require.Equal(t, "a page", string(page.Content))
				return
			}
			fault := &site.Fault{}
			require.ErrorAs(t, err, &fault)
			require.Equal(t, test.reason, fault.Reason)
		})
	}
}

// What is known of an address says nothing about the one that it redirects to.
func TestARedirectIsAskedForAsSomethingNew(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/old":
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = fmt.Fprint(w, "a page")
		}
	})
	res, err := newFetcher(t, 0).Get(t.Context(), site.Request{URL: h.URL + "/old", ETag: `"1"`})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.Status)
	u, err := url.Parse(res.URL)
	require.NoError(t, err)
	require.Equal(t, "/new", u.Path)
}
