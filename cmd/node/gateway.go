package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc/cmd/settings"
	"svc/commands"
	"svc/http/api"
	"svc/http/console"
	"svc/http/gateway"
	"svc/projections"
)

// openGateway builds the route table and everything around it.
func (n *Node) openGateway(ctx context.Context) error {
	answers, err := n.store.Buckets.OpenRecords(ctx, "IDEMPOTENCY", 24*time.Hour)
	if err != nil {
		return err
	}
	devices, err := n.store.Buckets.OpenRecords(ctx, "DEVICES", gateway.DeviceLifetime)
	if err != nil {
		return err
	}
	n.self = selfTransport(n.config().HTTP)
	n.checks, err = newProbes(ctx, n)
	if err != nil {
		return err
	}
	authenticator := n.opts.Authenticator
	if authenticator == nil {
		authenticator = n.people.identity
	}
	n.gateway, err = gateway.New(gateway.Options{
		Routes: api.Routes(n.deps()), Settings: n.gatewaySettings(),
		Authenticator: authenticator, Authorizer: n.people.identity, CheckCSRF: n.people.identity.CheckCSRF,
		ReadModel: reads{n.models, n.store.Log}, Known: n.store.Log.Known, WriteGate: n.writable, Idempotency: answers, SeedKey: n.people.box.Derive("ids"), Limiter: n.store.Counters, Devices: devices, DeviceKey: n.people.box.Derive("devices"),
		Failures: commands.Failures{Engine: n.engine, Log: n.log},
		Host:     n.host("gateway"), Log: n.log, Metrics: n.registry, Tracer: n.tracer,
	})
	if err != nil {
		return err
	}
	n.closeWith("gateway", n.closeGateway)
	n.closeWith("own connections", func(context.Context) error {
		n.self.CloseIdleConnections()
		return nil
	})
	n.server = &http.Server{
		Handler: n.gateway, MaxHeaderBytes: 64 << 10, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, DisableGeneralOptionsHandler: true,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug),
	}
	n.server.RegisterOnShutdown(n.gateway.EndStreams)
	return nil
}

// lastRequests is how long handlers have after the grace period whose callers are cut off
// already: others must be closed after them.
const lastRequests = 2 * time.Second

// closeGateway lets handlers come to their end, for a moment.
func (n *Node) closeGateway(ctx context.Context) error {
	moment, cancel := context.WithTimeout(ctx, lastRequests)
	defer cancel()
	err := n.gateway.Close(moment)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		n.log.Warn("handlers were still at work when everything else had to close, and are cut off")
		return nil
	}
	return err
}

// deps fills in what the handlers ask for.
func (n *Node) deps() api.Deps {
	c := n.config()
	deps := api.Deps{
		Version: n.opts.Version, Log: n.log, Zone: func() *time.Location { return n.config().Runtime.SchedulesTimezone },
		Healthy: n.ready, Ready: n.ready,
		Config: func() any {
			loaded := n.opts.Settings.Get()
			return loaded.Report(loaded.Entries())
		},
		SetLogLevel:    n.opts.Level.Set,
		SecretDefaults: n.secretDefaults,
		Metrics:        promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}), MetricsPublic: c.Obs.MetricsPublic,
		Checks: n.checks.table(), DisabledServices: c.Core.DisabledServices, ReadinessTTL: c.HTTP.ReadinessCacheTTL,
		InternalURL: c.HTTP.InternalAPIURL, InternalKey: func() string { return n.config().Core.InternalAPIKey.Reveal() },
		Transport: n.self,
		ReadModel: n.models, Keeper: n.models, Workspaces: n.places.workspaces,
		Content: n.places.content, Library: n.places.library, Vault: n.places.vault, Files: n.filesDeps(), Operations: n.operationsDeps(),
		Apps: n.places.apps, Shelf: n.places.library.shelf, Repositories: n.places.repositories, Versioning: n.places.versioning, Bulk: n.places.bulk,
		APIKeys: commands.APIKeys{Engine: n.engine, Now: time.Now},
		Access:  n.people.identity, SigningKeys: n.people.keys, LastUsed: n.people.used.At,
		NATSUsers: n.natsUsers(), NATSListening: c.Broker.Listen != "",
		Cleanup:       api.CleanupDeps{Jobs: n.cleanup, Terms: n.cleanupTerms, Duration: settings.ParseDuration},
		Subscriptions: n.subscriptionsDeps(),
		Collections:   n.running.collections, Contexts: n.running.contexts, Redactor: n.running.secrets.Redactor,
		Programs: n.running.programs, Runtime: n.running.runtime, Replays: n.running.replays, CancelRun: n.cancelRun,
		Emitter: n.emitter(), Feed: n.feed, Heartbeat: c.HTTP.SSEHeartbeat,
		Claim: n.claim, Accounts: n.people.accounts, Sessions: n.people.sessions, CSRFToken: n.people.identity.CSRFToken,
		Local: func() (signin, signup bool) {
			a := n.config().Auth
			return !a.DisableSignin, !a.DisableSignup && !a.DisableSignin
		},
		Console: console.New(console.Options{
			APIBase: strings.TrimPrefix(c.HTTP.Issuer(), c.HTTP.Origin()), UploadMax: c.HTTP.UploadMaxSize, ImportMax: c.HTTP.ImportMaxSize,
		}),
		Blobs: n.store.Blobs, OIDC: n.people.signIn, Providers: providers{n.people.providers, n.people.signIn},
	}
	n.places.importers.open(deps)
	return deps
}

