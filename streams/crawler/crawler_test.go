package crawler_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/egress"
	"svc/commands/extract"
	documents "svc/commands/knowledge"
	"svc/commands/secrets"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/kbdocument"
	"svc/domain/operation"
	domainworkspace "svc/domain/workspace"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams"
	"svc/streams/crawler"
	"svc/streams/site"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "extract" {
		if extract.Main(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	waitTime  = time.Minute
	workspace = "w1"
)

// website is a site of a test.
type website struct {
	*httptest.Server

	mu     sync.Mutex
	pages  map[string]http.HandlerFunc // by path with its query
	asked  []string                    // in order
	starts []time.Time                 // of requests
	ends   []time.Time
	atOnce int // requests
	most   int // of atOnce
}

func newWebsite(t *testing.T) *website {
	t.Helper()
	w := &website{pages: map[string]http.HandlerFunc{}}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

// ServeHTTP implements http.Handler.
func (w *website) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.asked = append(w.asked, r.URL.RequestURI())
	w.starts = append(w.starts, time.Now())
	w.atOnce++
	w.most = max(w.most, w.atOnce)
	page := w.pages[r.URL.RequestURI()]
	w.mu.Unlock()
	if page == nil {
		page = http.NotFound
	}
	page(out, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.atOnce--
	w.ends = append(w.ends, time.Now())
}

// set answers a path with something.
func (w *website) set(path string, page http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[path] = page
}

// page answers a path with a page of a text and links, which has a tag.
func (w *website) page(path, text string, links ...string) {
	w.set(path, func(out http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		fmt.Fprintf(&b, "<html><head><title>%s</title></head><body><main><p>%s</p></main><nav>", path, text)
		for _, link := range links {
			fmt.Fprintf(&b, `<a href="%s">x</a>`, link)
		}
		b.WriteString("</nav></body></html>")
		tag := fmt.Sprintf(`"%x"`, len(b.String())) + strings.ReplaceAll(text, `"`, "")
		tag = `"` + strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f && r != '"' {
				return r
			}
			return '_'
		}, tag) + `"`
		if r.Header.Get("If-None-Match") == tag {
			out.WriteHeader(http.StatusNotModified)
			return
		}
		out.Header().Set("ETag", tag)
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = out.Write([]byte(b.String()))
	})
}

func (w *website) status(path string, status int) {
	w.set(path, func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(status) })
}

// requests returns the paths that were asked for since the last call, without robots.txt and sitemaps.
func (w *website) requests() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range w.asked {
		if path != "/robots.txt" && path != "/sitemap.xml" {
			list = append(list, path)
		}
	}
	w.asked = nil
	slices.Sort(list)
	return list
}

// fixture is a log with its read models, documents and a crawler.
type fixture struct {
	t       *testing.T
	store   *jetstream.Store
	models  *projections.Models
	engine  *commands.Engine
	docs    *documents.Documents
	crawls  documents.Crawls
	base    kbdocument.Base
	options crawler.Options

	mu      sync.Mutex
	sources string // of the base, in JSON
	limit   int    // of documents
	visited float64
}

// knownSecrets are the secrets of every workspace.
type knownSecrets map[string]string

