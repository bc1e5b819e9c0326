package machine

import (
	"cmp"
	"slices"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// throttled is how many iterations are requested from the throttle at a time.
const throttled = 500

// Machine is a running tree. It is not safe for concurrent use.
type Machine struct {
	Options

	env  expr.Env
	root *Execution
	done bool

	branches    []*branch // those that have not ended, the oldest first
	queue       []*branch // those that can go on, in the order in which they will
	inbox       []delivery
	pending     map[uint64]*branch
	lastID      uint64
	lastName    uint64 // of a branch
	credit      int    // iterations until the throttle is asked
	noticeCount int    // errors that ended nothing
	added       int    // bytes of memory, since everything was weighed

	current  *branch // the one that executes
	left     int     // of the budget
	turn     Turn
	stopping bool
	aborting bool // not even finally blocks run
}

// delivery is an answer that is not processed yet.
type delivery struct {
	id uint64
	Answer
}

// New returns a machine that has nothing to do yet.
func New(o Options) *Machine {
	m := &Machine{Options: o.withDefaults(), pending: map[uint64]*branch{}, credit: throttled}
	m.env = m.Options.env(variables{m})
	return m
}

// Start begins the tree with the execution of p. Input is that of the trigger,
// with $http: HTTP{} for an endpoint. It is to be called once.
func (m *Machine) Start(p *Program, id string, depth int, input *value.Object) {
	x := &Execution{ID: id, Program: p, Depth: depth, Input: input, Output: value.Undefined, local: newLocals(input)}
	m.root = x
	b := m.branch(nil, 0)
	b.x = x
	b.push(frame{kind: bodyFrame, list: p.Do, call: &call{}})
	m.enqueueIfRunnable(b)
}

// Root returns the execution that the trigger started.
func (m *Machine) Root() *Execution { return m.root }

// Done reports whether the tree has ended.
func (m *Machine) Done() bool { return m.done }

// Stopping reports whether the tree was stopped.
func (m *Machine) Stopping() bool { return m.stopping }

// CurrentLocation says what is being executed while the World is asked.
func (m *Machine) CurrentLocation() (*Execution, Location) {
	return m.current.x, m.current.location()
}

// What an instruction costs besides what its expressions do (expr.Env.Spent), in steps.
const (
	costOfOne   = 1000   // counts as an instruction: a turn of heavy ones has fewer of them
	costOfRead  = 1000   // of something in a context
	costOfKey   = 400    // of a context that is read whole, which is copied for that
	costOfWrite = 10_000 // to a context, which is made anew
)

// Run executes the tree until all branches wait, at most budget instructions. Answers are
// processed one by one, each when everything before it waits: their order matters, their
// time of arrival does not.
func (m *Machine) Run(budget int) Turn {
	m.left = budget
	for m.left > 0 {
		if len(m.queue) > 0 {
			b := m.queue[0]
			m.runBranches(b)
			if b.runnable() {
				break // the budget is used up
			}
			m.queue = m.queue[1:]
			continue
		}
		if len(m.inbox) == 0 {
			break
		}
		next := m.inbox[0]
		m.inbox = m.inbox[1:]
		m.deliverAnswer(next)
		m.chargeBudget()
	}
	turn := m.turn
	turn.Yielded = len(m.queue)+len(m.inbox) > 0
	m.turn = Turn{}
	return turn
}

// runBranches lets a branch go on until it waits or ends.
func (m *Machine) runBranches(b *branch) {
	m.current = b
	for m.left > 0 && b.runnable() {
		m.left--
		m.step(b)
		m.chargeBudget()
	}
}

// chargeBudget takes what was spent since the last time from the budget of the turn. What comes
// next may spend as much again.
func (m *Machine) chargeBudget() {
	m.left -= m.env.Spent / costOfOne
	m.env.Spent %= costOfOne
}

// enqueueIfRunnable puts a branch in line if it can go on.
func (m *Machine) enqueueIfRunnable(b *branch) {
	if b.runnable() {
		m.queue = append(m.queue, b)
	}
}

// Answer passes the answer of a request. It is ignored if no branch waits for it.
func (m *Machine) Answer(id uint64, a Answer) {
	m.inbox = append(m.inbox, delivery{id, a})
}

// Pending returns the requests that are not answered, in their order.
func (m *Machine) Pending() []Request {
	all := make([]Request, 0, len(m.pending))
	for _, b := range m.branches {
		if b.waiting != nil {
			all = append(all, b.waiting.Request)
		}
	}
	slices.SortFunc(all, func(a, b Request) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Stop raises err in every branch. Pending requests are dropped, except in finally blocks
// that are being executed; the other finally blocks run. A try can catch err as usual. A
// second Stop ends everything at once.
func (m *Machine) Stop(err *automation.Error) {
	m.aborting = m.stopping
	m.stopping = true
	for _, b := range append([]*branch(nil), m.branches...) {
		if b.open > 0 {
			continue // ends when those it waits for have
		}
		raised := m.raisedIn(b, err)
		if t := b.activeFinally(); t != nil && !m.aborting {
			t.pending = raised
			continue
		}
		waited := b.waiting != nil
		if waited {
			delete(m.pending, b.waiting.ID)
			b.waiting = nil
		}
		b.raised = raised
		if waited {
			m.enqueueIfRunnable(b)
		}
	}
}

func (m *Machine) raisedIn(b *branch, err *automation.Error) *outcome {
	raised := *err
	if raised.Document == "" {
		raised.Document, raised.Instruction = b.x.Program.Slug, b.path()
	}
	return &outcome{err: &raised, origin: b.x.ID}
}

// requestAndWait makes a request that the branch waits for.
func (m *Machine) requestAndWait(b *branch, r Request, to result) {
	m.lastID++
	r.ID, r.Execution, r.Location, r.in = m.lastID, b.x, b.location(), b.in
	if b.in != nil {
		r.Name = b.in.Name
	}
	b.waiting = &waiting{Request: r, to: to}
	m.pending[r.ID] = b
	m.turn.Requests = append(m.turn.Requests, r)
}

// maxNotices is how many notices a tree records: no throttle limits them, and a loop can
// make one per iteration.
const maxNotices = 100

// recordNotice records an error that does not end the execution.
func (m *Machine) recordNotice(b *branch, err *automation.Error) {
	if m.noticeCount >= maxNotices {
		return
	}
	raised := *err
	if m.noticeCount++; m.noticeCount == maxNotices {
		raised.Message += "; no more errors like this are told in this run"
	}
	raised.Document, raised.Instruction = b.x.Program.Slug, b.path()
	m.turn.Notices = append(m.turn.Notices, Notice{b.x, &raised})
}

// longest is the longest duration: a time.Duration cannot hold much more.
const longest = 100 * 365 * 24 * time.Hour

func seconds(n float64) time.Duration {
	return time.Duration(min(n, longest.Seconds()) * float64(time.Second))
}

// Program is an automation in the place where it runs.
type Program struct {
	*automation.Automation

	Slug     string // its name in events: with the instance in front
	Instance string // full slug of the app instance it belongs to; "" for the workspace's own
	Ref      string // finds the same document again after a restart
}

// Location is where in an execution something happens.
type Location struct {
	Path      string // of the instruction; "output" for the output of the automation
	Iteration []int  // numbers of the iterations around it, the outermost loop first
	Ordinal   int    // how many effects the instruction had before, in this iteration
}

// Execution is one automation running once. Output, Err, Origin and Broke are set
// when it ended.
type Execution struct {
	ID      string
	Parent  *Execution // whose call started it; nil for the first of the tree
	At      Location   // of that call
	Program *Program
	Depth   int
	Input   *value.Object

	Output any               // Undefined when it yields nothing, and when it failed
	Err    *automation.Error // nil unless it failed; on the way up the same one
	Origin string            // ID of the execution that raised Err
	Broke  bool              // a break ended it

	local           locals
	responseIgnored bool // a notice says that $http has no effect
}

// HTTP is the value of $http in an execution that an endpoint started. It is a
// handle: it has no text and no JSON, and can be passed on to a called automation.
type HTTP struct{}

// LiveStream implements value.Stream: what has no JSON.
func (HTTP) LiveStream() {}

// step executes one instruction of a branch, or leaves a list that is at its end.
func (m *Machine) step(b *branch) {
	out := b.raised
	b.raised = nil
	if out == nil {
		if f := b.topFrame(); f.next < len(f.list) {
			in := f.list[f.next]
			f.next++
			out = m.perform(b, in)
		} else {
			out = m.endBlock(b)
		}
	}
	if out != nil {
		m.unwind(b, out)
	}
}

// perform begins an instruction. What it returns ends it at once; else it has
// ended well, waits, or has put a list of its own on the stack.
func (m *Machine) perform(b *branch, in *automation.Instruction) *outcome {
	b.in, b.ordinal = in, 0
	if in.Fault != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, in.Fault.Raised())
	}
	if !in.Builtin {
		return m.call(b, in)
	}
	if perform := performers[in.Name]; perform != nil {
		return perform(m, b, in)
	}
	return m.request(b, in)
}

// performers are the instructions that the machine performs itself, and those whose request
// it prepares. All others are requests as they are written.
var performers = map[string]func(*Machine, *branch, *automation.Instruction) *outcome{
	"set":         (*Machine).set,
	"delete":      (*Machine).delete,
	"conditions":  (*Machine).conditions,
	"repeat":      (*Machine).repeat,
	"break":       (*Machine).performBreak,
	"all":         (*Machine).runAll,
	"try":         (*Machine).beginTry,
	"comment":     func(*Machine, *branch, *automation.Instruction) *outcome { return nil },
	"emit":        (*Machine).emit,
	"wait":        (*Machine).wait,
	"runWorkflow": (*Machine).runWorkflow,
}

// conditions takes the first branch whose condition holds.
func (m *Machine) conditions(b *branch, in *automation.Instruction) *outcome {
	m.traceBegin(b, value.Undefined)
	for i := range in.Branches {
		branch := &in.Branches[i]
		if branch.Fault != nil {
			return m.raise(b, branch.Fault.Raised())
		}
		holds, err := branch.Condition.Eval(&m.env)
		if err != nil {
			return m.raise(b, err)
		}
		if holds {
			m.observe(b, branch.Condition.String())
			b.pushBlock(in, firstBranch+i)
			return nil
		}
	}
	chosen := ""
	if in.Default != nil {
		chosen = "default"
	}
	m.observe(b, chosen)
	b.pushBlock(in, defaultBlock)
	return nil
}

func (m *Machine) observe(b *branch, branchName string) {
	if m.Observe != nil {
		m.Observe(b.x, b.location(), branchName)
	}
	m.traceEnd(b, branchName, nil)
}

// traceBegin calls Trace.Begin for the instruction of a branch.
func (m *Machine) traceBegin(b *branch, input any) {
	if m.Trace != nil && b.in != nil {
		m.Trace.Begin(b.x, b.location(), b.in.Name, input)
	}
}

// traceEnd calls Trace.End for the instruction of a branch.
func (m *Machine) traceEnd(b *branch, result any, err *automation.Error) {
	if m.Trace != nil && b.in != nil {
		m.Trace.End(b.x, b.location(), result, err)
	}
}

// maxOpenBranches is how many branches a tree may have before an all is refused.
const maxOpenBranches = 10 * maxBranches

// runAll opens a branch for each instruction.
func (m *Machine) runAll(b *branch, in *automation.Instruction) *outcome {
	if len(in.Do) == 0 {
		return nil
	}
	if len(m.branches) > maxOpenBranches {
		return m.raise(b, automation.Invalid("more than %d instructions side by side", maxOpenBranches))
	}
	m.traceBegin(b, value.Undefined)
	b.push(frame{kind: allFrame, in: in, results: make([]*outcome, len(in.Do))})
	b.open = len(in.Do)
	for i := range in.Do {
		child := m.branch(b, i)
		child.pushBlock(in, -1-i)
		m.enqueueIfRunnable(child)
	}
	return nil
}

// deliverAnswer gives a branch what it waits for.
func (m *Machine) deliverAnswer(d delivery) {
	b, ok := m.pending[d.id]
	if !ok {
		return
	}
	delete(m.pending, d.id)
	w := b.waiting
	b.waiting, b.in, b.ordinal = nil, w.in, w.Ordinal+1
	m.current = b
	if d.Err == nil && (w.Kind != Call || d.Returned) && w.Kind != Next && w.Kind != Throttle && w.Kind != Sleep {
		m.traceEnd(b, d.Value, nil)
	}
	if out := m.handleAnswer(b, w, d.Answer); out != nil {
		m.unwind(b, out)
	}
	m.enqueueIfRunnable(b)
}

func (m *Machine) handleAnswer(b *branch, w *waiting, a Answer) *outcome {
	if a.Err != nil {
		return m.handleRefusal(b, w, automation.ErrorOf(a.Err))
	}
	switch w.Kind {
	case Call:
		if a.Returned {
			return m.storeResult(b, w.to, a.Value)
		}
		return m.beginExecution(b, w, a)
	case Throttle:
		m.credit += w.N
	case Sleep:
		b.topFrame().loop.slept = true
	case Next:
		b.topFrame().loop.read(a.Value)
	case Spawn, Config, Chunk:
	case RateLimit:
		if value.At(a.Value, "ok") == false && w.Params.At("break") == true {
			details, _ := a.Value.(*value.Object)
			return m.raise(b, &automation.Error{Name: automation.RateLimitExceeded, Message: "Rate limit exceeded", Details: details})
		}
		return m.storeResult(b, w.to, a.Value)
	default:
		return m.storeResult(b, w.to, a.Value)
	}
	return nil
}

// handleRefusal raises the error of a request, unless the call of a module says what
// else to do with it.
func (m *Machine) handleRefusal(b *branch, w *waiting, err *automation.Error) *outcome {
	if w.Kind == Module && err.Catchable() {
		switch w.Params.At("onError") {
		case "emit":
			m.recordNotice(b, err)
			return nil
		case "continue":
			return m.storeResult(b, w.to, errorValue(err.Name, err.Message, err.Details))
		}
	}
	return m.raise(b, err)
}
