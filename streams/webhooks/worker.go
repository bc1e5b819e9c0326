package webhooks

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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

// Limits of a subscription: of events in memory, and of deliveries that are not done. Beyond them reading waits.
const (
	maxFresh = 2_000
	maxBytes = 8 << 20
	maxOpen  = 10_000

	refill = 100 // events that there must be room for before reading continues at once
)

// workerPause is the wait before a worker restarts after a fault of ours.
const workerPause = time.Second

// worker serves one subscription.
type worker struct {
	p        *partition
	key      subscriptionKey
	log      *slog.Logger
	recorder *recorder
	wake     chan struct{} // an attempt may start
	capacity chan struct{} // the queue may have room

	stop context.CancelFunc
	done chan struct{}

	start    domain.Position // events up to it may have been delivered before
	attempts sync.WaitGroup  // running
	receiver receiver

	mu       sync.Mutex
	rec      *projections.SubscriptionRecord // replaced by another one, and never changed
	filter   *feed.Filter
	version  uint64
	moment   projections.Moment // when the record was known to be current
	idle     bool               // the subscription is disabled or deleted
	loaded   uint64             // records up to it are loaded
	queue    *queue
	progress streams.ProgressTracker
	health   subscription.Health
	probe    time.Time // when the breaker allows another attempt
	running  int
}

// subscriptionKey names a subscription.
type subscriptionKey struct{ workspaceID, id string }

func newWorker(p *partition, rec projections.SubscriptionRecord) *worker {
	return &worker{
		p: p, key: subscriptionKey{rec.WorkspaceID, rec.ID}, log: p.log.With("subscription", rec.ID, "workspace", rec.WorkspaceID),
		recorder: p.recorder, wake: make(chan struct{}, 1), capacity: make(chan struct{}, 1), done: make(chan struct{}), rec: &rec, queue: newQueue(),
	}
}

// run works until ctx ends, and restarts after a fault.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	defer w.p.bulkhead.cancelWait(w.wake)
	for ctx.Err() == nil {
		if err := w.serve(ctx); !errors.Is(err, errIdle) && ctx.Err() == nil {
			w.log.WarnContext(ctx, "serving a subscription failed and is restarted", "err", err)
		}
		_ = commands.Sleep(ctx, workerPause) // fails only when ctx ends
	}
}

// serve loads the records, and continues from there.
func (w *worker) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := commands.CatchPanic(func() error { return w.load(ctx) }); err != nil {
		return err
	}
	sending, cut := outlivingContext(ctx, finishTimeout)
	defer cut()
	var reading sync.WaitGroup
	reading.Go(func() {
		cancel(commands.CatchPanic(func() error {
			return w.p.feed.Follow(ctx, live.Following{WorkspaceID: w.key.workspaceID, After: w.position()}, func(d live.Delivery) error {
				return w.receive(ctx, d)
			})
		}))
	})
	cancel(commands.CatchPanic(func() error { return w.dispatch(ctx, sending) }))
	reading.Wait()
	w.attempts.Wait()
	return context.Cause(ctx)
}

// finishTimeout limits how long attempts may continue after serving a subscription has ended: the receiver may have
// the event already, and should not get it again.
const finishTimeout = 5 * time.Second

// outlivingContext returns a context that lasts for a while after ctx has ended, unless another node may have taken
// over.
func outlivingContext(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if !errors.Is(cause, streams.ErrLost) {
			_ = commands.Sleep(longer, while) // ends early when everything is finished
		}
		cancel(cause)
	})
	return longer, func() {
		forget()
		cancel(nil)
	}
}

// load reads the state of the subscription.
func (w *worker) load(ctx context.Context) error {
	if err := w.p.fresh(ctx); err != nil {
		return err
	}
	start := w.p.models.Position() // before the read: that contains at least so much
	at, err := w.p.cursors.load(ctx, w.key.id)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.start, w.version, w.moment, w.queue, w.progress, w.probe = start, 0, 0, newQueue(), streams.ProgressTracker{Moved: w.p.moved}, time.Time{}
	err = w.loadRecords()
	if err == nil && w.idle {
		err = errIdle
	}
	if err == nil && at.IsZero() {
		at, err = w.startPosition(ctx)
	}
	w.progress.At = at
	return err
}

