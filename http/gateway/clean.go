package gateway

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/domain"
)

// The limits on what comes before a body.
const (
	maxURL     = 8 << 10
	maxHeaders = 32 << 10
)

// keptHeaders are the x-svc-* headers that a client may send. All others are
// the gateway's own words to the services.
var keptHeaders = []string{"X-Svc-Api-Key", "X-Svc-Csrf-Token", "X-Svc-Min-Seq", "X-Svc-Api-Version"}

// Headers that may come in several lines, and those that may not, which the
// contract spells in its own way.
var (
	listHeaders   = []string{"If-Match", "If-None-Match"}
	singleHeaders = []struct{ key, name string }{
		{"Content-Type", "Content-Type"}, {"X-Svc-Api-Version", "X-Svc-API-Version"}, {"X-Svc-Min-Seq", "x-svc-min-seq"},
	}
)

// clean is the header step: it bounds the size of URL and headers, removes what
// only the gateway may say, and settles what was said twice.
func (g *Gateway) clean(_ http.ResponseWriter, r *http.Request) error {
	if len(r.RequestURI) > maxURL {
		return RefuseStatus(http.StatusRequestURITooLong, "the URL is longer than %d bytes", maxURL)
	}
	size := 0
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + len(": \r\n")
		}
		if isOurs(name) && !slices.Contains(keptHeaders, name) {
			delete(r.Header, name)
		}
	}
	if size > maxHeaders {
		return RefuseStatus(http.StatusRequestHeaderFieldsTooLarge, "the headers are larger than %d bytes", maxHeaders)
	}
	return unify(r.Header)
}

// unify leaves one line of each header that handlers read: lists are joined,
// and what can only be said once is refused when it is said twice.
func unify(h http.Header) error {
	for _, name := range listHeaders {
		if lines := h[name]; len(lines) > 1 {
			h[name] = []string{strings.Join(lines, ", ")}
		}
	}
	for _, header := range singleHeaders {
		if len(h[header.key]) > 1 {
			return domain.Refuse(domain.CodeInvalidParameter, "%s was sent twice", header.name).With("parameter", header.name)
		}
	}
	return nil
}

// mustRoute refuses what has no route, unknown paths and methods, and a query
// that cannot be read.
func (g *Gateway) mustRoute(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	switch _, err := url.QueryUnescape(r.URL.RawQuery); {
	case ex.lost != nil && strings.HasPrefix(r.URL.Path, "/sys/"):
		return ex.lost // operators are never locked out
	case ex.lost != nil:
		return g.countStranger(r, ex, ex.lost)
	case err != nil:
		return domain.Refuse(domain.CodeInvalidParameter, "the query is not well-formed").With("parameter", "query")
	}
	return nil
}

// isOurs also catches x_svc_: some servers behind a proxy read it as a dash.
func isOurs(name string) bool {
	return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "x-svc-")
}

// introduce is the step that tells the services who calls, in place of the
// credentials, which go no further than the gateway.
func (g *Gateway) introduce(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.Rate == RateLogin {
		ex.devices = deviceTokens(r)
	}
	if ex.route.OwnAuth {
		return nil
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Svc-Api-Key", "X-Svc-Csrf-Token"} {
		delete(r.Header, name)
	}
	present(r.Header, ex.caller)
	return nil
}

// present sets the headers that tell the services who calls.
func present(h http.Header, c Caller) {
	for _, word := range [...]struct{ name, value string }{
		{"X-Svc-User-Id", c.UserID},
		{"X-Svc-Session-Id", c.SessionID},
		{"X-Svc-Role", c.Role},
		{"X-Svc-Workspace-Id", cmp.Or(c.SourceWorkspaceID, c.WorkspaceID)},
		{"X-Svc-Auth-Data", c.AuthData},
	} {
		delete(h, word.name)
		if word.value != "" {
			h[word.name] = []string{word.value}
		}
	}
}