// ready reports whether the log takes writes, the read models are caught up, and the
// platform has what it cannot be without: the first keys and accounts.
func (n *Node) ready() bool {
	return n.writable() == nil && n.models.Health().OK() && n.begun.Load()
}

// writable refuses writes while the log takes none, or when events are missing
// from it: what would be decided on a history with a hole cannot be trusted.
func (n *Node) writable() error {
	if err := n.store.Writable(); err != nil {
		return commands.Refused(err)
	}
	for _, log := range n.models.Health().Logs {
		if log.Fault != nil && log.Fault.Kind == projections.FaultGap {
			return commands.Refused(fmt.Errorf("the log is damaged, see docs/operations.md: %w", log.Fault))
		}
	}
	return nil
}

// gatewaySettings returns the live settings in the gateway's form, made once
// for each set.
func (n *Node) gatewaySettings() func() gateway.Settings {
	type made struct {
		from *settings.Loaded
		to   gateway.Settings
	}
	var last atomic.Pointer[made]
	return func() gateway.Settings {
		loaded := n.opts.Settings.Get()
		if m := last.Load(); m != nil && m.from == loaded {
			return m.to
		}
		m := &made{loaded, toGateway(loaded.Config)}
		last.Store(m)
		return m.to
	}
}

func toGateway(c settings.Config) gateway.Settings {
	h, a := c.HTTP, c.Auth
	limits := map[gateway.RateClass]int{
		gateway.RateRequests: h.RateRequests, gateway.RateSearchEvents: h.RateSearchEvents, gateway.RateUploadFile: h.RateUploadFile,
		gateway.RateCreateWorkspace: h.RateCreateWorkspace, gateway.RateImportWorkspace: h.RateImportWorkspace, gateway.RateWebhooks: h.RateWebhooks,
		gateway.RateSignup: a.RateSignup, gateway.RateAnonymousLogin: a.RateAnonymousLogin, gateway.RateLogin: a.RateLogin,
		gateway.RatePasswordReset: a.RatePasswordReset, gateway.RateTokenExchange: a.RateTokenExchange,
	}
	rates := make(map[gateway.RateClass]int64, len(limits))
	for class, limit := range limits {
		rates[class] = int64(limit)
	}
	return gateway.Settings{
		RequestTimeout: h.RequestTimeout, RequestMaxSize: h.RequestMaxSize, UploadsMaxSize: h.UploadMaxSize, ImportMaxSize: h.ImportMaxSize,
		RateLimits: rates, DisableRateLimit: h.DisableRateLimit, MaxConcurrent: h.MaxConcurrent,
		Origins: origins(h), TrustedProxies: h.TrustedProxies, InternalKey: c.Core.InternalAPIKey.Reveal(), HealthLogs: c.Obs.HealthcheckLogs,
	}
}
