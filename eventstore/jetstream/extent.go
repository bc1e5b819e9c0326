package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/domain"
	"svc/eventstore"
)

// extent finds out how far the logs reach when other nodes append to them too.
// It asks the broker one question at a time, and not too often, on behalf of
// everyone who came before the question was asked.
type extent struct {
	wake chan struct{}

	mu     sync.Mutex
	next   *question // whom the next question serves; nil when nobody waits
	failed time.Time // when the broker last did not answer
	err    error     // what it was then
}

// question is asked once and answers everyone who waits for it.
type question struct {
	done chan struct{}
	err  error
}

const (
	extentPeriod  = 5 * time.Millisecond   // between two questions
	extentWait    = time.Second            // for an answer, elections included
	extentAttempt = 250 * time.Millisecond // one of several within that
	extentRest    = time.Second            // after no answer: nobody waits meanwhile
)

func newExtent() *extent { return &extent{wake: make(chan struct{}, 1)} }

// Alone reports whether nobody but this process can append to the logs.
func (s *Store) Alone() bool { return s.opts.embedded() && s.opts.Cluster.Listen == "" }

// Refresh makes Known cover everything that any node was acknowledged before
// the call. It costs nothing on a node that stands alone. It fails with
// eventstore.ErrUnavailable when the broker does not tell, and soon after that
// at once: Known is then what this node has seen itself.
func (s *Store) Refresh(ctx context.Context) error {
	if s.Alone() {
		return nil
	}
	q, err := s.extent.join(time.Now())
	if err != nil {
		return err
	}
	select {
	case <-q.done:
		return q.err
	case <-s.closing:
		return fmt.Errorf("%w: the store is closed", eventstore.ErrUnavailable)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *extent) join(now time.Time) (*question, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil && now.Sub(e.failed) < extentRest {
		return nil, e.err
	}
	if e.next == nil {
		e.next = &question{done: make(chan struct{})}
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
	return e.next, nil
}

// take returns the question to ask now; who comes later waits for another one.
func (e *extent) take() *question {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.next
	e.next = nil
	return q
}

func (e *extent) answer(q *question, err error, now time.Time) {
	e.mu.Lock()
	e.err, e.failed = err, now
	e.mu.Unlock()
	q.err = err
	close(q.done)
}

// watchExtent asks for those who wait, until the store closes.
func (s *Store) watchExtent() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.watchers.Go(func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.extent.wake:
			if q := s.extent.take(); q != nil {
				s.extent.answer(q, s.askExtent(ctx), time.Now())
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(extentPeriod):
		}
	}
}

// askExtent asks the leaders of both logs. A leader that is being elected is
// waited for.
func (s *Store) askExtent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, extentWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := s.learnKnown(ctx)
		if err == nil {
			return nil
		}
		if !s.pause(ctx, attempt) {
			s.opts.Log.Warn("the broker does not tell how far the logs reach: reads go on with what this node knows", "err", err)
			return err
		}
	}
}

// learnKnown makes one attempt: both logs side by side.
func (s *Store) learnKnown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, extentAttempt)
	defer cancel()
	logs := domain.Logs()
	errs := make([]error, len(logs))
	var asked sync.WaitGroup
	for i, log := range logs {
		asked.Go(func() {
			info, err := s.Info(ctx, log)
			s.saw(log, info.Last)
			errs[i] = err
		})
	}
	asked.Wait()
	return errors.Join(errs...)
}