// loadRecords reads the subscription, its health and its open deliveries. The caller holds the lock.
func (w *worker) loadRecords() error {
	r := w.p.models.Reader()
	defer r.Close()
	if err := w.refreshRecord(r); err != nil {
		return err
	}
	health, err := projections.Deliveries{}.Health(r, w.key.id)
	if err != nil {
		return err
	}
	w.health = health.Since(w.rec.ClosedAt)
	if w.loaded, err = r.Applied(domain.Activity); err != nil { // of this very snapshot: a request after it is new, one before it is not
		return err
	}
	return projections.Deliveries{}.Open(r, w.key.id, func(d projections.DeliveryRecord) bool {
		w.queue.add(&entry{Delivery: d.Delivery, due: d.NextAttemptAt})
		return true
	})
}

// errIdle says that a subscription is disabled or deleted: its worker is about to be stopped.
var errIdle = errors.New("webhooks: the subscription does not deliver")

// startPosition returns where a new subscription begins: after the event that created it.
func (w *worker) startPosition(ctx context.Context) (domain.Position, error) {
	made, ok, err := w.p.feed.Get(ctx, w.key.workspaceID, w.rec.Since)
	if err == nil && !ok {
		err = fmt.Errorf("the event %s that made the subscription is not in the feed", w.rec.Since)
	}
	if err != nil {
		return domain.Position{}, err
	}
	return made.Seq, nil
}

// refresh updates the record of the subscription if anything has changed. The caller holds the lock.
func (w *worker) refresh() error {
	now := w.p.models.MomentsOf(projections.Subscriptions{}).Now()
	if now != 0 && now == w.moment {
		return nil
	}
	err := w.p.models.View(w.refreshRecord)
	if err == nil {
		w.moment = now
	}
	return err
}

// refreshRecord updates the record of the subscription. The caller holds the lock.
func (w *worker) refreshRecord(r projections.Reader) error {
	version, err := projections.Subscriptions{}.Version(r)
	if err != nil || version == w.version && version != 0 {
		return err
	}
	rec, ok, err := projections.Subscriptions{}.GetActive(r, w.key.workspaceID, w.key.id)
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
		return err // the old record stays
	}
	w.rec, w.version, w.filter = &rec, version, filter
	return nil
}

// position is the position in the feed up to which everything is processed.
func (w *worker) position() domain.Position {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.progress.At
}

// dispatch starts due attempts until ctx ends. Requests that are sent by then may finish until sending ends.
func (w *worker) dispatch(ctx, sending context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		jobs, wait := w.nextJobs(ctx, sending)
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

// idleWait is the wait when nothing is expected.
const idleWait = time.Hour

// nextJobs returns the attempts that may start now, and when to check again.
func (w *worker) nextJobs(ctx, sending context.Context) (jobs []*job, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		j := &job{worker: w, ctx: ctx, sending: sending}
		if wait = w.startAttempt(j); wait > 0 {
			return jobs, wait
		}
		jobs = append(jobs, j)
	}
}

// startAttempt sets the attempt of a job that may start now. wait is 0 then, and else when to check again. The caller
// holds the lock.
func (w *worker) startAttempt(j *job) (wait time.Duration) {
	if err := w.refresh(); err != nil {
		w.log.WarnContext(j.ctx, "a subscription could not be read", "err", err)
		return workerPause
	}
	e := w.queue.front()
	if w.idle || e == nil || w.running >= w.maxAttempts() {
		return idleWait
	}
	now := w.p.now()
	if ready := latest(e.due, w.probe); ready.After(now) {
		return ready.Sub(now)
	}
	if w.recorder.full() { // unrecorded deliveries would be repeated after a crash
		return recordPause
	}
	well := w.hasDelivered() && w.health.Failures == 0
	if !w.p.bulkhead.acquire(w.key.workspaceID, w.running, well, w.wake) {
		return idleWait
	}
	if w.health.Broken() {
		w.probe = now.Add(w.p.probe)
	}
	w.running++
	w.attempts.Add(1)
	w.queue.pop()
	j.entry, j.state, j.event, j.healthy = e, &w.rec.State, e.event, well
	return 0
}

// maxAttempts is how many attempts may be running: fewer with each failure in a row, so that a receiver in trouble is
// not pressed and one that hangs takes little. Of one that nobody knows yet that is to be expected, too.
func (w *worker) maxAttempts() int {
	if !w.hasDelivered() {
		return 1
	}
	return max(1, maxPerSubscription>>min(w.health.Failures, 8))
}