// All implements secrets.Values.
func (s knownSecrets) All(context.Context, string) (map[string]string, error) { return s, nil }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, base: kbdocument.Base{ID: "kb_1", Slug: "faq"}, limit: 1000}
	f.store = livetest.Store(t, jetstream.Options{})
	f.models = livetest.Models(t, f.store)
	var err error
	f.engine, err = commands.NewEngine(commands.EngineOptions{Store: f.store.Log})
	require.NoError(t, err)
	f.docs, err = documents.New(documents.Options{
		Engine: f.engine, Blobs: f.store.Blobs, Now: time.Now, CheckType: func(string) error { return nil },
		Settings: func() documents.Settings { return documents.Settings{MaxDocuments: f.limit, Kept: 2} },
		Count: func(ctx context.Context, _, _ string) (int, error) {
			err := f.models.LatestState(ctx)
			return len(f.documents()), err
		},
	})
	require.NoError(t, err)
	f.crawls = documents.Crawls{Engine: f.engine, Now: time.Now}
	extractor, err := extract.New(extract.Options{Executable: os.Args[0]})
	require.NoError(t, err)
	t.Cleanup(extractor.Close)
	guard, err := egress.New(egress.Options{Rules: egress.Rules{AllowHosts: []string{"127.0.0.1"}}})
	require.NoError(t, err)
	t.Cleanup(guard.Close)
	open := func(name string, volatile bool) *jetstream.Bucket {
		b, err := f.store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: name, Volatile: volatile})
		require.NoError(t, err)
		return b
	}
	f.options = crawler.Options{
		Crawls: f.crawls, Documents: f.docs, Models: f.models, Blobs: f.store.Blobs, Extractor: extractor,
		Fetcher: site.New(guard.Client(10*time.Second), "svc-crawler/1 (test)", 1<<20),
		Records: open("CRAWLS", false), Known: open("CRAWL_PAGES", false), Hosts: open("CRAWL_HOSTS", true),
		Bases: f.bases,
		Used: func(_ context.Context, _ string, u activity.Usage) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.visited += u.Metrics[activity.PagesCrawled].Value
		},
		Resolve:  secrets.Secrets{Values: knownSecrets{"TOKEN": "s3cret", domainworkspace.SecretPrefix + "DEPLOY": "of the platform"}}.Resolve,
		Settings: func() crawler.Settings { return crawler.Settings{MaxText: 1000, MaxPages: 500} },
		Zone:     func() *time.Location { return time.UTC },
		Requests: 8, PerHost: 4, RequestTimeout: 10 * time.Second, Interval: 50 * time.Millisecond, Fresh: f.models.LatestState,
		Pauses: []time.Duration{time.Millisecond, time.Millisecond}, Log: slog.New(slog.DiscardHandler),
	}
	return f
}

func (f *fixture) bases(context.Context, string) ([]crawler.Base, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, err := document.ReadJSON([]byte(`{"name":"FAQ","sources":`+f.sources+`}`), document.FileLimits)
	if err != nil {
		return nil, err
	}
	return []crawler.Base{{Base: f.base, Settings: v.(*document.Map)}}, nil
}

// configure sets the source site of the base.
func (f *fixture) configure(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources = `{"site":` + fmt.Sprintf(format, args...) + `}`
}

// start runs a crawler until stop is called.
func (f *fixture) start(change func(*crawler.Options)) (stop func()) {
	f.t.Helper()
	o := f.options
	if change != nil {
		change(&o)
	}
	c, err := crawler.New(o)
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	f.t.Cleanup(stop)
	return stop
}

// begin begins a crawl of the source site.
func (f *fixture) begin(about operation.CrawlAbout) string {
	f.t.Helper()
	about.BaseID, about.KnowledgeBase, about.SourceID, about.Trigger = f.base.ID, f.base.Slug, "site", operation.ByHand
	op, err := f.crawls.Start(f.t.Context(), workspace, about)
	require.NoError(f.t, err)
	return op.ID
}

func (f *fixture) operation(id string) operation.State {
	f.t.Helper()
	now, err := commands.Current(f.t.Context(), f.engine, operation.Decider, operation.Stream(workspace, id))
	require.NoError(f.t, err)
	return now.State
}

// await waits until a crawl has ended.
func (f *fixture) await(id string) operation.State {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.operation(id).Status.Ended() }, waitTime, 10*time.Millisecond)
	op := f.operation(id)
	require.NoError(f.t, f.models.LatestState(f.t.Context()))
	if op.Status == operation.Succeeded && op.Crawl.Complete {
		require.Equal(f.t, op.Crawl.Counts.Queued, op.Crawl.Counts.Done(), "%+v", op.Crawl.Counts)
	}
	return op
}

func (f *fixture) crawl() operation.State {
	f.t.Helper()
	return f.await(f.begin(operation.CrawlAbout{}))
}

