package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

// serve is the end of the chain: it runs the handler and sends its answer.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	ex := exchangeOf(r)
	h, ok := handlerOf(ex.route)
	if !ok {
		ex.setRateHeaders(w.Header())
		g.serveRaw(w, r)
		return
	}
	if rp := cachedReply(ex.route, r); rp != nil {
		g.send(w, r, rp)
		return
	}
	rp, done, err := g.await(r, func(r *http.Request) (*reply, error) { return g.once.respond(h, r) })
	defer done()
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	g.send(w, r, rp)
}

// handlerOf returns the handler of a route that returns its answer.
func handlerOf(rt *Route) (h HandlerFunc, ok bool) {
	if prompt, ok := rt.Handler.(Prompt); ok {
		return prompt.HandlerFunc, true
	}
	h, ok = rt.Handler.(HandlerFunc)
	return h, ok
}

// cachedReply returns the answer to a read without waiting, and so without a goroutine and a
// timer; nil when there is none.
func cachedReply(rt *Route, r *http.Request) *reply {
	prompt, ok := rt.Handler.(Prompt)
	if !ok || !isRead(r.Method) {
		return nil
	}
	body, ok := prompt.Cached(r)
	if !ok {
		return nil
	}
	rp, err := render(r, body)
	if err != nil {
		return nil // the handler gets the same error, and reports it
	}
	return rp
}

// serveRaw runs a handler that writes by itself. Unless it streams, its
// context ends with the request timeout; the rest is up to it.
func (g *Gateway) serveRaw(w http.ResponseWriter, r *http.Request) {
	ex := exchangeOf(r)
	if ex.route.Streaming {
		ctx, release := g.streamContext(r.Context())
		defer release()
		ex.route.Handler.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	g.working.Add(1)
	defer g.working.Done()
	ctx, cancel := g.workContext(r.Context(), ex.writes(r))
	defer cancel()
	defer time.AfterFunc(ex.settings.RequestTimeout, cancel).Stop()
	ex.route.Handler.ServeHTTP(w, r.WithContext(ctx))
}

// send completes the headers of a reply and writes it.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, rp *reply) {
	ex := exchangeOf(r)
	if rp.stream != nil && !ex.route.Streaming {
		leave, err := g.acquireLive(ex, rp.stream.Session)
		if err != nil {
			rp.end(nil, err)
			g.refuse(w, r, err)
			return
		}
		defer leave()
		ex.slot.release() // it is a live connection now, and no request in flight
		ctx, release := g.streamContext(r.Context())
		defer release()
		r = r.WithContext(ctx)
	}
	h := w.Header()
	ex.setRateHeaders(h)
	setPosition(h, ex.positionOf(r, rp.status))
	g.forbidStoring(h, ex, rp)
	if err := rp.send(w, r); err != nil {
		g.refuse(w, r, err)
	}
}

// positionOf returns the position of an answer: how far the request has written. For a write
// without changes it is what this node knows, and for a read what the node knew before it, so
// that a stream which begins there misses no change of what was read.
func (ex *exchange) positionOf(r *http.Request, status int) domain.Position {
	var pos domain.Position
	if ex.command != nil {
		pos = ex.command.Position()
	}
	if g := ex.gateway; pos.IsZero() && status < http.StatusMultipleChoices && ex.writes(r) && g != nil && g.opts.Known != nil {
		pos = g.opts.Known()
	}
	if pos.IsZero() && (status < http.StatusMultipleChoices || status == http.StatusNotModified) {
		pos = ex.readAt
	}
	return pos
}

func setPosition(h http.Header, pos domain.Position) {
	if !pos.IsZero() {
		h.Set("X-Svc-Seq", pos.Token())
	}
}

// forbidStoring keeps personal answers out of caches. A document has one address as JSON and as YAML.
func (g *Gateway) forbidStoring(h http.Header, ex *exchange, rp *reply) {
	kind := rp.header.Get("Content-Type")
	isDocument := strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "application/yaml")
	if isDocument && ex.caller.Kind != KindNone && rp.header.Get("Cache-Control") == "" || rp.header.Get("Set-Cookie") != "" {
		h["Cache-Control"] = noStore
	}
}

