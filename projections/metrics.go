package projections

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

// metrics are what the read models tell about themselves.
type metrics struct {
	applied *prometheus.CounterVec
	batch   prometheus.Histogram
	seconds prometheus.Histogram
}

// newMetrics registers the metrics of m with r, which may be nil.
func newMetrics(r prometheus.Registerer, m *Models) (*metrics, error) {
	s := &metrics{
		applied: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "projection_applied_total", Help: "Events applied to read models, rebuilds included."}, []string{"log"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "projection_batch_size", Help: "Events per transaction.", Buckets: []float64{1, 5, 20, 100, maxBatchEvents}}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "projection_apply_seconds", Help: "Duration of one transaction.", Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8)}),
	}
	if r == nil {
		return s, nil
	}
	collectors := []prometheus.Collector{s.applied, s.batch, s.seconds}
	for i, f := range m.logs {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "projection_lag", Help: "Events in the log that are not applied yet.",
			ConstLabels: prometheus.Labels{"log": string(f.log)},
		}, func() float64 { return float64(m.Health().Logs[i].Lag) }))
	}
	for _, c := range collectors {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *metrics) observe(log domain.Log, events int, took time.Duration) {
	s.applied.WithLabelValues(string(log)).Add(float64(events))
	s.batch.Observe(float64(events))
	s.seconds.Observe(took.Seconds())
}
