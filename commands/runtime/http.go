package runtime

import (
	"context"
	"maps"
	"net/textproto"
	"regexp"
	"strings"
	"sync"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// HTTP is the answer of an endpoint, as $http changes it.
type HTTP struct {
	// Send sends one chunk to the caller. It returns when the chunk is written, or the caller has
	// disconnected.
	Send func(ctx context.Context, chunk []byte)

	mu        sync.Mutex
	status    int
	header    map[string][]string
	keepAlive time.Duration
	changed   chan struct{} // closed when keepAlive is set to something else; nil: nobody waits for that
	started   bool          // a chunk was sent: status and headers cannot change any more
}

// droppedHeaders are the headers that automations cannot set, by what they would do. An endpoint
// shares its origin with the API, the cookie of the console and every other workspace: headers may
// describe the answer, and not the site. Location and the headers of caches and downloads are
// allowed, and so is Content-Security-Policy, which can only restrict more.
var droppedHeaders = map[string][]string{
	"belongs to the connection": {
		"Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade",
	},
	"is set by the platform": {"X-Correlation-Id", "Traceparent", "Tracestate", "Idempotency-Replayed"},
	"keeps something in the browser for the whole site": {
		"Set-Cookie", "Set-Cookie2", "Set-Login", "Clear-Site-Data", "Strict-Transport-Security", "Public-Key-Pins", "Public-Key-Pins-Report-Only",
		"Expect-Ct", "Alt-Svc", "Accept-Ch", "Critical-Ch", "Origin-Agent-Cluster", "Service-Worker-Allowed", "Use-As-Dictionary",
		"Activate-Storage-Access", "Sec-Session-Registration", "Secure-Session-Registration", "Secure-Session-Challenge",
	},
	"makes the browser request something as the site": {
		"Refresh", "Link", "Speculation-Rules", "Supports-Loading-Mode", "Sourcemap", "X-Sourcemap", "Attribution-Reporting-Register-Source",
		"Attribution-Reporting-Register-Trigger", "Observe-Browsing-Topics", "Shared-Storage-Write", "Ad-Auction-Allowed",
	},
	"makes the browser report about the site": {
		"Nel", "Report-To", "Reporting-Endpoints", "Content-Security-Policy-Report-Only", "Cross-Origin-Opener-Policy-Report-Only",
		"Cross-Origin-Embedder-Policy-Report-Only", "Permissions-Policy-Report-Only", "Document-Policy-Report-Only",
	},
	"lets pages of others act with the cookie of the site": {"Access-Control-Allow-Credentials"},
	"makes a proxy in front of the platform send something else": {
		"X-Accel-Redirect", "X-Accel-Buffering", "X-Accel-Charset", "X-Accel-Expires", "X-Accel-Limit-Rate", "X-Sendfile", "X-Lighttpd-Send-File",
		"X-Lighttpd-Send-Tempfile", "X-Reproxy-Url", "Surrogate-Control",
	},
}

// promptSchemes matches challenges for which a browser asks the user for a password, or sends
// stored credentials. Bearer challenges are left to scripts.
var promptSchemes = regexp.MustCompile(`(?i)(^|,)\s*(basic|digest|negotiate|ntlm|kerberos)\b`)

// isDropped reports whether an automation cannot set a header to a text.
func isDropped(canonical, text string) bool {
	if canonical == "Www-Authenticate" {
		return promptSchemes.MatchString(text)
	}
	return droppedNames[canonical] || strings.HasPrefix(canonical, "X-Svc-")
}

var droppedNames = func() map[string]bool {
	all := map[string]bool{}
	for _, names := range droppedHeaders {
		for _, name := range names {
			all[name] = true
		}
	}
	return all
}()

// Head returns the status that was set, 0 for none, and the headers.
func (h *HTTP) Head() (status int, header map[string][]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status, maps.Clone(h.header)
}

// KeepAlive returns the interval of keep-alive messages to a caller that gets chunks; 0: none.
// Changed is closed when the interval changes.
func (h *HTTP) KeepAlive() (every time.Duration, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.keepAlive, h.changed
}

// setKeepAlive sets the interval and notifies the sender, so that it counts from now on.
func (h *HTTP) setKeepAlive(every time.Duration) {
	if every == h.keepAlive {
		return
	}
	h.keepAlive = every
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// markStarted says that a chunk is about to be sent.
func (h *HTTP) markStarted() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = true
}

var errForeignHTTP = automation.Invalid("$http is that of another run, which this one goes on without")

// write sets status, headers or sseKeepAlive.
func (h *HTTP) write(op variable.Op, leastKeepAlive time.Duration) error {
	if h == nil {
		return errForeignHTTP
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch op.Path[0].Key {
	case "sseKeepAlive":
		n, _ := op.Value.(float64)
		h.setKeepAlive(max(time.Duration(n*float64(time.Millisecond)), leastKeepAlive))
		return nil
	case "status":
		n, _ := op.Value.(float64)
		if h.started || n != float64(int(n)) || n < 200 || n > 599 {
			return automation.Invalid("$http.status must be a number from 200 to 599, set before the first chunk")
		}
		h.status = int(n)
		return nil
	}
	if h.started {
		return automation.Invalid("$http.headers must be set before the first chunk")
	}
	return h.setHeaders(op)
}

// setHeaders sets one header, or all of them.
func (h *HTTP) setHeaders(op variable.Op) error {
	if len(op.Path) > 1 {
		return h.setHeader(op.Path[1].Key, op.Value)
	}
	all, _ := op.Value.(*value.Object)
	h.header = map[string][]string{}
	for _, name := range all.Keys() {
		if err := h.setHeader(name, all.At(name)); err != nil {
			return err
		}
	}
	return nil
}

func (h *HTTP) setHeader(name string, v any) error {
	text := value.Text(v)
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	if !validHeader(name, text) {
		return automation.Invalid("$http.headers: %q has a name or a value that no header can have", name)
	}
	if isDropped(canonical, text) {
		return nil
	}
	if h.header == nil {
		h.header = map[string][]string{}
	}
	if value.IsNothing(v) {
		delete(h.header, canonical)
		return nil
	}
	h.header[canonical] = []string{text}
	return nil
}

// validHeader reports whether a header can be sent as it is.
func validHeader(name, text string) bool {
	if name == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}
