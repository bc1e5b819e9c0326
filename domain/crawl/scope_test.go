package crawl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/crawl"
)

func TestScope(t *testing.T) {
	t.Parallel()
	scope, err := crawl.NewScope(crawl.Source{
		URLs: []string{"https://Docs.example.com:443/start?utm_source=x#top", "http://localhost:8080"}, Hosts: []string{"cdn.example.com", "other.example.com:8443"},
		Include: []string{"/guide/*", "https://cdn.example.com/*", `regex:/api/v\d+$`, "https://other*"}, Exclude: []string{"*draft*", "/guide/*?page=*"}, IgnoreParams: []string{"session"},
	})
	require.NoError(t, err)
	for address, want := range map[string]bool{
		"https://docs.example.com/start":               true, // a start address, whatever is included
		"http://localhost:8080/":                       true,
		"https://docs.example.com/guide/a":             true,
		"https://docs.example.com/guide/a-draft":       false,
		"https://docs.example.com/guide/a?page=2":      false,
		"https://docs.example.com/blog":                false,
		"https://docs.example.com/api/v12":             true,
		"https://cdn.example.com/manual.pdf":           true,
		"https://docs.example.com:8443/guide/a":        false,
		"https://other.example.com:8443/x":             true,
		"https://other.example.com/x":                  false,
		"https://example.com/guide/a":                  false,
		"https://docs.example.com.evil.org/guide/a":    false,
		"https://evil.org/?https://cdn.example.com/a":  false,
		"https://docs.example.com/guide/a?session=abc": true,
	} {
		require.Equal(t, want, scope.Has(address), address)
	}
	normal, err := scope.Normalise("HTTPS://docs.example.com/a/../guide/%7eb?Session=1&x=%2f&gclid=2#part")
	require.NoError(t, err)
	require.Equal(t, "https://docs.example.com/guide/~b?x=%2F", normal)

	_, err = crawl.NewScope(crawl.Source{Include: []string{"regex:("}})
	require.Error(t, err)
	require.NotEmpty(t, crawl.PatternProblem("regex:("))
	require.Empty(t, crawl.PatternProblem("(*"))
	require.Equal(t, "docs.example.com", crawl.Source{URLs: []string{"https://docs.example.com/"}, Hosts: []string{"own.example.com:81"}}.ExemptProblem([]string{"own.example.com"}))
}

func TestRobots(t *testing.T) {
	t.Parallel()
	r := crawl.ParseRobots("Sitemap: https://example.com/map.xml\r\nUser-agent: *\nDisallow: /\n\nUser-Agent: Svc-Crawler/2\nUser-agent: other\nAllow: /private/open$\nDisallow: /private # not for us\nDisallow: /*.cgi\nDisallow:\nCrawl-delay: 2.5\n")
	for path, want := range map[string]bool{
		"/": true, "/private": false, "/private/x": false, "/private/open": true, "/private/open/x": false, "/a/b.cgi?x": false, "/privat": true,
	} {
		require.Equal(t, want, r.Allows(path), path)
	}
	require.Equal(t, 2500*time.Millisecond, r.Delay)
	require.Equal(t, []string{"https://example.com/map.xml"}, r.Sitemaps)
	require.True(t, crawl.ParseRobots("<html>no</html>").Allows("/x"))
	require.False(t, crawl.ParseRobots("User-agent: *\nDisallow: /\nCrawl-delay: 7200").Allows("/x"))
	require.Equal(t, time.Minute, crawl.ParseRobots("User-agent: *\nCrawl-delay: 7200").Delay)
	noIndex, noFollow := crawl.Directives("NoIndex, max-snippet:0")
	require.True(t, noIndex)
	require.False(t, noFollow)
	noIndex, noFollow = crawl.Directives("none")
	require.True(t, noIndex && noFollow)
}
