package node

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/cmd/process"
	"svc/cmd/settings"
	"svc/commands"
	"svc/commands/collections"
	"svc/commands/confined"
	"svc/commands/content"
	"svc/commands/contexts"
	"svc/commands/egress"
	"svc/commands/fetch"
	"svc/commands/parked"
	"svc/commands/programs"
	"svc/commands/ratelimit"
	"svc/commands/recording"
	"svc/commands/references"
	"svc/commands/runtime"
	"svc/commands/sandbox"
	"svc/commands/suites"
	"svc/commands/throttle"
	"svc/domain/collection"
	"svc/eventstore/jetstream"
	knowledgehandlers "svc/http/api/knowledge"
	"svc/http/gateway"
	"svc/http/identity"
	"svc/projections"
	"svc/projections/rows"
	"svc/streams"
	"svc/streams/agents"
	"svc/streams/cleanup"
	"svc/streams/schedules"
	"svc/streams/triggers"
)

// automationServices run automations.
type automationServices struct {
	programs    *programs.Library
	contexts    *contexts.Contexts
	runtime     *runtime.Runtime
	egress      *egress.Egress // for fetch
	sandbox     *sandbox.Sandbox
	rows        *projections.DB // of collections
	rowModel    *rows.Model
	collections *collections.Collections
	parked      *parked.Parked
	recordings  *recording.Store
	replays     *recording.Replayer
	suites      *suites.Runner
	agents      *agents.Agents
	cancels     streams.Cancels
	history     triggers.RunHistory
	settings    atomic.Pointer[cachedSettings]
}

func newID() string { return ulid.Make().String() }

// newProcessID returns an id that this node never had before.
func (n *Node) newProcessID() string { return n.config().Core.NodeName + "/" + newID() }

// lease is how long partitions and trees stay with this node without a renewal.
func (n *Node) lease() time.Duration {
	if n.opts.Lease > 0 {
		return n.opts.Lease
	}
	return streams.DefaultPresenceLease
}

func (n *Node) openRuntime(ctx context.Context) error {
	s, w := &n.automations, n.workspaces
	s.parked = &parked.Parked{Store: n.store.Data, Vault: w.vault, Log: n.log}
	s.recordings = &recording.Store{Data: n.store.Data, Vault: w.vault, Now: time.Now}
	s.contexts = contexts.New(contexts.Options{Store: n.store.Data, Vault: w.vault, Log: n.log})
	cancelled, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CANCELS", TTL: streams.CancelRetention})
	if err != nil {
		return err
	}
	s.cancels = streams.Cancels{
		Bucket: cancelled, Broadcast: n.store.Broadcast("cancels"), Timeout: func() time.Duration { return n.config().Broker.PublishTimeout },
	}
	s.programs, err = programs.New(programs.Options{
		Contents: w.library, Secrets: w.secrets, Vault: w.vault, Rules: w.content.Rules,
		Defaults: func() programs.Defaults {
			c := n.config().Runtime
			return programs.Defaults{Workspaces: c.WorkspaceConfig, Apps: c.AppConfig}
		},
		Log: n.log,
	})
	if err != nil {
		return err
	}
	w.content.CheckCapacity = func(ctx context.Context, workspaceID, from string, in content.Instance) error {
		if err := w.library.ReachKnown(ctx); err != nil {
			return err
		}
		return s.programs.CheckCapacity(ctx, workspaceID, from, in)
	}
	effects, err := n.openEffects()
	if err != nil {
		return err
	}
	s.runtime, err = runtime.New(runtime.Options{
		Store: n.store.Log, Contexts: s.contexts, Parked: s.parked, Recordings: s.recordings, Secrets: w.secrets, Process: n.newProcessID(),
		Throttles: &throttle.Throttle{Rate: n.throttleRate}, Settings: n.runtimeSettings, Registry: n.identity.identity, Effects: effects,
		Cancelled: s.cancels.WasCancelled, Recorded: n.models.WasRecorded,
		Host: n.host("runtime"), Now: time.Now, NewID: newID, Log: n.log,
	})
	if err != nil {
		return err
	}
	s.replays = &recording.Replayer{Store: s.recordings, Log: n.store.Log, Secrets: w.secrets, Code: s.sandbox, NewID: newID, Logger: n.log}
	s.suites = &suites.Runner{Runtime: s.runtime, Limits: n.collectionLimits, StatusOf: gateway.StatusOf}
	presence, err := n.announceNode(ctx)
	if err != nil {
		return err
	}
	s.history = triggers.RunHistory{
		Models: n.models, Parked: s.parked, Runtime: s.runtime, IsGone: presence.IsGone, Log: n.log,
		MaxActive:   func() time.Duration { return n.config().Runtime.ExecutionMaxActive },
		Suppression: triggers.NewSuppression(n.models),
	}
	n.closeWith("runtime", s.runtime.Close)
	n.repeat("parked trees", triggers.ParkedSweepEvery, "parked states of ended trees are not all deleted yet", s.history.SweepParked)
	n.repeat("contexts", time.Minute, "expired contexts are not all erased yet", func(ctx context.Context) error {
		_, err := s.contexts.Sweep(ctx, time.Now())
		return err
	})
	stop, err := s.cancels.Listen(func(workspaceID, correlationID string) {
		s.runtime.Cancel(workspaceID, correlationID)
		s.agents.CancelLocal(correlationID)
	})
	if err != nil {
		return err
	}
	n.stopWith("cancels", stop)
	return nil
}