// documents returns the paths of all documents, sorted, and their ids.
func (f *fixture) documents() map[string]projections.KBDocument {
	found := map[string]projections.KBDocument{}
	_ = f.models.View(func(r projections.Reader) error {
		return projections.KBDocuments{}.List(r, workspace, f.base.ID, time.Now(), func(d projections.KBDocument) bool {
			_, rest, _ := strings.Cut(d.URL, "://")
			_, path, _ := strings.Cut(rest, "/")
			found["/"+path] = d
			return true
		})
	})
	return found
}

func (f *fixture) paths() []string {
	f.t.Helper()
	require.NoError(f.t, f.models.LatestState(f.t.Context()))
	var list []string
	for path := range f.documents() {
		list = append(list, path)
	}
	slices.Sort(list)
	return list
}

// outcomes returns the pages of a crawl as outcome and reason by path.
func (f *fixture) outcomes(id string) map[string]string {
	f.t.Helper()
	records, err := crawler.Records(f.t.Context(), f.options.Records, id)
	require.NoError(f.t, err)
	found := map[string]string{}
	for _, r := range records {
		pages := r.Refused
		if r.Page != nil {
			pages = append(pages, *r.Page)
		}
		for _, p := range pages {
			_, rest, _ := strings.Cut(p.URL, "://")
			_, path, _ := strings.Cut(rest, "/")
			found["/"+path] = strings.TrimSpace(string(p.Outcome) + " " + p.Reason)
		}
	}
	return found
}

func TestASiteIsReadAndReadAgain(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	for i := range 12 {
		w.page(fmt.Sprintf("/p%d", i), fmt.Sprintf("page number %d", i), "/", fmt.Sprintf("/deep%d", i))
		w.page(fmt.Sprintf("/deep%d", i), fmt.Sprintf("deep page %d", i))
	}
	links := []string{"https://elsewhere.example.com/", "mailto:a@b.c", "#top", "/copy"}
	for i := range 12 {
		links = append(links, fmt.Sprintf("/p%d?utm_source=x", i), fmt.Sprintf("/p%d#part", i))
	}
	w.page("/", "the start", links...)
	w.page("/copy", "page number 3")
	f.configure(`{"urls":["%s"],"depth":1,"tags":["web"],"metadata":{"from":"site"}}`, w.URL)
	f.start(nil)

	first := f.crawl()
	require.Equal(t, operation.Succeeded, first.Status)
	require.True(t, first.Crawl.Complete)
	require.Equal(t, 13, first.Crawl.Counts.Created)
	require.Equal(t, 14, first.Crawl.Counts.Queued)
	require.Equal(t, 14, first.Crawl.Counts.Fetched)
	require.Equal(t, 1, first.Crawl.Counts.Duplicates, "same text under two addresses")
	require.Len(t, f.documents(), 13)
	require.Len(t, w.requests(), 14, "each address once")
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.visited == 14
	}, time.Minute, time.Millisecond, "the pages are in the usage")
	for path, d := range f.documents() {
		require.Equal(t, kbdocument.Crawl, d.Source)
		require.Equal(t, "site", d.SourceID)
		require.Equal(t, []string{"web"}, d.Tags, path)
		require.True(t, d.Job.Bulk)
	}

	checked := crawler.CheckedAt(t.Context(), f.options.Known, workspace, f.documents()["/p1"].State)
	second := f.crawl()
	require.Equal(t, 13, second.Crawl.Counts.Unchanged)
	require.Equal(t, 1, second.Crawl.Counts.Duplicates)
	require.Zero(t, second.Crawl.Counts.Created+second.Crawl.Counts.Updated+second.Crawl.Counts.Deleted)
	require.Equal(t, 1, f.documents()["/p1"].Generation, "nothing is processed again")
	require.True(t, crawler.CheckedAt(t.Context(), f.options.Known, workspace, f.documents()["/p1"].State).After(checked))

	w.page("/p1", "page number one, rewritten")
	w.status("/p2", http.StatusNotFound)
	w.page("/", "the start", append([]string{"/p1", "/p2"}, links[8:]...)...) // without /p0 and /copy
	third := f.await(f.begin(operation.CrawlAbout{Full: true}))
	out := f.outcomes(third.ID)
	require.Equal(t, 1, third.Crawl.Counts.Updated, "%+v", out)
	require.Equal(t, "deleted vanished", out["/copy"])
	require.Equal(t, "created", out["/p3"], "it has the text alone now")
	require.Equal(t, "updated", out["/p1"])
	require.Equal(t, "deleted not_found", out["/p2"])
	require.Equal(t, "deleted vanished", out["/p0"])
	require.NotContains(t, f.paths(), "/p2")
	require.NotContains(t, f.paths(), "/p0")
}

