package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// idleAfter is how long a child waits for a job that does not come.
const idleAfter = time.Minute

// warm keeps children that were started ahead of their calls: to start this
// binary takes longer than most code does. None serves two calls.
type warm struct {
	most     int
	children chan *child     // handed over by the goroutine that keeps one
	open     context.Context // ends with the sandbox
	shut     context.CancelFunc

	mu      sync.Mutex
	kept    int // children that are kept or being started
	keepers sync.WaitGroup
}

// keep starts a child for the next call, unless enough of them wait.
func (w *warm) keep(start func(context.Context) (*child, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open.Err() != nil || w.kept >= w.most {
		return
	}
	w.kept++
	w.keepers.Go(func() {
		w.hold(start)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.kept--
	})
}

// hold starts a child and holds it until a call takes it. One that cannot be
// started is not missed: the next call starts its own, and tells why not.
func (w *warm) hold(start func(context.Context) (*child, error)) {
	c, err := start(w.open)
	if err != nil {
		return
	}
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	select {
	case w.children <- c:
		return
	case <-c.ended:
	case <-idle.C:
	case <-w.open.Done():
	}
	c.end()
}

func (w *warm) close() {
	w.mu.Lock()
	w.shut()
	w.mu.Unlock()
	w.keepers.Wait()
}

// take returns a child that waits for its job.
func (s *Sandbox) take(ctx context.Context) (*child, error) {
	select {
	case c := <-s.warm.children:
		return c, nil
	default:
		return s.startChild(ctx)
	}
}

func (s *Sandbox) startChild(ctx context.Context) (*child, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startWait, errors.New("the child was not ready in time"))
	defer cancel()
	c, err := start(s.options.Executable, s.options.Args)
	if err != nil {
		return nil, err
	}
	if err := c.ready(ctx); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}
