package gateway

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/jub0bs/cors"
)

// corsMethods are the methods of the API.
var corsMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
}

// exposedHeaders are the answer headers that the contract names.
var exposedHeaders = []string{
	"Deprecation", "ETag", "Idempotency-Replayed", "Link", "Location", "Retry-After", "Sunset", "traceparent",
	"x-correlation-id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
	"X-Svc-API-Deprecation", "X-Svc-API-Version-Used", "x-svc-client-id", "x-svc-csrf-token",
	"x-svc-operation-id", "x-svc-seq", "x-svc-session-id", "x-total-count",
}

// crossOrigin is the CORS policy: credentials for the origins of the settings,
// and every origin without credentials where a route says so.
type crossOrigin struct {
	log      *slog.Logger
	trusting *cors.Middleware // for Settings.Origins
	open     *cors.Middleware // for routes with AnyOrigin

	mu      sync.Mutex
	origins []string // what trusting is configured for
}

func newCrossOrigin(log *slog.Logger) (*crossOrigin, error) {
	open, err := cors.NewMiddleware(cors.Config{
		Origins:         []string{"*"},
		Methods:         corsMethods,
		RequestHeaders:  []string{"*", "Authorization"},
		ResponseHeaders: []string{"*"}, // those that an automation set, too
		MaxAgeInSeconds: 600,
	})
	return &crossOrigin{log: log, trusting: new(cors.Middleware), open: open}, err
}

func trustingConfig(origins []string) *cors.Config {
	return &cors.Config{
		Origins:         origins,
		Credentialed:    true,
		Methods:         corsMethods,
		RequestHeaders:  []string{"*"},
		ResponseHeaders: exposedHeaders,
		MaxAgeInSeconds: 600,
		ExtraConfig:     cors.ExtraConfig{DangerouslyTolerateInsecureOrigins: true}, // a site may run on HTTP
	}
}

// reconfigure applies other origins of the settings.
func (c *crossOrigin) reconfigure(origins []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sameSlice(c.origins, origins) {
		return
	}
	if slices.Equal(c.origins, origins) {
		c.origins = origins
		return
	}
	c.origins = origins
	usable := slices.DeleteFunc(slices.Clone(origins), func(origin string) bool {
		_, err := cors.NewMiddleware(*trustingConfig([]string{origin}))
		if err != nil {
			c.log.Warn("CORS origin left out", "origin", origin, "err", err)
		}
		return err != nil
	})
	var cfg *cors.Config
	if len(usable) > 0 {
		cfg = trustingConfig(usable)
	}
	if err := c.trusting.Reconfigure(cfg); err != nil {
		c.log.Error("CORS not reconfigured", "err", err)
	}
}

// sameSlice is the quick answer to slices.Equal for a slice that never changes.
func sameSlice(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// trusts reports whether origin may call with credentials.
func (c *crossOrigin) trusts(origin string) bool {
	h := headerOnly{}
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Header: http.Header{"Origin": {origin}}}
	c.trusting.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(h, r)
	return h.Header().Get("Access-Control-Allow-Origin") == origin
}

// headerOnly is a writer that stores only headers.
type headerOnly http.Header

// Header implements http.ResponseWriter.
func (h headerOnly) Header() http.Header { return http.Header(h) }

// Write implements http.ResponseWriter.
func (h headerOnly) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (h headerOnly) WriteHeader(int) {}

// applyCORS is the CORS step. An origin that is not allowed gets no CORS header; its preflight is
// answered like any OPTIONS.
func (g *Gateway) applyCORS(next http.Handler) http.Handler {
	trusting, open := g.cors.trusting.Wrap(next), g.cors.open.Wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ex := exchangeOf(r)
		g.cors.reconfigure(ex.settings.Origins)
		origin := r.Header.Get("Origin")
		switch {
		case origin == "":
			w.Header().Add("Vary", "Origin")
			next.ServeHTTP(w, r)
		case g.cors.trusts(origin) && isUnroutedPreflight(r, ex):
			w.Header().Add("Vary", "Origin")
			w.WriteHeader(http.StatusNoContent)
		case g.cors.trusts(origin):
			trusting.ServeHTTP(w, r)
		case ex.route != nil && ex.route.AnyOrigin:
			w.Header().Add("Vary", "Origin") // trusted origins get another answer
			open.ServeHTTP(w, r)
		default:
			w.Header().Add("Vary", "Origin")
			next.ServeHTTP(w, r)
		}
	})
}

// isUnroutedPreflight reports whether r is a preflight for a route that does not exist. As browsers
// expect, it is answered without allowed methods, not with a status.
func isUnroutedPreflight(r *http.Request, ex *exchange) bool {
	asked := r.Header.Get("Access-Control-Request-Method")
	return r.Method == http.MethodOptions && asked != "" && (ex.route == nil || !slices.Contains(corsMethods, asked))
}

// routedMethod returns the method to find the route by: a preflight asks for
// the request that will follow.
func routedMethod(r *http.Request) string {
	if asked := r.Header.Get("Access-Control-Request-Method"); r.Method == http.MethodOptions && asked != "" {
		return asked
	}
	return r.Method
}

// answerOptions answers OPTIONS requests that CORS let pass.
func (g *Gateway) answerOptions(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ex := exchangeOf(r)
		if r.Method != http.MethodOptions || ex.route != nil && ex.route.Method == AnyMethod {
			next.ServeHTTP(w, r)
			return
		}
		methods := g.router.methods(r)
		if len(methods) == 0 {
			g.refuse(w, r, ex.lost)
			return
		}
		w.Header().Set("Allow", strings.Join(methods, ", "))
		w.WriteHeader(http.StatusNoContent)
	})
}
