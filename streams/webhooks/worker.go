package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/projections"
	"svc/streams"
	live "svc/streams/feed"
)

// Bounds of what a subscription may have open: of events that are held in memory, and
// of deliveries that are not over. Beyond them reading waits.
const (
	maxFresh = 2_000
	maxBytes = 8 << 20
	maxOpen  = 10_000
)

// workerPause is the wait before a worker begins again after a fault of ours.
const workerPause = time.Second

// worker looks after one subscription.
type worker struct {
	p    *partition
	key  subscriptionKey
	log  *slog.Logger
	book *recorder
	wake chan struct{} // there may be something to begin
	room chan struct{} // there may be room for another event

	stop context.CancelFunc
	done chan struct{}

	start    domain.Position // what is up to it may have been delivered before
	attempts sync.WaitGroup  // under way

	mu      sync.Mutex
	rec     projections.SubscriptionRecord
	filter  *feed.Filter
	version uint64
	idle    bool   // the subscription does not deliver any more
	loaded  uint64 // records up to it were seen
	queue   *queue
	ledger  streams.Ledger
	health  subscription.Health
	probe   time.Time // when a broken receiver may be tried again
	running int
}

// subscriptionKey names a subscription.
type subscriptionKey struct{ workspaceID, id string }

func newWorker(p *partition, rec projections.SubscriptionRecord) *worker {
	return &worker{
		p: p, key: subscriptionKey{rec.WorkspaceID, rec.ID}, log: p.log.With("subscription", rec.ID, "workspace", rec.WorkspaceID),
		book: p.recorder, wake: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}), queue: newQueue(),
	}
}

// run works until ctx ends, and begins again after a fault.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	defer w.p.bulkhead.leave(w.wake)
	for ctx.Err() == nil {
		if err := w.serve(ctx); !errors.Is(err, errIdle) && ctx.Err() == nil {
			w.log.WarnContext(ctx, "a subscription could not be served and is begun again", "err", err)
		}
		_ = commands.Sleep(ctx, workerPause) // it fails when ctx ends, and then that is all
	}
}

// serve takes up where the records end, and goes on from there.
func (w *worker) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := guarded(func() error { return w.load(ctx) }); err != nil {
		return err
	}
	sending, cut := outlive(ctx, finishWait)
	defer cut()
	var reading sync.WaitGroup
	reading.Go(func() {
		cancel(guarded(func() error {
			return w.p.feed.Follow(ctx, live.Following{WorkspaceID: w.key.workspaceID, After: w.place()}, func(d live.Delivery) error {
				return w.receive(ctx, d)
			})
		}))
	})
	cancel(guarded(func() error { return w.dispatch(ctx, sending) }))
	reading.Wait()
	w.attempts.Wait()
	return context.Cause(ctx)
}

// guarded does work, and turns a panic into an error.
func guarded(work func() error) (err error) {
	defer commands.Recover(func(fell *commands.Fallen) { err = fell })
	return work()
}

// finishWait bounds how long attempts may go on after the work on a subscription has
// ended: what its receiver may have taken already is better known than sent again.
const finishWait = 5 * time.Second

// outlive returns a context that goes on for a while after ctx has ended, unless that
// was because another node may have taken over.
func outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if !errors.Is(cause, streams.ErrLost) {
			_ = commands.Sleep(longer, while) // it fails when everything is finished
		}
		cancel(cause)
	})
	return longer, func() {
		forget()
		cancel(nil)
	}
}

// load finds out where the subscription stands.
func (w *worker) load(ctx context.Context) error {
	if err := w.p.fresh(ctx); err != nil {
		return err
	}
	start := w.p.models.Position() // before the look: what it shows is at least that much
	at, err := w.p.cursors.load(ctx, w.key.id)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.start, w.loaded, w.version, w.queue, w.ledger, w.probe = start, start.Activity, 0, newQueue(), streams.Ledger{}, time.Time{}
	err = w.p.models.View(func(r projections.Reader) error {
		if err := w.look(r); err != nil {
			return err
		}
		health, err := projections.Deliveries{}.Health(r, w.key.id)
		if err != nil {
			return err
		}
		w.health = health.Since(w.rec.ClosedAt)
		return projections.Deliveries{}.Open(r, w.key.id, func(d projections.DeliveryRecord) bool {
			w.queue.add(&entry{Delivery: d.Delivery, due: d.NextAttemptAt})
			return true
		})
	})
	if err == nil && w.idle {
		err = errIdle
	}
	if err == nil && at.IsZero() {
		at, err = w.beginning(ctx)
	}
	w.ledger.At = at
	return err
}

