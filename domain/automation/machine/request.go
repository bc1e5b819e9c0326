package machine

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// World answers at once. The caller of the machine records all its answers. An error is
// raised in the instruction that asked.
type World interface {
	// Read returns what a context holds at a path, Undefined when nothing is
	// there. The first key is the root: run, session, user, global, socket, config,
	// secret or $workspace. Keys must not be changed or kept.
	Read(x *Execution, keys []string) (any, error)
	// Write changes a context, or the answer of an endpoint.
	Write(x *Execution, w Write) error
	Now() time.Time
	// Random returns n unpredictable bytes.
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
	Call      Kind = "call"      // start Slug with Params in this tree: answer Program and ExecutionID, or what it Returned
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
	Location

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
	written, _ := value.Walk(r.in.Params.Source(), path...).(*value.Object)
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
	Returned    bool     // of a Call: nothing is executed, Value is what it returned
}

// Notice is an error that does not end the execution: an error event records it.
type Notice struct {
	Execution *Execution
	Err       *automation.Error
}

// Turn is the result of one Run.
type Turn struct {
	Requests []Request
	Ended    []*Execution   // in the order of their ends
	Notices  []Notice       // in order
	Closed   []value.Stream // that no loop will read any more
	Yielded  bool           // there is more to run at once: call Run again
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
	// Observe is called with the branch of conditions that was chosen, "" for none.
	Observe func(x *Execution, at Location, taken string)
	// Trace is called with the input and result of every instruction; nil: not traced.
	Trace Trace
	// Missed returns why the World had no time or random bytes to return. The error is
	// raised where they were requested. Only a replay can miss anything; nil: nothing is
	// missed.
	Missed func() error
}

