package crawler_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/egress"
	"svc/commands/extract"
	documents "svc/commands/knowledge"
	"svc/commands/secrets"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/kbdocument"
	"svc/domain/knowledge"
	"svc/domain/operation"
	domainworkspace "svc/domain/workspace"
	"svc/eventstore"
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
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: (&nameServer{asked: map[string]int{}}).Dial}
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
	return newWebsiteAt(t, "127.0.0.1:0")
}

func newWebsiteAt(t *testing.T, address string) *website {
	t.Helper()
	w := &website{pages: map[string]http.HandlerFunc{}}
	w.Server = httptest.NewUnstartedServer(w)
	require.NoError(t, w.Listener.Close())
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	w.Listener = listener
	w.Start()
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
			fmt.Fprintf(&b, `<a href="%s"></a>`, link)
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
	client  *http.Client
	hosts   *jetstream.Bucket

	mu      sync.Mutex
	sources string // of the base, in JSON
	limit   int    // of documents
	visited float64
	indexed float64
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
	f.client = guard.Client(10 * time.Second)
	open := func(name string, volatile bool) *jetstream.Bucket {
		b, err := f.store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: name, Volatile: volatile})
		require.NoError(t, err)
		return b
	}
	f.hosts = open("CRAWL_HOSTS", true)
	f.options = crawler.Options{
		Crawls: f.crawls, Documents: f.docs, Models: f.models, Blobs: f.store.Blobs, Extractor: extractor,
		Fetcher: f.newFetcher(4, f.hosts), Records: open("CRAWLS", false), Known: open("CRAWL_PAGES", false),
		Bases: f.bases, FindSettings: f.settings,
		Used: func(_ context.Context, _ string, u activity.Usage) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.visited += u.Metrics[activity.PagesCrawled].Value
			f.indexed += u.Metrics[activity.DocumentsIndexed].Value
		},
		Resolve:  secrets.Secrets{Values: knownSecrets{"TOKEN": "s3cret", domainworkspace.SecretPrefix + "DEPLOY": "of the platform"}}.Resolve,
		Settings: func() crawler.Settings { return crawler.Settings{MaxText: 1000, MaxPages: 500} },
		Zone:     func() *time.Location { return time.UTC },
		Requests: 8, Interval: 50 * time.Millisecond, Fresh: f.models.LatestState,
		Pauses: []time.Duration{time.Millisecond, time.Millisecond}, Log: slog.New(slog.DiscardHandler),
	}
	return f
}

// newFetcher returns what one node loads addresses with.
func (f *fixture) newFetcher(perHost int, hosts eventstore.Bucket) *site.Fetcher {
	return site.New(site.Options{
		Client: f.client, UserAgent: "svc-crawler/1 (test)", MaxBody: 1 << 20, PerHost: perHost, Delay: func() time.Duration { return 0 }, Hosts: hosts,
	})
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

func (f *fixture) settings(ctx context.Context, workspaceID, _ string) (knowledge.Settings, bool, error) {
	bases, err := f.bases(ctx, workspaceID)
	if err != nil {
		return knowledge.Settings{}, false, err
	}
	return knowledge.ReadSettings(bases[0].Settings), true, nil
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
	third, copied := w.pages["/p3"], sync.OnceFunc(func() {
		assert.Eventually(t, func() bool { return slices.Contains(f.paths(), "/copy") }, time.Minute, time.Millisecond)
	})
	w.set("/p3", func(out http.ResponseWriter, r *http.Request) {
		copied() // so the copy has the text, and not this page
		third(out, r)
	})

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
	last := f.await(f.begin(operation.CrawlAbout{Full: true}))
	out := f.outcomes(last.ID)
	require.Equal(t, 1, last.Crawl.Counts.Updated, "%+v", out)
	require.Equal(t, "deleted vanished", out["/copy"])
	require.Equal(t, "created", out["/p3"], "it has the text alone now")
	require.Equal(t, "updated", out["/p1"])
	require.Equal(t, "deleted not_found", out["/p2"])
	require.Equal(t, "deleted vanished", out["/p0"])
	require.NotContains(t, f.paths(), "/p2")
	require.NotContains(t, f.paths(), "/p0")
}

func TestPagesCanBeSearchedAtOnce(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/a")
	w.page("/a", "the first text")
	f.configure(`{"urls":["%s"]}`, w.URL)
	f.options.Fetcher = f.newFetcher(4, nil) // there is only one node
	f.start(nil)
	require.Equal(t, 2, f.crawl().Crawl.Counts.Created)
	for path, d := range f.documents() {
		require.Equal(t, kbdocument.Ready, d.Status(), path)
		require.Equal(t, 1, d.Extract.Revision, path)
	}
	before := f.documents()["/a"]
	body, err := f.store.Blobs.Get(t.Context(), before.Extract.Chunks)
	require.NoError(t, err)
	passages, err := kbdocument.ParsePassages(body)
	require.NoError(t, err)
	require.Equal(t, "the first text", passages.Chunks[0].Text)

	require.Equal(t, 2, f.crawl().Crawl.Counts.Unchanged)
	require.Equal(t, before.Generation, f.documents()["/a"].Generation, "nothing is processed again")
	w.page("/a", "another text")
	require.Equal(t, 1, f.crawl().Crawl.Counts.Updated)
	after := f.documents()["/a"]
	require.Equal(t, kbdocument.Ready, after.Status())
	require.Equal(t, 2, after.Extract.Revision)
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Equal(t, 3.0, f.indexed, "each revision is counted once")
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
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.visited == float64(op.Crawl.Counts.Fetched)
	}, time.Minute, time.Millisecond, "addresses that were not loaded are not in the usage")
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
			o.Fetcher = f.newFetcher(1, f.hosts)
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
	require.Len(t, f.paths(), 11, "%v", f.outcomes(id))
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
	f.start(func(o *crawler.Options) { o.Fetcher = f.newFetcher(1, f.hosts) })
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

