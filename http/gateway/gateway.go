// Package gateway handles everything between the socket and a handler.
//
// A Gateway serves one table of routes. Each route has a permission, limits and a
// handler; New refuses a row without a permission. The order of the steps is
// written once, in Gateway.chain: correlation,
// CORS, API version, header cleaning, limits by IP, authentication, CSRF,
// limits by caller, body limit, permission, handler.
//
// Handlers are functions from a request to a value or an error, and this
// package is the only one that writes a body, so every answer has the same
// shape. The interfaces for authentication, authorization, counters and stored answers
// are declared here.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"svc/commands"
	"svc/domain"
)

// Options configure a Gateway. Only Routes is required; a table with an Action
// needs an Authorizer too.
type Options struct {
	Routes   []Route
	Settings func() Settings // live values; nil: the defaults

	Authenticator Authenticator // nil: no credential is valid
	Authorizer    Authorizer
	CheckCSRF     func(c Caller, token string) bool // nil: no token is valid
	ReadModel     ReadModel                         // nil: reads never wait
	Known         func() domain.Position            // the known end of the logs, for runs, reads, and writes that changed nothing; nil: those answer without a position
	WriteGate     func() error                      // nil: always open
	Idempotency   IdempotencyStore                  // nil: nothing is replayed
	SeedKey       []byte                            // the same on all nodes: without it nobody can predict the ids of requests with an Idempotency-Key; nil: they are predictable
	Limiter       Limiter                           // nil: this node counts alone
	Devices       Devices                           // nil: no IP is known for a login
	DeviceKey     []byte                            // the same on all nodes: signs the cookies of known devices; required with sign-in routes
	Failures      ErrorRecorder                     // nil: errors are not recorded
	// ErrorPage returns the HTML for an error of a page, with its headers; nil: the error is sent as JSON.
	ErrorPage func(r *http.Request, status int) *Content

	Host    domain.Host           // names this node in events
	Log     *slog.Logger          // nil: discarded
	Metrics prometheus.Registerer // nil: not shown
	Tracer  trace.Tracer          // nil: no spans
	Now     func() time.Time      // nil: time.Now
	NewID   func() string         // correlation ids; nil: random UUIDs
}

// Gateway serves a table of routes. It is safe for concurrent use.
type Gateway struct {
	opts     Options
	router   *router
	cors     *crossOrigin
	limits   *windows
	once     *idempotency
	failures *failures
	metrics  *metrics
	inFlight occupancy // requests
	live     occupancy // streams

	handler http.Handler
	workers *commands.WorkerPool // handlers, also those that outlive their request
	working sync.WaitGroup       // handlers that write by themselves, and goroutines that wait for handlers that outlived their request
	owned   sync.WaitGroup       // the goroutine that shares the counters of limits

	life      context.Context // ends when Close gives up waiting
	end       context.CancelFunc
	streaming context.Context // ends with EndStreams
	quit      context.CancelFunc
}

// New returns a gateway. It refuses a table with a row that has no permission or no handler, or
// that is a duplicate, and reports all faults at once. Close must be called.
func New(opts Options) (*Gateway, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g := &Gateway{opts: opts, once: newIdempotency(opts.Idempotency, opts.SeedKey, opts.Log, holder{opts.Host.Replica, opts.NewID()})}
	var errs [4]error
	var compress func(http.Handler) http.HandlerFunc
	g.router, errs[0] = newRouter(opts.Routes)
	g.cors, errs[1] = newCrossOrigin(opts.Log)
	g.metrics, errs[2] = newMetrics(opts.Metrics)
	compress, errs[3] = gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.ContentTypeFilter(isCompressible))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.limits = newWindows(opts.Limiter, opts.Now, opts.Log)
	g.failures = newFailures(opts.Failures, opts.Log)
	g.handler = g.chain(compress)
	g.life, g.end = context.WithCancel(context.Background())
	g.streaming, g.quit = context.WithCancel(g.life)
	g.workers = commands.NewWorkerPool(g.streaming.Done())
	g.once.aside = g.runDetached
	g.owned.Go(func() { g.limits.run(g.streaming) })
	return g, nil
}

func (o Options) withDefaults() Options {
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return o
}

func (o Options) check() error {
	for _, rt := range o.Routes {
		if _, ok := rt.Permission.(Action); ok && o.Authorizer == nil {
			return fmt.Errorf("route %s %s: an action needs an Authorizer", rt.Method, rt.Path)
		}
	}
	return check(o.Routes)
}