// errIdle says that a subscription does not deliver: whoever runs its worker is about
// to stop it.
var errIdle = errors.New("webhooks: the subscription does not deliver")

// beginning is where a new subscription begins: after the event that made it.
func (w *worker) beginning(ctx context.Context) (domain.Position, error) {
	made, ok, err := w.p.feed.Get(ctx, w.key.workspaceID, w.rec.Since)
	if err == nil && !ok {
		err = fmt.Errorf("the event %s that made the subscription is not in the feed", w.rec.Since)
	}
	if err != nil {
		return domain.Position{}, err
	}
	return made.Seq, nil
}

// look brings what is known of the subscription up to date. The caller holds the
// lock.
func (w *worker) look(r projections.Reader) error {
	version, err := projections.Subscriptions{}.Version(r)
	if err != nil || version == w.version && version != 0 {
		return err
	}
	rec, ok, err := projections.Subscriptions{}.Working(r, w.key.workspaceID, w.key.id)
	if err != nil {
		return err
	}
	w.idle = !ok
	if !ok {
		return nil
	}
	if rec.ClosedAt.After(w.rec.ClosedAt) {
		w.health, w.probe = subscription.Health{LastDeliveryAt: w.health.LastDeliveryAt}, time.Time{}
	}
	filter, err := rec.Filter()
	if err != nil {
		return err // and it stays as it was
	}
	w.rec, w.version, w.filter = rec, version, filter
	return nil
}

// place is up to where in the feed everything is taken care of.
func (w *worker) place() domain.Position {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.At
}

// dispatch begins what is due until ctx ends. What is sent by then may be finished until
// sending ends.
func (w *worker) dispatch(ctx, sending context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		jobs, wait := w.take(ctx, sending)
		for _, j := range jobs {
			select {
			case w.p.jobs <- j:
			case <-ctx.Done():
				j.abandon()
			}
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-timer.C:
		}
	}
	return context.Cause(ctx)
}

// longWait is how long nothing is looked at when nothing is to be expected.
const longWait = time.Hour

// take returns what may begin now, and when to look again unless something happens.
func (w *worker) take(ctx, sending context.Context) (jobs []*job, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.p.models.View(w.look); err != nil {
		w.log.WarnContext(ctx, "a subscription could not be looked at", "err", err)
		return nil, workerPause
	}
	now := w.p.now()
	for !w.idle && w.running < w.most() {
		e := w.queue.front()
		if e == nil {
			return jobs, longWait
		}
		if ready := later(e.due, w.probe); ready.After(now) {
			return jobs, ready.Sub(now)
		}
		if w.book.full() { // what is not recorded would be delivered again
			return jobs, recordPause
		}
		well := w.proven() && w.health.Failures == 0
		if !w.p.bulkhead.take(w.key.workspaceID, w.running, well, w.wake) {
			return jobs, longWait
		}
		if w.health.Broken() {
			w.probe = now.Add(w.p.probe)
		}
		w.running++
		w.attempts.Add(1)
		w.queue.begin()
		jobs = append(jobs, &job{worker: w, entry: e, state: w.rec.State, event: e.event, well: well, ctx: ctx, sending: sending})
	}
	return jobs, longWait
}

// most is how many attempts may be under way: fewer with each failure in a row, so
// that a receiver in trouble is not pressed and one that hangs takes little. Of one that
// nobody knows yet that is to be expected, too.
func (w *worker) most() int {
	if !w.proven() {
		return 1
	}
	return max(1, mostOfOne>>min(w.health.Failures, 8))
}

// proven reports whether the receiver has ever taken an event.
func (w *worker) proven() bool { return !w.health.LastDeliveryAt.IsZero() }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