// redirect answers a path with a redirect.
func (w *website) redirect(path, to string) {
	w.set(path, func(out http.ResponseWriter, r *http.Request) { http.Redirect(out, r, to, http.StatusFound) })
}

// html answers a path with a page, and with headers in pairs.
func (w *website) html(path, head, body string, headers ...string) {
	w.set(path, func(out http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			out.Header().Add(headers[i], headers[i+1])
		}
		out.Header().Set("Content-Type", "text/html")
		out.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			out.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = fmt.Fprintf(out, "<html><head>%s</head><body>%s</body></html>", head, body)
	})
}

// What was the document of an address is removed when its page is another one now. That of a page that somebody added stays.
func TestADocumentGoesWhenItsPageIsAnotherOne(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/old", "/page", "/copy", "/first", "/hand")
	for _, path := range []string{"/old", "/page", "/copy", "/first", "/hand"} {
		w.page(path, "page "+path)
	}
	_, err := f.docs.Put(t.Context(), workspace, documents.Put{
		Base: f.base, Origin: kbdocument.Origin{Source: kbdocument.URL, URL: w.URL + "/hand"}, Name: "hand",
	}, func(_, _ kbdocument.State) error { return nil })
	require.NoError(t, err)
	f.configure(`{"urls":["%s"],"sitemap":"off","keepVanished":true}`, w.URL)
	f.start(nil)
	require.Equal(t, 5, f.crawl().Crawl.Counts.Created)

	w.redirect("/old", "/new")
	w.page("/new", "the new page")
	w.html("/page", `<link rel="canonical" href="/canon">`, "<p>what it calls itself</p>")
	w.page("/copy", "page /first")
	w.redirect("/hand", "/elsewhere")
	w.page("/elsewhere", "somewhere else")
	op := f.crawl()
	out := f.outcomes(op.ID)
	require.Equal(t, []string{"created", "created", "created"}, []string{out["/old"], out["/page"], out["/hand"]})
	require.Contains(t, out["/copy"]+out["/first"], "duplicate same_text")
	require.Len(t, f.paths(), 6)
	for _, path := range []string{"/", "/canon", "/elsewhere", "/hand", "/new"} {
		require.Contains(t, f.paths(), path)
	}
	require.Equal(t, kbdocument.URL, f.documents()["/hand"].Source)

	// The other address is found by itself, too; then each calls the other one what it is.
	w.page("/", "the start", "/old", "/new", "/page", "/canon", "/copy", "/first", "/hand")
	w.html("/canon", "", "<p>the canonical page</p>")
	f.crawl()
	require.NotContains(t, f.paths(), "/page")
	require.Contains(t, f.paths(), "/new")
	require.Contains(t, f.paths(), "/canon")
	w.html("/first", `<link rel="canonical" href="/new">`, "<p>a</p>")
	w.html("/new", `<link rel="canonical" href="/first">`, "<p>b</p>")
	f.crawl()
	require.Contains(t, f.paths(), "/new", "no page has its address: it stays")
}

