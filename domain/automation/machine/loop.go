package machine

import (
	"math"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// iteration holds item and $index of one pass through a loop.
type iteration struct {
	outer       *iteration
	item, index any
}

// loop is a repeat that is being executed.
type loop struct {
	outer *iteration

	// What it iterates over: a list, an object, a stream, or else numbers, up to count when
	// counted is set.
	list    []any
	object  *value.Object
	stream  value.Stream
	count   float64
	counted bool
	next    any  // item of the stream that was read, Undefined when none was
	closed  bool // the stream has ended, or until is true

	index   int     // of the iteration to come
	limit   float64 // iterations at most
	limited bool
	asks    bool // until is evaluated before each iteration
	ordinal int  // effects of the repeat itself

	size     int // iterations at once, 0 when they do not run in branches
	interval time.Duration
	slept    bool         // the interval has passed
	batch    []*iteration // those that are about to start
}

// repeat begins a loop.
func (m *Machine) repeat(b *branch, in *automation.Instruction) *outcome {
	l := &loop{outer: b.iter, next: value.Undefined}
	if err := m.readLoop(l, in); err != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, err)
	}
	if m.Trace != nil {
		m.traceBegin(b, l.iterable())
	}
	l.ordinal = b.ordinal
	f := frame{kind: loopFrame, in: in, loop: l}
	if l.size == 0 {
		b.iter = &iteration{outer: l.outer}
	}
	b.push(f)
	return m.advance(b)
}

// readLoop reads what a loop iterates over, and its options.
func (m *Machine) readLoop(l *loop, in *automation.Instruction) error {
	if on := in.Params.Member("on"); on != nil {
		v, err := on.Eval(&m.env)
		if err == nil {
			err = m.holdValue(v)
		}
		if err == nil {
			err = l.setIterable(v)
		}
		if err != nil {
			return err
		}
	}
	if in.Until != nil {
		l.limit, l.limited = in.Until.Source().(float64)
		l.asks = !l.limited
	}
	if batch := in.Params.Member("batch"); batch != nil {
		return m.readBatchSize(l, in, batch)
	}
	return nil
}

// iterable returns what a loop iterates over, for Trace.
func (l *loop) iterable() any {
	switch {
	case l.object != nil:
		return value.NewObject("on", l.object)
	case l.list != nil:
		return value.NewObject("on", l.list)
	case l.counted:
		return value.NewObject("on", l.count)
	case l.limited:
		return value.NewObject("until", l.limit)
	}
	return value.Undefined
}

func (l *loop) setIterable(v any) error {
	l.list = []any{}
	switch v := v.(type) {
	case []any:
		l.list = v
	case *value.Object:
		l.list, l.object = nil, v
	case HTTP:
		return automation.Invalid("repeat.on cannot be $http")
	case value.Stream:
		l.list, l.stream = nil, v
	case float64:
		if v < 0 || v > automation.MaxIterations || v != math.Trunc(v) {
			return automation.Invalid("a number of iterations is an integer from 0 to %d", automation.MaxIterations)
		}
		l.list, l.count, l.counted = nil, v, true
	default:
		if !value.IsNothing(v) && v != "" {
			return automation.Invalid("expected a list, an object, a stream or a number, got %s", value.TypeName(v))
		}
	}
	return nil
}

// advance begins the next iteration, or the next batch of them, or leaves the
// loop. It is called again after whatever it had to wait for.
func (m *Machine) advance(b *branch) *outcome {
	f := b.topFrame()
	l := f.loop
	b.in, b.ordinal = f.in, l.ordinal
	defer func() { l.ordinal = b.ordinal }()
	if out := batchOutcome(f.results); out != nil {
		return m.leaveLoop(b, out)
	}
	if len(f.results) > 0 && !l.exhausted() && l.interval > 0 && !l.slept {
		m.requestAndWait(b, Request{Kind: Sleep, Duration: l.interval}, result{})
		b.ordinal++
		return nil
	}
	f.results, l.slept = nil, false
	for !l.exhausted() {
		if isLostStream(l.stream) {
			return m.leaveLoop(b, m.raise(b, streamLostError()))
		}
		if r, wanted := m.nextItemRequest(l); wanted {
			m.requestAndWait(b, r, result{})
			b.ordinal++
			return nil
		}
		goes, err := m.beginIteration(b, f)
		if err != nil {
			return m.leaveLoop(b, m.raise(b, err))
		}
		if !goes {
			break
		}
		if l.size == 0 {
			f.list, f.next = f.in.Do, 0
			return nil
		}
		if len(l.batch) >= m.freeIterations(l) {
			break
		}
	}
	if len(l.batch) > 0 {
		m.openBatch(b)
		return nil
	}
	return m.leaveLoop(b, nil)
}

// exhausted reports whether no iteration can follow.
func (l *loop) exhausted() bool {
	switch {
	case l.closed, l.limited && float64(l.index) >= l.limit, l.counted && float64(l.index) >= l.count:
		return true
	case l.object != nil:
		return l.index >= l.object.Len()
	case l.list != nil:
		return l.index >= len(l.list)
	}
	return false
}

