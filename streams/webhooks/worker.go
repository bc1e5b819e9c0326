package webhooks

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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
	defer commands.Recover(func(fell *commands.PanicError) { err = fell })
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

// receive takes events over from the feed. It waits while too many are open.
func (w *worker) receive(ctx context.Context, d live.Delivery) error {
	if err := w.refresh(); err != nil {
		return err
	}
	for _, e := range d.Events {
		if !e.Options.Persisted() {
			continue // it is for those who are there
		}
		if err := w.makeRoom(ctx); err != nil {
			return err
		}
		if err := w.accept(ctx, e); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.ledger.Put(&streams.Mark{At: d.At, Settled: true})
	w.mu.Unlock()
	notify(w.wake)
	return nil
}

// refresh brings what is known of the subscription up to date.
func (w *worker) refresh() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.p.models.View(w.look)
}

// stuck is how long reading waits before what is in line behind others is recorded
// rather than held in memory.
const stuck = time.Second

// makeRoom waits until another event can be taken.
func (w *worker) makeRoom(ctx context.Context) error {
	var patience <-chan time.Time
	for {
		w.mu.Lock()
		full := w.queue.fresh >= maxFresh || w.queue.bytes >= maxBytes || len(w.queue.open) >= maxOpen
		w.mu.Unlock()
		if !full {
			return nil
		}
		notify(w.wake)
		if patience == nil {
			patience = time.After(stuck)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.room:
		case <-patience:
			w.holdAll()
			patience = nil
		}
	}
}

// holdAll records everything that waits behind something else, so that what does not
// can be read: one that hangs holds back its key only.
func (w *worker) holdAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.queue.lanes {
		w.hold(l)
	}
}

// accept puts an event in line, when it is asked for and was not delivered before.
func (w *worker) accept(ctx context.Context, e *feed.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.p.now().UTC().Truncate(time.Millisecond)
	d, asked := w.asks(ctx, e, now)
	if !asked {
		return nil
	}
	known := w.queue.open[d.ID] != nil
	if !known && e.Seq.State <= w.start.State && e.Seq.Activity <= w.start.Activity {
		err := w.p.models.View(func(r projections.Reader) (err error) {
			_, known, err = projections.Deliveries{}.Get(r, d.ID)
			return err
		})
		if err != nil {
			return err
		}
	}
	m := &streams.Mark{At: e.Seq, Settled: known, Counts: true}
	w.ledger.Put(m)
	if known {
		return nil
	}
	next := &entry{Delivery: d, correlationID: e.Source.CorrelationID, event: e, mark: m, due: now}
	w.queue.add(next)
	if next.lane != nil && next.lane.entries[0].due.After(now) { // the first of them has failed
		w.hold(next.lane)
	}
	return nil
}

// asks returns the delivery of an event if the subscription asks for it. It does not ask for
// one that its filter or order key falls over: begun again they would only do so again.
func (w *worker) asks(ctx context.Context, e *feed.Event, now time.Time) (d subscription.Delivery, asked bool) {
	defer commands.Recover(func(fell *commands.PanicError) {
		asked = false
		w.log.ErrorContext(ctx, "a subscription fell over an event, which is left out", "event", e.ID, "err", fell)
	})
	if asked = w.p.wanted(w.filter, w.key.id, e); asked {
		d = deliveryOf(w.rec.State, e, "", now)
	}
	return d, asked
}

// wanted reports whether a subscription asks for an event. The one that tests this very
// subscription is sent by who tests it.
func wanted(filter *feed.Filter, subscriptionID string, e *feed.Event) bool {
	if !filter.Match(e) {
		return false
	}
	if e.Type != (subscription.Tested{}).EventType() {
		return true
	}
	var tested subscription.Tested
	return json.Unmarshal(e.Payload, &tested) != nil || tested.SubscriptionID != subscriptionID
}

// deliveryOf is the delivery of an event before anything was tried.
func deliveryOf(sub subscription.State, e *feed.Event, replay string, now time.Time) subscription.Delivery {
	d := subscription.Delivery{
		ID: subscription.DeliveryID(sub.ID, e.ID, replay), SubscriptionID: sub.ID, EventID: e.ID, EventType: e.Type, Seq: e.Seq,
		Status: subscription.Pending, CreatedAt: now, Place: subscription.Place(e), Replay: replay,
	}
	if value, ok := orderValue(sub.OrderKey, e); ok {
		d.Lane = subscription.Lane(sub.ID, replay, value)
	}
	return d
}

// orderValue returns what an event is ordered by; ok is false when it has nothing
// there.
func orderValue(path string, e *feed.Event) (value string, ok bool) {
	if path == subscription.DefaultOrderKey { // most ask for this, and it needs no look at the whole event
		return e.Source.CorrelationID, e.Source.CorrelationID != ""
	}
	values := e.Values(path)
	if len(values) == 0 {
		return "", false
	}
	text, err := json.Marshal(values)
	return string(text), err == nil
}