// announceNode lets the other nodes know of this one, before it runs anything, until nothing
// runs here any more.
func (n *Node) announceNode(ctx context.Context) (*streams.Presence, error) {
	p := &streams.Presence{Lease: n.lease(), Runtime: n.automations.runtime, NewProcess: n.newProcessID, Log: n.log}
	if n.store.Alone() {
		return p, nil
	}
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "PROCESSES", TTL: n.lease()})
	if err != nil {
		return nil, err
	}
	p.Bucket = bucket
	if err := p.Announce(ctx); err != nil {
		return nil, err
	}
	stop, wait := n.start("heartbeats", p.Run)
	n.closeWith("heartbeats", func(ctx context.Context) error {
		stop()
		wait()
		p.Withdraw(ctx)
		return nil
	})
	return p, nil
}

// openEffects opens what automations act outside with.
func (n *Node) openEffects() (runtime.Effects, error) {
	c, s, w := n.config(), &n.automations, n.workspaces
	o := egressOptions(c.Egress)
	o.Rules = n.fetchRules()
	o.Own, o.Names = []string{c.HTTP.APIURL, c.HTTP.InternalAPIURL}, process.OwnNames(c.HTTP)
	var err error
	if s.egress, err = egress.New(o); err != nil {
		return runtime.Effects{}, err
	}
	n.stopWith("connections of automations", s.egress.Close)
	fetcher, err := fetch.New(fetch.Options{
		Egress: s.egress, Timeout: c.Runtime.FetchTimeout, MaxResponse: c.Runtime.FetchMaxResponseSize,
		MaxRetries: c.Runtime.FetchMaxRetries, RetryStatus: c.Runtime.FetchRetryStatus,
	})
	if err != nil {
		return runtime.Effects{}, err
	}
	if err := n.openSandbox(); err != nil {
		return runtime.Effects{}, err
	}
	if err := n.openCollections(); err != nil {
		return runtime.Effects{}, err
	}
	n.repeat("limits", time.Hour, "counters whose windows are over are not all erased yet", func(ctx context.Context) error {
		return n.store.Counters.Sweep(ctx, time.Now())
	})
	return runtime.Effects{
		Live: n.emitter().Live, Position: n.events.feed.Now, Cancelling: n.models.CancellingWaits,
		Await: triggers.Waits{Feed: n.events.feed, Fresh: n.models.Latest, Log: n.log}.Await,
		Configure: programs.Configs{
			Workspaces: w.workspaces, Content: w.content, MaxSize: func() int { return int(n.config().Runtime.ContextConfigSize) },
		}.Change,
		Identify: n.identity.identity.Identify,
		Fetch:    fetcher, Code: s.sandbox, Rows: s.collections, Topics: commands.Topics{Engine: n.engine},
		Tokens: identity.RunTokens{Keys: n.identity.keys, Identity: n.identity.identity},
		Knowledge: &knowledgehandlers.Module{
			Handlers: n.knowledgeHandlers(), Fresh: n.models.Current, MaxFile: func() int64 { return n.config().HTTP.UploadMaxSize },
		},
		Agents:     agents.Module{Agents: func() *agents.Agents { return s.agents }, Fresh: n.models.Current},
		RateLimits: &ratelimit.Limiter{Counter: n.store.Counters, Now: time.Now, Log: n.log},
		References: &references.References{Values: s.contexts, Secrets: w.secrets, Vault: w.vault, Now: time.Now, NewID: newID},
	}, nil
}