func TestManyPagesAreNotRemovedAtOnce(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	var links []string
	for i := range 15 {
		links = append(links, fmt.Sprintf("/p%d", i))
		w.page(links[i], fmt.Sprintf("page number %d", i))
	}
	w.page("/", "the start", links...)
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	f.start(nil)
	require.Equal(t, 16, f.crawl().Crawl.Counts.Created)

	w.page("/", "the start")
	held := f.crawl()
	require.Equal(t, []string{"mass_removal_held"}, held.Crawl.Warnings)
	require.Len(t, f.paths(), 16)

	w.status("/", http.StatusServiceUnavailable)
	failed := f.crawl()
	require.Equal(t, operation.Failed, failed.Status)
	require.False(t, failed.Crawl.Complete)
	require.Equal(t, 1, failed.Crawl.Counts.Failed)
	require.Len(t, f.paths(), 16)

	w.page("/", "the start")
	require.Equal(t, 15, f.await(f.begin(operation.CrawlAbout{AllowMassRemoval: true})).Crawl.Counts.Deleted)
	require.Equal(t, []string{"/"}, f.paths())
}

func TestWhatSitesAskFor(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	inside := newWebsite(t) // another host, by its port
	inside.page("/", "not for crawlers")
	forbidden := strings.Replace(inside.URL, "127.0.0.1", "localhost", 1)
	w.set("/robots.txt", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(out, "User-agent: *\nDisallow: /private\nSitemap: %s/map.xml\n", w.URL)
	})
	w.set("/map.xml", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(out, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>%s/mapped</loc></url><url><loc>https://elsewhere.example.com/</loc></url></urlset>`, w.URL)
	})
	raw := func(path, head, body string) {
		w.set(path, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(out, "<html><head>%s</head><body>%s</body></html>", head, body)
		})
	}
	redirect := func(path, to string) {
		w.set(path, func(out http.ResponseWriter, r *http.Request) { http.Redirect(out, r, to, http.StatusFound) })
	}
	w.page("/", "the start", "/private/a", "/noindex", "/nofollow", "/old", "/canon?x=1", "/away", "/meta", "/hop", "/loop", "/big", "/image", "/secret", "/quiet", "/drafts/a", "/selected")
	w.page("/private/a", "private")
	w.page("/mapped", "mapped")
	raw("/noindex", `<meta name="robots" content="noindex">`, `<p>hidden</p><a href="/behind">x</a>`)
	w.page("/behind", "behind a page that is not stored")
	raw("/nofollow", `<meta name="robots" content="nofollow">`, `<p>followed no further</p><a href="/unseen">x</a>`)
	raw("/quiet", ``, `<p>one link is not followed</p><a rel="nofollow" href="/unseen">x</a>`)
	w.page("/unseen", "unseen")
	redirect("/old", "/new")
	w.page("/new", "the new page")
	raw("/canon?x=1", `<link rel="canonical" href="/canon">`, "<p>what it calls itself</p>")
	redirect("/away", inside.URL+"/")
	redirect("/meta", "http://169.254.169.254/latest/meta-data")
	redirect("/hop", forbidden+"/")
	redirect("/loop", "/loop")
	w.set("/big", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain")
		_, _ = out.Write(make([]byte, 2<<20))
	})
	w.set("/image", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = out.Write([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01"))
	})
	w.set("/secret", func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Token") != "s3cret" || !strings.Contains(r.UserAgent(), "svc-crawler") || r.Header.Get("Cookie") != "" {
			out.WriteHeader(http.StatusForbidden)
			return
		}
		http.SetCookie(out, &http.Cookie{Name: "a", Value: "b"})
		out.Header().Set("Content-Type", "text/html")
		_, _ = out.Write([]byte("<p>for those with a token</p>"))
	})
	w.page("/drafts/a", "a draft")
	raw("/selected", "", `<div class="ad">buy</div><div id="kept">kept <i class="ad">buy</i> part</div><p>left out</p>`)
	f.configure(`{"urls":["%s"],"exclude":["/drafts/*"],"headers":{"x-token":"{{secret.TOKEN}}"},"selector":{"css":"#kept, main, p","remove":[".ad"]}}`, w.URL)
	f.start(nil)
	op := f.crawl()
	out := f.outcomes(op.ID)
	for path, want := range map[string]string{
		"/private/a": "skipped robots_disallowed", "/mapped": "created", "/noindex": "skipped noindex", "/behind": "created", "/nofollow": "created",
		"/quiet": "created", "/old": "created", "/canon?x=1": "created", "/away": "skipped out_of_scope", "/meta": "skipped out_of_scope",
		"/hop": "skipped out_of_scope", "/loop": "failed fetch_failed", "/big": "skipped too_large", "/image": "skipped unsupported_type", "/secret": "created",
	} {
		require.Equal(t, want, out[path], path)
	}
	require.NotContains(t, out, "/unseen")
	require.NotContains(t, out, "/drafts/a")
	require.Empty(t, inside.requests(), "no request arrives")
	require.NotContains(t, w.requests(), "/private/a")
	paths := f.paths()
	require.Contains(t, paths, "/new")
	require.NotContains(t, paths, "/old")
	require.Contains(t, paths, "/canon")
	selected := f.documents()["/selected"]
	require.Equal(t, kbdocument.Selector{CSS: "#kept, main, p", Remove: []string{".ad"}}, selected.Reading.Selector)
	require.Equal(t, 1000, selected.Reading.MaxText)
}