// refuse answers with an error, logs it when it is for the operator, and records it in the
// workspace.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ex := exchangeOf(r)
	status, refusal, known := explain(err)
	if !known {
		g.logFailure(r, err)
	}
	// The client cancelled a read: nothing failed in the workspace.
	gone := errors.Is(err, context.Canceled) && r.Context().Err() != nil
	if known, ok := errors.AsType[*Refusal](err); !gone && (!ok || !known.Recorded) {
		g.failures.add(r, ex, status, refusal)
	}
	rp := failure(ex, err)
	if g.opts.ErrorPage != nil {
		if page := g.opts.ErrorPage(r, rp.status); page != nil {
			rp.body = page.Body
			AddHeader(rp.header, page.Header)
			rp.header.Set("Content-Type", page.Type)
		}
	}
	h := w.Header()
	ex.setRateHeaders(h)
	setPosition(h, ex.positionOf(r, rp.status))
	g.forbidStoring(h, ex, rp)
	_ = rp.send(w, r) // fails only for a stream
}

// logFailure logs what the caller must not see.
func (g *Gateway) logFailure(r *http.Request, err error) {
	ex := exchangeOf(r)
	log := g.opts.Log.With("method", r.Method, "route", ex.template, "correlationId", ex.id, "err", err)
	if p, ok := errors.AsType[*handlerPanic](err); ok {
		log = log.With("stack", string(p.stack))
	}
	if _, ok := errors.AsType[Unavailable](err); ok {
		log.WarnContext(r.Context(), "request not served")
		return
	}
	log.ErrorContext(r.Context(), "request failed")
}

// Values of headers that are always the same. They must not be changed.
var (
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
	jsonOnly = []string{jsonType}
)

// harden sets the security headers of every answer.
func (g *Gateway) harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Content-Type-Options"] = noSniff
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			// It may have had a Content-Length too, which net/http drops: a proxy may see the end of
			// the request elsewhere. What follows is not read (RFC 9112, 6.1).
			w.Header().Set("Connection", "close")
		}
		if exchangeOf(r).secure {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// compress wraps every route but the streaming ones.
func (g *Gateway) compress(wrap func(http.Handler) http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		compressed := wrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if exchangeOf(r).route.Streaming {
				next.ServeHTTP(w, r)
				return
			}
			compressed.ServeHTTP(w, r)
		})
	}
}

// isCompressible excludes live streams: a frame must not wait in a buffer.
func isCompressible(contentType string) bool {
	return !strings.HasPrefix(contentType, "text/event-stream") && gzhttp.DefaultContentTypeFilter(contentType)
}

// outcome is the result of a handler.
type outcome struct {
	reply *reply
	err   error
}

// handlerPanic is the panic of a handler, for the log.
type handlerPanic struct {
	value any
	stack []byte
}

// Error implements error.
func (p *handlerPanic) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// task is a handler whose result is rendered already.
type task func(*http.Request) (*reply, error)

// await runs work on another goroutine and waits for it until the request timeout. After
// that the caller gets 504, and work continues.
//
// A read is cancelled when its client disconnects or the timeout is over: nothing is lost. A
// write is not, because a command that is cut off between its effects and its events would
// leave effects without a record. It may continue for Settings.WriteGrace, and Close waits for
// it. So a write that timed out may have happened.
//
// done must be called when the reply has been sent: until then the reply may read from
// something that depends on the context.
func (g *Gateway) await(r *http.Request, work task) (rp *reply, done func(), err error) {
	ex := exchangeOf(r)
	ctx, cancel := g.workContext(r.Context(), ex.writes(r))
	wait := handlerWaits.Get().(*handlerWait)
	ex.slot.retain()
	g.workers.Run(func() {
		defer ex.slot.release()
		wait.finished <- runTask(work, r.WithContext(ctx))
	})
	wait.timer.Reset(ex.settings.RequestTimeout)
	select {
	case o := <-wait.finished:
		wait.timer.Stop()
		handlerWaits.Put(wait)
		return o.reply, cancel, o.err
	case <-wait.timer.C:
	}
	if !ex.writes(r) {
		cancel()
	}
	g.working.Go(func() { g.awaitLate(r, cancel, wait.finished) })
	return nil, func() {}, context.DeadlineExceeded
}

