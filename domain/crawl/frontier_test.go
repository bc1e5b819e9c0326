package crawl_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/crawl"
)

const start = "https://example.com/"

func anyHost(string) bool { return true }

func newFrontier(t *testing.T) *crawl.Frontier {
	t.Helper()
	source := crawl.Source{URLs: []string{start}, Depth: 5, MaxPages: 100}
	scope, err := crawl.NewScope(source)
	require.NoError(t, err)
	return crawl.NewFrontier(source, scope)
}

// visit takes the next address, and records a page with links to others.
func visit(t *testing.T, f *crawl.Frontier, want crawl.Link, links ...string) {
	t.Helper()
	l, ok := f.Next(anyHost, func(crawl.Link) bool { return true })
	require.True(t, ok)
	require.Equal(t, want, l)
	record(f, crawl.Page{URL: l.URL, Depth: l.Depth, Outcome: crawl.Created}, links...)
}

func record(f *crawl.Frontier, p crawl.Page, links ...string) {
	r := f.Sort(links, p.Depth+1, time.Time{})
	r.Page = &p
	f.Add(r)
}

// Depths are those of the shortest ways, although a page that others are reached through is visited again later.
func TestADepthIsThatOfTheShortestWay(t *testing.T) {
	t.Parallel()
	f := newFrontier(t)
	visit(t, f, crawl.Link{URL: start}, start+"a", start+"b")
	failing, ok := f.Next(anyHost, func(l crawl.Link) bool { return l.URL == start+"a" })
	require.True(t, ok)
	visit(t, f, crawl.Link{URL: start + "b", Depth: 1}, start+"c")
	visit(t, f, crawl.Link{URL: start + "c", Depth: 2}, start+"d")
	_, ok = f.Next(anyHost, func(crawl.Link) bool { return true })
	require.False(t, ok, "the page that failed may lead to d by fewer links")
	f.Return(failing.URL)
	visit(t, f, failing, start+"d")
	visit(t, f, crawl.Link{URL: start + "d", Depth: 2}, start+"c", start)
	require.Zero(t, f.Waiting())
	require.Equal(t, 5, f.Counts.Queued)
	require.Equal(t, 5, f.Counts.Done())
}

// A page that is visited last keeps none waiting: its links are recorded already.
func TestAPageThatIsVisitedLastKeepsNoneWaiting(t *testing.T) {
	t.Parallel()
	f := newFrontier(t)
	visit(t, f, crawl.Link{URL: start}, start+"last", start+"0")
	last, ok := f.Next(anyHost, func(l crawl.Link) bool { return l.URL == start+"last" })
	require.True(t, ok)
	f.Defer(last.URL)
	for depth := range 4 {
		l, ok := f.Next(anyHost, func(l crawl.Link) bool { return l.URL != last.URL })
		require.True(t, ok)
		record(f, crawl.Page{URL: l.URL, Depth: l.Depth, Outcome: crawl.Created}, fmt.Sprint(start, depth+1))
	}
	l, ok := f.Next(anyHost, func(l crawl.Link) bool { return l.URL == last.URL })
	require.True(t, ok)
	require.Equal(t, last, l)
	record(f, crawl.Page{URL: l.URL, Depth: l.Depth, Outcome: crawl.Created})
	visit(t, f, crawl.Link{URL: start + "4", Depth: 5})
	require.Zero(t, f.Waiting())
}

func TestWhatHasMoved(t *testing.T) {
	t.Parallel()
	f := newFrontier(t)
	f.Add(crawl.Record{Page: &crawl.Page{URL: start + "old", Outcome: crawl.Created}, Aliases: []string{start + "new"}})
	f.Add(crawl.Record{Page: &crawl.Page{URL: start + "copy", Outcome: crawl.Duplicate}, CopyOf: start + "old"})
	f.Add(crawl.Record{Page: &crawl.Page{URL: start + "again", Outcome: crawl.Duplicate}, Aliases: []string{start + "named"}, CopyOf: start + "old"})
	f.Add(crawl.Record{Page: &crawl.Page{URL: start + "new", Outcome: crawl.Duplicate}, CopyOf: start + "new"})
	f.Add(crawl.Record{Page: &crawl.Page{URL: start + "one", Outcome: crawl.Duplicate}, CopyOf: start + "two"})
	f.Add(crawl.Record{Page: &crawl.Page{URL: start + "two", Outcome: crawl.Duplicate}, CopyOf: start + "one"})
	f.Add(crawl.Record{Page: &crawl.Page{URL: start + "fails", Outcome: crawl.Failed}, Aliases: []string{start + "later"}})
	for path, want := range map[string]bool{
		"old": true, "copy": true, "again": true, "named": true, "new": false, "one": false, "two": false, "fails": false, "later": false, "unknown": false,
	} {
		require.Equal(t, want, f.HasMoved(start+path), path)
	}
}

// Two pages that are visited at once have no more variants of a page than one.
func TestVariantsOfTwoPagesAreBounded(t *testing.T) {
	t.Parallel()
	source := crawl.Source{URLs: []string{start}, Depth: 5, MaxPages: 1000}
	scope, err := crawl.NewScope(source)
	require.NoError(t, err)
	f := crawl.NewFrontier(source, scope)
	var records []crawl.Record
	for page := range 2 {
		var links []string
		for i := range 80 {
			links = append(links, fmt.Sprintf("%slist?page=%d&sort=%d", start, page, i))
		}
		records = append(records, f.Sort(links, 1, time.Time{}))
	}
	for _, r := range records {
		f.Add(r)
	}
	require.Equal(t, 101, f.Waiting())
	require.False(t, f.Cut)
}

// A host that is asked already keeps only its own addresses waiting; those of all hosts keep the order in which they were found.
func TestAddressesWaitForTheirHost(t *testing.T) {
	t.Parallel()
	source := crawl.Source{URLs: []string{"https://a.example.com/", "https://b.example.com:8443/"}, Depth: 5, MaxPages: 100}
	scope, err := crawl.NewScope(source)
	require.NoError(t, err)
	f := crawl.NewFrontier(source, scope)
	for _, path := range []string{"1", "2"} {
		for _, address := range source.URLs {
			f.Add(crawl.Record{Found: []crawl.Link{{URL: address + path}}})
		}
	}
	next := func(isFree func(string) bool) string {
		l, _ := f.Next(isFree, func(crawl.Link) bool { return true })
		return l.URL
	}
	only := func(free string) func(string) bool { return func(host string) bool { return host == free } }
	require.Equal(t, "https://b.example.com:8443/", next(only("b.example.com:8443")))
	require.Equal(t, "https://b.example.com:8443/1", next(only("b.example.com:8443")))
	require.Equal(t, "https://a.example.com/", next(anyHost))
	require.Empty(t, next(only("c.example.com")))
	f.Return("https://a.example.com/")
	require.Equal(t, 4, f.Waiting())
	for _, want := range []string{"https://a.example.com/1", "https://a.example.com/2", "https://b.example.com:8443/2", "https://a.example.com/", ""} {
		require.Equal(t, want, next(anyHost))
	}
	require.Zero(t, f.Waiting())
}