func TestNothingIsReadOfASiteWithoutReadableRobots(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.status("/robots.txt", http.StatusInternalServerError)
	w.page("/", "the start")
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	f.start(nil)
	op := f.crawl()
	require.Equal(t, operation.Failed, op.Status)
	require.Empty(t, w.requests())
	require.Equal(t, 1, op.Crawl.Counts.Failed)
}

func TestTrapsEnd(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	var variants []string
	for i := range 300 {
		variants = append(variants, fmt.Sprintf("/list?sort=%d", i))
	}
	w.page("/", "the start", append(variants, "/calendar/1/1", "/a/a/a/a/a", "/"+strings.Repeat("x", 2100))...)
	for _, path := range variants {
		w.page(path, "the same list")
	}
	for i := range 100 {
		w.page(fmt.Sprintf("/calendar/%d/%d", i, i), fmt.Sprintf("day %d", i), fmt.Sprintf("/calendar/%d/%d", i+1, i+1))
	}
	f.configure(`{"urls":["%s"],"depth":20,"maxPages":115,"sitemap":"off"}`, w.URL)
	f.start(nil)
	op := f.crawl()
	require.Equal(t, operation.Succeeded, op.Status)
	require.False(t, op.Crawl.Complete)
	require.Equal(t, []string{"max_pages"}, op.Crawl.Warnings)
	out := f.outcomes(op.ID)
	require.Equal(t, "skipped too_many_variants", out["/list?sort=299"])
	require.Equal(t, "skipped repeated_segments", out["/a/a/a/a/a"])
	require.Equal(t, 99, op.Crawl.Counts.Duplicates)
	require.LessOrEqual(t, op.Crawl.Counts.Fetched, 115)
	require.Equal(t, 202, op.Crawl.Counts.Skipped)
}

