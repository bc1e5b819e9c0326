package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc/cmd/process"
	"svc/cmd/readiness"
	"svc/cmd/settings"
	"svc/commands"
	"svc/http/api"
	"svc/http/console"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/monitor"
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
	n.self = process.SelfTransport(n.config().HTTP)
	n.probes, err = readiness.New(ctx, readiness.Options{
		Config: n.config, Store: n.store, DB: n.db, Models: n.models, Rows: n.automations.rows, RowModel: n.automations.rowModel, Feed: n.events.feed,
		Sandbox: n.automations.sandbox, Identity: n.identity.identity, Keys: n.identity.keys, Box: n.identity.box, Checks: n.identity.checks,
		KeysInDir: n.keysInDir, Transport: n.self,
	})
	if err != nil {
		return err
	}
	authenticator := n.opts.Authenticator
	if authenticator == nil {
		authenticator = n.identity.identity
	}
	n.gateway, err = gateway.New(gateway.Options{
		Routes: api.Routes(n.deps()), Settings: n.gatewaySettings(),
		Authenticator: authenticator, Authorizer: n.identity.identity, CheckCSRF: n.identity.identity.CheckCSRF,
		ReadModel: projections.RequestReads{Models: n.models}, Known: n.store.Log.Known, WriteGate: n.checkWritable,
		Idempotency: answers, SeedKey: n.identity.box.Derive("ids"), Limiter: n.store.Counters, Devices: devices, DeviceKey: n.identity.box.Derive("devices"),
		Failures: commands.Failures{Engine: n.engine, Log: n.log},
		Host:     n.host("gateway"), Log: n.log, Metrics: n.registry, Tracer: n.tracer,
	})
	if err != nil {
		return err
	}
	n.closeWith("gateway", n.closeGateway)
	n.stopWith("own connections", n.self.CloseIdleConnections)
	n.server = &http.Server{
		Handler: n.gateway, MaxHeaderBytes: 64 << 10, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, DisableGeneralOptionsHandler: true,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug),
	}
	n.server.RegisterOnShutdown(n.gateway.EndStreams)
	return nil
}

// handlerGrace is how long handlers may run after the grace period, when their callers are
// disconnected: the services that they use are closed after them.
const handlerGrace = 2 * time.Second

// closeGateway waits for running handlers, for a short time.
func (n *Node) closeGateway(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, handlerGrace)
	defer cancel()
	err := n.gateway.Close(waiting)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		n.log.Warn("handlers were still at work when everything else had to close, and are cut off")
		return nil
	}
	return err
}

// deps returns what the handlers need.
func (n *Node) deps() api.Deps {
	c := n.config()
	deps := api.Deps{
		Version: n.opts.Version, Log: n.log, Zone: func() *time.Location { return n.config().Runtime.SchedulesTimezone },
		Healthy: n.isReady, Ready: n.isReady,
		Config: func() any {
			loaded := n.opts.Settings.Get()
			return loaded.Report(loaded.Entries())
		},
		SetLogLevel:    n.opts.Level.Set,
		SecretDefaults: n.secretDefaults,
		Metrics:        promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}), MetricsPublic: c.Obs.MetricsPublic,
		Checks: n.probes.Table(), DisabledServices: c.Core.DisabledServices, ReadinessTTL: c.HTTP.ReadinessCacheTTL,
		InternalURL: c.HTTP.InternalAPIURL, InternalKey: func() string { return n.config().Core.InternalAPIKey.Reveal() },
		Transport: n.self,
		ReadModel: n.models, Keeper: n.models, Workspaces: n.workspaces.workspaces,
		Content: n.workspaces.content, Library: n.workspaces.library, Vault: n.workspaces.vault,
		Files: api.FilesDeps{
			Commands: n.workspaces.files, Links: n.workspaces.files, Contents: n.store.Blobs, URL: c.HTTP.APIURL, Dir: filepath.Join(c.Core.DataDir, "uploads"),
		},
		Operations: api.OperationsDeps{
			Runner: n.workspaces.operations, Events: n.store.Log, Keeps: func() time.Duration { return n.config().Workspaces.OperationsRetention },
		},
		Apps: n.workspaces.apps, Shelf: n.workspaces.library.Shelf, Repositories: n.workspaces.repositories, Versioning: n.workspaces.versioning, Bulk: n.workspaces.bulk,
		APIKeys: commands.APIKeys{Engine: n.engine, Now: time.Now},
		Access:  n.identity.identity, SigningKeys: n.identity.keys, LastUsed: n.identity.lastUsed.At,
		NATSUsers:     commands.NATSUsers{Engine: n.engine, Voucher: monitor.Signer{Seed: n.identity.box.Derive("nats users")}, Now: time.Now},
		NATSListening: c.Broker.Listen != "",
		Cleanup:       api.CleanupDeps{Jobs: n.events.cleanup, Terms: n.cleanupTerms, Duration: settings.ParseDuration},
		Subscriptions: api.SubscriptionsDeps{Commands: n.events.subscriptions, Webhooks: n.events.webhooks},
		Collections:   n.automations.collections, Contexts: n.automations.contexts, Redactor: n.workspaces.secrets.Redactor,
		Programs: n.automations.programs, Runtime: n.automations.runtime, Replays: n.automations.replays, CancelRun: n.automations.cancels.Cancel,
		Emitter: n.emitter(), Feed: n.events.feed, Heartbeat: c.HTTP.SSEHeartbeat,
		Claim: n.claim, Accounts: n.identity.accounts, Sessions: n.identity.sessions, CSRFToken: n.identity.identity.CSRFToken,
		Local: func() (signin, signup bool) {
			a := n.config().Auth
			return !a.DisableSignin, !a.DisableSignup && !a.DisableSignin
		},
		Console: console.New(console.Options{
			APIBase: strings.TrimPrefix(c.HTTP.Issuer(), c.HTTP.Origin()), UploadMax: c.HTTP.UploadMaxSize, ImportMax: c.HTTP.ImportMaxSize,
		}),
		Blobs: n.store.Blobs, OIDC: n.identity.signIn, Providers: loginProviders{&n.identity},
	}
	n.workspaces.importRights.Set(api.ImportRights{Deps: deps})
	return deps
}

// isReady reports whether the log accepts writes, the read models are caught up, and the
// first keys and accounts exist.
func (n *Node) isReady() bool {
	return n.checkWritable() == nil && n.models.Health().OK() && n.initialized.Load()
}

// checkWritable refuses writes while the log accepts none, or when events are missing from
// it: a decision on an incomplete history cannot be trusted.
func (n *Node) checkWritable() error {
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

// gatewaySettings returns what reads the live settings in the form of the gateway. Each set
// of settings is converted once.
func (n *Node) gatewaySettings() func() gateway.Settings {
	type converted struct {
		from *settings.Loaded
		to   gateway.Settings
	}
	var last atomic.Pointer[converted]
	return func() gateway.Settings {
		loaded := n.opts.Settings.Get()
		if c := last.Load(); c != nil && c.from == loaded {
			return c.to
		}
		c := &converted{loaded, toGateway(loaded.Config)}
		last.Store(c)
		return c.to
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

// origins returns the web origins that may call with credentials.
func origins(h settings.HTTP) []string {
	list := append([]string(nil), h.CORSOrigins...)
	for _, address := range h.ConsoleURLs {
		if u, err := url.Parse(address); err == nil {
			list = append(list, u.Scheme+"://"+u.Host)
		}
	}
	return list
}
