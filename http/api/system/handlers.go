// Package system has the handlers of the service itself: discovery, health, readiness and
// maintenance.
package system

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc/commands/accounts"
	"svc/http/api/handler"
	"svc/streams/cleanup"
)

// Handlers answer requests about the service.
type Handlers struct {
	ReadModel handler.ReadModel
	Version   string           // of the build, for GET /
	Healthy   func() bool      // whether everything works: GET / says ok or degraded
	Ready     func() bool      // whether the log and the read model are usable, for /readyz
	Config    func() any       // the effective settings in their JSON form, secrets masked
	SetLevel  func(slog.Level) // changes what is logged, at once

	Metrics       http.Handler // Prometheus text
	MetricsPublic bool         // METRICS_PUBLIC: no credential is needed

	Checks           []Check           // what readiness tests, in the order of its report
	DisabledServices []string          // DISABLED_SERVICES: left out of the report
	ReadinessTTL     time.Duration     // READINESS_CACHE_TTL_MS; 0: every call tests anew
	InternalURL      string            // INTERNAL_API_URL; credentials in it are not used
	InternalKey      func() string     // INTERNAL_API_KEY, shown to the services
	Transport        http.RoundTripper // asks the services

	ReadModels   ReadModelMaintainer // of the read models
	SearchIndex  SearchMaintainer    // of the search index
	Cleanup      CleanupJobs
	CleanupTerms func() cleanup.Terms // those of the settings
	// ParseDuration reads a time as settings are written: 36h, 14d.
	ParseDuration func(text string) (time.Duration, error)
	SigningKeys   SigningKeys
	NATSUsers     NATSUsers // programs of others that watch events
	NATSListening bool      // whether those have where to connect to
	// Claim gives the account with an address to whoever has the host.
	Claim func(ctx context.Context, email string, newPassword bool) (made accounts.NewAccount, super bool, err error)

	Now func() time.Time
	Log *slog.Logger
}
