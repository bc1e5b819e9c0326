package machine

import (
	"cmp"
	"slices"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// throttled is how many iterations are taken from the throttle at a time.
const throttled = 500

// Machine is a tree under way. It is not for several goroutines at once.
type Machine struct {
	Options

	env  expr.Env
	root *Execution
	done bool

	branches []*branch // those that have not ended, the oldest first
	queue    []*branch // those that can go on, in the order in which they will
	inbox    []delivery
	pending  map[uint64]*branch
	lastID   uint64
	lastName uint64 // of a branch
	credit   int    // iterations until the throttle is asked
	told     int    // errors that ended nothing
	added    int    // bytes of memory, since everything was weighed

	current  *branch // the one that executes
	left     int     // of the budget
	turn     Turn
	stopping bool
	aborting bool // not even finally blocks run
}

// delivery is an answer that has not been looked at.
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
	m.ready(b)
}

// Root returns the execution that the trigger started.
func (m *Machine) Root() *Execution { return m.root }

// Done reports whether the tree has ended.
func (m *Machine) Done() bool { return m.done }

// Stopping reports whether the tree was stopped.
func (m *Machine) Stopping() bool { return m.stopping }

// Where says what is being executed while the World is asked.
func (m *Machine) Where() (*Execution, Place) {
	return m.current.x, m.current.place()
}

// What an instruction costs besides what its expressions do (expr.Env.Spent), in steps.
const (
	costOfOne   = 1000   // counts as an instruction: a turn of heavy ones has fewer of them
	costOfRead  = 1000   // of something in a context
	costOfKey   = 400    // of a context that is read whole, which is copied for that
	costOfWrite = 10_000 // to a context, which is made anew
)

// Go runs the tree until all of it waits, at most budget instructions. Answers are
// taken one after the other, each when everything before it has come to a stop:
// when they arrive decides nothing, their order does.
func (m *Machine) Go(budget int) Turn {
	m.left = budget
	for m.left > 0 {
		if len(m.queue) > 0 {
			b := m.queue[0]
			m.run(b)
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
		m.deliver(next)
		m.pay()
	}
	turn := m.turn
	turn.Yielded = len(m.queue)+len(m.inbox) > 0
	m.turn = Turn{}
	return turn
}

// run lets a branch go on until it waits or ends.
func (m *Machine) run(b *branch) {
	m.current = b
	for m.left > 0 && b.runnable() {
		m.left--
		m.step(b)
		m.pay()
	}
}

// pay takes what was spent since the last time from the budget of the turn. What comes
// next may spend as much again.
func (m *Machine) pay() {
	m.left -= m.env.Spent / costOfOne
	m.env.Spent %= costOfOne
}

// ready puts a branch in line if it can go on.
func (m *Machine) ready(b *branch) {
	if b.runnable() {
		m.queue = append(m.queue, b)
	}
}

// Answer hands over what came of a request. One that nobody waits for is ignored.
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

// Stop raises err in every branch. What was asked is forgotten, except in finally
// blocks that are under way; the other finally blocks run. An err that a try may
// catch is caught as usual. A second Stop ends everything that is left at once.
func (m *Machine) Stop(err *automation.Error) {
	m.aborting = m.stopping
	m.stopping = true
	for _, b := range append([]*branch(nil), m.branches...) {
		if b.open > 0 {
			continue // ends when those it waits for have
		}
		raised := m.raisedIn(b, err)
		if t := b.finally(); t != nil && !m.aborting {
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
			m.ready(b)
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

// ask makes a request that the branch waits for.
func (m *Machine) ask(b *branch, r Request, to result) {
	m.lastID++
	r.ID, r.Execution, r.Place, r.in = m.lastID, b.x, b.place(), b.in
	if b.in != nil {
		r.Name = b.in.Name
	}
	b.waiting = &waiting{Request: r, to: to}
	m.pending[r.ID] = b
	m.turn.Requests = append(m.turn.Requests, r)
}

// mostNotices is how many errors that end nothing a tree tells of: no throttle holds them
// back, and a loop makes one with each turn.
const mostNotices = 100

// notice tells of an error that ends nothing.
func (m *Machine) notice(b *branch, err *automation.Error) {
	if m.told >= mostNotices {
		return
	}
	raised := *err
	if m.told++; m.told == mostNotices {
		raised.Message += "; no more errors like this are told in this run"
	}
	raised.Document, raised.Instruction = b.x.Program.Slug, b.path()
	m.turn.Notices = append(m.turn.Notices, Notice{b.x, &raised})
}

// longest is how long anything lasts: more is no time that a Duration can tell.
const longest = 100 * 365 * 24 * time.Hour

func milliseconds(n float64) time.Duration { return seconds(n / 1000) }

func seconds(n float64) time.Duration {
	return time.Duration(min(n, longest.Seconds()) * float64(time.Second))
}