// hold records those of a lane that are not, so that reading can go on without them.
// The first of them is recorded with the others, or it would be found behind them when
// the worker begins again. The caller holds the lock.
func (w *worker) hold(l *lane) {
	for _, e := range l.fresh() {
		w.queue.recorded(e)
		w.record(e, subscription.Record{Delivery: e.Delivery})
	}
	notify(w.room)
}

// record keeps where a delivery stands. The caller holds the lock.
func (w *worker) record(e *entry, one subscription.Record) {
	rec := record{workspaceID: w.key.workspaceID, Record: one}
	if m := e.mark; m != nil {
		e.mark = nil
		rec.kept = func() {
			w.mu.Lock()
			w.ledger.Settle(m)
			w.mu.Unlock()
		}
	}
	w.book.add(rec)
}

// ask takes a delivery up that somebody asked for.
func (w *worker) ask(d projections.DeliveryRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.Last <= w.loaded {
		return // it was there when the worker began
	}
	have := w.queue.open[d.ID]
	switch {
	case have == nil:
		w.queue.add(&entry{Delivery: d.Delivery, due: d.NextAttemptAt})
	case have.at >= 0: // it waits for its time
		have.Round = d.Round
		w.queue.again(have, d.NextAttemptAt)
	default: // its turn comes, or an attempt is under way, which is then not the last
		have.Round = d.Round
	}
	notify(w.wake)
}

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

// entry is a delivery that is not over.
type entry struct {
	subscription.Delivery
	correlationID string
	event         *feed.Event   // nil: it is read when its turn comes
	lane          *lane         // nil: it has none
	mark          *streams.Mark // its place in the feed, which waits until it is recorded; nil: it is
	due           time.Time
	at            int // in the fronts; -1: it is under way, or behind another
}

// lane holds deliveries that go one after another.
type lane struct{ entries []*entry }

// queue holds the deliveries of a subscription that are not over. It is guarded by
// its worker.
type queue struct {
	open   map[string]*entry // by id
	lanes  map[string]*lane
	fronts fronts
	fresh  int // those that are not recorded: their events are held in memory
	bytes  int // of those events, about
}

func newQueue() *queue { return &queue{open: map[string]*entry{}, lanes: map[string]*lane{}} }

// add puts an entry in line.
func (q *queue) add(e *entry) {
	q.open[e.ID] = e
	e.at = -1
	if e.event != nil {
		q.fresh++
		q.bytes += weight(e.event)
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
	heap.Push(&q.fronts, e)
}

// front returns the entry that is due first, or nil.
func (q *queue) front() *entry {
	if len(q.fronts) == 0 {
		return nil
	}
	return q.fronts[0]
}

// begin takes the first entry out of line: it is under way.
func (q *queue) begin() *entry { return heap.Pop(&q.fronts).(*entry) }

// again puts an entry that was under way back in line.
func (q *queue) again(e *entry, due time.Time) {
	if e.due = due; e.at < 0 {
		heap.Push(&q.fronts, e)
	} else {
		heap.Fix(&q.fronts, e.at)
	}
}

// over removes an entry that was under way; the next of its lane takes its turn.
func (q *queue) over(e *entry) {
	delete(q.open, e.ID)
	q.recorded(e)
	if e.lane == nil {
		return
	}
	e.lane.entries = e.lane.entries[1:]
	if len(e.lane.entries) == 0 {
		delete(q.lanes, e.Lane)
		return
	}
	heap.Push(&q.fronts, e.lane.entries[0])
}

// recorded notes that an entry is known from the log: its event need not be held.
func (q *queue) recorded(e *entry) {
	if e.event != nil {
		q.fresh--
		q.bytes -= weight(e.event)
		e.event = nil
	}
}

// weight is what an event takes in memory, about: it is decoded and encoded too.
func weight(e *feed.Event) int { return 1<<10 + 3*len(e.Payload) }

// fresh returns the entries of a lane that are not recorded, in their order.
func (l *lane) fresh() (list []*entry) {
	for _, e := range l.entries {
		if e.event != nil {
			list = append(list, e)
		}
	}
	return list
}

// fronts are the entries that wait for nothing but their time, the first due first.
type fronts []*entry

func (f fronts) Len() int { return len(f) }
func (f fronts) Less(i, j int) bool {
	if !f[i].due.Equal(f[j].due) {
		return f[i].due.Before(f[j].due)
	}
	return strings.Compare(f[i].Place, f[j].Place) < 0
}
func (f fronts) Swap(i, j int) {
	f[i], f[j] = f[j], f[i]
	f[i].at, f[j].at = i, j
}

// Push implements heap.Interface.
func (f *fronts) Push(x any) {
	e := x.(*entry)
	e.at = len(*f)
	*f = append(*f, e)
}

// Pop implements heap.Interface.
func (f *fronts) Pop() any {
	last := len(*f) - 1
	e := (*f)[last]
	(*f)[last], e.at = nil, -1
	*f = (*f)[:last]
	return e
}
