package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"

	"svc/cmd/settings"
	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/egress"
	"svc/commands/operations"
	"svc/commands/signing"
	"svc/commands/subscriptions"
	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/http/gateway"
	"svc/http/identity"
	"svc/projections"
	"svc/streams/cleanup"
	"svc/streams/feed"
	"svc/streams/webhooks"
)

// Options configure a Node. Settings is required.
type Options struct {
	Settings *settings.Live
	Log      *slog.Logger
	Level    *slog.LevelVar // of Log; changed by PUT /sys/logging
	Version  string

	// Announce tells the operator the accounts of the first start, with the
	// passwords that were generated, and where the console is. Nil: nobody is told.
	Announce func(made []accounts.NewAccount, console string)

	// Authenticator, when set, takes the place of the platform's own: for tests
	// and benchmarks whose subject is not identity.
	Authenticator gateway.Authenticator
	// Hashing is what a password costs; zero: what OWASP recommends. Tests spare it.
	Hashing accounts.Hashing
	// Lease is for how long what this node does for all stays its own without a word of
	// it; default 15 seconds. Tests spare it.
	Lease time.Duration
	// Clock is what schedules are fired by; default time.Now. Tests set it.
	Clock func() time.Time
	// Sandbox is the command that runs the code of authors; default this program with
	// the argument sandbox.
	Sandbox []string
}

// Node is one running instance of the service.
type Node struct {
	opts     Options
	log      *slog.Logger
	registry *prometheus.Registry
	tracer   trace.Tracer

	lock   *dirLock
	store  *jetstream.Store
	db     *projections.DB
	models *projections.Models
	feed   *feed.Feed
	engine *commands.Engine
	people people
	places *places
	egress *egress.Egress

	operations    *operations.Runner
	subscriptions *subscriptions.Subscriptions
	webhooks      *webhooks.Webhooks
	cleanup       *cleanup.Jobs
	running       running
	runtimeForm   atomic.Pointer[runtimeForm]

	begun     atomic.Bool // the platform workspace, the signing keys and the first accounts are there
	keysInDir bool        // the master keys lie in the data directory
	gateway   *gateway.Gateway
	listener  net.Listener
	profiles  net.Addr // where profiles are served; nil: nowhere
	server    *http.Server
	checks    *probes
	self      *http.Transport // for calls to this node

	background sync.WaitGroup // the read models
	stopModels context.CancelFunc
	closers    []closer // in the order of opening
	shared     []func() // stop what is done in shares
	memories   []memory // of workspaces, that erasing one is told to
}

// closer is one step of a shutdown.
type closer struct {
	name  string
	close func(context.Context) error
}

// Open takes the data directory, opens the log and the read models, and binds
// the address. Serve must follow, and Close in any case.
func Open(ctx context.Context, o Options) (*Node, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Level == nil {
		o.Level = new(slog.LevelVar)
	}
	n := &Node{opts: o, log: o.Log, registry: prometheus.NewRegistry()}
	n.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := n.open(ctx); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return nil, errors.Join(err, n.Close(closing))
	}
	return n, nil
}

// open runs the steps of a start, in order. What a step opens it hands to
// closeWith, so that a failed start leaves nothing behind.
func (n *Node) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		n.listen, n.lockData, n.ensureKeys, n.startTracing,
		n.openLog, n.openReadModels, n.openFeed, n.openCommands, n.openIdentity, n.openCleanup, n.openRuntime, n.openEviction, n.openTriggers, n.openSchedules, n.openGateway, n.openMonitor, n.openProfiles,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) closeWith(name string, do func(context.Context) error) {
	n.closers = append(n.closers, closer{name, do})
}

// config returns the settings as they are now.
func (n *Node) config() *settings.Config { return &n.opts.Settings.Get().Config }

func (n *Node) lockData(context.Context) error {
	lock, err := lockDir(n.config().Core.DataDir)
	if err != nil {
		return err
	}
	n.lock = lock
	n.closeWith("data directory", func(context.Context) error { return lock.release() })
	return nil
}

// ensureKeys fills in the keys of a single node and says where they lie.
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
	l, err := listen(n.config().HTTP)
	if err != nil {
		return err
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

func (n *Node) openLog(ctx context.Context) error {
	o, err := storeOptions(*n.config(), n.log)
	if err != nil {
		return err
	}
	o.MinFree = func() int64 { return n.config().Core.DiskMinFree }
	o.Metrics = n.registry
	n.store, err = jetstream.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	n.closeWith("log", func(ctx context.Context) error {
		// Those before may have used the time up, as in a cluster without a majority.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return n.store.Close(ctx)
	})
	return nil
}

func (n *Node) openReadModels(ctx context.Context) error {
	db, models, err := openModels(*n.config(), n.store, n.log, n.registerer())
	if err != nil {
		return err
	}
	n.db, n.models = db, models
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stopModels = stop
	n.background.Go(func() {
		if err := n.models.Run(running); err != nil {
			n.log.Error("read models stopped", "err", err)
		}
	})
	n.closeWith("read models", func(context.Context) error {
		stop()
		n.background.Wait()
		return db.Close()
	})
	return nil
}

func (n *Node) openCommands(context.Context) error {
	var err error
	n.engine, err = commands.NewEngine(commands.EngineOptions{
		Store: n.store.Log, Snapshots: n.models.Snapshots(), Host: n.host("workspaces"), Log: n.log, Limit: n.recordLimit,
	})
	return err
}

// registerer is where metrics go; nil on a node that serves none.
func (n *Node) registerer() prometheus.Registerer {
	if n.registry == nil {
		return nil
	}
	return n.registry
}

// host names a part of this node in events.
func (n *Node) host(service string) domain.Host {
	return domain.Host{Service: service, Replica: n.config().Core.NodeName}
}

// Addr is where the node listens.
func (n *Node) Addr() net.Addr { return n.listener.Addr() }

// Store is the log of this node, for the commands of the operator.
func (n *Node) Store() *jetstream.Store { return n.store }

// Identity knows callers and their rights.
func (n *Node) Identity() *identity.Identity { return n.people.identity }

// Keys are the keys that sign tokens.
func (n *Node) Keys() *signing.Keys { return n.people.keys }

// Models are the read models of this node.
func (n *Node) Models() *projections.Models { return n.models }

// Close ends what Open began, last first.
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

// readModelDir is where a node keeps its read models.
func readModelDir(c settings.Config) string { return filepath.Join(c.Core.DataDir, "readmodels") }