// Two nodes read the same host for two workspaces: together they send one request at a time, and leave the host alone after
// each.
func TestAHostIsLeftAloneBetweenRequests(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	var links []string
	for i := range 4 {
		links = append(links, fmt.Sprintf("/a%d", i))
		w.page(links[i], fmt.Sprintf("page %d", i))
	}
	w.page("/", "the start", links...)
	w.page("/b", "the other start", "/a0", "/a1")
	f.configure(`{"urls":["%s","%s/b"],"delay":0.1,"sitemap":"off"}`, w.URL, w.URL)
	node := func(workspaceID string) {
		partition := streams.PartitionOf(workspaceID, streams.Partitions)
		f.start(func(o *crawler.Options) {
			o.PerHost = 1
			o.Hold = func(ctx context.Context, name string, work func(context.Context) error) error {
				if name != fmt.Sprint("crawler/", partition) {
					<-ctx.Done()
					return nil
				}
				return work(ctx)
			}
		})
	}
	const second = "w2"
	require.NotEqual(t, streams.PartitionOf(workspace, streams.Partitions), streams.PartitionOf(second, streams.Partitions))
	node(workspace)
	node(second)
	other, err := f.crawls.Start(t.Context(), second, operation.CrawlAbout{BaseID: f.base.ID, KnowledgeBase: "faq", SourceID: "site", Trigger: operation.ByHand})
	require.NoError(t, err)
	f.crawl()
	require.Eventually(t, func() bool {
		now, err := commands.Current(t.Context(), f.engine, operation.Decider, operation.Stream(second, other.ID))
		return err == nil && now.State.Status == operation.Succeeded
	}, waitTime, 10*time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Equal(t, 1, w.most, "never two at once")
	for i := 1; i < len(w.starts); i++ {
		require.GreaterOrEqual(t, w.starts[i].Sub(w.ends[i-1]), 95*time.Millisecond, "request %d", i)
	}
}

func TestACrawlIsCancelledAndGoneSourcesLoseTheirDocuments(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	begun, ends := make(chan struct{}), make(chan struct{})
	w.page("/", "the start", "/slow")
	w.set("/slow", func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		select {
		case <-r.Context().Done():
			close(ends)
		case <-time.After(waitTime):
		}
	})
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	f.start(nil)
	id := f.begin(operation.CrawlAbout{})
	<-begun
	_, err := f.crawls.Start(t.Context(), workspace, operation.CrawlAbout{BaseID: f.base.ID, SourceID: "site"})
	require.ErrorContains(t, err, "already")
	_, err = commands.Execute(t.Context(), f.engine, operation.Decider, operation.Stream(workspace, id), operation.Command(operation.Cancel{By: "u1"}))
	require.NoError(t, err)
	<-ends
	op := f.await(id)
	require.Equal(t, operation.Cancelled, op.Status)
	require.False(t, op.Crawl.Complete)
	require.Equal(t, []string{"/"}, f.paths(), "what is stored stays")
	next := f.begin(operation.CrawlAbout{}) // the name is free again
	_, err = commands.Execute(t.Context(), f.engine, operation.Decider, operation.Stream(workspace, next), operation.Command(operation.Cancel{By: "u1"}))
	require.NoError(t, err)
	f.await(next)
}

