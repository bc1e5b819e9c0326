package webhooks

import (
	"context"
	"encoding/json"
	"time"

	"svc/commands"
	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/projections"
	"svc/streams"
	live "svc/streams/feed"
)

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
	defer commands.Recover(func(fell *commands.Fallen) {
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
