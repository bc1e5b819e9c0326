package knowledge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/commands/egress"
	"svc/domain/kbdocument"
)

// SiteFetcher loads the addresses of documents, as the rules of sites and the settings allow.
type SiteFetcher struct {
	Client    *http.Client // of the egress package: it checks every address that is connected to
	UserAgent string
	MaxBody   int64
}

// Page is what an address answered.
type Page struct {
	Content     []byte
	ContentType string // as the site named it, with its charset
}

// FetchError is why an address could not be loaded.
type FetchError struct {
	kbdocument.Fault
	Again time.Duration // when to try again at the earliest; below 0: never
}

// Error implements error.
func (e *FetchError) Error() string { return e.Reason + ": " + e.Message }

func finalFault(reason, format string, args ...any) *FetchError {
	return &FetchError{kbdocument.Fault{Reason: reason, Message: fmt.Sprintf(format, args...)}, -1}
}

// maxRetryAfter is how long a site may have itself waited for.
const maxRetryAfter = time.Hour

// Fetch loads an address. It fails with a *FetchError.
func (f SiteFetcher) Fetch(ctx context.Context, address string) (Page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Page{}, finalFault("fetch_failed", "the address is not well-formed")
	}
	if err := f.checkRobots(ctx, u); err != nil {
		return Page{}, err
	}
	res, err := f.get(ctx, address)
	if err != nil {
		return Page{}, err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusInternalServerError:
		return Page{}, &FetchError{kbdocument.Fault{Reason: "fetch_failed", Message: fmt.Sprintf("the site answered with status %d", res.StatusCode)}, retryAfter(res.Header)}
	case res.StatusCode != http.StatusOK:
		return Page{}, finalFault("fetch_failed", "the site answered with status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, f.MaxBody+1))
	if err != nil {
		return Page{}, &FetchError{kbdocument.Fault{Reason: "fetch_failed", Message: "the answer was cut off"}, 0}
	}
	if int64(len(body)) > f.MaxBody {
		return Page{}, finalFault("too_large", "the page is larger than %d bytes", f.MaxBody)
	}
	return Page{Content: body, ContentType: res.Header.Get("Content-Type")}, nil
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

func (f SiteFetcher) get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, finalFault("fetch_failed", "the address is not well-formed")
	}
	req.Header.Set("User-Agent", f.UserAgent)
	req.Header.Set("Accept", "text/html, text/*;q=0.9, */*;q=0.5")
	res, err := f.Client.Do(req)
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, refused := errors.AsType[*egress.Refused](err); refused {
		return nil, finalFault("address_forbidden", "the address, or one that it redirects to, may not be loaded")
	}
	if errors.Is(err, egress.ErrRedirects) {
		return nil, finalFault("fetch_failed", "the site redirects too often")
	}
	return nil, &FetchError{kbdocument.Fault{Reason: "fetch_failed", Message: "the site could not be reached"}, 0}
}

// Limits of robots.txt.
const (
	maxRobots   = 500 << 10
	robotsToken = "svc-crawler"
)

// checkRobots refuses an address that the robots.txt of its site excludes, by RFC 9309.
func (f SiteFetcher) checkRobots(ctx context.Context, u *url.URL) error {
	res, err := f.get(ctx, u.Scheme+"://"+u.Host+"/robots.txt")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests:
		return &FetchError{kbdocument.Fault{Reason: "fetch_failed", Message: fmt.Sprintf("robots.txt of the site answered with status %d", res.StatusCode)}, retryAfter(res.Header)}
	case res.StatusCode != http.StatusOK:
		return nil // there is none: everything is allowed
	}
	if !AllowsRobot(io.LimitReader(res.Body, maxRobots), u.RequestURI()) {
		return finalFault("robots_disallowed", "robots.txt of the site excludes this page")
	}
	return nil
}

// robotsRule is a line of robots.txt.
type robotsRule struct {
	pattern string
	allow   bool
}

// AllowsRobot reports whether a robots.txt allows us to load a path. Of the rules that match, the longest counts; of
// equal ones, the one that allows.
func AllowsRobot(robots io.Reader, path string) bool {
	groups, agents, inRules := map[string][]robotsRule{}, []string{}, false
	for lines := bufio.NewScanner(robots); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		key, text, _ := strings.Cut(line, ":")
		key, text = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(text)
		switch key {
		case "user-agent":
			if inRules {
				agents, inRules = nil, false
			}
			name, _, _ := strings.Cut(strings.ToLower(text), "/")
			agents = append(agents, name)
			if groups[name] == nil {
				groups[name] = []robotsRule{}
			}
		case "allow", "disallow":
			inRules = true
			for _, name := range agents {
				if text != "" {
					groups[name] = append(groups[name], robotsRule{text, key == "allow"})
				}
			}
		}
	}
	rules, own := groups[robotsToken]
	if !own {
		rules = groups["*"]
	}
	best := robotsRule{allow: true}
	for _, r := range rules {
		if matchesRobots(r.pattern, path) && (len(r.pattern) > len(best.pattern) || len(r.pattern) == len(best.pattern) && r.allow) {
			best = r
		}
	}
	return best.allow
}

// matchesRobots matches a pattern of robots.txt: * is any text, $ at the end is the end of the path.
func matchesRobots(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(path, parts[0]) {
		return false
	}
	rest := path[len(parts[0]):]
	for i, part := range parts[1:] {
		if whole && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !whole || rest == ""
}