// nextItemRequest returns what has to be asked before the next iteration.
func (m *Machine) nextItemRequest(l *loop) (Request, bool) {
	if m.credit == 0 {
		return Request{Kind: Throttle, N: throttled}, true
	}
	if l.stream != nil && value.IsUndefined(l.next) {
		return Request{Kind: Next, Stream: l.stream}, true
	}
	return Request{}, false
}

// beginIteration sets item and $index of the next iteration, and asks until whether it may
// start.
func (m *Machine) beginIteration(b *branch, f *frame) (bool, error) {
	l := f.loop
	iter := b.iter
	if l.size > 0 {
		iter = &iteration{outer: l.outer}
	}
	iter.item, iter.index = l.item(), float64(l.index)
	if l.stream != nil {
		if err := m.holdValue(iter.item); err != nil {
			return false, err
		}
	}
	if goes, err := m.canStart(b, f, iter); err != nil || !goes {
		return false, err
	}
	l.next = value.Undefined
	l.index++
	m.credit--
	if l.size > 0 {
		l.batch = append(l.batch, iter)
	}
	return true, nil
}

func (l *loop) item() any {
	switch {
	case l.object != nil:
		key := l.object.Keys()[l.index]
		return value.NewObject("key", key, "value", l.object.At(key))
	case l.list != nil:
		return l.list[l.index]
	case l.stream != nil:
		return l.next
	}
	return float64(l.index)
}

// canStart evaluates until, which sees item and $index of the iteration to come. A
// number that it yields the first time is how many there are.
func (m *Machine) canStart(b *branch, f *frame, iter *iteration) (bool, error) {
	l := f.loop
	if !l.asks {
		return true, nil
	}
	around := b.iter
	b.iter = iter
	v, err := f.in.Until.Eval(&m.env)
	b.iter = around
	if err != nil {
		return false, err
	}
	if n, ok := v.(float64); ok && l.index == 0 {
		l.limit, l.limited, l.asks = n, true, false
		return !l.exhausted(), nil
	}
	l.closed = value.IsTruthy(v)
	return !l.closed, nil
}

// leaveLoop ends the loop and returns what is left of the outcome.
func (m *Machine) leaveLoop(b *branch, out *outcome) *outcome {
	l := b.topFrame().loop
	b.iter = l.outer
	if l.outer == nil && l.index > 0 {
		b.x.local.leaveLoop(float64(l.index - 1))
	}
	if l.stream != nil && out != nil && out.err != nil {
		m.turn.Closed = append(m.turn.Closed, l.stream)
	}
	b.pop()
	if out.isBreakOf(scopeRepeat) {
		return nil
	}
	return out
}

// read takes the answer of a stream.
func (l *loop) read(v any) {
	l.next = v
	l.closed = value.IsUndefined(v)
}

func streamLostError() error {
	return automation.Raise(automation.FetchFailed, "the stream was lost when the run was interrupted", "reason", "reset")
}

// isLostStream reports whether a stream was open when the tree was saved.
func isLostStream(s value.Stream) bool {
	_, lost := s.(variable.LostStream)
	return lost
}

// readBatchSize reads how many iterations run at once.
func (m *Machine) readBatchSize(l *loop, in *automation.Instruction, batch *expr.Tree) error {
	v, err := batch.Eval(&m.env)
	if err != nil {
		return err
	}
	if err := automation.CheckParams(in.Path, in.Name, value.NewObject("batch", v)); err != nil {
		return err
	}
	size, _ := value.At(v, "size").(float64)
	interval, _ := value.At(v, "interval").(float64)
	if l.interval = seconds(interval / 1000); size > 1 || interval > 0 {
		l.size = int(max(min(size, maxBranches), 1))
	}
	return nil
}

// maxBranches is how many branches a tree has before batches become smaller than
// they should be: one iteration at a time in the end.
const maxBranches = 10_000

// freeIterations returns how many iterations may start at once.
func (m *Machine) freeIterations(l *loop) int {
	return max(1, min(l.size, maxBranches-len(m.branches)))
}

// openBatch lets the iterations that were prepared run side by side.
func (m *Machine) openBatch(b *branch) {
	f := b.topFrame()
	l := f.loop
	f.results = make([]*outcome, len(l.batch))
	b.open = len(l.batch)
	for i, iter := range l.batch {
		child := m.branch(b, i)
		child.iter, child.number = iter, l.index-len(l.batch)+i
		child.push(frame{kind: blockFrame, in: f.in, block: doBlock, list: f.in.Do})
		m.enqueueIfRunnable(child)
	}
	l.batch = nil
}

// batchOutcome returns what a batch ends its loop with: the lowest error, or else the lowest
// break.
func batchOutcome(results []*outcome) *outcome {
	for _, out := range results {
		if out != nil && out.err != nil {
			return out
		}
	}
	return firstOutcome(results)
}