// chain is the order in which a request is processed: section 2 of the contract, line by line.
func (g *Gateway) chain(compress func(http.Handler) http.HandlerFunc) http.Handler {
	return inOrder(http.HandlerFunc(g.serve),
		g.openExchange, // correlation id, trace context, client address
		g.observe,
		g.recover,
		g.harden,
		g.applyCORS, // CORS
		g.step(g.checkVersion),
		g.answerOptions,
		g.step(g.clean),
		g.step(g.mustRoute),
		g.step(g.limitByIP),
		g.step(g.authenticate),
		g.step(g.checkCSRF),
		g.step(g.setCallerHeaders), // x-svc-user-id and its kin, for the services
		g.step(g.limitByCaller),
		g.occupy,
		g.step(g.limitBody),
		g.step(g.catchUp),
		g.step(g.authorize),
		g.step(g.checkWriteGate),
		g.compress(compress),
	)
}

// inOrder wraps last so that the first wrapper sees a request first.
func inOrder(last http.Handler, wrappers ...func(http.Handler) http.Handler) http.Handler {
	for i := len(wrappers) - 1; i >= 0; i-- {
		last = wrappers[i](last)
	}
	return last
}

// step turns a check into a step of the chain: an error ends the request.
func (g *Gateway) step(ask func(http.ResponseWriter, *http.Request) error) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := ask(w, r); err != nil {
				g.refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	g.handler.ServeHTTP(rec, r)
	rec.incoming.finish(rec.Header()) // of an answer without a body
}

// EndStreams ends every live stream, and those that are still to come: for
// http.Server.RegisterOnShutdown, which would wait for them otherwise.
func (g *Gateway) EndStreams() { g.quit() }

// Close ends streams and waits for handlers that outlived their requests and
// for errors that are still to be recorded. When ctx ends first the contexts
// of those handlers are cancelled and Close returns why. The server must have
// stopped sending requests.
func (g *Gateway) Close(ctx context.Context) error {
	defer g.end()
	g.quit()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.workers.Wait()
		g.working.Wait()
		g.failures.close()
		g.owned.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// recover turns a panic into a 500. An answer that has begun is aborted.
func (g *Gateway) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if value == http.ErrAbortHandler {
				panic(value)
			}
			err := &handlerPanic{value, debug.Stack()}
			if w.(*recorder).wrote() {
				g.logFailure(r, err)
				panic(http.ErrAbortHandler)
			}
			g.refuse(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}

// Settings are the live settings of a Gateway, which it reads once per request. The zero value of
// every field is the default.
type Settings struct {
	RequestTimeout time.Duration // GATEWAY_REQUEST_TIMEOUT_SECONDS; default 60s
	WriteGrace     time.Duration // how long a write may continue after that; default RequestTimeout

	RequestMaxSize int64 // REQUEST_MAX_SIZE in bytes; default 1 MB
	UploadsMaxSize int64 // UPLOADS_MAX_SIZE in bytes per file; default 10 MB
	ImportMaxSize  int64 // IMPORT_MAX_SIZE in bytes; default 50 MB

	RateLimits       map[RateClass]int64 // per minute; missing: the table's, 0: off
	DisableRateLimit bool                // DISABLE_RATE_LIMIT
	MaxConcurrent    int                 // MAX_CONCURRENT_REQUESTS per caller; default 200
	MaxLive          int                 // live connections per caller; default 50
	MaxLiveVisitors  int                 // live connections of all visitors without an account at an address; default 1000

	// Origins may call with credentials: patterns such as https://example.com
	// and https://*.example.com. The slice must not change once returned.
	Origins        []string
	TrustedProxies []netip.Prefix // TRUSTED_PROXIES
	InternalKey    string         // INTERNAL_API_KEY; empty: no request has it
	HealthLogs     bool           // ENABLE_HEALTHCHECK_LOGS
}

const megabyte = 1 << 20

func (s Settings) withDefaults() Settings {
	s.RequestTimeout = cmp.Or(s.RequestTimeout, time.Minute)
	s.WriteGrace = cmp.Or(s.WriteGrace, s.RequestTimeout)
	s.RequestMaxSize = cmp.Or(s.RequestMaxSize, megabyte)
	s.UploadsMaxSize = cmp.Or(s.UploadsMaxSize, 10*megabyte)
	s.ImportMaxSize = cmp.Or(s.ImportMaxSize, 50*megabyte)
	s.MaxConcurrent = cmp.Or(s.MaxConcurrent, 200)
	s.MaxLive = cmp.Or(s.MaxLive, 50)
	s.MaxLiveVisitors = cmp.Or(s.MaxLiveVisitors, 1000)
	return s
}