// handlerWait is what a request waits for its handler with. It is used again when the handler was in time.
type handlerWait struct {
	finished chan outcome
	timer    *time.Timer
}

var handlerWaits = sync.Pool{New: func() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &handlerWait{make(chan outcome, 1), timer}
}}

// workContext returns the context of a handler. It ends at the latest when Close stops waiting.
func (g *Gateway) workContext(ctx context.Context, writes bool) (context.Context, func()) {
	if writes {
		life, cancel := context.WithCancel(g.life)
		return detachedContext{life, ctx}, cancel
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// detachedContext is a context with the values of another one, that does not end with it.
type detachedContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context. The context that ends comes first: the package context finds there whose end it has
// to follow.
func (c detachedContext) Value(key any) any {
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.values.Value(key)
}

// awaitLate waits for a handler that continues after its request, and cancels it after the grace
// period. Its error is logged.
func (g *Gateway) awaitLate(r *http.Request, cancel func(), finished <-chan outcome) {
	timer := time.AfterFunc(exchangeOf(r).settings.WriteGrace, cancel)
	defer timer.Stop()
	o := <-finished
	cancel()
	if o.reply != nil {
		o.reply.abandon()
	}
	if _, _, known := explain(o.err); o.err != nil && !known {
		g.logFailure(r, o.err)
	}
}

// runDetached runs work of a request in the background. Its context ends with EndStreams.
func (g *Gateway) runDetached(r *http.Request, work task) {
	ctx, release := g.streamContext(context.WithoutCancel(r.Context()))
	r = r.WithContext(ctx)
	r.Body = http.NoBody // it was read, and need not stay in memory
	g.working.Go(func() {
		defer release()
		runTask(work, r)
	})
}

// streamContext is the context of a stream: it ends with its client, or with
// EndStreams.
func (g *Gateway) streamContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.streaming, cancel)
	return ctx, func() { stop(); cancel() }
}

// runTask runs work and turns a panic into an error.
func runTask(work task, r *http.Request) (o outcome) {
	defer func() {
		if value := recover(); value != nil {
			o = outcome{err: &handlerPanic{value, debug.Stack()}}
		}
	}()
	rp, err := work(r)
	return outcome{rp, err}
}

// metrics are the Prometheus metrics of the gateway.
type metrics struct {
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMetrics(to prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "http_request_duration_seconds",
			Help:    "Time to answer a request, by route template.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
		}, []string{"method", "route", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "http_requests_in_flight",
			Help: "Requests being answered.",
		}),
	}
	for _, c := range []prometheus.Collector{m.duration, m.inFlight} {
		if err := to.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// observe measures and logs every request, once.
func (g *Gateway) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.metrics.inFlight.Inc()
		defer g.metrics.inFlight.Dec()
		rec := w.(*recorder)
		defer func() { g.report(rec, r) }()
		next.ServeHTTP(w, r)
	})
}

func (g *Gateway) report(rec *recorder, r *http.Request) {
	ex := exchangeOf(r)
	duration := g.opts.Now().Sub(ex.start)
	method := r.Method
	if !isKnownMethod(method) {
		method = "other" // clients must not be able to add values of a label
	}
	g.metrics.duration.WithLabelValues(method, ex.template, statusLabel(rec.status)).Observe(duration.Seconds())
	quiet := ex.route != nil && ex.route.Probe && !ex.settings.HealthLogs
	if quiet || !g.opts.Log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	g.opts.Log.LogAttrs(r.Context(), slog.LevelInfo, "request answered",
		slog.String("method", r.Method), slog.String("route", ex.template), slog.String("path", ex.logPath(r.URL)),
		slog.Int("status", rec.status), slog.Float64("durationMs", float64(duration)/float64(time.Millisecond)),
		slog.Int64("bytes", rec.bytes), slog.String("correlationId", ex.id), slog.String("userId", ex.caller.Actor()),
		slog.String("ip", addressText(ex.ip)))
}

// statusLabel returns a status as a label of a metric.
func statusLabel(status int) string {
	if status == http.StatusOK { // nearly all are: no allocation
		return "200"
	}
	return strconv.Itoa(status)
}

func isKnownMethod(method string) bool {
	return method == http.MethodOptions || slices.Contains(corsMethods, method)
}