// hasDelivered reports whether the receiver has ever accepted an event.
func (w *worker) hasDelivered() bool { return !w.health.LastDeliveryAt.IsZero() }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// receive queues the events of the feed. It waits while the queue is full.
func (w *worker) receive(ctx context.Context, d live.Delivery) error {
	for rest := d.Events; len(rest) > 0; {
		var err error
		if rest, err = w.receiveSome(ctx, rest); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.progress.Add(&streams.ProgressMark{At: d.At, Done: true})
	w.mu.Unlock()
	streams.Notify(w.wake)
	return nil
}

// fullQueueWait is how long reading waits before queued deliveries are recorded and leave memory.
const fullQueueWait = time.Second

// waitForCapacity waits until the queue has room.
func (w *worker) waitForCapacity(ctx context.Context) error {
	isFull := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.queue.isFull(0)
	}
	if !isFull() {
		return nil
	}
	patience := time.NewTimer(fullQueueWait)
	defer patience.Stop()
	for isFull() {
		streams.Notify(w.wake)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.capacity:
		case <-patience.C:
			if isFull() {
				w.recordAllWaiting()
			}
			patience.Reset(fullQueueWait)
		}
	}
	return nil
}

// notifyCapacity lets reading continue when there is room for some events: for each one alone it would cost more than
// the event. The caller holds the lock.
func (w *worker) notifyCapacity() {
	if !w.queue.isFull(refill) {
		streams.Notify(w.capacity)
	}
}

// recordAllWaiting records all deliveries of lanes, so that reading continues: a hanging receiver delays only its
// order key.
func (w *worker) recordAllWaiting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.queue.lanes {
		w.recordLane(l)
	}
}

// receiveSome queues events until the subscription is changed, and returns the others.
func (w *worker) receiveSome(ctx context.Context, events []*feed.Event) (rest []*feed.Event, err error) {
	wanted, version, err := w.selectEvents(ctx, events)
	if err != nil {
		return nil, err
	}
	for _, s := range wanted {
		if err := w.waitForCapacity(ctx); err != nil {
			return nil, err
		}
		if !w.enqueue(s, version) {
			return events[s.index:], nil
		}
	}
	return nil, nil
}

// selectedEvent is an event that the subscription matches.
type selectedEvent struct {
	index int    // among those that were received
	entry *entry // its delivery
	known bool   // it is recorded already
}

// selectEvents returns the events that the subscription matches, and the version of the subscription.
func (w *worker) selectEvents(ctx context.Context, events []*feed.Event) (_ []selectedEvent, version uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refresh(); err != nil {
		return nil, 0, err
	}
	list, undelivered := make([]selectedEvent, 0, len(events)), make([]*feed.Event, 0, len(events))
	now := w.p.now().UTC().Truncate(time.Millisecond)
	err = w.p.models.View(func(r projections.Reader) (err error) {
		recorded := "" // the last place of a recorded delivery
		if slices.ContainsFunc(events, w.mayBeRecorded) {
			if recorded, err = (projections.Deliveries{}).LastPlace(r, w.key.id); err != nil {
				return err
			}
		}
		for i, e := range events {
			if !e.Options.Persisted() {
				continue // only live readers receive it
			}
			d, asked := w.matchEvent(ctx, e, now)
			if !asked {
				continue
			}
			known := false
			if d.SortKey <= recorded && w.mayBeRecorded(e) {
				if known, err = (projections.Deliveries{}).Has(r, d.ID); err != nil {
					return err
				}
			}
			if !known {
				undelivered = append(undelivered, e)
			}
			list = append(list, selectedEvent{i, &entry{Delivery: d, correlationID: e.Source.CorrelationID, event: e}, known})
		}
		return nil
	})
	feed.EncodeAll(undelivered)
	return list, w.version, err
}

// mayBeRecorded reports whether an event may have been delivered before the start. The caller holds the lock.
func (w *worker) mayBeRecorded(e *feed.Event) bool {
	return e.Seq.State <= w.start.State && e.Seq.Activity <= w.start.Activity
}

// enqueue queues the delivery of an event, unless it was delivered before. It reports false when the subscription has
// changed since the event was selected.
func (w *worker) enqueue(s selectedEvent, version uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.version != version {
		return false
	}
	next := s.entry
	known := s.known || w.queue.open[next.ID] != nil
	m := &streams.ProgressMark{At: next.Seq, Done: known, HasEffects: true}
	w.progress.Add(m)
	if known {
		return true
	}
	now := w.p.now()
	next.CreatedAt, next.mark, next.due = now.UTC().Truncate(time.Millisecond), m, now
	w.queue.add(next)
	if next.lane != nil && next.lane.entries[0].due.After(now) { // its first delivery has failed
		w.recordLane(next.lane)
	}
	return true
}

