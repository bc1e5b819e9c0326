package jetstream

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the store tells of itself.
type metrics struct {
	append  *prometheus.HistogramVec
	batches prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		append: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "svc_append_duration_seconds", Help: "Time from an append to its durable acknowledgement, by outcome.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .5, 1, 2},
		}, []string{"outcome"}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "svc_gate_batch_size", Help: "How many appends one fsync made durable.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.append, m.batches)
	}
	return m
}

func (m metrics) gateBatch(n int) { m.batches.Observe(float64(n)) }

func (m metrics) appended(start time.Time, outcome string) {
	m.append.WithLabelValues(outcome).Observe(time.Since(start).Seconds())
}