// A page for all addresses, such as one that asks for a login, does not take all documents with it.
func TestManyDocumentsAreNotReplacedByOne(t *testing.T) {
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
	w.page("/login", "Who are you?")
	for _, path := range links {
		w.redirect(path, "/login")
	}
	held := f.crawl()
	require.Equal(t, []string{"mass_removal_held"}, held.Crawl.Warnings)
	require.Len(t, f.paths(), 17)
	f.await(f.begin(operation.CrawlAbout{AllowMassRemoval: true}))
	require.Equal(t, []string{"/", "/login"}, f.paths())
}

func TestWhatHeadersSayToCrawlers(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	const header = "X-Robots-Tag"
	w.page("/", "the start", "/two", "/ours", "/theirs", "/open", "/print")
	w.html("/two", "", "<p>two headers</p>", header, "nofollow", header, "noindex")
	w.html("/ours", "", `<p>for us</p><a href="/unseen">x</a>`, header, "svc-crawler: nofollow")
	w.html("/theirs", "", `<p>for others</p><a href="/seen">x</a>`, header, "otherbot: nofollow, noindex")
	w.html("/open", "", `<p>open</p>`)
	w.html("/print", `<meta name="robots" content="noindex"><link rel="canonical" href="/open">`, `<p>to print</p>`)
	w.page("/seen", "seen")
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	f.start(nil)
	first := f.crawl()
	require.Equal(t, "skipped noindex", f.outcomes(first.ID)["/two"])
	require.Equal(t, []string{"/", "/open", "/ours", "/seen", "/theirs"}, f.paths())

	w.html("/ours", "", `<p>for us</p><a href="/unseen">x</a>`) // a site need not repeat the header with status 304
	w.html("/open", "", `<p>open</p>`, header, "noindex")
	second := f.crawl()
	out := f.outcomes(second.ID)
	require.Equal(t, []string{"unchanged", "skipped noindex"}, []string{out["/ours"], out["/open"]})
	require.NotContains(t, out, "/unseen")
	require.Equal(t, []string{"/", "/ours", "/seen", "/theirs"}, f.paths())
}

// A sitemap that cannot be read now may have the pages that are missing: none is removed.
func TestNothingIsRemovedWithoutAllSitemaps(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/linked")
	for _, path := range []string{"/linked", "/mapped"} {
		w.page(path, "page "+path, "/unmapped")
	}
	w.page("/unmapped", "it is linked only")
	sitemap := func(paths ...string) {
		w.set("/sitemap.xml", func(out http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(out, `<?xml version="1.0"?><urlset>`)
			for _, path := range paths {
				_, _ = fmt.Fprintf(out, `<url><loc>%s%s</loc></url>`, w.URL, path)
			}
			_, _ = fmt.Fprint(out, `</urlset>`)
		})
	}
	sitemap("/mapped")
	f.configure(`{"urls":["%s"],"sitemap":"only"}`, w.URL)
	f.start(nil)
	f.crawl()
	require.Equal(t, []string{"/", "/mapped"}, f.paths(), "no links are followed")

	w.status("/sitemap.xml", http.StatusServiceUnavailable)
	unread := f.crawl()
	require.False(t, unread.Crawl.Complete)
	require.Equal(t, []string{"sitemap_unreadable"}, unread.Crawl.Warnings)
	require.Equal(t, []string{"/", "/mapped"}, f.paths())

	sitemap()
	f.configure(`{"urls":["%s"],"sitemap":"only","keepVanished":true}`, w.URL)
	require.True(t, f.crawl().Crawl.Complete)
	require.Equal(t, []string{"/", "/mapped"}, f.paths(), "it is kept")
	f.configure(`{"urls":["%s"],"sitemap":"only"}`, w.URL)
	require.Equal(t, 1, f.crawl().Crawl.Counts.Deleted)
	require.Equal(t, []string{"/"}, f.paths())
}

