package recording

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// TurnLength is how many instructions a turn has at most. A replay needs the turns of the
// original run, because a recording counts them.
const TurnLength = 10_000

// errStuck says that a replay waits for something that never came.
var errStuck = errors.New("the replay waits for what was not recorded")

// player replays a recording: it runs a machine and gives it the recorded answers.
type player struct {
	record  *Record
	context context.Context //nolint:containedctx // it lives as long as the replay
	find    func(ref string) (*machine.Program, error)
	code    Code
	machine *machine.Machine
	turn    int

	cursor  map[string]int // of what is searched by position
	loaded  map[string]*loaded
	user    string // whose contexts are read
	session string

	used   map[*request]bool
	ready  []*due // whose answers are known, by the order of these
	halted int    // of the halts of the record
	missed error  // why the last time or random bytes were not recorded

	differences []difference
	different   int             // how many differences there are
	differs     map[string]bool // executions that have any
	ended       map[string]outcome

	observes  bool // branches and writes are compared with another replay
	branches  []observed
	writes    []observed
	tracer    *tracer // of the steps; nil: they are not traced
	maxBytes  int     // that the replay may hold
	usedBytes int     // that it holds
	tooMuch   error   // set when it holds too much
}

// outcome is how an execution ended.
type outcome struct {
	output any
	err    *automation.Error
}

// due is an answer that is to be delivered.
type due struct {
	id     uint64
	answer machine.Answer
	entry  *entry
}

func newPlayer(ctx context.Context, r *Record, find func(string) (*machine.Program, error), o Options) *player {
	return &player{
		record: r, context: ctx, find: find, code: o.Code, cursor: map[string]int{}, loaded: map[string]*loaded{}, user: r.UserID,
		session: r.SessionID, used: map[*request]bool{}, ended: map[string]outcome{}, observes: o.Document == Current,
		maxBytes: cmp.Or(o.MaxBytes, maxReplayBytes),
	}
}

func (p *player) options() machine.Options {
	r := p.record
	o := machine.Options{
		World: p, MaxDepth: r.MaxDepth, LocalLimit: r.LocalLimit, MaxWait: r.MaxWait, Wait: r.Wait, Locale: r.Locale, Zone: r.zone(),
		Zones: time.LoadLocation, Observe: p.observeBranch, Missed: p.nextMissedError,
	}
	if p.tracer != nil {
		o.Trace = p.tracer
	}
	return o
}

