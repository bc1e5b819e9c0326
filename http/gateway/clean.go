package gateway

import (
	"net/http"
	"slices"
	"strings"
)

// The limits on what comes before a body.
const (
	maxURL     = 8 << 10
	maxHeaders = 32 << 10
)

// keptHeaders are the x-svc-* headers that a client may send. All others are
// the gateway's own words to the services.
var keptHeaders = []string{"X-Svc-Api-Key", "X-Svc-Csrf-Token", "X-Svc-Min-Seq", "X-Svc-Api-Version"}

// clean is the header step: it bounds the size of URL and headers, and removes
// what only the gateway may say.
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
	return nil
}

// mustRoute refuses what has no route: unknown paths and methods.
func (g *Gateway) mustRoute(_ http.ResponseWriter, r *http.Request) error { return exchangeOf(r).lost }

// isOurs also catches x_svc_: some servers behind a proxy read it as a dash.
func isOurs(name string) bool {
	return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "x-svc-")
}

// introduce is the step that tells the services who calls, in place of the
// credentials, which go no further than the gateway.
func (g *Gateway) introduce(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.OwnAuth {
		return nil
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Svc-Api-Key", "X-Svc-Csrf-Token"} {
		r.Header.Del(name)
	}
	for name, value := range map[string]string{
		"X-Svc-User-Id":      ex.caller.UserID,
		"X-Svc-Session-Id":   ex.caller.SessionID,
		"X-Svc-Role":         ex.caller.Role,
		"X-Svc-Workspace-Id": ex.caller.WorkspaceID,
		"X-Svc-Auth-Data":    ex.caller.AuthData,
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return nil
}
