package jetstream

import (
	"context"
	"errors"
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
	for {
		err := r.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errConsumerGone):
		case err != nil:
			return err
		}
	}
}

// errConsumerGone says that the broker was restarted or unreachable: the reader
// goes on with a new consumer where it was.
var errConsumerGone = errors.New("the consumer is gone")

// reader hands the events of one log to one handler.
type reader struct {
	store  *Store
	log    domain.Log
	next   uint64
	handle func(eventstore.Batch) error
	held   []domain.Recorded // of a batch whose commit has not come yet
}

// follow reads with one consumer for as long as it lasts.
func (r *reader) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := r.store.epochEnded()
	consumer, pending, err := r.consumer(ctx)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	if pending == 0 {
		if err := r.handle(eventstore.Batch{}); err != nil {
			return err
		}
	}
	msgs := make(chan jetstream.Msg, 2*batchEvents)
	consume, err := consumer.Consume(func(m jetstream.Msg) {
		select {
		case msgs <- m:
		case <-ctx.Done():
		}
	}, jetstream.PullMaxMessages(4*batchEvents), jetstream.PullHeartbeat(5*time.Second), jetstream.PullExpiry(30*time.Second))
	if err != nil {
		return r.retryLater(ctx, err)
	}
	defer consume.Stop()
	return r.pump(ctx, msgs, ended)
}

func (r *reader) consumer(ctx context.Context) (jetstream.Consumer, uint64, error) {
	c, err := r.store.js.OrderedConsumer(ctx, string(r.log), jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, 0, err
	}
	info, err := c.Info(ctx)
	if err != nil {
		return nil, 0, err
	}
	return c, info.NumPending, nil
}

// retryLater turns a failed start of a consumer into another attempt.
func (r *reader) retryLater(ctx context.Context, err error) error {
	r.held = nil
	r.store.opts.Log.Warn("reading the log was interrupted, trying again", "log", r.log, "err", err)
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
	return errConsumerGone
}

// pump gathers what has arrived into batches and hands them over.
func (r *reader) pump(ctx context.Context, msgs <-chan jetstream.Msg, ended <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			r.held = nil
			return errConsumerGone
		case m := <-msgs:
			if err := r.batch(ctx, m, msgs); err != nil {
				return err
			}
		}
	}
}

func (r *reader) batch(ctx context.Context, m jetstream.Msg, more <-chan jetstream.Msg) error {
	var b eventstore.Batch
	size := 0
	for {
		pending, n, err := r.take(&b, m)
		if err != nil {
			return err
		}
		b.Pending = pending
		if size += n; len(b.Events) >= batchEvents || size >= batchBytes {
			break
		}
		select {
		case m = <-more:
			continue
		default:
		}
		break
	}
	if len(b.Events) == 0 && b.Pending > 0 {
		return nil
	}
	b.Pending += uint64(len(r.held))
	return r.deliver(ctx, b)
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
	r.next = last + 1
	return nil
}

// take decodes m into b. Members of an atomic batch are held until it is known
// whether the batch was completed.
func (r *reader) take(b *eventstore.Batch, m jetstream.Msg) (pending uint64, size int, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: a message without a place: %w", r.log, err)
	}
	st := stored{seq: meta.Sequence.Stream, at: meta.Timestamp, header: m.Headers(), data: m.Data()}
	ev, err := r.store.decode(r.log, st)
	if err != nil {
		return 0, 0, err
	}
	_, seq, batchSize := st.batch()
	if batchSize > 0 {
		r.hold(b, ev, seq, batchSize)
	} else {
		r.release(b, false)
		b.Events = append(b.Events, ev)
	}
	return meta.NumPending, len(st.data), nil
}

// hold keeps ev until the last of its batch has come.
func (r *reader) hold(b *eventstore.Batch, ev domain.Recorded, seq, size uint64) {
	if seq == 1 {
		r.release(b, false)
	}
	r.held = append(r.held, ev)
	if seq == size {
		r.release(b, uint64(len(r.held)) == size)
	}
}

// release hands on what is held: as it is when the batch is complete, else as
// events that never counted.
func (r *reader) release(b *eventstore.Batch, complete bool) {
	for _, ev := range r.held {
		if !complete {
			ev.Data = domain.Void{Name: ev.Data.EventType()}
		}
		b.Events = append(b.Events, ev)
	}
	r.held = nil
}
