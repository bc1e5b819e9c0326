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
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
	"svc/domain/feed"
	"svc/eventstore"
)

// Store keeps the events of runs. It is a *jetstream.Log.
type Store interface {
	Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
}

// Payloads keeps payload and output of executions apart from their events. It is a
// *jetstream.Payloads.
type Payloads interface {
	Put(ctx context.Context, workspaceID, eventID string, body []byte) error
}

// Contexts keeps what automations remember. It is a *contexts.Contexts.
type Contexts interface {
	Load(ctx context.Context, key contexts.Key) (*value.Object, error)
	Append(ctx context.Context, id string, changes []contexts.Change) error
}

// Secrets are those of workspaces.
type Secrets interface {
	programs.Secrets
	// Redactor returns what takes the secrets of a workspace out of what is told. It is
	// not changed.
	Redactor(ctx context.Context, workspaceID string) (*redact.Set, error)
}

// Throttles delay what a workspace does too often. It is a *throttle.Throttle.
type Throttles interface {
	Wait(ctx context.Context, workspaceID string, what throttle.What, n int) (waited time.Duration, err error)
}

// Settings are what the operator decides about runs. They may change while the
// service runs.
type Settings struct {
	MaxDepth    int           // MAXIMUM_SUCCESSIVE_CALLS
	MaxActive   time.Duration // EXECUTION_MAX_ACTIVE_SECONDS
	MaxAttempts int           // EXECUTION_MAX_ATTEMPTS
	Wait        time.Duration // WAIT_DEFAULT_TIMEOUT
	MaxWait     time.Duration // WAIT_MAX_TIMEOUT

	RunExpires, VisitorExpires, SocketExpires time.Duration // CONTEXT_*_EXPIRE_TIME
	SessionExpires                            time.Duration // SESSION_COOKIES_MAX_AGE

	Sizes         map[string]int // of contexts by name, and of local
	MaxEvent      int            // BROKER_EMIT_MAXLEN
	MaxExecuted   int            // BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN
	KeepAlive     time.Duration  // WEBHOOKS_SSE_KEEPALIVE
	CodeTimeout   time.Duration  // CUSTOM_CODE_TIMEOUT
	Locale        string
	Zone          *time.Location
	GlobalVars    map[string]string
	APIURL        string
	StudioURL     string
	PagesURL      string
	PagesHost     string
	Recording     string // off, errors or all
	MaxRecording  int
	RecordingKept time.Duration
}

// Options configure a Runtime. All of them are required but Log.
type Options struct {
	Store    Store
	Payloads Payloads
	Contexts Contexts
	Parked   Parked
	// Recordings keeps the records of runs; nil: nothing is recorded.
	Recordings Recordings
	Secrets    Secrets
	Throttles  Throttles
	Settings   func() Settings
	Registry   Registry
	// Cancelled reports whether a run was cancelled after a time; nil: none is but those
	// that Cancel is told of.
	Cancelled func(ctx context.Context, workspaceID, correlationID string, after time.Time) (bool, error)
	// Recorded reports whether one of several events of a workspace is on the log, as any
	// node wrote it; nil: nothing is missing there.
	Recorded func(ctx context.Context, workspaceID string, eventIDs ...string) (bool, error)
	Effects  Effects
	Host     domain.Host
	Process  string // unlike that of any other node, and of this one before it was started
	Now      func() time.Time
	NewID    func() string
	Log      *slog.Logger
}

// Effects are what runs reach outside with.
type Effects struct {
	// Live passes an event that is not kept to those who are there.
	Live func(workspaceID string, ev domain.Recorded)
	// Position is where "now" is in the feed.
	Position func() domain.Position
	// Await returns the first event of a workspace that is awaited and fits, nil when the
	// time is over. It fails only when ctx ends.
	Await func(ctx context.Context, workspaceID string, w Awaited, fits func(*feed.Event) bool) (*feed.Event, error)
	// Cancelling is how many waits of a workspace keep events from starting anything else;
	// nil: nobody counts them.
	Cancelling func(workspaceID string) (int, error)
	// Configure changes the stored config of a workspace or an app instance. What is
	// recorded of that tells none of the secrets.
	Configure func(ctx context.Context, scope *programs.Scope, op variable.Op, secrets *redact.Set) error

	Fetch      Fetcher
	Topics     Topics
	RateLimits RateLimits
	Tokens     Tokens
	References References
	Code       Code
	Rows       Collections
}

// Registry tells which workspaces somebody's automations may know of.
type Registry interface {
	// Known returns the workspaces that the owner of a workspace may read and that
	// are registered, in the order of their slugs.
	Known(ctx context.Context, workspaceID string) ([]programs.Workspace, error)
}

// Runtime runs trees. It is safe for concurrent use.
type Runtime struct {
	Options

	runs         runRegistry
	lifecycle    *lifecycle
	turnSlots    *fair.Places // in which trees take their turns
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
