package projections

import "svc/domain"

// Health is the state of the read models.
type Health struct {
	Generation uint32      `json:"generation"`
	Logs       []LogHealth `json:"logs"`
}

// LogHealth is the state of the read models of one log.
type LogHealth struct {
	Log      domain.Log `json:"log"`
	Applied  uint64     `json:"applied"`  // the last sequence in the read models
	Lag      uint64     `json:"lag"`      // how far the log is known to be ahead
	CaughtUp bool       `json:"caughtUp"` // whether the log was read to its end since the start
	Fault    *Fault     `json:"fault,omitempty"`
}

// OK reports whether every log is caught up and without a fault.
func (h Health) OK() bool {
	for _, l := range h.Logs {
		if l.Fault != nil || !l.CaughtUp {
			return false
		}
	}
	return true
}

// Health returns the state of the read models.
func (m *Models) Health() Health {
	known := m.opts.Known()
	h := Health{Generation: m.live.Load().num}
	for _, f := range m.logs {
		h.Logs = append(h.Logs, f.health(known.Of(f.log)))
	}
	return h
}