// matchEvent returns the delivery of an event if the subscription matches it. An event on which its filter or order
// key panics does not match: a retry would panic again.
func (w *worker) matchEvent(ctx context.Context, e *feed.Event, now time.Time) (d subscription.Delivery, asked bool) {
	defer commands.Recover(func(fell *commands.PanicError) {
		asked = false
		w.log.ErrorContext(ctx, "a subscription panicked on an event, which is skipped", "event", e.ID, "err", fell)
	})
	if asked = w.p.matches(w.filter, w.key.id, e); asked {
		d = newDelivery(w.rec.State, e, "", now)
	}
	return d, asked
}

// matches reports whether a subscription matches an event. Test sends the test event of this very subscription
// itself.
func matches(filter *feed.Filter, subscriptionID string, e *feed.Event) bool {
	if !filter.Match(e) {
		return false
	}
	if e.Type != (subscription.Tested{}).EventType() {
		return true
	}
	var tested subscription.Tested
	return json.Unmarshal(e.Payload, &tested) != nil || tested.SubscriptionID != subscriptionID
}

// newDelivery returns the delivery of an event before its first attempt.
func newDelivery(sub subscription.State, e *feed.Event, replay string, now time.Time) subscription.Delivery {
	d := subscription.Delivery{
		ID: subscription.DeliveryID(sub.ID, e.ID, replay), SubscriptionID: sub.ID, EventID: e.ID, EventType: e.Type, Seq: e.Seq,
		Status: subscription.Pending, CreatedAt: now, SortKey: subscription.SortKey(e), Replay: replay,
	}
	if value, ok := orderValue(sub.OrderKey, e); ok {
		d.Lane = subscription.Lane(sub.ID, replay, value)
	}
	return d
}

// orderValue returns the order key of an event; ok is false when it has none.
func orderValue(path string, e *feed.Event) (value string, ok bool) {
	if path == subscription.DefaultOrderKey { // the common case, which need not decode the event
		return e.Source.CorrelationID, e.Source.CorrelationID != ""
	}
	if text, ok := e.PlainText(path); ok {
		return string(append(domain.AppendText(append(make([]byte, 0, 64), '['), text), ']')), true
	}
	values := e.Values(path)
	if len(values) == 0 {
		return "", false
	}
	text, err := json.Marshal(values)
	return string(text), err == nil
}

// recordLane records the unrecorded deliveries of a lane, so that reading can continue. The first one is recorded
// with the others, or a restarted worker would find it after them. The caller holds the lock.
func (w *worker) recordLane(l *lane) {
	for _, e := range l.fresh() {
		w.queue.releaseEvent(e)
		w.record(e, subscription.Record{Delivery: e.Delivery})
	}
	w.notifyCapacity()
}

// record records the state of a delivery. The caller holds the lock.
func (w *worker) record(e *entry, one subscription.Record) {
	w.recorder.add(record{Record: one, workspaceID: w.key.workspaceID, worker: w, mark: e.mark})
	e.mark = nil
}

// markDone records that events are processed.
func (w *worker) markDone(marks []*streams.ProgressMark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.MarkDone(marks...)
}

// redeliver queues a requested delivery.
func (w *worker) redeliver(d projections.DeliveryRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.Last <= w.loaded {
		return // it was loaded at the start
	}
	have := w.queue.open[d.ID]
	switch {
	case have == nil:
		w.queue.add(&entry{Delivery: d.Delivery, due: d.NextAttemptAt})
	case have.at >= 0: // it is in the heap
		have.Round = d.Round
		w.queue.requeue(have, d.NextAttemptAt)
	default: // it waits in its lane, or an attempt is running, which is then not the last one
		have.Round = d.Round
	}
	streams.Notify(w.wake)
}

// job is an attempt that is due.
type job struct {
	worker  *worker
	entry   *entry
	state   *subscription.State
	event   *feed.Event // nil: it is read first
	healthy bool        // its receiver was healthy
	ctx     context.Context

	sending context.Context // of the request to the receiver: it outlives ctx
}

// run makes the attempt, and then others of the subscription as long as one may start: they need no other goroutine.
func (j *job) run(ctx context.Context, limit *timeLimit) {
	for more := true; more; {
		more = j.runOnce(ctx, limit)
	}
}

