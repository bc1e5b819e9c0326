package runtime

import (
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"time"

	"svc/commands/contexts"
	"svc/commands/fair"
	"svc/commands/programs"
	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/automation/variable"
	"svc/domain/feed"
	"svc/domain/value"
	"svc/eventstore"
)

// Store appends the events of runs. It is a *jetstream.Log.
type Store interface {
	Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
}

// Contexts stores contexts of automations. It is a *contexts.Contexts.
type Contexts interface {
	Load(ctx context.Context, key contexts.Key) (*value.Object, error)
	Append(ctx context.Context, id string, changes []contexts.Change) error
}

// Secrets are those of workspaces.
type Secrets interface {
	// Open returns the secrets of a workspace by name, and the set that redacts them. Neither is changed.
	Open(ctx context.Context, workspaceID string) (map[string]string, *redact.Set, error)
}

// Throttles delays what a workspace does too often. It is a *throttle.Throttle.
type Throttles interface {
	// Limits reports whether Wait may take time at all.
	Limits(workspaceID string, what throttle.What) bool
	Wait(ctx context.Context, workspaceID string, what throttle.What, n int) (waited time.Duration, err error)
}

// Settings are what the operator decides about runs. They may change while the
// service runs.
type Settings struct {
	MaxDepth  int           // MAXIMUM_SUCCESSIVE_CALLS
	MaxActive time.Duration // EXECUTION_MAX_ACTIVE_SECONDS
	Wait      time.Duration // WAIT_DEFAULT_TIMEOUT
	MaxWait   time.Duration // WAIT_MAX_TIMEOUT

	RunExpires, VisitorExpires, SocketExpires time.Duration // CONTEXT_*_EXPIRE_TIME
	SessionExpires                            time.Duration // SESSION_COOKIES_MAX_AGE

	Sizes              map[string]int // of contexts by name, and of local
	MaxEvent           int            // BROKER_EMIT_MAXLEN
	MaxExecuted        int            // BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN
	KeepAlive          time.Duration  // WEBHOOKS_SSE_KEEPALIVE
	CodeTimeout        time.Duration  // CUSTOM_CODE_TIMEOUT
	Locale             string
	Zone               *time.Location
	GlobalVars         map[string]string
	APIURL             string
	StudioURL          string
	PagesURL           string
	PagesHost          string
	Recording          string // off, errors or all
	MaxRecording       int
	RecordingRetention time.Duration
}

// Options configure a Runtime. All of them are required but Log.
type Options struct {
	Store    Store
	Contexts Contexts
	Parked   Parked
	// Recordings stores recordings of runs; nil: nothing is recorded.
	Recordings Recordings
	Secrets    Secrets
	Throttles  Throttles
	Settings   func() Settings
	Registry   Registry
	// Cancelled reports whether a run was cancelled after a time; nil: only Cancel cancels
	// runs.
	Cancelled func(ctx context.Context, workspaceID, correlationID string, after time.Time) (bool, error)
	// Recorded reports whether one of several events of a workspace is on the log; nil:
	// nothing is missing there.
	Recorded func(ctx context.Context, workspaceID string, eventIDs ...string) (bool, error)
	Effects  Effects
	// Simulation makes runs repeatable, for tests of automations; nil: they are real.
	Simulation *Simulation
	Host       domain.Host
	Process    string // unique to this start of this node
	Now        func() time.Time
	NewID      func() string
	Log        *slog.Logger
}

// Simulation is the clock, the random bytes and the called automations of runs that only a test observes. All fields are required. With the same ones,
// and the same answers of Effects, a run is the same every time: its effects are performed one after
// the other, in the order of their requests, and nothing waits for real time.
type Simulation struct {
	Now    func() time.Time      // the time that automations see
	Sleep  func(d time.Duration) // lets that time pass
	Random func(n int) []byte
	// Call returns what a stub says that an automation returns, by the name that it is called with. ok is false when there
	// is none: it runs.
	Call func(name string, arguments *value.Object) (result any, ok bool, err error)
}

// Effects is what effects of runs are performed with.
type Effects struct {
	// Live passes an event that is not stored to the current readers.
	Live func(workspaceID string, ev domain.Recorded)
	// Position is the current position of the feed.
	Position func() domain.Position
	// Await returns the first event of a workspace that is awaited and for which fits is
	// true, nil when the time is over. It fails only when ctx ends.
	Await func(ctx context.Context, workspaceID string, w Awaited, fits func(*feed.Event) bool) (*feed.Event, error)
	// Cancelling returns how many waits of a workspace cancel triggers; nil: nobody counts
	// them.
	Cancelling func(workspaceID string) (int, error)
	// Configure changes the stored config of a workspace or an app instance. It redacts the
	// secrets in what it records.
	Configure func(ctx context.Context, scope *programs.Scope, op variable.Op, secrets *redact.Set) error

	// Identify returns the caller for somebody who acts in a workspace, with the rights of now.
	Identify func(ctx context.Context, workspaceID string, actor domain.Actor) (Caller, error)

	Fetch      Fetcher
	Topics     Topics
	RateLimits RateLimits
	Tokens     Tokens
	References References
	Agents     WorkspaceModule
	Code       Code
	Rows       Collections
	Knowledge  WorkspaceModule
}

// clock returns the time that automations see.
func (r *Runtime) clock() time.Time {
	if r.Simulation != nil {
		return r.Simulation.Now()
	}
	return r.Now()
}

// NewSimulated returns a runtime with a simulation. It shares the turn slots of r: tests compute in turn with
// the runs of all workspaces.
func (r *Runtime) NewSimulated(o Options) (*Runtime, error) {
	simulated, err := New(o)
	if err == nil {
		simulated.turnSlots = r.turnSlots
	}
	return simulated, err
}

// Registry knows which workspaces the automations of a workspace may know of.
type Registry interface {
	// Known returns the workspaces that the owner of a workspace may read and that
	// are registered, in the order of their slugs.
	Known(ctx context.Context, workspaceID string) ([]programs.Workspace, error)
}

// Runtime runs automations. It is safe for concurrent use.
type Runtime struct {
	Options

	runs         runRegistry
	lifecycle    *lifecycle
	turnSlots    *fair.Slots // in which runs compute
	parsedEvents eventCache
	effects      map[machine.Kind]effect
}

// New returns a Runtime.
func New(o Options) (*Runtime, error) {
	if o.Store == nil || o.Contexts == nil || o.Parked == nil || o.Secrets == nil || o.Throttles == nil || o.Settings == nil || o.Registry == nil || o.Process == "" || o.Now == nil || o.NewID == nil {
		return nil, errors.New("runtime: an option is missing")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Runtime{Options: o, lifecycle: newLifecycle(o.Process), effects: newEffects(), turnSlots: newTurnSlots(goruntime.GOMAXPROCS(0))}, nil
}