// fetchRules say which hosts automations reach, as the live settings are now.
func (n *Node) fetchRules() egress.Rules {
	c := n.config()
	rules := egressRules(c.Egress)
	rules.AllowHosts = slices.Concat(rules.AllowHosts, c.Runtime.FetchAllowedHosts)
	rules.DenyHosts = slices.Concat(rules.DenyHosts, c.Runtime.FetchForbiddenHosts)
	return rules
}

// Apply applies the live settings of which a service keeps a copy. Most services read them
// each time.
func (n *Node) Apply() {
	if err := n.egress.SetRules(egressRules(n.config().Egress)); err != nil {
		n.log.Error("EGRESS_ALLOW_HOSTS, EGRESS_DENY_HOSTS: the old rules stay in force", "err", err)
	}
	if err := n.automations.egress.SetRules(n.fetchRules()); err != nil {
		n.log.Error("FETCH_ALLOWED_HOSTS, FETCH_FORBIDDEN_HOSTS, or those of EGRESS: the old rules stay in force for fetch", "err", err)
	}
}

// openSandbox prepares the processes that run the code of authors.
func (n *Node) openSandbox() error {
	command := n.opts.Sandbox
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command = []string{self, "sandbox"}
	}
	c := n.config().Runtime
	if err := confined.Unconfined(); err != nil {
		n.log.Warn("the kernel cannot confine custom code: none is run", "err", err)
	}
	var err error
	n.automations.sandbox, err = sandbox.New(sandbox.Options{
		Executable: command[0], Args: command[1:], Timeout: c.CodeTimeout, MemoryMB: int(c.CodeMemory >> 20), MaxOutput: int(c.CodeMaxOutput),
	})
	if err != nil {
		return err
	}
	n.stopWith("sandbox", n.automations.sandbox.Close)
	return nil
}

// openCollections opens the rows that automations store.
func (n *Node) openCollections() error {
	envelope := &collections.Envelope{Parts: n.store.Collections, Vault: n.workspaces.vault}
	o := rows.Options{Log: n.store.Collections, Opener: envelope, Logger: n.log}
	o.DB, o.Commit = n.automations.rows.DirectAccess()
	model, err := rows.New(o)
	if err != nil {
		return err
	}
	n.automations.rowModel = model
	n.work("rows of collections", model.Run)
	n.events.erasures.Register("collections", model.DropWorkspace)
	n.automations.collections, err = collections.New(collections.Options{
		Log: n.store.Collections, Rows: model, Vault: n.workspaces.vault, Logger: n.log, Record: n.engine.Record,
		Limits: n.collectionLimits,
	})
	if err != nil {
		return err
	}
	n.work("compaction of collections", n.automations.collections.Run)
	return nil
}

