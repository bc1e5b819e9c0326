package fetch

import (
	"context"
	"errors"
	"time"
)

// Why an exchange was cut off by us.
var (
	errTimeout = errors.New("there was no answer in time")
	errUnread  = errors.New("the stream was closed because nobody read it")
	errClosed  = errors.New("the stream is closed")
)

// watch cuts an exchange off: when it takes too long, and when whoever asked for
// it is gone.
type watch struct {
	ctx    context.Context // of the exchange
	cancel context.CancelCauseFunc
	detach func() bool // from whoever asked
	timer  *time.Timer
	limit  time.Duration
}

func newWatch(ctx context.Context, limit time.Duration) *watch {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	return &watch{
		ctx: own, cancel: cancel, limit: limit,
		detach: context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) }),
		timer:  time.AfterFunc(limit, func() { cancel(errTimeout) }),
	}
}

// pause stops the time: nothing is waited for.
func (w *watch) pause() { w.timer.Stop() }

// resume gives the other side all the time again.
func (w *watch) resume() { w.timer.Reset(w.limit) }

// end gives everything back.
func (w *watch) end() {
	w.timer.Stop()
	w.detach()
	w.cancel(errClosed)
}