// Pages lose what their source does not say any more, and keep what somebody else said.
func TestPagesLoseWhatTheirSourceSaid(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/a", "/b")
	w.page("/a", "one page")
	w.page("/b", "another page")
	f.configure(`{"urls":["%s"],"sitemap":"off","tags":["web"],"metadata":{"from":"site"},"language":"de"}`, w.URL)
	f.start(nil)
	require.Equal(t, 3, f.crawl().Crawl.Counts.Created)
	require.Equal(t, []string{"web"}, f.documents()["/a"].Tags)

	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	w.page("/b", "another page, that changed")
	second := f.crawl()
	require.Equal(t, []int{2, 1}, []int{second.Crawl.Counts.Unchanged, second.Crawl.Counts.Updated})
	for path, d := range f.documents() {
		require.Empty(t, d.Tags, path)
		require.Empty(t, d.Metadata, path)
		require.Empty(t, d.Language, path)
	}
	tags := []string{"by hand"}
	require.NoError(t, f.docs.Relabel(t.Context(), workspace, f.documents()["/a"].ID, f.base, kbdocument.Change{Tags: &tags}, kbdocument.ByAPI))
	f.crawl()
	require.Equal(t, tags, f.documents()["/a"].Tags)
}

// A page that fails at first is as near as its links say: what can be reached through it is read, although a longer way
// was open before.
func TestTheShortestWayCounts(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/fails", "/b")
	w.page("/b", "page b", "/c")
	w.page("/c", "page c", "/d")
	w.page("/d", "page d", "/end")
	w.page("/end", "the end")
	var once sync.Once
	w.set("/fails", func(out http.ResponseWriter, _ *http.Request) {
		status := http.StatusOK
		once.Do(func() { status = http.StatusServiceUnavailable })
		out.Header().Set("Content-Type", "text/html")
		out.WriteHeader(status)
		_, _ = out.Write([]byte(`<p>at last</p><a href="/d">x</a>`))
	})
	f.configure(`{"urls":["%s"],"sitemap":"off","depth":3}`, w.URL)
	f.start(func(o *crawler.Options) { o.Pauses = []time.Duration{500 * time.Millisecond} })
	op := f.crawl()
	require.Contains(t, f.paths(), "/end")
	records, err := crawler.Records(t.Context(), f.options.Records, op.ID)
	require.NoError(t, err)
	for _, r := range records {
		if r.Page != nil && strings.HasSuffix(r.Page.URL, "/d") {
			require.Equal(t, 2, r.Page.Depth)
		}
	}
}

// A fault of ours that one page meets must not end the node, nor the crawl.
func TestAPanicFailsOnePage(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/a", "/b")
	w.page("/a", "poison")
	w.page("/b", "page b")
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	f.start(func(o *crawler.Options) { o.Extractor = poisoned{o.Extractor} })
	op := f.crawl()
	require.Equal(t, operation.Succeeded, op.Status)
	require.Equal(t, map[string]string{"/": "created", "/b": "created", "/a": "failed internal_error"}, f.outcomes(op.ID))
}

// poisoned panics over a page that says poison.
type poisoned struct{ crawler.Extractor }

// Extract implements crawler.Extractor.
func (x poisoned) Extract(ctx context.Context, file extract.File) (extract.Document, error) {
	if bytes.Contains(file.Content, []byte("poison")) {
		panic("a fault of ours")
	}
	return x.Extractor.Extract(ctx, file)
}

