package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"svc/commands"
)

// Running is a tree that was launched.
type Running struct {
	done    chan struct{}
	began   chan struct{}
	stands  chan struct{}
	once    sync.Once
	give    context.CancelCauseFunc // nil: it never began
	outcome Outcome
	err     error
}

// Done is closed when the tree has ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// Began is closed once what triggered the tree is on disk, if its Start asks for that.
func (r *Running) Began() <-chan struct{} { return r.began }

// Stands is closed once the tree stands where any node can go on with it, whatever
// becomes of this one.
func (r *Running) Stands() <-chan struct{} { return r.stands }

// Ended reports whether the tree has ended.
func (r *Running) Ended() bool { return isClosed(r.done) }

// HasBegun reports whether what triggered the tree is on disk, as far as its Start asks for
// that.
func (r *Running) HasBegun() bool { return isClosed(r.began) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Break breaks the tree off: who launched it gives it up for another node to begin. It is
// false when that takes longer than ctx lasts.
func (r *Running) Break(ctx context.Context) bool {
	if r.give != nil {
		r.give(ErrAway)
	}
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Settled waits until the tree has ended or stands. It is false when that takes longer than
// a farewell after ctx ended.
func (r *Running) Settled(ctx context.Context, farewell time.Duration) bool {
	ended := ctx.Done()
	var over <-chan time.Time
	for {
		select {
		case <-r.done:
			return true
		case <-r.stands:
			return true
		case <-over:
			return false
		case <-ended:
			patience := time.NewTimer(farewell)
			defer patience.Stop()
			ended, over = nil, patience.C
		}
	}
}

// Outcome returns what the tree came to. It may be called once Done is closed.
func (r *Running) Outcome() (Outcome, error) { return r.outcome, r.err }

// ErrClosing says that the node stops: nothing is begun any more.
var ErrClosing = errors.New("runtime: the node stops")

// fleet are the trees that the runtime itself keeps going, whoever waits for them.
type fleet struct {
	mu      sync.Mutex
	ctx     context.Context
	sink    context.CancelCauseFunc
	closing bool
	leaving chan struct{} // closed when the node is about to stop
	process string        // that trees begin in; "" while the node is away
	trees   sync.WaitGroup
}

func newFleet(process string) *fleet {
	f := &fleet{leaving: make(chan struct{}), process: process}
	f.ctx, f.sink = context.WithCancelCause(context.Background())
	return f
}

// Launch begins a tree, and returns at once. It goes on whether anybody waits for it
// or not.
func (r *Runtime) Launch(s Start) *Running {
	return r.launch(func(ctx context.Context, run *Running) (Outcome, error) { return r.grow(ctx, s, run) },
		"workspace", s.House.Workspace.ID, "automation", s.Program.Name, "correlationId", s.CorrelationID)
}

// launch does work for a tree. Named says which one it is, for the log.
func (r *Runtime) launch(work func(context.Context, *Running) (Outcome, error), named ...any) *Running {
	run := &Running{done: make(chan struct{}), began: make(chan struct{}), stands: make(chan struct{})}
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	if r.fleet.closing || r.fleet.process == "" {
		run.err = ErrAway
		if r.fleet.closing {
			run.err = ErrClosing
		}
		close(run.done)
		return run
	}
	ctx, give := context.WithCancelCause(r.fleet.ctx)
	run.give = give
	r.fleet.trees.Go(func() {
		defer close(run.done)
		defer give(nil)
		run.outcome, run.err = caught(func() (Outcome, error) { return work(ctx, run) })
		switch {
		case run.err != nil && ctx.Err() != nil:
			run.err = errors.Join(context.Cause(ctx), run.err)
		case run.err != nil:
			r.Log.ErrorContext(ctx, "a run broke off", append(named, "err", run.err)...)
		}
	})
	return run
}

// caught does work, and turns a panic into an error: one tree never ends the others.
func caught[T any](work func() (T, error)) (v T, err error) {
	defer commands.Recover(func(fell *commands.Fallen) { err = fell })
	return work()
}

// lastWait bounds how long a node that stops lets trees come to their end.
const lastWait = 5 * time.Second

// Close lets what runs come to its end for a while, and breaks the rest off: what can be
// begun again is, by whoever comes next. What stands in a wait is left at once.
func (r *Runtime) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastWait)
	defer cancel()
	r.fleet.mu.Lock()
	if !r.fleet.closing {
		close(r.fleet.leaving)
	}
	r.fleet.closing = true
	sink := r.fleet.sink
	r.fleet.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the last tree
		r.fleet.trees.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	sink(ErrClosing)
	<-ended
	return nil
}