// Trace observes instructions. It must not change values.
type Trace interface {
	// Begin is called before an instruction, with its evaluated parameters; Undefined if
	// it has none. Name is that of the instruction.
	Begin(x *Execution, at Location, name string, input any)
	// End is called after the instruction that began last at a place, with its result,
	// Undefined for none, or its error.
	End(x *Execution, at Location, result any, err *automation.Error)
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

// effects says how requests are listed and replayed, by kind: those of instructions, and
// those that the machine makes for itself.
var effects = func() map[Kind]*automation.Effect {
	slug := func(q automation.Asked) string { return q.Slug }
	nothing := func(any) any { return nil }
	all := map[Kind]*automation.Effect{
		Call:     {Summary: slug, Compared: nothing}, // what it was given shows in what it does
		Spawn:    {Summary: slug},
		Sleep:    {Summary: func(q automation.Asked) string { return q.Duration.String() }, Compared: nothing},
		Throttle: {Compared: nothing},
		Next:     {Compared: nothing},
		Config:   {},
		Chunk:    {},
	}
	for _, effect := range automation.Effects() {
		all[Kind(effect.Kind)] = effect
	}
	return all
}()

// EffectOf returns how requests of a kind are listed and replayed.
func EffectOf(kind Kind) *automation.Effect {
	if known := effects[kind]; known != nil {
		return known
	}
	return &automation.Effect{}
}

// Kinds returns the kinds of requests, in order.
func Kinds() []Kind { return slices.Sorted(maps.Keys(effects)) }

// request begins an instruction that is performed outside.
func (m *Machine) request(b *branch, in *automation.Instruction) *outcome {
	r, to, err := m.newRequest(b, in)
	if err != nil {
		return m.raise(b, err)
	}
	m.requestAndWait(b, r, to)
	return nil
}

// newRequest evaluates the parameters of an instruction that is performed outside.
func (m *Machine) newRequest(b *branch, in *automation.Instruction) (Request, result, error) {
	params, to, err := m.parameters(in)
	m.traceBegin(b, objectOrUndefined(params))
	return Request{Kind: Kind(automation.EffectOf(in.Name).Kind), Params: params}, to, err
}

// emit requests an event. A payload that no event can have is noted instead.
func (m *Machine) emit(b *branch, in *automation.Instruction) *outcome {
	r, to, err := m.newRequest(b, in)
	if err != nil {
		return m.raise(b, err)
	}
	payload, ok := payloadOf(r.Params)
	if !ok {
		m.recordNotice(b, automation.Raise(automation.InvalidEvent, "the payload of an event is an object", "event", r.Params.At("event")))
		return nil
	}
	r.Params, r.BeforeWait = payload, b.topFrame().isWaitNext()
	m.requestAndWait(b, r, to)
	return nil
}

// wait requests an event to wait for, or time to pass.
func (m *Machine) wait(b *branch, in *automation.Instruction) *outcome {
	r, to, err := m.newRequest(b, in)
	if err != nil {
		return m.raise(b, err)
	}
	r.Duration = m.Wait
	if timeout, ok := r.Params.At("timeout").(float64); ok {
		if timeout > m.MaxWait.Seconds() {
			return m.raise(b, automation.Invalid("wait.timeout must be at most %d seconds", int(m.MaxWait.Seconds())))
		}
		r.Duration = seconds(timeout)
	}
	m.requestAndWait(b, r, to)
	return nil
}

// isWaitNext reports whether the next instruction that asks for anything is a wait that
// cancels triggers.
func (f *frame) isWaitNext() bool {
	for _, in := range f.list[f.next:] {
		switch {
		case in.Fault != nil || !in.Builtin:
			return false
		case in.Name == "wait":
			return in.Params != nil && slices.ContainsFunc(automation.OneOf(in.Params.Source()), automation.MayCancel)
		case in.Name == "comment":
		case in.Name == "set" || in.Name == "delete":
			if root := in.Target.Root(); root == "" || root == "$http" || root == "config" {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// objectOrUndefined is an object as a value: none is Undefined.
func objectOrUndefined(o *value.Object) any {
	if o == nil {
		return value.Undefined
	}
	return o
}

// payloadOf returns the parameters of an emit with a payload, an empty one when
// there is none. False when it is something else than an object.
func payloadOf(params *value.Object) (*value.Object, bool) {
	payload := params.At("payload")
	if _, ok := payload.(*value.Object); ok {
		return params, true
	}
	if !value.IsNothing(payload) {
		return nil, false
	}
	params = params.Copy()
	params.Set("payload", &value.Object{})
	return params, true
}

// parameters evaluates the parameters of an instruction. Those that contain templates could not
// be checked when the document was saved, and are checked now.
func (m *Machine) parameters(in *automation.Instruction) (*value.Object, result, error) {
	v, err := in.Params.Eval(&m.env)
	if err != nil {
		return nil, result{}, err
	}
	params, ok := v.(*value.Object)
	if !ok {
		return nil, result{}, automation.Invalid("expected parameters as an object, got %s", value.TypeName(v))
	}
	if err := m.checkSize(params); err != nil {
		return nil, result{}, err
	}
	_, written := in.Params.Source().(*value.Object)
	if err := in.CheckParams(params); err != nil {
		return nil, result{}, err
	}
	if !written {
		return splitOutput(params)
	}
	to := result{bad: in.BadOutput}
	if in.Output != nil {
		to.steps, err = in.Output.Resolve(&m.env)
	}
	return params, to, err
}

// checkSize refuses a value that is larger than all local variables may be, or makes the
// tree too large. Every value that an instruction builds is checked here: it may contain
// the same list many times, so that measuring it later would take too long.
func (m *Machine) checkSize(v any) error {
	spent, ok := value.SizeWithin(v, m.LocalLimit)
	if m.env.Spent += spent; ok {
		return m.holdValue(v)
	}
	return automation.Raise(automation.ContextTooLarge, "a value becomes too large", "context", "local", "size", float64(m.LocalLimit+1), "limit", float64(m.LocalLimit))
}

// splitOutput takes the output out of parameters that a template yielded: values are no
// templates, so it is a plain path.
func splitOutput(params *value.Object) (*value.Object, result, error) {
	output, ok := params.Get("output")
	if !ok {
		return params, result{}, nil
	}
	rest := &value.Object{}
	for _, key := range params.Keys() {
		if key != "output" {
			rest.Set(key, params.At(key))
		}
	}
	name, ok := output.(string)
	if !ok {
		return rest, result{bad: output != nil}, nil
	}
	steps, err := plainPath(name)
	return rest, result{steps: steps}, err
}

func plainPath(name string) ([]expr.Step, error) {
	steps, ok := expr.PlainPath(name)
	if !ok {
		return nil, automation.Raise(automation.InvalidVariable, "no path of a variable: "+strings.ToValidUTF8(name[:min(len(name), 100)], ""))
	}
	return steps, nil
}

// storeResult puts the result of an instruction where it goes. An undefined one leaves
// the variable as it was.
func (m *Machine) storeResult(b *branch, to result, v any) *outcome {
	if to.bad {
		m.recordNotice(b, automation.Raise(automation.InvalidOutput, "expected the path of a variable: the result goes nowhere"))
		return nil
	}
	if to.steps == nil || value.IsUndefined(v) {
		return nil
	}
	return m.assign(b, assignment{steps: to.steps, value: v})
}

func errorValue(name, message string, details any) *value.Object {
	if o, ok := details.(*value.Object); value.IsNothing(details) || ok && o == nil {
		details = &value.Object{}
	}
	return value.NewObject("error", name, "message", message, "details", details)
}

// call is what an execution returns to.
type call struct {
	in      *automation.Instruction // that called; nil for the first of the tree
	to      result
	iter    *iteration
	ordinal int
}

// call asks for an automation that an instruction names.
func (m *Machine) call(b *branch, in *automation.Instruction) *outcome {
	arguments, to, err := m.parameters(in)
	m.traceBegin(b, objectOrUndefined(arguments))
	if err != nil {
		return m.raise(b, err)
	}
	return m.callSlug(b, Request{Kind: Call, Slug: in.Name, Params: arguments}, to)
}

// runWorkflow asks for an automation whose slug is computed.
func (m *Machine) runWorkflow(b *branch, in *automation.Instruction) *outcome {
	params, to, err := m.parameters(in)
	m.traceBegin(b, objectOrUndefined(params))
	if err != nil {
		return m.raise(b, err)
	}
	arguments, ok := params.At("parameters").(*value.Object)
	if !ok {
		arguments = &value.Object{}
	}
	slug, _ := params.At("workflow").(string)
	kind := Call
	if params.At("wait") == false {
		kind = Spawn
	}
	return m.callSlug(b, Request{Kind: kind, Slug: slug, Params: arguments}, to)
}

func (m *Machine) callSlug(b *branch, r Request, to result) *outcome {
	if b.x.Depth > m.MaxDepth {
		return m.raise(b, automation.Raise(automation.TooManyCalls, "Too many successive calls", "limit", float64(m.MaxDepth)))
	}
	m.requestAndWait(b, r, to)
	return nil
}

// beginExecution begins the execution that a call asked for.
func (m *Machine) beginExecution(b *branch, w *waiting, a Answer) *outcome {
	if a.Program == nil {
		return m.raise(b, automation.NotFound(w.Slug, nil))
	}
	x := &Execution{
		ID: a.ExecutionID, Parent: b.x, At: w.Location, Program: a.Program, Depth: b.x.Depth + 1,
		Input: w.Params, Output: value.Undefined, local: newLocals(w.Params),
	}
	b.push(frame{kind: bodyFrame, list: a.Program.Do, call: &call{in: w.in, to: w.to, iter: b.iter, ordinal: b.ordinal}})
	b.x, b.iter = x, nil
	return nil
}

// endExecution ends the execution of a branch, and continues the one that called it.
func (m *Machine) endExecution(b *branch, out *outcome) *outcome {
	x, back := b.x, b.topFrame().call
	if out == nil || out.err == nil {
		output, err := m.output(b, out)
		if err != nil {
			out = m.raise(b, err)
		} else {
			x.Output, x.Broke = output, out != nil
		}
	}
	if out != nil && out.err != nil {
		x.Err, x.Origin = out.err, out.origin
	}
	x.local = locals{}
	m.turn.Ended = append(m.turn.Ended, x)
	b.pop()
	if back.in == nil {
		m.end(b, out)
		return nil
	}
	b.x, b.iter, b.in, b.ordinal = x.Parent, back.iter, back.in, back.ordinal
	if out != nil && (out.err != nil || out.scope == scopeAll) {
		if out.err != nil {
			m.traceEnd(b, value.Undefined, out.err)
		}
		return out
	}
	m.traceEnd(b, x.Output, nil)
	return m.storeResult(b, back.to, x.Output)
}

// output returns what an execution yields.
func (m *Machine) output(b *branch, out *outcome) (any, error) {
	if out != nil && out.hasPayload {
		return out.payload, nil
	}
	output := b.x.Program.Output
	if output == nil {
		return &value.Object{}, nil
	}
	b.in, b.ordinal = nil, 0
	if fault := b.x.Program.OutputFault; fault != nil {
		return value.Undefined, fault.Raised()
	}
	v, err := output.Eval(&m.env)
	if err == nil {
		err = m.checkSize(v)
	}
	return v, err
}

// setResponse sets the response of the endpoint: a part by its path, or several with an object.
// It can be set only where $http is the handle of an endpoint. It has no effect in a tree
// that an event or a schedule started.
func (m *Machine) setResponse(b *branch, a assignment) *outcome {
	switch {
	case isHandle(b.x.local.vars["$http"]):
	case isHandle(m.root.Input.At("$http")):
		return m.raise(b, automation.Invalid("$http exists only in an automation started by an endpoint or a test; pass it on as an argument ($http: '{{$http}}')"))
	default:
		if !b.x.responseIgnored {
			b.x.responseIgnored = true
			m.recordNotice(b, automation.Invalid("$http is ignored: no endpoint started this run, so nobody waits for an answer"))
		}
		return nil
	}
	if len(a.steps) > 1 {
		return m.setResponsePart(b, a)
	}
	parts, ok := a.value.(*value.Object)
	if !ok || a.kind == variable.Push {
		return m.raise(b, automation.Invalid("$http must be an object with status, headers, chunk or sseKeepAlive"))
	}
	for _, key := range sortHeadFirst(parts.Keys()) {
		part := assignment{steps: []expr.Step{a.steps[0], {Key: key}}, kind: a.kind, value: parts.At(key)}
		if out := m.setResponsePart(b, part); out != nil {
			return out
		}
	}
	return nil
}

// isHandle reports whether a value is the $http of an endpoint, also of one whose
// caller is gone because the tree was interrupted.
func isHandle(v any) bool {
	switch v.(type) {
	case HTTP, variable.LostStream:
		return true
	}
	return false
}

// sortHeadFirst puts the chunk last: status and headers must be set before it.
func sortHeadFirst(keys []string) []string {
	isChunk := func(key string) bool { return key == "chunk" }
	sorted := slices.DeleteFunc(slices.Clone(keys), isChunk)
	if slices.ContainsFunc(keys, isChunk) {
		sorted = append(sorted, "chunk")
	}
	return sorted
}

func (m *Machine) setResponsePart(b *branch, a assignment) *outcome {
	if a.kind != variable.Delete && value.IsUndefined(a.value) {
		return nil
	}
	if why := responsePartProblem(a); why != "" {
		return m.raise(b, automation.Invalid("%s: %s", pathText(a.steps), why))
	}
	if a.steps[1].Key == "chunk" {
		m.requestAndWait(b, Request{Kind: Chunk, Value: a.value}, result{})
		return nil
	}
	return m.write(b, Write{Context: a.steps[0].Key, Op: a.op()})
}

// responsePartProblem says what is wrong with a part of the answer, "" when nothing is.
func responsePartProblem(a assignment) string {
	part := a.steps[1].Key
	if part == "headers" {
		if _, ok := a.value.(*value.Object); !ok && len(a.steps) == 2 && a.kind != variable.Delete {
			return "headers are an object"
		}
		return ""
	}
	if len(a.steps) > 2 || a.kind == variable.Push || a.kind == variable.Delete {
		return "can only be set as a whole"
	}
	n, number := a.value.(float64)
	switch part {
	case "chunk":
		return ""
	case "status":
		if !number || n < 200 || n > 599 || n != math.Trunc(n) {
			return "a status is an integer from 200 to 599"
		}
		return ""
	case "sseKeepAlive":
		if !number || n < 0 {
			return "expected a number of milliseconds"
		}
		return ""
	}
	return "there are status, headers, chunk and sseKeepAlive"
}