// runOnce makes the attempt and sets the next one; more is false when there is none.
func (j *job) runOnce(ctx context.Context, limit *timeLimit) (more bool) {
	defer j.worker.attempts.Done()
	j.attempt(ctx, limit)
	return j.worker.setNext(j)
}

// setNext sets an attempt that may start now.
func (w *worker) setNext(j *job) bool {
	if j.ctx.Err() != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := w.startAttempt(j)
	if wait == 0 && w.queue.front() != nil && w.running < w.maxAttempts() || wait > 0 && wait != idleWait { // there are others, now or later
		streams.Notify(w.wake)
	}
	return wait == 0
}

// attempt makes the attempt. When the subscription or the node ends first, nothing is recorded: the delivery stays as
// it was.
func (j *job) attempt(ctx context.Context, limit *timeLimit) {
	w := j.worker
	defer j.releaseSlot()
	over := false
	defer func() {
		if !over { // it panicked: the attempt counts, or it would be repeated for ever
			w.recordAttempt(ctx, j.entry, subscription.Attempt{At: w.p.now().UTC(), Error: "the attempt broke off: a fault of the platform"})
			streams.Notify(w.wake)
		}
	}()
	e, err := j.readEvent(ctx)
	over = true
	switch {
	case ctx.Err() != nil:
		w.requeue(j.entry, 0)
	case err != nil:
		w.log.WarnContext(ctx, "an event could not be read for its delivery", "event", j.entry.EventID, "err", err)
		w.requeue(j.entry, workerPause)
	case e == nil:
		w.recordErased(j.entry)
	default:
		over = false
		attempt := w.p.sender.send(limit, *j.state, &w.receiver, e)
		over = true
		if j.sending.Err() != nil && !attempt.OK() {
			w.requeue(j.entry, 0)
			return
		}
		w.recordAttempt(j.sending, j.entry, attempt)
	}
}

// releaseSlot releases the slot of the attempt.
func (j *job) releaseSlot() {
	j.worker.p.bulkhead.release(j.worker.key.workspaceID, j.healthy)
}

// abandon gives up an attempt before it is made.
func (j *job) abandon() {
	j.worker.requeue(j.entry, 0)
	j.releaseSlot()
	j.worker.attempts.Done()
}

// readEvent returns the event of the delivery; nil when it was erased.
func (j *job) readEvent(ctx context.Context) (*feed.Event, error) {
	if j.event != nil {
		return j.event, nil
	}
	e, ok, err := j.worker.p.feed.Get(ctx, j.worker.key.workspaceID, j.entry.EventID)
	if err != nil || !ok {
		return nil, err
	}
	return e, nil
}

// requeue puts an entry back into the queue as it was.
func (w *worker) requeue(e *entry, pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	w.queue.requeue(e, w.p.now().Add(pause))
}

// recordErased ends a delivery whose event was erased.
func (w *worker) recordErased(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	e.Delivery = e.Tried(subscription.Attempt{At: w.p.now().UTC().Truncate(time.Millisecond), Error: "the event is no longer kept"}, nil)
	w.queue.remove(e)
	w.record(e, subscription.Record{Delivery: e.Delivery})
}

// recordAttempt records the result of an attempt.
func (w *worker) recordAttempt(ctx context.Context, e *entry, a subscription.Attempt) {
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
	w.queue.releaseEvent(e)
	w.record(e, subscription.Record{Delivery: e.Delivery, Health: &health})
	if e.Open() {
		w.queue.requeue(e, e.NextAttemptAt)
		if e.lane != nil {
			w.recordLane(e.lane)
		}
	} else {
		w.queue.remove(e)
	}
	rec, disable := w.rec, !health.FailingSince.IsZero() && now.Sub(health.FailingSince) >= w.p.disableAfter
	w.notifyCapacity()
	w.mu.Unlock()
	if disable {
		w.disable(ctx, rec.State, health)
	}
}

// disable disables the subscription: its receiver has failed for too long.
func (w *worker) disable(ctx context.Context, failed subscription.State, h subscription.Health) {
	reason := fmt.Sprintf("its receiver has failed since %s", h.FailingSince.UTC().Format(time.RFC3339))
	if err := w.p.disabler.Disable(ctx, failed, reason); err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "a subscription that fails could not be disabled yet", "err", err)
	}
}

