package machine

import (
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// World answers at once. Everything it says is the outside's: whoever runs the
// machine records it. An error is raised in the instruction that asked.
type World interface {
	// Read returns what a context holds at a path, Undefined when nothing is
	// there. The first key is the root: run, session, user, global, socket, config,
	// secret or $workspace. Keys must not be changed or kept.
	Read(x *Execution, keys []string) (any, error)
	// Write changes a context, or the answer of an endpoint.
	Write(x *Execution, w Write) error
	Now() time.Time
	// Random returns n bytes that nobody can guess.
	Random(n int) []byte
}

// Write is a change of a context.
type Write struct {
	// Context is the root. Of $http, the paths are status, sseKeepAlive, headers and
	// those below headers, and their values are of the right type.
	Context string
	Op      variable.Op   // its path is what follows the root
	TTL     time.Duration // after which the variable goes; 0: it stays
	// Switch says that Context, user or session, is to be that of another id, which
	// is the value. Nothing is stored.
	Switch bool
}

// Kind says what a request asks for.
type Kind string

// The kinds of requests. Their names are recorded.
const (
	Call      Kind = "call"      // start Slug with Params in this tree: answer Program and ExecutionID
	Spawn     Kind = "spawn"     // start Slug with Params in a tree of its own
	Emit      Kind = "emit"      // the event as recorded
	Wait      Kind = "wait"      // the event, or Undefined after Duration
	Fetch     Kind = "fetch"     // the response
	Topic     Kind = "topic"     // createUserTopic, joinUserTopic: true
	RateLimit Kind = "rateLimit" // {ok, …}; the machine raises what break asks for
	Auth      Kind = "auth"      // {jwt}
	Module    Kind = "module"    // what the function returns
	Config    Kind = "config"    // Write is a change of the stored configuration
	Chunk     Kind = "chunk"     // Value is sent to the caller of the endpoint
	Throttle  Kind = "throttle"  // N iterations were used
	Sleep     Kind = "sleep"     // let Duration pass
	Next      Kind = "next"      // the next item of Stream, or Undefined when it is closed
)

// Request is something that a branch waits for.
type Request struct {
	Place

	ID        uint64 // ascending in the tree
	Kind      Kind
	Execution *Execution
	Name      string        // of the instruction
	Params    *value.Object // evaluated and checked; without output

	Slug     string
	Duration time.Duration
	N        int
	Stream   value.Stream
	Value    any
	Write    *Write
	// BeforeWait says of an emit that the branch asks for nothing else before a wait that
	// keeps the events that it is for from starting anything: an answer may come at once.
	BeforeWait bool

	in *automation.Instruction // that asked; nil for the output of an automation
}

// Omitted returns the members that the instruction has at a path of its parameters and that
// came out as nothing: an object has no member that is undefined.
func (r Request) Omitted(path ...string) (names []string) {
	if r.in == nil || r.in.Params == nil {
		return nil
	}
	written, _ := value.Walk(r.in.Params.Written(), path...).(*value.Object)
	evaluated, _ := value.Walk(r.Params, path...).(*value.Object)
	for _, name := range written.Keys() {
		if _, ok := evaluated.Get(name); !ok {
			names = append(names, name)
		}
	}
	return names
}

// Answer is what came of a request. Value is Undefined when there is no result:
// nil is null.
type Answer struct {
	Value       any
	Err         error    // raised in the instruction
	Program     *Program // of a Call
	ExecutionID string   // of a Call
}

// Notice is an error that ends nothing: it is told in an error event.
type Notice struct {
	Execution *Execution
	Err       *automation.Error
}

// Turn is what a stretch of running came to.
type Turn struct {
	Requests []Request
	Ended    []*Execution   // in the order of their ends
	Notices  []Notice       // in order
	Closed   []value.Stream // that no loop will read any more
	Yielded  bool           // there is more to run at once: call Go again
}

// Options are what a tree runs with. World is required; zero of the others is
// good.
type Options struct {
	World      World
	MaxDepth   int           // calls in calls; 20
	LocalLimit int           // bytes of the local variables of an execution; 50 MB
	MaxWait    time.Duration // largest timeout of a wait; 30 days
	Wait       time.Duration // timeout of a wait that names none; 20 s
	// Locale, Zone and Zones are those of dates.
	Locale string
	Zone   *time.Location
	Zones  func(name string) (*time.Location, error)
	// Observe is told which branch of conditions was taken, "" when none.
	Observe func(x *Execution, at Place, taken string)
	// Trace is told what instructions are given and what comes of them; nil: nobody looks.
	Trace Trace
	// Missed tells why the World had no time, or no chance, to give just now. It is
	// raised where that was asked for. Only a replay misses anything: nil never does.
	Missed func() error
}

// Trace looks at what instructions do. Values must not be changed.
type Trace interface {
	// Begin is told that an instruction begins, with its parameters as they are evaluated;
	// Undefined for one that has none. Name is that of the instruction.
	Begin(x *Execution, at Place, name string, input any)
	// End is told what came of the instruction that began last at a place: its result,
	// Undefined for none, or its error.
	End(x *Execution, at Place, result any, err *automation.Error)
}

func (o Options) withDefaults() Options {
	if o.MaxDepth == 0 {
		o.MaxDepth = 20
	}
	if o.LocalLimit == 0 {
		o.LocalLimit = 50_000_000
	}
	if o.MaxWait == 0 {
		o.MaxWait = 30 * 24 * time.Hour
	}
	if o.Wait == 0 {
		o.Wait = 20 * time.Second
	}
	return o
}

func (o Options) env(w expr.World) expr.Env {
	return expr.Env{World: w, Locale: o.Locale, Zone: o.Zone, Zones: o.Zones}
}
