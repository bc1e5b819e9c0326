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
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// TurnLength is how many instructions a turn has at most. It must be what trees are
// run with: a record counts turns.
const TurnLength = 10_000

// errStuck says that a replay waits for something that never came.
var errStuck = errors.New("the replay waits for what was not recorded")

// player runs a machine with what a record tells.
type player struct {
	record  *Record
	context context.Context //nolint:containedctx // it lives as long as the replay
	find    func(ref string) (*machine.Program, error)
	code    Code
	machine *machine.Machine
	turn    int

	cursor  map[string]int // of what is looked for by position
	loaded  map[string]*loaded
	user    string // whose contexts are read
	session string

	used   map[*request]bool
	ready  []*due // whose answers are known, by the order of these
	halted int    // of the halts of the record
	missed error  // why the time or the chance that was just asked for is none

	differences []difference
	different   int             // how many differences there are
	differs     map[string]bool // executions that have any
	ended       map[string]outcome

	observes bool // what executions did on the way is compared with another replay
	branches []observed
	writes   []observed
	tracer   *tracer // that looks at the steps; nil: nobody does
	most     int     // bytes that are kept until the end
	notes    int     // so many are
	excess   error   // why there is too much of it
}

// outcome is how an execution ended.
type outcome struct {
	output any
	err    *automation.Error
}

// due is an answer that is to be given.
type due struct {
	id     uint64
	answer machine.Answer
	entry  *entry
}

func newPlayer(ctx context.Context, r *Record, find func(string) (*machine.Program, error), o Options) *player {
	return &player{
		record: r, context: ctx, find: find, code: o.Code, cursor: map[string]int{}, loaded: map[string]*loaded{}, user: r.UserID,
		session: r.SessionID, used: map[*request]bool{}, ended: map[string]outcome{}, observes: o.Document == Current,
		most: cmp.Or(o.MaxKept, maxKept),
	}
}

func (p *player) options() machine.Options {
	r := p.record
	o := machine.Options{
		World: p, MaxDepth: r.MaxDepth, LocalLimit: r.LocalLimit, MaxWait: r.MaxWait, Wait: r.Wait, Locale: r.Locale, Zone: r.zone(),
		Zones: time.LoadLocation, Observe: p.observe, Missed: p.misses,
	}
	if p.tracer != nil {
		o.Trace = p.tracer
	}
	return o
}