// runChecks runs the tests of a workspace, all with its content at a sequence, and returns the names of the cases that fail.
func (n *Node) runChecks(ctx context.Context, workspaceID string, seq uint64) ([]string, error) {
	docs, err := suites.Load(ctx, n.workspaces.library, workspaceID, seq)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	set, err := n.automations.programs.ProgramSetBefore(ctx, workspaceID, seq+1)
	if err != nil || set == nil {
		return nil, err
	}
	report, err := n.automations.suites.Run(ctx, set, suites.Wanted{Suites: suites.Read(docs)})
	return report.FailedCases(), err
}

// collectionLimits returns the limits of calls of collections.
func (n *Node) collectionLimits() collection.Limits {
	r := n.config().Runtime
	return collection.Limits{MaxWrite: r.CollectionsMaxWrite, MaxLimit: r.CollectionsMaxLimit, MaxRowSize: int(r.CollectionsMaxRowSize)}
}

// openEviction ends the trees of workspaces that were deleted, and forgets workspaces that
// were erased on any node.
func (n *Node) openEviction(context.Context) error {
	s := &n.automations
	n.events.erasures.Register("contexts", func(workspaceID string) error {
		s.contexts.Forget(workspaceID)
		return nil
	})
	n.events.erasures.Register("runs", func(workspaceID string) error {
		s.runtime.CancelWorkspace(workspaceID)
		return nil
	})
	stop, err := n.events.erasures.Listen()
	if err != nil {
		return err
	}
	n.stopWith("erasures", stop)
	eviction := &cleanup.Eviction{Models: n.models, Runtime: s.runtime, Log: n.log}
	n.repeat("runs of deleted workspaces", cleanup.EvictEvery, "runs of deleted workspaces are not cancelled yet", eviction.Evict)
	return nil
}

// leases returns what runs work under leases in a bucket; nil when there are no other nodes.
func (n *Node) leases(ctx context.Context, bucket string, ttl time.Duration) (func(ctx context.Context, name string, work func(context.Context) error) error, error) {
	if n.store.Alone() {
		return nil, nil
	}
	b, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: bucket})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, name string, work func(context.Context) error) error {
		return streams.Lease{Bucket: b, Name: name, TTL: ttl, Log: n.log}.Hold(ctx, work)
	}, nil
}

// openTriggers starts automations when events happen, on a node with the role. Every node
// runs trees, and handles its own that were interrupted.
func (n *Node) openTriggers(ctx context.Context) error {
	cursors, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "TRIGGERS"})
	if err != nil {
		return err
	}
	hold, err := n.leases(ctx, "TRIGGERS_LEASES", n.lease())
	if err != nil {
		return err
	}
	s, who := &n.automations, n.identity.identity
	t, err := triggers.New(triggers.Options{
		Feed: n.events.feed, Programs: s.programs, Runtime: s.runtime, History: s.history, Cursors: cursors, Hold: hold,
		Caller: who.CallerOf, Identify: who.Identify, Audience: n.models.AppAudience, MayListen: n.models.MayListen, Fresh: n.models.Latest, Saved: n.models.LatestState, Position: n.models.Position,
		MaxDepth:    func() int { return n.config().Runtime.MaxSuccessiveCalls },
		MaxAttempts: func() int { return n.config().Runtime.ExecutionMaxAttempts },
		LookEvery:   n.lease(), Log: n.log,
	})
	if err != nil {
		return err
	}
	if slices.Contains(n.config().Core.Roles, "runtime") {
		if err := t.InitCursors(ctx); err != nil {
			return err
		}
		n.workUnderLeases("triggers", t.Run)
	}
	n.work("interrupted trees", t.HandleOwnOrphans)
	return nil
}