// Retry-After stops all requests to a host.
func TestAHostThatAsksForAPauseIsLeftAlone(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.page("/", "the start", "/busy", "/a", "/b", "/c")
	for _, path := range []string{"/a", "/b", "/c"} {
		w.page(path, "page "+path)
	}
	var mu sync.Mutex
	var asked time.Time // when the site asked for a pause
	w.set("/busy", func(out http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked.IsZero() {
			asked = time.Now()
			out.Header().Set("Retry-After", "1")
			out.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = out.Write([]byte("<p>no longer busy</p>"))
	})
	f.configure(`{"urls":["%s"],"sitemap":"off"}`, w.URL)
	f.start(func(o *crawler.Options) { o.Fetcher = f.newFetcher(1, f.hosts) })
	require.Equal(t, 5, f.crawl().Crawl.Counts.Created)
	w.mu.Lock()
	defer w.mu.Unlock()
	later := 0
	for _, at := range w.starts {
		if at.After(asked) {
			require.GreaterOrEqual(t, at.Sub(asked), time.Second)
			later++
		}
	}
	require.GreaterOrEqual(t, later, 1)
}

// A pause ends, for another node too, although nobody waits for its end.
func TestAPauseEnds(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	w.set("/busy", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Retry-After", "1")
		out.WriteHeader(http.StatusServiceUnavailable)
	})
	w.page("/", "the start")
	for _, hosts := range []eventstore.Bucket{nil, f.hosts} {
		one, other := f.newFetcher(1, hosts), f.newFetcher(1, hosts)
		if hosts == nil {
			other = one // there is only one node
		}
		_, err := one.Get(t.Context(), site.Request{URL: w.URL + "/busy"})
		fault := &site.Fault{}
		require.ErrorAs(t, err, &fault)
		begun, waited := time.Now(), 0
		require.Eventually(t, func() bool {
			_, err := other.Get(t.Context(), site.Request{URL: w.URL + "/", Patience: 20 * time.Millisecond})
			if err != nil {
				require.ErrorAs(t, err, &fault)
				require.True(t, fault.Busy)
				waited++
			}
			return err == nil
		}, waitTime, 50*time.Millisecond)
		require.Positive(t, waited)
		require.Greater(t, time.Since(begun), 900*time.Millisecond)
	}
}

// An endless answer and thousands of variants of a page end, and cost little.
func TestEndlessSitesEnd(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	links := []string{"/endless"}
	w.set("/endless", func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/html")
		for r.Context().Err() == nil {
			if _, err := out.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	for page := range 5 {
		var variants []string
		for i := range 2000 {
			variants = append(variants, fmt.Sprintf("/list?sort=%d", page*2000+i))
			w.page(variants[i], fmt.Sprintf("list %d", page*2000+i))
		}
		links = append(links, fmt.Sprintf("/page%d", page))
		w.page(links[page+1], fmt.Sprintf("page %d", page), variants...)
	}
	w.page("/", "the start", links...)
	f.configure(`{"urls":["%s"],"sitemap":"off","depth":20}`, w.URL)
	f.start(nil)
	op := f.crawl()
	require.Equal(t, operation.Succeeded, op.Status)
	require.True(t, op.Crawl.Complete)
	require.Equal(t, "skipped too_large", f.outcomes(op.ID)["/endless"])
	require.Len(t, w.requests(), 107, "of the variants a hundred")
	require.LessOrEqual(t, op.Crawl.Counts.Skipped, 9901)
	require.Greater(t, op.Crawl.Counts.Skipped, 9000)
	require.Len(t, f.paths(), 106)
}

// Scope alone does not let a crawl reach what is not public, nor does a name that has another address the second time.
func TestNothingIsAskedOfAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), newWebsite(t)
	_, port, err := net.SplitHostPort(w.Listener.Addr().String())
	require.NoError(t, err)
	inside := newWebsiteAt(t, net.JoinHostPort(otherAddress.String(), port))
	for _, path := range []string{"/", "/linked", "/page"} {
		inside.page(path, "for this machine only")
	}
	const metadata = "169.254.169.254"
	w.page("/", "the start", "/loopback", "/metadata", inside.URL+"/linked")
	w.redirect("/loopback", inside.URL+"/")
	w.redirect("/metadata", "http://"+metadata+"/latest/meta-data")
	w.set("/robots.txt", func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Connection", "close") // the name is looked up again for the next request
		http.NotFound(out, r)
	})
	changing := "http://crawl" + strings.TrimSuffix(rebindingDomain, ".") + ":" + port
	f.configure(`{"urls":["%s","%s/page"],"hosts":[%q,%q],"sitemap":"off"}`, w.URL, changing, inside.Listener.Addr(), metadata)
	f.start(nil)
	out := f.outcomes(f.crawl().ID)
	require.Equal(t, "created", out["/"])
	for _, path := range []string{"/loopback", "/metadata", "/linked", "/page"} {
		require.Equal(t, "skipped address_forbidden", out[path], path)
	}

	_, err = f.options.Fetcher.Fetch(t.Context(), "http://document"+strings.TrimSuffix(rebindingDomain, ".")+":"+port+"/page")
	fault := &site.Fault{}
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "address_forbidden", fault.Reason)
	require.Empty(t, inside.requests(), "no request arrives")
	require.NotContains(t, w.requests(), "/page")
}
