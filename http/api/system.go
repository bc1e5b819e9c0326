package api

import (
	"net/http"

	"svc/domain"
	"svc/http/console"
	"svc/http/gateway"
)

// indexAnswer is GET /.
type indexAnswer struct {
	Status      string                `json:"status"`
	Name        string                `json:"name"`
	Version     string                `json:"version"`
	APIVersions []gateway.VersionInfo `json:"apiVersions"`
	Time        string                `json:"time"`
}

// index handles GET /. It leads browsers to the console.
func index(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if gateway.PrefersHTML(r.Header) {
			return gateway.Redirect(console.Root).With("Vary", "Accept"), nil
		}
		now := d.Now().UTC()
		answer := indexAnswer{"degraded", "svc", d.Version, gateway.VersionsAt(now), now.Format(domain.Timestamp)}
		if d.Healthy() {
			answer.Status = "ok"
		}
		return gateway.OK(answer).With("Vary", "Accept"), nil
	}
}

// alive handles GET /healthz: a process that answers is alive.
func alive() gateway.HandlerFunc {
	return func(*http.Request) (any, error) {
		return map[string]bool{"healthy": true}, nil
	}
}

// serving handles GET /readyz. Why it is not ready is nobody's business here:
// GET /v2/readiness tells, to those who may know.
func serving(ready func() bool) gateway.HandlerFunc {
	return func(*http.Request) (any, error) {
		if !ready() {
			return gateway.Status(http.StatusServiceUnavailable, map[string]string{"status": statusError}), nil
		}
		return map[string]string{"status": statusReady}, nil
	}
}
