// Package node assembles a node: it opens the log and the read models, builds the services
// and the gateway on them, serves, and closes everything in the opposite order. Together with
// the commands in cmd/svc it is the only package that knows all others; it has no rules.
package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"svc/cmd/process"
	"svc/cmd/readiness"
	"svc/cmd/settings"
	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/egress"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore/jetstream"
	"svc/http/gateway"
	"svc/http/identity"
	"svc/http/pages"
	"svc/projections"
)

// Options configure a Node. Settings is required.
type Options struct {
	Settings *settings.Live
	Log      *slog.Logger
	Level    *slog.LevelVar // of Log; changed by PUT /sys/logging
	Version  string

	// Announce shows the operator the accounts of the first start, with the passwords that
	// were generated, and the address of the console. Nil: nobody sees them.
	Announce func(made []accounts.NewAccount, console string)

	// Authenticator, when set, replaces that of the platform: for tests and benchmarks whose
	// subject is not identity.
	Authenticator gateway.Authenticator
	// Hashing is the cost of a password; zero: what OWASP recommends. Tests save it.
	Hashing accounts.Hashing
	// Lease is how long partitions and trees stay with this node without a renewal; default
	// 15 seconds. Tests shorten it.
	Lease time.Duration
	// Clock is the clock of schedules and of messages to agents; default time.Now. Tests set it.
	Clock func() time.Time
	// Sandbox is the command that runs the code of authors; default this program with the
	// argument sandbox.
	Sandbox []string
	// Extract is the command that reads texts out of files; default this program with the
	// argument extract.
	Extract []string
	// Listener takes the connections; default one on the address of the settings.
	Listener net.Listener
}

// Node is one running instance of the service.
type Node struct {
	opts     Options
	log      *slog.Logger
	registry *prometheus.Registry
	tracer   trace.Tracer

	store  *jetstream.Store
	db     *projections.DB
	models *projections.Models
	search *projections.SearchIndex
	engine *commands.Engine
	egress *egress.Egress

	identity    identityServices
	workspaces  *workspaceServices
	automations automationServices
	events      eventServices

	initialised atomic.Bool // the platform workspace, the signing keys and the first accounts exist
	keysInDir   bool        // the master keys are in the data directory
	gateway     *gateway.Gateway
	pages       *pages.Pages // of workspaces
	listener    net.Listener
	profiles    net.Addr // where profiles are served; nil: nowhere
	server      *http.Server
	probes      *readiness.Probes
	self        *http.Transport // for calls to this node

	closers []closer // in the order of opening
	leased  []func() // stop the work that holds leases
}

// closer is one step of a shutdown.
type closer struct {
	name  string
	close func(context.Context) error
}

// Open locks the data directory, opens the log and the read models, and binds the address.
// Serve must follow, and Close in any case.
func Open(ctx context.Context, o Options) (*Node, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Level == nil {
		o.Level = new(slog.LevelVar)
	}
	n := &Node{opts: o, log: o.Log, registry: prometheus.NewRegistry()}
	n.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	err := n.run(
		ctx,
		n.listen, n.lockData, n.ensureKeys, n.startTracing, n.openProfiles,
		n.openStores, n.openLog, n.openReadModels, n.openSearchIndex, n.openFeed, n.openCommands, n.openServices, n.openCleanup,
		n.openRuntime, n.openAgents, n.openEviction, n.openTriggers, n.openSchedules, n.openGateway, n.openMonitor,
	)
	if err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return nil, errors.Join(err, n.Close(closing))
	}
	return n, nil
}

// openServices opens identity and workspaces, which need each other, and starts their
// background work.
func (n *Node) openServices(ctx context.Context) error {
	err := n.run(
		ctx,
		n.openBox, n.openSessions, n.openSigning, n.openWorkspaces, n.openOperations, n.openVersioning, n.openBulk, n.openFiles,
		n.openAccounts, n.openAccess, n.openSignIn, n.openWebhooks, n.openLanguageModels, n.openKnowledge, n.initialize,
	)
	if err != nil {
		return err
	}
	n.startIdentityWork()
	n.startWorkspaceWork()
	return nil
}

// run executes the steps of a start, in order. A step passes to closeWith what it opens, so
// that a failed start leaves nothing behind.
func (n *Node) run(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) closeWith(name string, do func(context.Context) error) {
	n.closers = append(n.closers, closer{name, do})
}

// stopWith is closeWith for what does not fail.
func (n *Node) stopWith(name string, stop func()) {
	n.closeWith(name, func(context.Context) error {
		stop()
		return nil
	})
}

// config returns the settings as they are now.
func (n *Node) config() *settings.Config { return &n.opts.Settings.Get().Config }

func (n *Node) lockData(ctx context.Context) error {
	lock, err := process.LockDir(ctx, n.config().Core.DataDir)
	if err != nil {
		return err
	}
	n.closeWith("data directory", func(context.Context) error { return lock.Release() })
	return nil
}

// ensureKeys generates the missing keys of a single node and logs where they are.
func (n *Node) ensureKeys(context.Context) error {
	files, err := settings.EnsureKeys(n.opts.Settings.Get(), rand.Reader)
	if err != nil {
		return err
	}
	for _, f := range files {
		n.keysInDir = n.keysInDir || f.Setting == "SECRETS_MASTER_KEYS"
		n.log.Warn("a key lies in the data directory: losing this file loses what the key protects, so back it up apart from the data",
			"setting", f.Setting, "file", f.Path, "created", f.Created)
	}
	return nil
}