// entry is a delivery that is not done.
type entry struct {
	subscription.Delivery
	correlationID string
	event         *feed.Event           // nil: it is read before the attempt
	lane          *lane                 // nil: it has none
	mark          *streams.ProgressMark // its mark in the feed until it is recorded; nil: it is
	due           time.Time
	at            int // index in the heap; -1: an attempt is running, or it waits behind another
}

// lane holds deliveries that are made one after another.
type lane struct{ entries []*entry }

// queue holds the deliveries of a subscription that are not done. Its worker guards it.
type queue struct {
	open  map[string]*entry // by id
	lanes map[string]*lane
	due   dueHeap
	fresh int // deliveries that are not recorded: their events are in memory
	bytes int // approximate size of those events
}

func newQueue() *queue { return &queue{open: map[string]*entry{}, lanes: map[string]*lane{}} }

// add adds an entry.
func (q *queue) add(e *entry) {
	q.open[e.ID] = e
	e.at = -1
	if e.event != nil {
		q.fresh++
		q.bytes += memorySize(e.event)
	}
	if e.Lane != "" {
		if e.lane = q.lanes[e.Lane]; e.lane == nil {
			e.lane = &lane{}
			q.lanes[e.Lane] = e.lane
		}
		if e.lane.entries = append(e.lane.entries, e); len(e.lane.entries) > 1 {
			return
		}
	}
	heap.Push(&q.due, e)
}

// isFull reports whether there is no room for another entry and some more.
func (q *queue) isFull(more int) bool {
	return q.fresh+more >= maxFresh || q.bytes+more*(maxBytes/maxFresh) >= maxBytes || len(q.open)+more >= maxOpen
}

// front returns the entry that is due first, or nil.
func (q *queue) front() *entry {
	if len(q.due) == 0 {
		return nil
	}
	return q.due[0].entry
}

// pop removes the first entry from the heap for an attempt.
func (q *queue) pop() *entry { return heap.Pop(&q.due).(*entry) }

// requeue puts an entry back after an attempt.
func (q *queue) requeue(e *entry, due time.Time) {
	if e.due = due; e.at < 0 {
		heap.Push(&q.due, e)
	} else {
		q.due[e.at].due = due.UnixMicro()
		heap.Fix(&q.due, e.at)
	}
}

// remove removes an entry after its last attempt; the next one of its lane follows.
func (q *queue) remove(e *entry) {
	delete(q.open, e.ID)
	q.releaseEvent(e)
	if e.lane == nil {
		return
	}
	e.lane.entries = e.lane.entries[1:]
	if len(e.lane.entries) == 0 {
		delete(q.lanes, e.Lane)
		return
	}
	heap.Push(&q.due, e.lane.entries[0])
}

// releaseEvent releases the event of a recorded entry.
func (q *queue) releaseEvent(e *entry) {
	if e.event != nil {
		q.fresh--
		q.bytes -= memorySize(e.event)
		e.event = nil
	}
}

// memorySize is the approximate memory of an event: it is decoded and encoded too.
func memorySize(e *feed.Event) int { return 1<<10 + 3*len(e.Payload) }

// fresh returns the entries of a lane that are not recorded, in their order.
func (l *lane) fresh() (list []*entry) {
	for _, e := range l.entries {
		if e.event != nil {
			list = append(list, e)
		}
	}
	return list
}

// dueHeap is a heap of the entries that wait only for their time, the first due first.
type dueHeap []dueEntry

// dueEntry is an entry and its time in microseconds: most are compared without a look at the entry.
type dueEntry struct {
	due int64
	*entry
}

func (f dueHeap) Len() int { return len(f) }
func (f dueHeap) Less(i, j int) bool {
	if f[i].due != f[j].due {
		return f[i].due < f[j].due
	}
	return f[i].SortKey < f[j].SortKey
}
func (f dueHeap) Swap(i, j int) {
	f[i], f[j] = f[j], f[i]
	f[i].at, f[j].at = i, j
}

// Push implements heap.Interface.
func (f *dueHeap) Push(x any) {
	e := x.(*entry)
	e.at = len(*f)
	*f = append(*f, dueEntry{e.due.UnixMicro(), e})
}

// Pop implements heap.Interface.
func (f *dueHeap) Pop() any {
	last := len(*f) - 1
	e := (*f)[last].entry
	(*f)[last], e.at = dueEntry{}, -1
	*f = (*f)[:last]
	return e
}
