package projections

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"svc/domain"
)

// tracker is where one log of the live generation stands, and who waits for it
// to get further.
type tracker struct {
	log     domain.Log
	applied atomic.Uint64
	moves   atomic.Uint64 // changes of what the read models show, begun and ended: it is odd during one
	head    atomic.Uint64 // the highest sequence that the log was seen to hold

	mu      sync.Mutex
	caught  bool
	fault   *Fault
	waiters map[*waiter]struct{}
}

// waiter is woken when seq is applied, or when something else changed that may
// end its wait.
type waiter struct {
	seq uint64
	ch  chan struct{}
}

// never is a sequence that is not reached: who waits for it waits for a change
// of another kind.
const never = math.MaxUint64

func newTracker(log domain.Log) *tracker {
	return &tracker{log: log, waiters: map[*waiter]struct{}{}}
}

// move changes what the read models show of the log.
func (t *tracker) move(do func()) {
	t.moves.Add(1)
	defer t.moves.Add(1)
	do()
}

// advance records that seq is applied, and that the log goes on for pending
// events.
func (t *tracker) advance(seq, pending uint64) {
	t.head.Store(max(t.head.Load(), seq+pending))
	if t.applied.Load() == seq {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.applied.Store(seq)
	t.wake(seq)
}

// well records that the log is being followed, so that an earlier fault has
// passed; and whether nothing is pending.
func (t *tracker) well(caughtUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault == nil && t.caught == (t.caught || caughtUp) {
		return
	}
	t.caught, t.fault = t.caught || caughtUp, nil
	t.wake(never)
}

// stop records a fault and tells everyone who waits.
func (t *tracker) stop(f *Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = f
	t.wake(never)
}

// reset starts over at seq, without a fault.
func (t *tracker) reset(seq uint64, caught bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault, t.caught = nil, caught
	t.applied.Store(seq)
	t.head.Store(seq)
	t.wake(never)
}

func (t *tracker) wake(seq uint64) {
	for w := range t.waiters {
		if w.seq <= seq {
			delete(t.waiters, w)
			close(w.ch)
		}
	}
}

// reach waits until seq is applied. It fails when ctx ends or the log stops.
func (t *tracker) reach(ctx context.Context, seq uint64) error {
	if t.applied.Load() >= seq {
		return nil
	}
	return t.wait(ctx, seq, func() bool { return t.applied.Load() >= seq })
}

// awaitCaughtUp waits until nothing was pending for the first time.
func (t *tracker) awaitCaughtUp(ctx context.Context) error {
	return t.wait(ctx, never, func() bool { return t.caught })
}

func (t *tracker) wait(ctx context.Context, seq uint64, done func() bool) error {
	for {
		w, err := t.enlist(seq, done)
		if err != nil || w == nil {
			return err
		}
		select {
		case <-w.ch:
		case <-ctx.Done():
			t.leave(w)
			return fmt.Errorf("wait for %s at %d: %w", t.log, t.applied.Load(), context.Cause(ctx))
		}
	}
}

// enlist returns a waiter, or nil when there is nothing to wait for.
func (t *tracker) enlist(seq uint64, done func() bool) (*waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done() {
		return nil, nil
	}
	if t.fault.stops() {
		return nil, t.fault
	}
	w := &waiter{seq: seq, ch: make(chan struct{})}
	t.waiters[w] = struct{}{}
	return w, nil
}

func (t *tracker) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiters, w)
}

// health returns the state of the log, which is known to reach known.
func (t *tracker) health(known uint64) LogHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := LogHealth{Log: t.log, Applied: t.applied.Load(), CaughtUp: t.caught, Fault: t.fault}
	if head := max(known, t.head.Load()); head > h.Applied {
		h.Lag = head - h.Applied
	}
	return h
}