func (n *Node) listen(context.Context) error {
	l := n.opts.Listener
	if l == nil {
		var err error
		if l, err = process.Listen(n.config().HTTP); err != nil {
			return err
		}
	}
	n.listener = l
	n.closeWith("listener", func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return nil
}

// startTracing exports spans when an endpoint is set.
func (n *Node) startTracing(ctx context.Context) error {
	o := n.config().Obs
	if o.OTLPEndpoint == "" {
		return nil
	}
	provider, err := process.NewTracing(ctx, o, n.opts.Version)
	if err != nil {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	n.tracer = provider.Tracer("svc")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { n.log.Warn("traces were not exported", "err", err) }))
	n.closeWith("tracing", provider.Shutdown)
	return nil
}

func (n *Node) openProfiles(context.Context) error {
	address := n.config().HTTP.PprofAddr
	if address == "" {
		return nil
	}
	at, closeServer, err := process.ServeProfiles(address, func() string { return n.config().Core.InternalAPIKey.Reveal() }, n.log)
	if err != nil {
		return err
	}
	n.profiles = at
	n.closeWith("profiles", func(context.Context) error { return closeServer() })
	return nil
}

func (n *Node) openCommands(context.Context) error {
	var err error
	n.engine, err = commands.NewEngine(commands.EngineOptions{
		Store: n.store.Log, Snapshots: n.models.Snapshots(), Host: n.host("workspaces"), Log: n.log,
		Limit: func(eventType string) int {
			if eventType == (activity.Executed{}).EventType() {
				return n.config().Broker.EmitExecutedMaxLen
			}
			return n.config().Broker.EmitMaxLen
		},
	})
	return err
}

// host names a part of this node in events.
func (n *Node) host(service string) domain.Host {
	return domain.Host{Service: service, Replica: n.config().Core.NodeName}
}

// start runs do in the background until stop is called; wait waits for its end.
func (n *Node) start(name string, do func(context.Context) error) (stop, wait func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			n.log.Error("stopped: "+name, "err", err)
		}
	})
	return stop, running.Wait
}

// work runs do in the background until the node closes.
func (n *Node) work(name string, do func(context.Context) error) {
	stop, wait := n.start(name, do)
	n.stopWith(name, func() {
		stop()
		wait()
	})
}

// workUnderLeases is work that holds leases. To release them takes a while when the other
// nodes are gone, so all such work is stopped at once.
func (n *Node) workUnderLeases(name string, do func(context.Context) error) {
	stop, wait := n.start(name, do)
	n.leased = append(n.leased, stop)
	n.stopWith(name, func() {
		for _, stop := range n.leased {
			stop()
		}
		wait()
	})
}

// repeat runs do once in every period until the node closes. A failure is logged with the
// message failed, and do runs again the next time.
func (n *Node) repeat(name string, period time.Duration, failed string, do func(context.Context) error) {
	n.work(name, func(ctx context.Context) error {
		commands.Every(ctx, period, func() {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn(failed, "err", err)
			}
		})
		return nil
	})
}

// Addr is where the node listens.
func (n *Node) Addr() net.Addr { return n.listener.Addr() }

// Profiles is where the profiles are served; nil: nowhere.
func (n *Node) Profiles() net.Addr { return n.profiles }

// Store is the log of this node, for the commands of the operator.
func (n *Node) Store() *jetstream.Store { return n.store }

// Identity knows callers and their rights.
func (n *Node) Identity() *identity.Identity { return n.identity.identity }

// Keys are the keys that sign tokens.
func (n *Node) Keys() *signing.Keys { return n.identity.keys }

// Models are the read models of this node.
func (n *Node) Models() *projections.Models { return n.models }

// Serve answers requests until ctx ends; then it stops accepting, lets running requests
// finish within the grace period, and closes everything.
func (n *Node) Serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(n.listener) }()
	n.work("import at start", n.importAtStart)
	n.log.Info("serving", "address", n.Addr().String(), "api", n.config().HTTP.APIURL, "version", n.opts.Version)

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		served <- http.ErrServerClosed
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.config().Core.ShutdownGrace)
	defer cancel()
	n.log.Info("stopping", "graceSeconds", n.config().Core.ShutdownGrace.Seconds())
	err = errors.Join(err, n.shutdown(grace))
	if s := <-served; !errors.Is(s, http.ErrServerClosed) {
		err = errors.Join(err, s)
	}
	n.log.Info("stopped")
	return err
}

// shutdown stops accepting, drains, flushes and closes, in that order.
func (n *Node) shutdown(grace context.Context) error {
	err := n.drain(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		n.log.Warn("requests were still running at the end of the grace period and are cut off")
		err = n.server.Close()
	}
	// The log must be closed cleanly even when requests used the grace up.
	closing, cancel := context.WithTimeout(context.WithoutCancel(grace), 10*time.Second)
	defer cancel()
	return errors.Join(err, n.Close(closing))
}

const drainRound = time.Second

// drain lets running requests finish. It calls Shutdown again and again: the server notifies
// only connections that already speak HTTP/2, and one whose handshake ends later would stay
// idle until the end of the grace period.
func (n *Node) drain(grace context.Context) error {
	for {
		round, cancel := context.WithTimeout(grace, drainRound)
		err := n.server.Shutdown(round)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || grace.Err() != nil {
			return err
		}
	}
}

// Close closes what Open opened, in the opposite order.
func (n *Node) Close(ctx context.Context) error {
	var errs []error
	for i := len(n.closers) - 1; i >= 0; i-- {
		c := n.closers[i]
		if err := c.close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", c.name, err))
		}
	}
	n.closers = nil
	return errors.Join(errs...)
}
