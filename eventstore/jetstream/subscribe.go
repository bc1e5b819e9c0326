package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// Bounds of one batch handed to a reader.
const (
	batchEvents = 500
	batchBytes  = 4 << 20
)

// Subscribe implements eventstore.Store.
func (s *Store) Subscribe(ctx context.Context, log domain.Log, from uint64, handle func(eventstore.Batch) error) error {
	r := &reader{store: s, log: log, next: max(from, 1), handle: handle}
	return keepReading(ctx, r.follow)
}

// reader hands the events of one log to one handler.
type reader struct {
	store  *Store
	log    domain.Log
	next   uint64
	handle func(eventstore.Batch) error
	held   []held // of a batch whose commit has not come yet
	least  uint64 // what the log held when the consumer began

	delivered time.Time // when events were handed over last
}

// held is an event and the message it came in.
type held struct {
	event domain.Recorded
	msg   stored
}

// follow reads with one consumer for as long as it lasts.
func (r *reader) follow(ctx context.Context) error {
	r.held = nil
	if err := r.lookAhead(ctx); err != nil {
		return r.retryLater(ctx, err)
	}
	from, consumer, err := r.store.read(ctx, string(r.log), r.next)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	defer from.stop()
	if r.pending(from.pending, r.next-1) == 0 {
		if err := r.handle(eventstore.Batch{}); err != nil {
			return err
		}
	}
	if err := from.begin(consumer, 4*batchEvents); err != nil {
		return r.retryLater(ctx, err)
	}
	return from.pump(func(m jetstream.Msg, more <-chan jetstream.Msg) error { return r.batch(ctx, m, more) })
}

// lookAhead asks the leader for the last event. The consumer may read from a
// replica that is behind and does not know what it lacks.
func (r *reader) lookAhead(ctx context.Context) error {
	if r.store.Alone() {
		return nil
	}
	last, ok, err := r.store.get(ctx, string(r.log), getRequest{LastFor: rootOf(r.log) + ">"})
	if err == nil && ok {
		r.least = last.seq
	}
	return err
}

// pending returns how many events follow the one at last, of which the consumer
// knows told.
func (r *reader) pending(told, last uint64) uint64 {
	if last >= r.least {
		return told
	}
	return max(told, r.least-last)
}

// retryLater turns a failed start of a consumer into another attempt.
func (r *reader) retryLater(ctx context.Context, err error) error {
	r.store.opts.Log.Warn("reading the log was interrupted, trying again", "log", r.log, "err", err)
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
	return errConsumerGone
}

// batch gathers what has arrived and hands it over.
func (r *reader) batch(ctx context.Context, m jetstream.Msg, more <-chan jetstream.Msg) error {
	var b eventstore.Batch
	size := 0
	for {
		pending, n, err := r.take(ctx, &b, m)
		if err != nil {
			return err
		}
		b.Pending = pending
		if size += n; len(b.Events) >= batchEvents || size >= batchBytes {
			break
		}
		if m = r.following(more); m == nil {
			break
		}
	}
	if b.Pending == 0 && len(r.held) > 0 {
		if err := r.settleTail(ctx, &b); err != nil {
			return err
		}
	}
	if len(b.Events) == 0 && b.Pending > 0 {
		return nil
	}
	last := r.next - 1
	if n := len(b.Events); n > 0 {
		last = b.Events[n-1].Seq
	}
	b.Pending = r.pending(b.Pending+uint64(len(r.held)), last)
	return r.deliver(ctx, b)
}

// gatherTime is how far apart batches are handed over at least while much happens: what
// comes together costs its readers less. It delays nothing that comes alone, and nothing
// of STATE, which people wait for.
const gatherTime = 4 * time.Millisecond

// following returns the next message if it is there, or about to come; nil when the batch
// is complete.
func (r *reader) following(more <-chan jetstream.Msg) jetstream.Msg {
	select {
	case m := <-more:
		return m
	default:
	}
	wait := gatherTime - time.Since(r.delivered)
	if wait <= 0 || r.log == domain.State {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case m := <-more:
		return m
	case <-timer.C:
		return nil
	}
}

// deliver hands over a batch once it is on disk: nobody sees an event that a
// power cut could take back.
func (r *reader) deliver(ctx context.Context, b eventstore.Batch) error {
	if len(b.Events) == 0 {
		return r.handle(b)
	}
	last := b.Events[len(b.Events)-1].Seq
	if g := r.store.gate(string(r.log)); g != nil {
		g.enter()
		if err := g.wait(ctx, last); err != nil {
			return r.retryLater(ctx, err)
		}
	}
	r.store.saw(r.log, last)
	if err := r.handle(b); err != nil {
		return err
	}
	r.next, r.delivered = last+1, time.Now()
	return nil
}

// take decodes m into b. Members of an atomic batch are held until it is known
// whether the batch was completed.
func (r *reader) take(ctx context.Context, b *eventstore.Batch, m jetstream.Msg) (pending uint64, size int, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: a message without a place: %w", r.log, err)
	}
	st := stored{seq: meta.Sequence.Stream, at: meta.Timestamp, header: m.Headers(), data: m.Data()}
	ev, err := r.store.decode(r.log, st)
	if err != nil {
		return 0, 0, err
	}
	id, seq, batchSize := st.batch()
	if len(r.held) > 0 && r.heldID() != id {
		if err := r.release(ctx, b); err != nil {
			return 0, 0, err
		}
	}
	if batchSize == 0 {
		b.Events = append(b.Events, ev)
		return meta.NumPending, len(st.data), nil
	}
	r.held = append(r.held, held{ev, st})
	switch {
	case seq < batchSize:
	case uint64(len(r.held)) == batchSize: // its commit, behind all that belongs before it
		b.Events = r.unhold(b.Events)
	default:
		err = r.release(ctx, b)
	}
	return meta.NumPending, len(st.data), err
}

// heldID is the id of the batch that is held.
func (r *reader) heldID() string {
	id, _, _ := r.held[0].msg.batch()
	return id
}

// unhold moves what is held behind events, as it is.
func (r *reader) unhold(events []domain.Recorded) []domain.Recorded {
	for _, h := range r.held {
		events = append(events, h.event)
	}
	r.held = nil
	return events
}

// release hands on what is held and is not all of a batch: as it is when the batch
// was completed after all and a part of it was purged, else as events that never
// counted.
func (r *reader) release(ctx context.Context, b *eventstore.Batch) error {
	whole, err := r.store.completed(ctx, r.log, r.held[len(r.held)-1].msg)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	for i := range r.held {
		if ev := &r.held[i].event; !whole {
			ev.Data = domain.Void{Name: ev.Data.EventType()}
		}
	}
	b.Events = r.unhold(b.Events)
	return nil
}

// settleTail hands on what is held when the log goes on no further, because the
// end of the batch was purged. A batch still being written stays held.
func (r *reader) settleTail(ctx context.Context, b *eventstore.Batch) error {
	whole, err := r.store.completed(ctx, r.log, r.held[len(r.held)-1].msg)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	if whole {
		b.Events = r.unhold(b.Events)
	}
	return nil
}
