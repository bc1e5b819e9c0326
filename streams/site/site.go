// Package site loads addresses of the web as their sites and the settings allow: every address is checked by egress,
// every hop of a redirect by robots.txt, and requests to one host take turns across all nodes. Documents of an address
// and crawls use it.
package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"svc/commands/egress"
	"svc/domain/crawl"
	"svc/domain/kbdocument"
	"svc/eventstore"
)

// Options configure a Fetcher. All are required but Hosts.
type Options struct {
	Client    *http.Client // of the egress package: it checks every address that is connected to
	UserAgent string
	MaxBody   int64                // CRAWLER_MAX_BODY
	PerHost   int                  // CRAWLER_HOST_CONCURRENCY
	Delay     func() time.Duration // DOWNLOAD_DELAY
	Hosts     eventstore.Bucket    // turns at hosts; volatile, drops them after HostTime; nil: there is only one node
}

// Fetcher loads addresses.
type Fetcher struct {
	Options

	turns *turns

	mu     sync.Mutex
	robots map[string]*knownRobots // by scheme and host
}

// expiryGrace is how much later than its end a request without one is given up.
const expiryGrace = 15 * time.Second

// New returns a Fetcher.
func New(o Options) *Fetcher {
	o.Client = egress.WithoutRedirects(o.Client)
	return &Fetcher{Options: o, turns: newTurns(o.Hosts, o.PerHost, o.Client.Timeout+expiryGrace), robots: map[string]*knownRobots{}}
}

// Request is what is asked of a site.
type Request struct {
	URL                string
	ETag, LastModified string // of what is known already
	// Headers returns the headers of a request besides the usual ones; nil: there are none.
	Headers func(to *url.URL) map[string]string
	// Check refuses an address that a redirect leads to; nil: all are allowed.
	Check func(address string) error
	// Delay is how long a host is left alone after a request, at least. That of the settings or of robots.txt may be longer.
	Delay time.Duration
	// Patience is how long the request may wait for its turn; 0: as long as it takes.
	Patience time.Duration
	// Slots are those that requests under way take, whatever their hosts are; nil: they take none.
	Slots        chan struct{}
	IgnoreRobots bool
}

// Response is what a site answered.
type Response struct {
	URL     string // that answered, after redirects
	Status  int
	Header  http.Header
	Content []byte // of status 200
}

// Fault is why an address could not be loaded.
type Fault struct {
	kbdocument.Fault
	Again time.Duration // when to try again at the earliest; below 0: never
	Busy  bool          // the site was not asked: other requests to it come first
}

// Error implements error.
func (e *Fault) Error() string { return e.Reason + ": " + e.Message }

func finalFault(reason, format string, args ...any) *Fault {
	return &Fault{Fault: kbdocument.Fault{Reason: reason, Message: fmt.Sprintf(format, args...)}, Again: -1}
}

func passingFault(again time.Duration, format string, args ...any) *Fault {
	return &Fault{Fault: kbdocument.Fault{Reason: "fetch_failed", Message: fmt.Sprintf(format, args...)}, Again: again}
}

// Bounds of what sites may ask for.
const (
	maxRedirects  = 5
	maxRetryAfter = time.Hour
)

// Page is what an address answered.
type Page struct {
	Content     []byte
	ContentType string // as the site named it, with its charset
}

// fetchPatience is how long a document waits for its turn at a host before it lets others be processed.
const fetchPatience = 15 * time.Second

// Fetch loads an address for a document. It fails with a *Fault.
func (f *Fetcher) Fetch(ctx context.Context, address string) (Page, error) {
	res, err := f.Get(ctx, Request{URL: address, Patience: fetchPatience})
	if err == nil && res.Status != http.StatusOK {
		err = finalFault("fetch_failed", "the site answered with status %d", res.Status)
	}
	return Page{Content: res.Content, ContentType: res.Header.Get("Content-Type")}, err
}