// A node is lost in the middle of a crawl: another one goes on, and visits what was not visited.
func TestAnotherNodeGoesOn(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	var links []string
	for i := range 10 {
		links = append(links, fmt.Sprintf("/p%d", i))
		w.page(links[i], fmt.Sprintf("page %d", i))
	}
	w.page("/", "the start", links...)
	stuck := make(chan struct{})
	var once sync.Once
	w.set("/p7", func(out http.ResponseWriter, r *http.Request) {
		first := false
		once.Do(func() { first = true })
		if first {
			close(stuck)
			<-r.Context().Done()
			return
		}
		_, _ = out.Write([]byte("<p>page 7, at last</p>"))
	})
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	stop := f.start(nil)
	id := f.begin(operation.CrawlAbout{})
	<-stuck
	stop()
	require.Equal(t, operation.Running, f.operation(id).Status)
	f.start(nil)
	op := f.await(id)
	require.Equal(t, operation.Succeeded, op.Status)
	require.True(t, op.Crawl.Complete)
	require.Equal(t, 11, op.Crawl.Counts.Queued)
	require.Len(t, f.paths(), 11)
	require.Equal(t, 1, op.Resumed)
	asked := w.requests()
	require.Less(t, len(asked), 20, "most were not visited again")
}

func TestALimitOfDocumentsEndsARun(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/a", "/b", "/c")
	for _, path := range []string{"/a", "/b", "/c"} {
		w.page(path, "page "+path)
	}
	f.limit = 2
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	f.start(func(o *crawler.Options) { o.PerHost = 1 })
	op := f.crawl()
	require.Equal(t, []string{"limit_exceeded"}, op.Crawl.Warnings)
	require.False(t, op.Crawl.Complete)
	require.LessOrEqual(t, len(f.paths()), 3)
}

// Missed firings are one run; one that is due while the site is read is dropped; a source that is gone takes its documents
// with it.
func TestASourceIsReadWhenItsScheduleSays(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start")
	workspaces := commands.Workspaces{Engine: f.engine}
	made, err := workspaces.Create(t.Context(), domainworkspace.Settings{Name: "Shop"})
	require.NoError(t, err)
	id := made.State.ID
	save := func(create bool) {
		body := []byte(`{"slug":"faq","name":"FAQ"}`)
		if !create {
			body = []byte(`{"slug":"faq","name":"Questions"}`)
		}
		_, err := workspaces.Execute(t.Context(), id, domainworkspace.Save{
			Entry: domainworkspace.Entry{Path: "knowledge/faq", ID: f.base.ID, Hash: domainworkspace.HashOf(body), Body: body}, Create: create,
		})
		require.NoError(t, err)
	}
	f.configure(`{"urls":["%s"],"sitemap":"off","schedule":"30 3 * * *"}`, w.URL)
	save(true)
	var mu sync.Mutex
	clock := time.Now()
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(d)
	}
	f.start(func(o *crawler.Options) { o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return clock } })
	await := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			ended, all := 0, 0
			require.NoError(t, f.models.View(func(r projections.Reader) error {
				return projections.Operations{}.List(r, id, func(op operation.State) bool {
					all++
					if op.Status == operation.Succeeded && op.Crawl.Trigger == operation.BySchedule {
						ended++
					}
					return true
				})
			}))
			require.LessOrEqual(t, all, n)
			return ended == n
		}, waitTime, 10*time.Millisecond)
	}
	pass(72 * time.Hour)
	await(1)
	pass(24 * time.Hour)
	await(2)
	f.mu.Lock()
	f.sources = `{}`
	f.mu.Unlock()
	save(false)
	require.Eventually(t, func() bool {
		count := 0
		require.NoError(t, f.models.View(func(r projections.Reader) error {
			return projections.KBDocuments{}.List(r, id, f.base.ID, time.Now(), func(projections.KBDocument) bool { count++; return true })
		}))
		return count == 0
	}, waitTime, 10*time.Millisecond)
	pass(24 * time.Hour)
	require.NoError(t, f.models.LatestState(t.Context()))
	await(2)
}

// Who edits a base must not send the secrets of the platform to a site of theirs.
func TestSecretsOfThePlatformAreSentToNoSite(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "a page")
	f.configure(`{"urls":["%s"],"headers":{"x-token":"{{secret.%sDEPLOY}}"}}`, w.URL, domainworkspace.SecretPrefix)
	f.start(nil)
	op := f.crawl()
	require.Equal(t, operation.Failed, op.Status)
	require.Equal(t, "secret_missing", op.Failure.Details["reason"])
	require.Empty(t, w.requests())
}
