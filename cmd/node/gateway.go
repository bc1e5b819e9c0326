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
	testsuites "svc/commands/suites"
	"svc/http/api"
	"svc/http/api/accounts"
	"svc/http/api/collections"
	"svc/http/api/documents"
	"svc/http/api/events"
	"svc/http/api/files"
	"svc/http/api/runs"
	"svc/http/api/suites"
	"svc/http/api/system"
	"svc/http/api/versioning"
	"svc/http/api/workspaces"
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
	if err := n.openPages(ctx); err != nil {
		return err
	}
	n.self = process.SelfTransport(n.config().HTTP)
	n.probes, err = readiness.New(ctx, readiness.Options{
		Config: n.config, Store: n.store, DB: n.db, Models: n.models, Search: n.search, Rows: n.automations.rows, RowModel: n.automations.rowModel, Feed: n.events.feed,
		Sandbox: n.automations.sandbox, Extractor: n.workspaces.extractor, Identity: n.identity.identity, Keys: n.identity.keys, Box: n.identity.box, Checks: n.identity.checks,
		Crawls: n.workspaces.crawls.buckets(), KeysInDir: n.keysInDir, Transport: n.self,
	})
	if err != nil {
		return err
	}
	authenticator := n.opts.Authenticator
	if authenticator == nil {
		authenticator = n.identity.identity
	}
	n.gateway, err = gateway.New(gateway.Options{
		Routes: api.Routes(n.handlers()), Settings: n.gatewaySettings(),
		Authenticator: authenticator, Authorizer: n.identity.identity, CheckCSRF: n.identity.identity.CheckCSRF,
		ReadModel: projections.RequestReads{Models: n.models}, Known: n.store.Log.Known, WriteGate: n.checkWritable,
		Idempotency: answers, SeedKey: n.identity.box.Derive("ids"), Limiter: n.store.Counters, Devices: devices, DeviceKey: n.identity.box.Derive("devices"),
		Failures: commands.Failures{Engine: n.engine, Log: n.log}, ErrorPage: n.pages.ErrorPage,
		Host: n.host("gateway"), Log: n.log, Metrics: n.registry, Tracer: n.tracer,
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

// handlers returns those of the API, with what each of them needs.
func (n *Node) handlers() api.Handlers {
	c, services, identity, now := n.config(), n.workspaces, n.identity.identity, time.Now
	docs := &documents.Handlers{
		ReadModel: n.models, Access: identity, Content: services.content, Library: services.library, Apps: services.apps, Shelf: services.library.Shelf,
		SecretDefaults: n.secretDefaults, Previews: n.pages, CSRFToken: identity.CSRFToken, Zone: func() *time.Location { return n.config().Runtime.SchedulesTimezone }, Reindexes: services.reindexes, Now: now,
	}
	spaces := &workspaces.Handlers{
		ReadModel: n.models, Access: identity, Documents: docs, Workspaces: services.workspaces, Content: services.content, Library: services.library,
		Vault: services.vault, APIKeys: commands.APIKeys{Engine: n.engine, Now: now}, Repositories: services.repositories, LastUsed: n.identity.lastUsed.At, Now: now,
	}
	versions := &versioning.Handlers{
		ReadModel: n.models, Access: identity, Documents: docs, Workspaces: spaces, Content: services.content, Library: services.library,
		Versioning: services.versioning, Bulk: services.bulk, Operations: services.operations, OperationEvents: n.store.Log,
		OperationRetention: func() time.Duration { return n.config().Workspaces.OperationsRetention }, Blobs: n.store.Blobs, Now: now,
	}
	services.importRights.Set(versioning.ImportRights{Handlers: versions})
	started, documented := &runs.Handlers{
		ReadModel: n.models, Programs: n.automations.programs, Runtime: n.automations.runtime, Feed: n.events.feed, Emitter: n.emitter(),
		Replays: n.automations.replays, Cancel: n.automations.cancels.Cancel, Contexts: n.automations.contexts, Redactor: services.secrets.Redactor, Now: now,
	}, n.knowledgeHandlers()
	return api.Handlers{
		System: n.systemHandlers(),
		Accounts: &accounts.Handlers{
			ReadModel: n.models, Accounts: n.identity.accounts, Sessions: n.identity.sessions, Blobs: n.store.Blobs,
			Local: func() (signin, signup bool) {
				a := n.config().Auth
				return !a.DisableSignin, !a.DisableSignup && !a.DisableSignin
			},
			Providers: n.identity.providers, Exchange: n.identity.signIn.ExchangeToken, CSRFToken: identity.CSRFToken, LastUsed: n.identity.lastUsed.At, Now: now,
		},
		Documents: docs, Workspaces: spaces, Versioning: versions,
		Events: &events.Handlers{
			ReadModel: n.models, Access: identity, Feed: n.events.feed, Emitter: n.emitter(), Subscriptions: n.events.subscriptions, Webhooks: n.events.webhooks,
			CSRFToken: identity.CSRFToken, Heartbeat: c.HTTP.SSEHeartbeat, Now: now, Log: n.log,
		},
		Runs: started,
		Suites: &suites.Handlers{
			ReadModel: n.models, Programs: n.automations.programs, Library: services.library, Runner: n.automations.suites,
			Recorded: &testsuites.Recorded{Runner: n.automations.suites, Recordings: n.automations.recordings, Secrets: services.secrets},
		},
		Collections: &collections.Handlers{ReadModel: n.models, Collections: n.automations.collections, Programs: n.automations.programs, Now: now},
		Files:       n.fileHandlers(),
		Knowledge:   documented,
		Models:      n.modelHandlers(),
		Agents:      n.agentHandlers(),
		MCP:         n.mcpHandlers(started, documented),
		OIDC:        n.identity.signIn,
		Console: console.New(console.Options{
			APIBase: strings.TrimPrefix(c.HTTP.Issuer(), c.HTTP.Origin()), UploadMax: c.HTTP.UploadMaxSize, ImportMax: c.HTTP.ImportMaxSize,
			UploadTypes: func() (allowed, forbidden []string) {
				w := n.config().Workspaces
				return w.UploadsAllowed, w.UploadsForbidden
			},
		}),
		Pages: n.pages,
	}
}

func (n *Node) systemHandlers() *system.Handlers {
	c := n.config()
	return &system.Handlers{
		ReadModel: n.models, Version: n.opts.Version, Healthy: n.isReady, Ready: n.isReady,
		Config: func() any {
			loaded := n.opts.Settings.Get()
			return loaded.Report(loaded.Entries())
		},
		SetLevel: n.opts.Level.Set,
		Metrics:  promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}), MetricsPublic: c.Obs.MetricsPublic,
		Checks: n.probes.Table(), DisabledServices: c.Core.DisabledServices, ReadinessTTL: c.HTTP.ReadinessCacheTTL,
		InternalURL: c.HTTP.InternalAPIURL, InternalKey: func() string { return n.config().Core.InternalAPIKey.Reveal() }, Transport: n.self,
		ReadModels: n.models, SearchIndex: n.search, Cleanup: n.events.cleanup, CleanupTerms: n.cleanupTerms, ParseDuration: settings.ParseDuration, SigningKeys: n.identity.keys,
		NATSUsers:     commands.NATSUsers{Engine: n.engine, Voucher: monitor.Signer{Seed: n.identity.box.Derive("nats users")}, Now: time.Now},
		NATSListening: c.Broker.Listen != "", Claim: n.claim, Now: time.Now, Log: n.log,
	}
}

// isReady reports whether the log accepts writes, the read models are caught up, and the
// first keys and accounts exist.
func (n *Node) isReady() bool {
	return n.checkWritable() == nil && n.models.Health().OK() && n.initialised.Load()
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
		gateway.RatePasswordReset: a.RatePasswordReset, gateway.RateTokenExchange: a.RateTokenExchange, gateway.RateSearchKnowledge: c.Knowledge.RateSearch, gateway.RateAskModels: c.Knowledge.RateAskModels,
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

// fileHandlers returns the handlers of files.
func (n *Node) fileHandlers() *files.Handlers {
	c := n.config()
	return &files.Handlers{
		ReadModel: n.models, Access: n.identity.identity, Commands: n.workspaces.files, Links: n.workspaces.files, Contents: n.store.Blobs,
		URL: c.HTTP.APIURL, Dir: filepath.Join(c.Core.DataDir, "uploads"), Now: time.Now,
	}
}
