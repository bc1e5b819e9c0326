package accounts

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the work in the background.
const (
	outboxSize     = 256
	outboxWorkers  = 2
	outboxPatience = time.Minute // for one job
)

// outbox does work that nobody waits for, so that its time tells nothing.
type outbox struct {
	log     *slog.Logger
	jobs    chan posted
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup
	dropped atomic.Int64 // jobs that were cut off by close

	mu     sync.RWMutex
	closed bool
}

// posted is a job with the values of the request that caused it.
type posted struct {
	ctx context.Context
	do  job
}

func openOutbox(log *slog.Logger) *outbox {
	ctx, cancel := context.WithCancel(context.Background())
	o := &outbox{log: log, jobs: make(chan posted, outboxSize), ctx: ctx, cancel: cancel}
	for range outboxWorkers {
		o.working.Go(o.work)
	}
	return o
}

// post queues a job, or drops it when there are too many: whoever asked can ask
// again.
func (o *outbox) post(ctx context.Context, do job) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return
	}
	select {
	case o.jobs <- posted{context.WithoutCancel(ctx), do}:
	default:
		o.log.WarnContext(ctx, "a mail was dropped, too many are waiting", "waiting", outboxSize)
	}
}

func (o *outbox) work() {
	for p := range o.jobs {
		ctx, cancel := context.WithTimeout(p.ctx, outboxPatience)
		stop := context.AfterFunc(o.ctx, cancel)
		err := p.do(ctx)
		if err != nil && o.ctx.Err() != nil {
			o.dropped.Add(1)
		}
		if err != nil {
			o.log.WarnContext(ctx, "a mail was not sent", "err", err)
		}
		stop()
		cancel()
	}
}

// close takes no more jobs and waits for those that are queued. When ctx ends
// they are given up.
func (o *outbox) close(ctx context.Context) error {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.jobs)
	}
	o.mu.Unlock()
	done := make(chan struct{})
	go func() {
		o.working.Wait()
		close(done)
	}()
	defer o.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	o.cancel()
	<-done
	if n := o.dropped.Load(); n > 0 {
		return fmt.Errorf("%d mails were not sent: %w", n, context.Cause(ctx))
	}
	return nil
}