// play runs the tree to its end. An error says why it could not continue.
func (p *player) play(root *machine.Program) error {
	p.machine = machine.New(p.options())
	p.machine.Start(root, p.record.ExecutionID, p.record.Depth, p.record.Input)
	for !p.machine.Done() {
		if err := context.Cause(p.context); err != nil {
			return err
		}
		p.turn++
		turn := p.machine.Run(TurnLength)
		p.addEnded(turn.Ended)
		if p.tooMuch != nil {
			return p.tooMuch
		}
		if p.tracer != nil && p.tracer.left <= 0 {
			return errEnoughSteps
		}
		answered := false
		for _, r := range turn.Requests {
			now, err := p.ask(r)
			if err == nil {
				err = p.tooMuch
			}
			if err != nil {
				return err
			}
			answered = answered || now
		}
		if p.machine.Done() {
			break
		}
		given, err := p.deliverDue()
		if err != nil {
			return err
		}
		if !given && !answered && !turn.Yielded {
			if err := p.skipToNext(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask finds the recorded answer of a request. It reports whether the request was answered at
// once, because nothing was recorded.
func (p *player) ask(r machine.Request) (now bool, err error) {
	key := position(string(r.Kind), r.Execution.ID, r.Path, r.Iteration)
	known := p.record.at[key]
	n := p.cursor[key]
	if n >= len(known) {
		p.reportDifference(r.Execution, r.Location, effectMissing, value.Undefined, requestValue(string(r.Kind), r.Slug, askedValue(r)))
		p.machine.Answer(r.ID, machine.Answer{Value: value.Undefined, Err: missing(string(r.Kind))})
		return true, nil
	}
	p.cursor[key]++
	q := known[n]
	p.used[q] = true
	p.compare(r, q)
	if q.answered == nil {
		return false, nil
	}
	answer, err := p.answer(r, q)
	if err != nil {
		return false, err
	}
	d := &due{r.ID, answer, q.answered}
	at, _ := slices.BinarySearchFunc(p.ready, d, func(a, b *due) int { return cmp.Compare(p.order(a.entry), p.order(b.entry)) })
	p.ready = slices.Insert(p.ready, at, d)
	return false, nil
}

func (p *player) order(e *entry) int { return p.record.order[e] }

func missing(what string) *automation.Error {
	return automation.Raise(automation.ReplayMiss, "the recording has no such effect", "kind", what)
}

// answer returns the answer of a request: the recorded one, except that custom code is executed
// again.
func (p *player) answer(r machine.Request, q *request) (machine.Answer, error) {
	e := q.answered
	a := machine.Answer{Value: e.value, ExecutionID: e.callee}
	if e.failure != nil {
		a.Err = e.failure
	}
	switch {
	case e.ref != "":
		program, err := p.find(e.ref)
		if raised, ok := errors.AsType[*automation.Error](err); ok {
			a.Err = raised
		} else if err != nil {
			return a, err
		}
		a.Program = program
	case q.code != nil:
		return p.rerunCode(r, q, a)
	}
	return a, nil
}

// deliverDue delivers the answers of this turn, and the stops and interruptions between them.
// It reports whether there were any.
func (p *player) deliverDue() (given bool, err error) {
	for {
		halt := p.nextHalt()
		switch {
		case halt != nil && halt.turn <= p.turn && (len(p.ready) == 0 || p.order(halt) < p.order(p.ready[0].entry)):
			p.halted++
			if err := p.applyHalt(halt); err != nil {
				return given, err
			}
		case len(p.ready) > 0 && p.ready[0].entry.turn <= p.turn:
			p.tracer.advanceTo(p.ready[0].entry)
			p.machine.Answer(p.ready[0].id, p.ready[0].answer)
			p.ready = p.ready[1:]
		default:
			return given, nil
		}
		given = true
	}
}

// nextHalt returns the stop or interruption that comes next, nil when there is none.
func (p *player) nextHalt() *entry {
	if p.halted < len(p.record.halts) {
		return p.record.halts[p.halted]
	}
	return nil
}

// skipToNext continues with the next turn in which something was recorded.
func (p *player) skipToNext() error {
	next := p.nextHalt()
	if len(p.ready) > 0 && (next == nil || p.order(p.ready[0].entry) < p.order(next)) {
		next = p.ready[0].entry
	}
	if next == nil {
		return errStuck
	}
	p.turn = max(p.turn, next.turn)
	_, err := p.deliverDue()
	return err
}

// applyHalt stops the tree, or saves and restores it as another node did.
func (p *player) applyHalt(halt *entry) error {
	if halt.kind == entryStopped {
		if halt.failure == nil {
			return errRecord
		}
		p.machine.Stop(halt.failure)
		return nil
	}
	state, err := p.machine.Save()
	if err != nil {
		return nil //nolint:nilerr // another document is in another state
	}
	restored, _, err := machine.Restore(state, p.options(), p.find)
	if err != nil {
		return fmt.Errorf("restore the tree: %w", err)
	}
	p.machine = restored
	p.discardContexts()
	return nil
}

// moment returns what was recorded where the machine is, nil when nothing is left.
func (p *player) moment(x *machine.Execution, kind entryKind, name string) *entry {
	_, at := p.machine.CurrentLocation()
	key := position(string(kind)+"\x00"+name, x.ID, at.Path, at.Iteration)
	known, n := p.record.moments[key], p.cursor[key]
	if n >= len(known) {
		return nil
	}
	p.cursor[key]++
	return known[n]
}

// Now implements machine.World.
func (p *player) Now() time.Time {
	x, _ := p.machine.CurrentLocation()
	e := p.moment(x, entryClock, "")
	if e == nil {
		p.missed = p.reportMissing(x, string(entryClock), value.Undefined)
		return p.record.At
	}
	return time.Unix(0, e.number).UTC()
}

func (p *player) date(x *machine.Execution) (any, error) {
	if e := p.moment(x, entryDate, ""); e != nil {
		return e.value, nil
	}
	return value.Undefined, p.reportMissing(x, string(entryClock), value.Undefined)
}

// Random implements machine.World.
func (p *player) Random(n int) []byte {
	x, _ := p.machine.CurrentLocation()
	drawn := make([]byte, n)
	if e := p.moment(x, entryRandom, ""); e != nil {
		bytes, _ := e.value.(value.Bytes)
		copy(drawn, bytes)
	} else {
		p.missed = p.reportMissing(x, string(entryRandom), float64(n))
	}
	return drawn
}

// maxReplayBytes is how many bytes a replay may hold until it is compared: branches, results
// and writes. The size of a recording says little about that, and a changed document nothing.
const maxReplayBytes = 64 << 20

// observedBytes is the size of one of them besides its value.
const observedBytes = 256

var errTooMuch = errors.New("the replay does more than can be compared")

// countBytes counts n bytes that the replay holds. Too many end it.
func (p *player) countBytes(n int) {
	if p.usedBytes += n; p.usedBytes > p.maxBytes && p.tooMuch == nil {
		p.tooMuch = errTooMuch
	}
}

// discardContexts discards the contexts, so that they are read again.
func (p *player) discardContexts() {
	for _, view := range p.loaded {
		p.usedBytes -= view.addedBytes
	}
	clear(p.loaded)
}

// addEnded adds the results of executions.
func (p *player) addEnded(all []*machine.Execution) {
	for _, x := range all {
		spent, _ := value.SizeWithin(x.Output, p.maxBytes)
		p.countBytes(observedBytes + spent)
		p.ended[x.ID] = outcome{x.Output, x.Err}
	}
}

// observed is something that an execution did.
type observed struct {
	execution string
	location  machine.Location
	did       any
	sum       [sha256.Size]byte // of a value that is too large to be held
}

// observeBranch adds the chosen branch of conditions.
func (p *player) observeBranch(x *machine.Execution, at machine.Location, branch string) {
	if p.observes && p.tooMuch == nil {
		p.countBytes(observedBytes)
		p.branches = append(p.branches, observed{execution: x.ID, location: at, did: branch})
	}
}

// observeWrite adds a change of a context; of a large value only its hash.
func (p *player) observeWrite(x *machine.Execution, w machine.Write) {
	if !p.observes {
		return
	}
	_, at := p.machine.CurrentLocation()
	did := observed{execution: x.ID, location: at}
	spent, fits := value.SizeWithin(w.Op.Value, maxDifferenceBytes)
	if !fits {
		did.sum = sha256.Sum256(variable.Encode(w.Op.Value))
		w.Op.Value, spent = "(too large to be shown)", 0
	}
	did.did = writeValue(w)
	p.countBytes(observedBytes + spent)
	p.writes = append(p.writes, did)
}

// compareObserved compares the branches and writes with those of another replay.
func (p *player) compareObserved(expected *player) {
	p.compareLists(otherBranch, expected.branches, p.branches, false)
	p.compareLists(otherContext, expected.writes, p.writes, true)
}

// compareLists compares two lists by position. With bothWays, what only the first one has is a
// difference, too.
func (p *player) compareLists(kind string, expected, actual []observed, bothWays bool) {
	known, used := map[string][]observed{}, map[string]int{}
	for _, o := range expected {
		key := position("", o.execution, o.location.Path, o.location.Iteration)
		known[key] = append(known[key], o)
	}
	for _, o := range actual {
		key := position("", o.execution, o.location.Path, o.location.Iteration)
		n := used[key]
		used[key]++
		if n < len(known[key]) {
			if was := known[key][n]; was.sum != o.sum || !equal(was.did, o.did) {
				p.addDifference(difference{o.execution, o.location, kind, was.did, o.did})
			}
		} else if bothWays {
			p.addDifference(difference{o.execution, o.location, kind, value.Undefined, o.did})
		}
	}
	if !bothWays {
		return
	}
	seen := map[string]int{}
	for _, o := range expected {
		key := position("", o.execution, o.location.Path, o.location.Iteration)
		if seen[key]++; seen[key] > used[key] {
			p.addDifference(difference{o.execution, o.location, kind, o.did, value.Undefined})
		}
	}
}
