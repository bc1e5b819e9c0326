package webhooks

import (
	"context"
	"fmt"
	"time"

	"svc/domain/feed"
	"svc/domain/subscription"
)

// job is an attempt that is due.
type job struct {
	worker *worker
	entry  *entry
	state  subscription.State
	event  *feed.Event // nil: it is to be read
	well   bool        // its receiver was known to do well
	ctx    context.Context

	sending context.Context // of the request once it is on its way: it outlives ctx
}

// run makes the attempt. When it comes to nothing, because the subscription or the
// node ends, nothing is recorded: the delivery is as it was.
func (j *job) run(ctx context.Context) {
	w := j.worker
	defer j.leave()
	over := false
	defer func() {
		if !over { // it panicked: the attempt counts, or it would be made for ever
			w.tried(ctx, j.entry, subscription.Attempt{At: w.p.now().UTC(), Error: "the attempt broke off: a fault of the platform"})
		}
	}()
	e, err := j.read(ctx)
	over = true
	switch {
	case ctx.Err() != nil:
		w.postponed(j.entry, 0)
	case err != nil:
		w.log.WarnContext(ctx, "an event could not be read for its delivery", "event", j.entry.EventID, "err", err)
		w.postponed(j.entry, workerPause)
	case e == nil:
		w.gone(j.entry)
	default:
		over = false
		attempt := w.p.sender.send(j.sending, j.state, e)
		over = true
		if j.sending.Err() != nil && !attempt.OK() {
			w.postponed(j.entry, 0)
			return
		}
		w.tried(j.sending, j.entry, attempt)
	}
}

// leave gives the place of the attempt back.
func (j *job) leave() {
	j.worker.p.bulkhead.give(j.worker.key.workspaceID, j.well)
	j.worker.attempts.Done()
}

// abandon is for an attempt that nobody makes.
func (j *job) abandon() {
	j.worker.postponed(j.entry, 0)
	j.leave()
}

// read returns the event of the delivery; nil when it is no longer kept.
func (j *job) read(ctx context.Context) (*feed.Event, error) {
	if j.event != nil {
		return j.event, nil
	}
	e, ok, err := j.worker.p.feed.Get(ctx, j.worker.key.workspaceID, j.entry.EventID)
	if err != nil || !ok {
		return nil, err
	}
	return e, nil
}

// postponed puts an entry back in line as it was.
func (w *worker) postponed(e *entry, pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	w.queue.again(e, w.p.now().Add(pause))
	notify(w.wake)
}

// gone ends a delivery whose event is no longer kept.
func (w *worker) gone(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	e.Delivery = e.Tried(subscription.Attempt{At: w.p.now().UTC().Truncate(time.Millisecond), Error: "the event is no longer kept"}, nil)
	w.queue.over(e)
	w.record(e, subscription.Record{Delivery: e.Delivery})
	notify(w.wake)
}

// tried notes what came of an attempt, and records it.
func (w *worker) tried(ctx context.Context, e *entry, a subscription.Attempt) {
	w.mu.Lock()
	w.running--
	now := w.p.now()
	e.Delivery = e.Tried(a, w.p.schedule)
	if w.health = w.health.After(a); w.health.Broken() {
		w.probe = now.Add(w.p.probe)
	} else {
		w.probe = time.Time{}
	}
	health := w.health
	w.queue.recorded(e)
	w.record(e, subscription.Record{Delivery: e.Delivery, Health: &health})
	if e.Open() {
		w.queue.again(e, e.NextAttemptAt)
		if e.lane != nil {
			w.hold(e.lane)
		}
	} else {
		w.queue.over(e)
	}
	disable := !health.FailingSince.IsZero() && now.Sub(health.FailingSince) >= w.p.disableAfter
	w.mu.Unlock()
	notify(w.room)
	notify(w.wake)
	if disable {
		w.disable(ctx, health)
	}
}

// disable stops the subscription: its receiver has failed for too long.
func (w *worker) disable(ctx context.Context, h subscription.Health) {
	reason := fmt.Sprintf("its receiver has failed since %s", h.FailingSince.UTC().Format(time.RFC3339))
	if err := w.p.disabler.Disable(ctx, w.key.workspaceID, w.key.id, reason); err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "a subscription that fails could not be disabled yet", "err", err)
	}
}