// play runs the tree to its end. An error says why it could not go on.
func (p *player) play(root *machine.Program) error {
	p.machine = machine.New(p.options())
	p.machine.Start(root, p.record.ExecutionID, p.record.Depth, p.record.Input)
	for !p.machine.Done() {
		if err := context.Cause(p.context); err != nil {
			return err
		}
		p.turn++
		turn := p.machine.Run(TurnLength)
		p.end(turn.Ended)
		if p.excess != nil {
			return p.excess
		}
		if p.tracer != nil && p.tracer.full() {
			return errEnoughSteps
		}
		answered := false
		for _, r := range turn.Requests {
			now, err := p.ask(r)
			if err == nil {
				err = p.excess
			}
			if err != nil {
				return err
			}
			answered = answered || now
		}
		if p.machine.Done() {
			break
		}
		given, err := p.give()
		if err != nil {
			return err
		}
		if !given && !answered && !turn.Yielded {
			if err := p.skip(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask finds what a request was answered with. It reports whether it was answered at
// once: there is nothing in the record.
func (p *player) ask(r machine.Request) (now bool, err error) {
	key := position(string(r.Kind), r.Execution.ID, r.Path, r.Iteration)
	known := p.record.at[key]
	n := p.cursor[key]
	if n >= len(known) {
		p.differ(r.Execution, r.Place, effectMissing, value.Undefined, told(string(r.Kind), r.Slug, asked(r)))
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

// answer is what a request is answered with: what it was, except that custom code is
// executed again.
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
		return p.again(r, q, a)
	}
	return a, nil
}

// give hands over the answers whose turn has come, and whatever else happened to the
// tree between them. It reports whether there was anything.
func (p *player) give() (given bool, err error) {
	for {
		halt := p.halt()
		switch {
		case halt != nil && halt.turn <= p.turn && (len(p.ready) == 0 || p.order(halt) < p.order(p.ready[0].entry)):
			p.halted++
			if err := p.apply(halt); err != nil {
				return given, err
			}
		case len(p.ready) > 0 && p.ready[0].entry.turn <= p.turn:
			p.tracer.passed(p.ready[0].entry)
			p.machine.Answer(p.ready[0].id, p.ready[0].answer)
			p.ready = p.ready[1:]
		default:
			return given, nil
		}
		given = true
	}
}

// halt returns the stop or interruption that comes next, nil when there is none.
func (p *player) halt() *entry {
	if p.halted < len(p.record.halts) {
		return p.record.halts[p.halted]
	}
	return nil
}

// skip goes on to the turn in which something happened: nothing did until then.
func (p *player) skip() error {
	next := p.halt()
	if len(p.ready) > 0 && (next == nil || p.order(p.ready[0].entry) < p.order(next)) {
		next = p.ready[0].entry
	}
	if next == nil {
		return errStuck
	}
	p.turn = max(p.turn, next.turn)
	_, err := p.give()
	return err
}

// apply stops the tree, or lets it go on as it did on another node.
func (p *player) apply(halt *entry) error {
	if halt.kind == entryStopped {
		if halt.failure == nil {
			return errRecord
		}
		p.machine.Stop(halt.failure)
		return nil
	}
	state, err := p.machine.Save()
	if err != nil {
		return nil //nolint:nilerr // another document is not where the tree stood then
	}
	restored, _, err := machine.Restore(state, p.options(), p.find)
	if err != nil {
		return fmt.Errorf("go on where the tree stood: %w", err)
	}
	p.machine = restored
	p.forget()
	return nil
}

// moment returns what was recorded where the machine is, nil when nothing is left.
func (p *player) moment(x *machine.Execution, kind entryKind, name string) *entry {
	_, at := p.machine.CurrentPlace()
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
	x, _ := p.machine.CurrentPlace()
	e := p.moment(x, entryClock, "")
	if e == nil {
		p.missed = p.lacks(x, string(entryClock), value.Undefined)
		return p.record.At
	}
	return time.Unix(0, e.number).UTC()
}

func (p *player) date(x *machine.Execution) (any, error) {
	if e := p.moment(x, entryDate, ""); e != nil {
		return e.value, nil
	}
	return value.Undefined, p.lacks(x, string(entryClock), value.Undefined)
}

// Random implements machine.World.
func (p *player) Random(n int) []byte {
	x, _ := p.machine.CurrentPlace()
	drawn := make([]byte, n)
	if e := p.moment(x, entryRandom, ""); e != nil {
		bytes, _ := e.value.(value.Bytes)
		copy(drawn, bytes)
	} else {
		p.missed = p.lacks(x, string(entryRandom), float64(n))
	}
	return drawn
}

// maxKept is how many bytes a replay keeps until it is compared: what executions did on the
// way, what they came to, and what they wrote to contexts. A record says little of how much
// that is, a changed document nothing.
const maxKept = 64 << 20

// oneKept is what one of them takes besides its value.
const oneKept = 256

var errExcess = errors.New("the replay does more than can be compared")

// keep counts n bytes of what is kept. It is to end when there are too many.
func (p *player) keep(n int) {
	if p.notes += n; p.notes > p.most && p.excess == nil {
		p.excess = errExcess
	}
}

// forget lets go of the contexts, which are read again.
func (p *player) forget() {
	for _, view := range p.loaded {
		p.notes -= view.grown
	}
	clear(p.loaded)
}

// end notes what executions came to.
func (p *player) end(all []*machine.Execution) {
	for _, x := range all {
		spent, _ := value.SizeWithin(x.Output, p.most)
		p.keep(oneKept + spent)
		p.ended[x.ID] = outcome{x.Output, x.Err}
	}
}

// observed is something that an execution did.
type observed struct {
	execution string
	place     machine.Place
	did       any
	sum       [sha256.Size]byte // of a value that is too large to be kept
}

// observe notes which branch of conditions was taken.
func (p *player) observe(x *machine.Execution, at machine.Place, taken string) {
	if p.observes && p.excess == nil {
		p.keep(oneKept)
		p.branches = append(p.branches, observed{execution: x.ID, place: at, did: taken})
	}
}

// wrote notes a change of a context. Of a large value, that is whether it is the same.
func (p *player) wrote(x *machine.Execution, w machine.Write) {
	if !p.observes {
		return
	}
	_, at := p.machine.CurrentPlace()
	did := observed{execution: x.ID, place: at}
	spent, fits := value.SizeWithin(w.Op.Value, maxShown)
	if !fits {
		did.sum = sha256.Sum256(variable.Encode(w.Op.Value))
		w.Op.Value, spent = "(too large to be shown)", 0
	}
	did.did = shownWrite(w)
	p.keep(oneKept + spent)
	p.writes = append(p.writes, did)
}

// against compares what executions did on the way with what they did in another
// replay: which branches they took, and what they wrote.
func (p *player) against(expected *player) {
	p.contrast(otherBranch, expected.branches, p.branches, false)
	p.contrast(otherContext, expected.writes, p.writes, true)
}

// contrast compares two lists by position. Both ways: what only the first has counts,
// too.
func (p *player) contrast(kind string, expected, actual []observed, bothWays bool) {
	known, taken := map[string][]observed{}, map[string]int{}
	for _, o := range expected {
		key := position("", o.execution, o.place.Path, o.place.Iteration)
		known[key] = append(known[key], o)
	}
	for _, o := range actual {
		key := position("", o.execution, o.place.Path, o.place.Iteration)
		n := taken[key]
		taken[key]++
		if n < len(known[key]) {
			if was := known[key][n]; was.sum != o.sum || !equal(was.did, o.did) {
				p.note(difference{o.execution, o.place, kind, was.did, o.did})
			}
		} else if bothWays {
			p.note(difference{o.execution, o.place, kind, value.Undefined, o.did})
		}
	}
	if !bothWays {
		return
	}
	seen := map[string]int{}
	for _, o := range expected {
		key := position("", o.execution, o.place.Path, o.place.Iteration)
		if seen[key]++; seen[key] > taken[key] {
			p.note(difference{o.execution, o.place, kind, o.did, value.Undefined})
		}
	}
}
