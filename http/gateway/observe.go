package gateway

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the gateway counts of itself.
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
	took := g.opts.Now().Sub(ex.start)
	method := r.Method
	if !isKnownMethod(method) {
		method = "other" // a label must not grow with what clients make up
	}
	g.metrics.duration.WithLabelValues(method, ex.template, strconv.Itoa(rec.status)).Observe(took.Seconds())
	quiet := ex.route != nil && ex.route.Probe && !ex.settings.HealthLogs
	if quiet || !g.opts.Log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	g.opts.Log.LogAttrs(r.Context(), slog.LevelInfo, "request answered",
		slog.String("method", r.Method), slog.String("route", ex.template), slog.String("path", ex.shownPath(r.URL)),
		slog.Int("status", rec.status), slog.Float64("durationMs", float64(took)/float64(time.Millisecond)),
		slog.Int64("bytes", rec.bytes), slog.String("correlationId", ex.id), slog.String("userId", ex.caller.Actor()),
		slog.String("ip", shownAddress(ex.ip)))
}

func isKnownMethod(method string) bool {
	return method == http.MethodOptions || slices.Contains(corsMethods, method)
}
