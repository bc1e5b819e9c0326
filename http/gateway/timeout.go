package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"
)

// outcome is what a handler came to.
type outcome struct {
	reply *reply
	err   error
}

// panicked is a handler's panic on its way to the log.
type panicked struct {
	value any
	stack []byte
}

// Error implements error.
func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// task is a handler whose result is rendered already.
type task func(*http.Request) (*reply, error)

// await runs work on another goroutine and waits for it for as long as the
// request timeout. Past it the caller is told 504, and work goes on alone.
//
// What becomes of its context depends on what it does. A read is cancelled when
// its client leaves or its time is up: nothing is lost. A write is cancelled by
// neither, because a command cut between deciding and recording would leave
// outside effects without a record; it may go on for Settings.WriteGrace, and
// Close waits for it. That is why a write that timed out may have happened.
//
// done must be called once the reply has been sent: until then the reply may
// read from what hangs on the context.
func (g *Gateway) await(r *http.Request, work task) (rp *reply, done func(), err error) {
	ex := exchangeOf(r)
	ctx, cancel := g.workContext(r.Context(), ex.writes(r))
	finished := make(chan outcome, 1)
	ex.slot.keep()
	g.crew.run(func() {
		defer ex.slot.drop()
		finished <- attempt(work, r.WithContext(ctx))
	})
	timer := time.NewTimer(ex.settings.RequestTimeout)
	defer timer.Stop()
	select {
	case o := <-finished:
		return o.reply, cancel, o.err
	case <-timer.C:
	}
	if !ex.writes(r) {
		cancel()
	}
	g.working.Go(func() { g.grace(r, cancel, finished) })
	return nil, func() {}, context.DeadlineExceeded
}

// workContext is the context of a handler. It ends at the latest when the
// gateway gives up waiting in Close.
func (g *Gateway) workContext(ctx context.Context, writes bool) (context.Context, func()) {
	if writes {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// grace waits for a handler that goes on after its request, and cancels it when
// its time is up. Its answer has no reader any more, and its error no caller:
// the log hears of it.
func (g *Gateway) grace(r *http.Request, cancel func(), finished <-chan outcome) {
	timer := time.AfterFunc(exchangeOf(r).settings.WriteGrace, cancel)
	defer timer.Stop()
	o := <-finished
	cancel()
	if o.reply != nil {
		o.reply.abandon()
	}
	if _, _, known := explain(o.err); o.err != nil && !known {
		g.logFailure(r, o.err)
	}
}

// aside does work for a request that nobody waits for any more. Its context ends
// with EndStreams: a stop does not wait for what runs.
func (g *Gateway) aside(r *http.Request, work task) {
	ctx, leave := g.streamContext(context.WithoutCancel(r.Context()))
	r = r.WithContext(ctx)
	r.Body = http.NoBody // it was read, and is not to be held for so long
	g.working.Go(func() {
		defer leave()
		attempt(work, r)
	})
}

// streamContext is the context of a stream: it ends with its client, or with
// EndStreams.
func (g *Gateway) streamContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.streaming, cancel)
	return ctx, func() { stop(); cancel() }
}

// attempt runs work and turns a panic into an error.
func attempt(work task, r *http.Request) (o outcome) {
	defer func() {
		if value := recover(); value != nil {
			o = outcome{err: &panicked{value, debug.Stack()}}
		}
	}()
	rp, err := work(r)
	return outcome{rp, err}
}
