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
}

// Escapes that mean the same match; * and $ of an address are no wildcards.
func TestRobotsComparesEscapes(t *testing.T) {
	t.Parallel()
	r := crawl.ParseRobots("User-agent: *\nDisallow: /caf%c3%a9\nDisallow: /straße\nDisallow: /%7euser\nDisallow: /a%2fb\nDisallow: /x-%2A\nDisallow: /y-%24\nDisallow: /q?name=%C3%BC\n")
	for path, want := range map[string]bool{
		"/café": false, "/caf%C3%A9/x": false, "/stra%C3%9Fe": false, "/~user": false, "/%7Euser": false, "/a%2Fb": false, "/a/b": true, "/x-*": false, "/x-1": true,
		"/y-$": false, "/y-%24z": false, "/y-": true, "/q?name=ü": false, "/q?name=u": true,
	} {
		require.Equal(t, want, r.Allows(path), path)
	}
}

func TestDirectives(t *testing.T) {
	t.Parallel()
	type said struct{ noIndex, noFollow bool }
	page := func(text string) said { a, b := crawl.Directives(text); return said{a, b} }
	require.Equal(t, said{noIndex: true}, page("NoIndex, max-snippet:0"))
	require.Equal(t, said{true, true}, page("none"))
	header := func(headers ...string) said { a, b := crawl.HeaderDirectives(headers); return said{a, b} }
	require.Equal(t, said{}, header())
	require.Equal(t, said{true, true}, header("noindex", "nofollow"))
	require.Equal(t, said{noIndex: true}, header("svc-crawler: noindex"))
	require.Equal(t, said{}, header("otherbot: nofollow, noindex"))
	require.Equal(t, said{noFollow: true}, header("otherbot: noindex, SVC-Crawler/1: NoFollow"))
	require.Equal(t, said{noIndex: true}, header("otherbot: nofollow", "noindex"))
	require.Equal(t, said{true, false}, header("unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, max-snippet: 20, noindex"))
}
