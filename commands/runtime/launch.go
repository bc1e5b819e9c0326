package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"svc/commands"
)

// Executions is a tree that was launched.
type Handle struct {
	done    chan struct{}
	started chan struct{}
	parked  chan struct{}
	once    sync.Once
	cancel  context.CancelCauseFunc // nil: it never began
	outcome Outcome
	err     error
}

// Done is closed when the tree has ended.
func (r *Handle) Done() <-chan struct{} { return r.done }

// Started is closed once what triggered the tree is on disk, if its Start asks for that.
func (r *Handle) Started() <-chan struct{} { return r.started }

// Parked is closed once the tree stands where any node can go on with it, whatever
// becomes of this one.
func (r *Handle) Parked() <-chan struct{} { return r.parked }

// HasEnded reports whether the tree has ended.
func (r *Handle) HasEnded() bool { return isClosed(r.done) }

// HasStarted reports whether what triggered the tree is on disk, as far as its Start asks for
// that.
func (r *Handle) HasStarted() bool { return isClosed(r.started) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// BreakOff breaks the tree off: who launched it gives it up for another node to begin. It is
// false when that takes longer than ctx lasts.
func (r *Handle) BreakOff(ctx context.Context) bool {
	if r.cancel != nil {
		r.cancel(ErrAway)
	}
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// WaitEndedOrParked waits until the tree has ended or stands. It is false when that takes longer than
// a farewell after ctx ended.
func (r *Handle) WaitEndedOrParked(ctx context.Context, farewell time.Duration) bool {
	ended := ctx.Done()
	var over <-chan time.Time
	for {
		select {
		case <-r.done:
			return true
		case <-r.parked:
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
func (r *Handle) Outcome() (Outcome, error) { return r.outcome, r.err }

// ErrClosing says that the node stops: nothing is begun any more.
var ErrClosing = errors.New("runtime: the node stops")

// lifecycle are the trees that the runtime itself keeps going, whoever waits for them.
type lifecycle struct {
	mu      sync.Mutex
	ctx     context.Context
	cancel  context.CancelCauseFunc
	closing bool
	closed  chan struct{} // closed when the node is about to stop
	process string        // that trees begin in; "" while the node is away
	running sync.WaitGroup
}

func newLifecycle(process string) *lifecycle {
	f := &lifecycle{closed: make(chan struct{}), process: process}
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	return f
}

// Launch begins a tree, and returns at once. It goes on whether anybody waits for it
// or not.
func (r *Runtime) Launch(s Start) *Handle {
	return r.launch(func(ctx context.Context, run *Handle) (Outcome, error) { return r.execute(ctx, s, run) },
		"workspace", s.ProgramSet.Workspace.ID, "automation", s.Program.Name, "correlationId", s.CorrelationID)
}

// launch does work for a tree. Named says which one it is, for the log.
func (r *Runtime) launch(work func(context.Context, *Handle) (Outcome, error), named ...any) *Handle {
	run := &Handle{done: make(chan struct{}), started: make(chan struct{}), parked: make(chan struct{})}
	r.lifecycle.mu.Lock()
	defer r.lifecycle.mu.Unlock()
	if r.lifecycle.closing || r.lifecycle.process == "" {
		run.err = ErrAway
		if r.lifecycle.closing {
			run.err = ErrClosing
		}
		close(run.done)
		return run
	}
	ctx, give := context.WithCancelCause(r.lifecycle.ctx)
	run.cancel = give
	r.lifecycle.running.Go(func() {
		defer close(run.done)
		defer give(nil)
		run.outcome, run.err = recoverPanic(func() (Outcome, error) { return work(ctx, run) })
		switch {
		case run.err != nil && ctx.Err() != nil:
			run.err = errors.Join(context.Cause(ctx), run.err)
		case run.err != nil:
			r.Log.ErrorContext(ctx, "a run broke off", append(named, "err", run.err)...)
		}
	})
	return run
}

// recoverPanic does work, and turns a panic into an error: one tree never ends the others.
func recoverPanic[T any](work func() (T, error)) (v T, err error) {
	defer commands.Recover(func(fell *commands.PanicError) { err = fell })
	return work()
}

// closeTimeout bounds how long a node that stops lets trees come to their end.
const closeTimeout = 5 * time.Second

// Close lets what runs come to its end for a while, and breaks the rest off: what can be
// begun again is, by whoever comes next. What stands in a wait is left at once.
func (r *Runtime) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	r.lifecycle.mu.Lock()
	if !r.lifecycle.closing {
		close(r.lifecycle.closed)
	}
	r.lifecycle.closing = true
	sink := r.lifecycle.cancel
	r.lifecycle.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the last tree
		r.lifecycle.running.Wait()
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
