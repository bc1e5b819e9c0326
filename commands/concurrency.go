package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Turns serialises the work of each key on this node, such as the commands of one aggregate: concurrent ones would
// only conflict. The log orders the work of several nodes. The zero Turns is ready.
type Turns[K comparable] struct {
	mu     sync.Mutex
	queues map[K]*queue
}

// queue is the queue of one key.
type queue struct {
	busy chan struct{}
	here int // callers that wait or run
}

// Acquire waits for the turn of a key, until ctx ends. A free turn is acquired even if ctx has ended. release ends it.
func (t *Turns[K]) Acquire(ctx context.Context, key K) (release func(), err error) {
	t.mu.Lock()
	q := t.queues[key]
	if q == nil {
		q = &queue{busy: make(chan struct{}, 1)}
		if t.queues == nil {
			t.queues = map[K]*queue{}
		}
		t.queues[key] = q
	}
	q.here++
	t.mu.Unlock()
	release = func() { <-q.busy; t.release(key, q) }
	select {
	case q.busy <- struct{}{}:
		return release, nil
	default:
	}
	select {
	case q.busy <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		t.release(key, q)
		return nil, context.Cause(ctx)
	}
}

func (t *Turns[K]) release(key K, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.here--; q.here == 0 {
		delete(t.queues, key)
	}
}

// maxIdleWorkers is the number of idle goroutines of a WorkerPool.
const maxIdleWorkers = 128

// WorkerPool runs each job on a goroutine of its own. Idle goroutines are reused: the stack of a new
// one would have to grow again, which costs more than many jobs.
type WorkerPool struct {
	jobs    chan func() // received by an idle goroutine, if there is one
	closing <-chan struct{}
	idle    atomic.Int32
	workers sync.WaitGroup
}

// NewWorkerPool returns a pool whose idle goroutines end when closing is closed.
func NewWorkerPool(closing <-chan struct{}) *WorkerPool {
	return &WorkerPool{jobs: make(chan func()), closing: closing}
}

// Run starts job. It never waits.
func (p *WorkerPool) Run(job func()) {
	select {
	case p.jobs <- job:
	default:
		p.workers.Go(func() {
			for job != nil {
				job()
				job = p.next()
			}
		})
	}
}

// next waits for a job. It returns nil when there are enough idle goroutines, or the pool is closed.
func (p *WorkerPool) next() func() {
	defer p.idle.Add(-1)
	if p.idle.Add(1) > maxIdleWorkers {
		return nil
	}
	select {
	case job := <-p.jobs:
		return job
	case <-p.closing:
		return nil
	}
}

// Wait returns when the pool is closed and every job is done.
func (p *WorkerPool) Wait() { p.workers.Wait() }

// Every calls do after each interval, until ctx ends. Intervals of a second and more begin with a full second, so that an
// idle process wakes up once for all of them.
func Every(ctx context.Context, interval time.Duration, do func()) {
	if now := time.Now(); interval >= time.Second && Sleep(ctx, now.Add(time.Second-1).Truncate(time.Second).Sub(now)) != nil {
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// Sleep returns after d, or fails with its cause when ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// lockPause is the wait between two attempts to lock a file.
const lockPause = 5 * time.Millisecond

// LockFile locks a file until it is closed, or its process ends. While another one has the lock, it waits until ctx ends.
func LockFile(ctx context.Context, f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err := Sleep(ctx, lockPause); err != nil {
			return err
		}
	}
}

// Backoff waits after the given number of attempts at a write that another node was faster
// with, up to a second. In a cluster a read may come from a replica that does not have the
// other node's write yet: without a pause all attempts would fail on the same old value.
func Backoff(ctx context.Context, attempts int) error {
	return Sleep(ctx, min(time.Millisecond<<min(attempts, 10), time.Second))
}

// PanicError is a fault of ours that something panicked with.
type PanicError struct {
	Cause any
	Stack []byte
}

// Error implements error. It is for the log: it says where the fault is.
func (f *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", f.Cause, f.Stack) }

// CatchPanic does work and turns a panic into an error.
func CatchPanic(work func() error) (err error) {
	defer Recover(func(panicked *PanicError) { err = panicked })
	return work()
}

// Recover ends a panic and hands it to do: what one asks for never ends what others get. It
// is to be deferred.
func Recover(do func(*PanicError)) {
	if cause := recover(); cause != nil {
		do(&PanicError{cause, debug.Stack()})
	}
}