// Get loads an address, and follows redirects. It fails with a *Fault, or with the error of Request.Check. An answer of
// another status than 200 is no failure, unless it may be another one later.
func (f *Fetcher) Get(ctx context.Context, r Request) (Response, error) {
	address := r.URL
	for hop := 0; ; hop++ {
		u, err := url.Parse(address)
		if err != nil {
			return Response{URL: address}, finalFault("fetch_failed", "the address is not well-formed")
		}
		robots := crawl.Robots{}
		if !r.IgnoreRobots {
			if robots, err = f.Robots(ctx, u, r); err != nil {
				return Response{URL: address}, err
			}
		}
		if !robots.Allows(u.RequestURI()) {
			return Response{URL: address}, finalFault("robots_disallowed", "robots.txt of the site excludes this page")
		}
		asked := r
		asked.Delay = max(r.Delay, robots.Delay)
		res, err := f.send(ctx, u, asked, bound{bytes: f.MaxBody})
		if err != nil {
			return res, err
		}
		r.ETag, r.LastModified = "", "" // they are those of the first address
		next := res.target(u)
		if next == "" {
			return res, nil
		}
		if hop == maxRedirects {
			return res, finalFault("fetch_failed", "the site redirects too often")
		}
		if u.Scheme == "https" && !strings.HasPrefix(next, "https:") {
			return res, finalFault("address_forbidden", "a redirect must not leave https")
		}
		if address, err = kbdocument.NormaliseURL(next); err != nil {
			return res, finalFault("fetch_failed", "the site redirects to something that is no address")
		}
		if r.Check != nil {
			if err := r.Check(address); err != nil {
				return Response{URL: address, Status: res.Status, Header: res.Header}, err
			}
		}
	}
}

// target returns where a response redirects to, "" for nowhere.
func (r Response) target(from *url.URL) string {
	switch r.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return ""
	}
	to, err := from.Parse(r.Header.Get("Location"))
	if err != nil || r.Header.Get("Location") == "" {
		return ""
	}
	return to.String()
}

// bound is how many bytes of a content are read. A larger one is cut, or refused.
type bound struct {
	bytes int64
	cut   bool
}

// send sends one request when it is its turn.
func (f *Fetcher) send(ctx context.Context, u *url.URL, r Request, limit bound) (Response, error) {
	out := Response{URL: u.String(), Header: http.Header{}}
	done, err := f.turns.acquire(ctx, u.Host, r.Patience)
	if err != nil {
		return out, err
	}
	pause := time.Duration(0)
	defer func() { done(pause) }()
	if r.Slots != nil {
		if err := take(ctx, r.Slots); err != nil {
			return out, err
		}
		defer func() { <-r.Slots }()
	}
	pause = max(r.Delay, f.Delay())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, out.URL, nil)
	if err != nil {
		return out, finalFault("fetch_failed", "the address is not well-formed")
	}
	if r.Headers != nil {
		for name, v := range r.Headers(u) {
			req.Header.Set(name, v)
		}
	}
	req.Header.Set("User-Agent", f.UserAgent)
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "text/html, text/*;q=0.9, */*;q=0.5")
	}
	if r.ETag != "" {
		req.Header.Set("If-None-Match", r.ETag)
	}
	if r.LastModified != "" {
		req.Header.Set("If-Modified-Since", r.LastModified)
	}
	res, err := f.Client.Do(req)
	if err != nil {
		return out, requestFault(ctx, err)
	}
	defer res.Body.Close()
	out.Status, out.Header = res.StatusCode, res.Header
	if out.Status == http.StatusTooManyRequests || out.Status >= http.StatusInternalServerError {
		again := retryAfter(res.Header)
		pause = max(pause, again)
		return out, passingFault(again, "the site answered with status %d", out.Status)
	}
	if out.Status != http.StatusOK {
		return out, nil
	}
	if out.Content, err = io.ReadAll(io.LimitReader(res.Body, limit.bytes+1)); err != nil {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		return out, passingFault(0, "the answer was cut off")
	}
	switch {
	case int64(len(out.Content)) <= limit.bytes:
		return out, nil
	case limit.cut:
		out.Content = out.Content[:limit.bytes]
		return out, nil
	default:
		out.Content = nil
		return out, finalFault("too_large", "the page is larger than %d bytes", limit.bytes)
	}
}

// requestFault returns why a request had no answer.
func requestFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, refused := errors.AsType[*egress.Refused](err); refused {
		return finalFault("address_forbidden", "the address, or one that it redirects to, may not be loaded")
	}
	return passingFault(0, "the site could not be reached")
}

