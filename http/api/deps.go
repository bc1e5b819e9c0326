package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/workspace"
	"svc/projections"
)

// Deps are what the handlers ask of the rest of the platform. Every field
// without a default is required.
type Deps struct {
	Version string           // of the build, for GET /
	Now     func() time.Time // default time.Now
	Log     *slog.Logger     // default slog.Default

	Healthy     func() bool      // whether everything works: GET / says ok or degraded
	Ready       func() bool      // whether the log and the read model are usable, for /readyz
	Config      func() any       // the effective settings in their JSON form, secrets masked
	SetLogLevel func(slog.Level) // changes what is logged, at once

	Metrics       http.Handler // Prometheus text
	MetricsPublic bool         // METRICS_PUBLIC: no credential is needed

	Checks       []Check           // what readiness tests, in the order of its report
	ReadinessTTL time.Duration     // READINESS_CACHE_TTL_MS; 0: every call tests anew
	InternalURL  string            // INTERNAL_API_URL; credentials in it are not used
	InternalKey  func() string     // INTERNAL_API_KEY, shown to the services
	Transport    http.RoundTripper // asks the services; default one without a proxy

	ReadModel  ReadModel
	Keeper     Keeper
	Workspaces Workspaces
}

// ReadModel is what is read. It is a *projections.Models.
type ReadModel interface {
	// View calls fn with a reader of one moment.
	View(fn func(projections.Reader) error) error
	// Reach waits until the read model has everything up to pos.
	Reach(ctx context.Context, pos domain.Position) error
}

// Keeper looks after the read models. It is a *projections.Models.
type Keeper interface {
	// Rebuild builds the read models anew beside those that serve.
	Rebuild(ctx context.Context, progress projections.Progress) (projections.Report, error)
	// Verify compares the read models with what the logs make of them.
	Verify(ctx context.Context, progress projections.Progress) (projections.VerifyReport, error)
}

// Workspaces changes workspaces. It is a commands.Workspaces.
type Workspaces interface {
	Create(ctx context.Context, settings workspace.Settings) (commands.Workspace, error)
	// Update refuses when ifMatch, unless empty, is not the workspace's tag.
	Update(ctx context.Context, id string, change workspace.Update, ifMatch string) (commands.Workspace, error)
}

func (d Deps) withDefaults() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Transport == nil {
		d.Transport = &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	}
	return d
}

// timestamp is the form of times in answers.
const timestamp = "2006-01-02T15:04:05.000Z"
