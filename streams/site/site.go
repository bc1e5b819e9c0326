// Package site loads addresses of the web as their sites and the settings allow: every address is checked by egress, and
// every hop of a redirect by robots.txt. Documents of an address and crawls use it.
package site

import (
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
)

// Turn lets somebody send a request to a host. It waits until that is polite; done ends the request, after which the
// host is left alone for a while.
type Turn func(ctx context.Context, host string) (done func(pause time.Duration), err error)

// Fetcher loads addresses.
type Fetcher struct {
	client    *http.Client // follows no redirects
	userAgent string
	maxBody   int64

	mu     sync.Mutex
	robots map[string]*knownRobots // by scheme and host
}

// New returns a Fetcher. client is one of the egress package: it checks every address that is connected to.
func New(client *http.Client, userAgent string, maxBody int64) *Fetcher {
	hopping := *client
	hopping.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Fetcher{client: &hopping, userAgent: userAgent, maxBody: maxBody, robots: map[string]*knownRobots{}}
}

// Request is what is asked of a site.
type Request struct {
	URL                string
	ETag, LastModified string // of what is known already
	// Headers returns the headers of a request besides the usual ones; nil: there are none.
	Headers func(to *url.URL) map[string]string
	// Check refuses an address that a redirect leads to; nil: all are allowed.
	Check func(address string) error
	// Turn lets the request be sent; nil: at once.
	Turn Turn
	// Delay is how long a host is left alone after a request, at least. That of robots.txt may be longer.
	Delay        time.Duration
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
}

// Error implements error.
func (e *Fault) Error() string { return e.Reason + ": " + e.Message }

func finalFault(reason, format string, args ...any) *Fault {
	return &Fault{kbdocument.Fault{Reason: reason, Message: fmt.Sprintf(format, args...)}, -1}
}

func passingFault(again time.Duration, format string, args ...any) *Fault {
	return &Fault{kbdocument.Fault{Reason: "fetch_failed", Message: fmt.Sprintf(format, args...)}, again}
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

// Fetch loads an address for a document. It fails with a *Fault.
func (f *Fetcher) Fetch(ctx context.Context, address string) (Page, error) {
	res, err := f.Get(ctx, Request{URL: address})
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
		res, err := f.send(ctx, u, asked, f.maxBody)
		if err != nil {
			return res, err
		}
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

// send sends one request. Limit is how many bytes a content has at most.
func (f *Fetcher) send(ctx context.Context, u *url.URL, r Request, limit int64) (Response, error) {
	out := Response{URL: u.String(), Header: http.Header{}}
	pause := r.Delay
	if r.Turn != nil {
		done, err := r.Turn(ctx, u.Host)
		if err != nil {
			return out, err
		}
		defer func() { done(pause) }()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, out.URL, nil)
	if err != nil {
		return out, finalFault("fetch_failed", "the address is not well-formed")
	}
	if r.Headers != nil {
		for name, v := range r.Headers(u) {
			req.Header.Set(name, v)
		}
	}
	req.Header.Set("User-Agent", f.userAgent)
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "text/html, text/*;q=0.9, */*;q=0.5")
	}
	if r.ETag != "" {
		req.Header.Set("If-None-Match", r.ETag)
	}
	if r.LastModified != "" {
		req.Header.Set("If-Modified-Since", r.LastModified)
	}
	res, err := f.client.Do(req)
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
	if out.Content, err = io.ReadAll(io.LimitReader(res.Body, limit+1)); err != nil {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		return out, passingFault(0, "the answer was cut off")
	}
	if int64(len(out.Content)) > limit {
		out.Content = nil
		return out, finalFault("too_large", "the page is larger than %d bytes", limit)
	}
	return out, nil
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

// How long the robots.txt of a site is known: when it could be read, and when not.
const (
	robotsTime       = time.Hour
	robotsFailedTime = 10 * time.Second
	maxRobots        = 500 << 10
	maxKnownRobots   = 10_000
)

// knownRobots is what is known of the robots.txt of a site.
type knownRobots struct {
	mu     sync.Mutex // held while it is loaded
	until  time.Time
	robots crawl.Robots
	err    error
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
		known = &knownRobots{}
		f.robots[site] = known
	}
	f.mu.Unlock()
	known.mu.Lock()
	defer known.mu.Unlock()
	if time.Now().Before(known.until) {
		return known.robots, known.err
	}
	robots, err := f.loadRobots(ctx, site, r)
	if ctx.Err() != nil {
		return robots, err
	}
	known.robots, known.err, known.until = robots, err, time.Now().Add(robotsTime)
	if err != nil {
		known.until = time.Now().Add(robotsFailedTime)
	}
	return robots, err
}

func (f *Fetcher) loadRobots(ctx context.Context, site string, r Request) (crawl.Robots, error) {
	u, err := url.Parse(site + "/robots.txt")
	if err != nil {
		return crawl.Robots{}, finalFault("fetch_failed", "the address is not well-formed")
	}
	for range maxRedirects + 1 {
		res, err := f.send(ctx, u, Request{Turn: r.Turn, Delay: r.Delay}, f.maxBody)
		fault, faulty := errors.AsType[*Fault](err)
		switch {
		case faulty && fault.Reason == "fetch_failed":
			return crawl.Robots{}, passingFault(max(0, fault.Again), "robots.txt of the site could not be read: %s", fault.Message)
		case faulty && fault.Reason != "too_large" || err != nil && !faulty:
			return crawl.Robots{}, err
		}
		next := res.target(u)
		if next == "" {
			return crawl.ParseRobots(string(res.Content[:min(len(res.Content), maxRobots)])), nil // none: everything is allowed
		}
		if u, err = url.Parse(next); err != nil {
			return crawl.Robots{}, nil
		}
	}
	return crawl.Robots{}, nil
}

// Sitemap loads a sitemap. Errors are those of Get; a sitemap may be larger than a page.
func (f *Fetcher) Sitemap(ctx context.Context, r Request) ([]byte, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, finalFault("fetch_failed", "the address is not well-formed")
	}
	for range maxRedirects + 1 {
		res, err := f.send(ctx, u, r, max(f.maxBody, maxSitemap))
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