func retryAfter(h http.Header) time.Duration {
	if seconds, err := time.ParseDuration(h.Get("Retry-After") + "s"); err == nil && seconds > 0 {
		return min(seconds, maxRetryAfter)
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}

// How long the robots.txt of a site is known: when the site said what it contains, and when it may say something else soon.
const (
	robotsTime       = time.Hour
	robotsFailedTime = 10 * time.Second
	maxRobots        = 500 << 10 // bytes that are read of it, as RFC 9309 asks
	maxKnownRobots   = 10_000
)

// knownRobots is what is known of the robots.txt of a site.
type knownRobots struct {
	loading chan struct{} // has an element while somebody uses what follows
	until   time.Time
	robots  crawl.Robots
	err     error
}

// Robots returns what the robots.txt of the site of an address says. A site whose robots.txt cannot be read now excludes
// everything for a while, one without a robots.txt nothing.
func (f *Fetcher) Robots(ctx context.Context, u *url.URL, r Request) (crawl.Robots, error) {
	site := u.Scheme + "://" + u.Host
	f.mu.Lock()
	known := f.robots[site]
	if known == nil {
		if len(f.robots) >= maxKnownRobots {
			clear(f.robots)
		}
		known = &knownRobots{loading: make(chan struct{}, 1)}
		f.robots[site] = known
	}
	f.mu.Unlock()
	if err := withPatience(ctx, r.Patience, func(ctx context.Context) error { return take(ctx, known.loading) }); err != nil {
		return crawl.Robots{}, err
	}
	defer func() { <-known.loading }()
	if time.Now().Before(known.until) {
		return known.robots, known.err
	}
	robots, kept, err := f.loadRobots(ctx, site, r)
	if ctx.Err() != nil {
		return robots, err
	}
	known.robots, known.err, known.until = robots, err, time.Now().Add(kept)
	return robots, err
}

// loadRobots returns what a robots.txt says, and how long that counts. Every status of a client error allows everything;
// one that asks for a pause not for long.
func (f *Fetcher) loadRobots(ctx context.Context, site string, r Request) (robots crawl.Robots, kept time.Duration, err error) {
	u, err := url.Parse(site + "/robots.txt")
	if err != nil {
		return robots, robotsTime, finalFault("fetch_failed", "the address is not well-formed")
	}
	for range maxRedirects + 1 {
		res, err := f.send(ctx, u, Request{Delay: r.Delay, Patience: r.Patience, Slots: r.Slots}, bound{maxRobots, true})
		fault, faulty := errors.AsType[*Fault](err)
		switch {
		case res.Status == http.StatusTooManyRequests:
			return robots, robotsFailedTime, nil
		case faulty && fault.Busy:
			return robots, 0, err
		case faulty && fault.Reason == "fetch_failed":
			return robots, robotsFailedTime, passingFault(max(0, fault.Again), "robots.txt of the site could not be read: %s", fault.Message)
		case err != nil:
			return robots, robotsFailedTime, err
		}
		next := res.target(u)
		if next == "" {
			return crawl.ParseRobots(wholeLines(res.Content)), robotsTime, nil // none: everything is allowed
		}
		if u, err = url.Parse(next); err != nil {
			return robots, robotsTime, nil
		}
	}
	return robots, robotsTime, nil
}

// wholeLines returns a robots.txt without the line that it was cut in.
func wholeLines(content []byte) string {
	if len(content) == maxRobots {
		content = content[:bytes.LastIndexByte(content, '\n')+1]
	}
	return string(content)
}

// Sitemap loads a sitemap. Errors are those of Get; a sitemap may be larger than a page.
func (f *Fetcher) Sitemap(ctx context.Context, r Request) ([]byte, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, finalFault("fetch_failed", "the address is not well-formed")
	}
	for range maxRedirects + 1 {
		res, err := f.send(ctx, u, r, bound{bytes: max(f.MaxBody, maxSitemap)})
		if err != nil {
			return nil, err
		}
		next := res.target(u)
		if next == "" {
			if res.Status != http.StatusOK {
				return nil, finalFault("fetch_failed", "the site answered with status %d", res.Status)
			}
			return res.Content, nil
		}
		if r.Check != nil {
			if err := r.Check(next); err != nil {
				return nil, err
			}
		}
		if u, err = url.Parse(next); err != nil {
			return nil, finalFault("fetch_failed", "the address is not well-formed")
		}
	}
	return nil, finalFault("fetch_failed", "the site redirects too often")
}

// maxSitemap is how large a sitemap may be (sitemaps.org).
const maxSitemap = 50 << 20