// openSchedules fires schedules, on a node with the role.
func (n *Node) openSchedules(ctx context.Context) error {
	if !slices.Contains(n.config().Core.Roles, "runtime") {
		return nil
	}
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "SCHEDULES"})
	if err != nil {
		return err
	}
	hold, err := n.leases(ctx, "SCHEDULES_LEASES", n.lease())
	if err != nil {
		return err
	}
	s := &n.automations
	fired, err := schedules.New(schedules.Options{
		Store: n.store.Log, Bucket: bucket, Models: n.models, Programs: s.programs, Runtime: s.runtime, Hold: hold, Now: n.opts.Clock,
		Document: n.workspaces.library.Document, Rules: n.workspaces.content.Rules, Begun: s.history.Begun, Fresh: n.models.Latest, Host: n.host("runtime"), Log: n.log,
		Zone:        func() *time.Location { return n.config().Runtime.SchedulesTimezone },
		MaxAttempts: func() int { return n.config().Runtime.ExecutionMaxAttempts },
	})
	if err != nil {
		return err
	}
	n.workUnderLeases("schedules", fired.Run)
	return nil
}

// throttleRate is how fast a workspace may do something: as the settings say, unless a super
// admin has overridden it for the workspace.
func (n *Node) throttleRate(workspaceID string, what throttle.What) throttle.Rate {
	c := n.config().Runtime
	rates := throttle.Rates{
		Disabled:   c.RateLimitDisabled,
		Executions: throttle.Rate{PerSecond: float64(c.RateAutomations), Burst: float64(c.BurstAutomations)},
		Emits:      throttle.Rate{PerSecond: float64(c.RateEmits), Burst: float64(c.BurstEmits)},
		Fetches:    throttle.Rate{PerSecond: float64(c.RateFetchs), Burst: float64(c.BurstFetchs)},
		Repeats:    throttle.Rate{PerSecond: float64(c.RateRepeats), Burst: float64(c.BurstRepeats)},
	}
	if set, err := n.workspaces.secrets.Platform(context.Background(), workspaceID); err == nil && len(set) > 0 {
		rates = rates.Overridden(func(name string) string { return set[name] })
	}
	return rates.Of(what)
}

// cachedSettings are live settings in the form of the runtime. Every tree reads them.
type cachedSettings struct {
	of       *settings.Config
	settings runtime.Settings
}

// runtimeSettings returns the live settings in the form of the runtime.
func (n *Node) runtimeSettings() runtime.Settings {
	c, cached := n.config(), n.automations.settings.Load()
	if cached == nil || cached.of != c {
		cached = &cachedSettings{of: c, settings: runtimeSettings(c)}
		n.automations.settings.Store(cached)
	}
	return cached.settings
}

func runtimeSettings(c *settings.Config) runtime.Settings {
	r := &c.Runtime
	return runtime.Settings{
		MaxDepth: r.MaxSuccessiveCalls, MaxActive: r.ExecutionMaxActive,
		Wait: r.WaitDefaultTimeout, MaxWait: r.WaitMaxTimeout,
		RunExpires: r.ContextRunExpire, VisitorExpires: r.ContextSessionExpire, SocketExpires: r.ContextSocketExpire, SessionExpires: c.Auth.SessionCookieMaxAge,
		Sizes: map[string]int{
			"run": int(r.ContextRunSize), "session": int(r.ContextSessionSize), "user": int(r.ContextUserSize), "global": int(r.ContextGlobalSize),
			"socket": int(r.ContextSocketSize), "config": int(r.ContextConfigSize), "local": int(r.ContextLocalSize),
		},
		MaxEvent: c.Broker.EmitMaxLen, MaxExecuted: c.Broker.EmitExecutedMaxLen, KeepAlive: r.WebhooksKeepalive, CodeTimeout: r.CodeTimeout,
		Locale: r.Locale, Zone: r.Timezone, GlobalVars: r.GlobalVars,
		APIURL: c.HTTP.APIURL, StudioURL: c.HTTP.ConsoleURLs[0], PagesURL: c.HTTP.Origin() + "/pages", PagesHost: c.HTTP.PagesHost,
		Recording: r.Recording, MaxRecording: int(r.RecordingMaxSize), RecordingRetention: r.RecordingRetention,
	}
}
