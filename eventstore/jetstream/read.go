package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// loadBatch is how many events one exchange asks for.
const loadBatch = 500

// Load implements eventstore.Store.
func (l *Log) Load(ctx context.Context, id domain.StreamID, after uint64) (events []domain.Recorded, err error) {
	last := uint64(0)
	err = l.conn.visitMessages(ctx, string(domain.State), aggregateFilter(id), after, loadBatch, func(m storedMessage) error {
		ev, err := l.decodeCommitted(ctx, domain.State, m)
		events, last = append(events, ev), m.seq
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", id, err)
	}
	if err := l.conn.waitDurable(ctx, string(domain.State), last); err != nil {
		return nil, err
	}
	l.advanceKnown(domain.State, last)
	return events, nil
}

// Read implements eventstore.Store.
func (l *Log) Read(ctx context.Context, log domain.Log, seq uint64) (domain.Recorded, bool, error) {
	m, ok, err := l.messageAt(ctx, log, seq)
	if err != nil || !ok {
		return domain.Recorded{}, false, err
	}
	ev, err := l.decodeCommitted(ctx, log, m)
	return ev, err == nil, err
}

// decodeCommitted decodes m; part of a batch that was never completed is Void.
func (l *Log) decodeCommitted(ctx context.Context, log domain.Log, m storedMessage) (domain.Recorded, error) {
	ev, err := l.decode(log, m)
	if err != nil {
		return ev, err
	}
	whole, err := l.isBatchComplete(ctx, log, m)
	if err == nil && !whole {
		ev.Data = domain.Void{Name: ev.Data.EventType()}
	}
	return ev, err
}

// isBatchComplete reports whether the batch of m was committed: whether its last message is,
// or was before a purge, at its place. A group may have been begun twice, so its first message
// is checked as well.
func (l *Log) isBatchComplete(ctx context.Context, log domain.Log, m storedMessage) (bool, error) {
	_, seq, size := m.batchPosition()
	whole, err := true, error(nil)
	if seq < size {
		whole, err = l.hasBatchMember(ctx, log, m, size)
	}
	if whole && m.inGroup() && seq > 1 {
		whole, err = l.hasBatchMember(ctx, log, m, 1)
	}
	return whole, err
}

// hasBatchMember reports whether the n-th message of the batch of m is, or was before a purge,
// at its place.
func (l *Log) hasBatchMember(ctx context.Context, log domain.Log, m storedMessage, n uint64) (bool, error) {
	id, seq, _ := m.batchPosition()
	if m.seq+n <= seq {
		return false, nil // before the log began
	}
	at := m.seq + n - seq
	found, ok, err := l.messageAt(ctx, log, at)
	if err == nil && !ok {
		var info eventstore.Info
		if info, err = l.Info(ctx, log); err != nil || info.Last < at {
			return false, err
		}
		found, ok, err = l.messageAt(ctx, log, at) // another message may have been stored there meanwhile
	}
	if err != nil || !ok {
		return err == nil, err
	}
	foundID, foundSeq, _ := found.batchPosition()
	return foundID == id && foundSeq == n, nil
}

// messageAt returns the message at seq.
func (l *Log) messageAt(ctx context.Context, log domain.Log, seq uint64) (storedMessage, bool, error) {
	return l.conn.getMessage(ctx, string(log), getRequest{Seq: seq})
}

// maxSparsity is how many messages are read at most for one that is wanted: with more, each is
// requested by itself.
const maxSparsity = 4

// Reread implements eventstore.Store.
func (l *Log) Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error) {
	if len(seqs) == 1 { // half the cost of a batch request
		ev, ok, err := l.Read(ctx, log, seqs[0])
		if err != nil || !ok {
			return nil, err
		}
		return []domain.Recorded{ev}, nil
	}
	found := make(map[uint64]storedMessage, len(seqs))
	for run := range slices.Chunk(slices.Sorted(slices.Values(seqs)), loadBatch) {
		if err := l.readRange(ctx, log, run, found); err != nil {
			return nil, fmt.Errorf("read %s: %w", log, err)
		}
	}
	events := make([]domain.Recorded, 0, len(seqs))
	for _, seq := range seqs {
		m, ok := found[seq]
		if !ok {
			continue
		}
		ev, err := l.decode(log, m)
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// readRange adds the messages at seqs, in ascending order, to found.
func (l *Log) readRange(ctx context.Context, log domain.Log, seqs []uint64, found map[uint64]storedMessage) error {
	if span := seqs[len(seqs)-1] - seqs[0] + 1; span <= uint64(len(seqs)*maxSparsity) && span <= loadBatch {
		msgs, _, err := l.conn.getMessages(ctx, string(log), rootOf(log)+">", seqs[0], int(span))
		for _, m := range msgs {
			found[m.seq] = m
		}
		if err != nil {
			return err
		}
	} else if err := l.conn.retryRead(ctx, func(ctx context.Context) error { return l.getEach(ctx, log, seqs, found) }); err != nil {
		return err
	}
	if l.conn.opts.Replicas == 1 {
		return nil
	}
	for _, seq := range seqs { // the replica may be behind: ask the leader
		if _, ok := found[seq]; ok {
			continue
		}
		m, ok, err := l.messageAt(ctx, log, seq)
		if err != nil {
			return err
		}
		if ok {
			found[seq] = m
		}
	}
	return nil
}

// getEach requests each message by itself, without waiting for an answer in between.
func (l *Log) getEach(ctx context.Context, log domain.Log, seqs []uint64, found map[uint64]storedMessage) error {
	answers := l.conn.replies.open(len(seqs))
	defer answers.close()
	for _, seq := range seqs {
		body := strconv.AppendUint([]byte(`{"seq":`), seq, 10)
		err := l.conn.nc.PublishRequest("$JS.API.DIRECT.GET."+string(log), answers.subject("one"), append(body, '}'))
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
	}
	for range seqs {
		m, err := answers.next(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		if err := addAnswer(m, found); err != nil {
			return err
		}
	}
	return nil
}

// addAnswer adds one answer to found.
func addAnswer(m *nats.Msg, found map[uint64]storedMessage) error {
	switch m.Header.Get("Status") {
	case "404":
		return nil
	case "":
		got, err := parseDirectGet(m)
		if err == nil {
			found[got.seq] = got
		}
		return err
	}
	return fmt.Errorf("%w: the broker answered %s", eventstore.ErrUnavailable, strings.TrimSpace(m.Header.Get("Description")))
}

// Bounds of one batch handed to a reader.
const (
	batchEvents = 500
	batchBytes  = 4 << 20
)

// Subscribe implements eventstore.Store.
func (l *Log) Subscribe(ctx context.Context, log domain.Log, from uint64, handle func(eventstore.Batch) error) error {
	r := &logReader{eventLog: l, log: log, next: max(from, 1), handle: handle}
	return readUntilDone(ctx, r.follow)
}

// logReader hands the events of one log to one handler.
type logReader struct {
	eventLog   *Log
	log        domain.Log
	next       uint64
	handle     func(eventstore.Batch) error
	held       []heldEvent // of a batch whose last message has not arrived
	leaderLast uint64      // last sequence of the log when the consumer started

	delivered time.Time // when the last batch was handed over
}

// heldEvent is an event and the message it came in.
type heldEvent struct {
	event domain.Recorded
	msg   storedMessage
}

// follow reads with one consumer for as long as it lasts.
func (r *logReader) follow(ctx context.Context) error {
	r.held = nil
	if err := r.loadLast(ctx); err != nil {
		return r.retryLater(ctx, err)
	}
	from, consumer, err := r.eventLog.conn.newOrderedReader(ctx, string(r.log), r.next)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	defer from.stop()
	if r.pending(from.pending, r.next-1) == 0 {
		if err := r.handle(eventstore.Batch{}); err != nil {
			return err
		}
	}
	if err := from.start(consumer, 4*batchEvents); err != nil {
		return r.retryLater(ctx, err)
	}
	return from.forward(func(m jetstream.Msg, more <-chan jetstream.Msg) error { return r.batch(ctx, m, more) })
}

// loadLast asks the leader for the last event: the consumer may read from a replica that is
// behind.
func (r *logReader) loadLast(ctx context.Context) error {
	if r.eventLog.conn.Alone() {
		return nil
	}
	last, ok, err := r.eventLog.conn.getMessage(ctx, string(r.log), getRequest{LastFor: rootOf(r.log) + ">"})
	if err == nil && ok {
		r.leaderLast = last.seq
	}
	return err
}

// pending returns how many events follow the one at last. The consumer reported reported, and
// may read from a replica that is behind.
func (r *logReader) pending(reported, last uint64) uint64 {
	if last >= r.leaderLast {
		return reported
	}
	return max(reported, r.leaderLast-last)
}

// retryLater logs an error, waits, and returns errConsumerGone: the reader starts another
// consumer.
func (r *logReader) retryLater(ctx context.Context, err error) error {
	r.eventLog.conn.opts.Log.Warn("reading the log was interrupted, trying again", "log", r.log, "err", err)
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
	return errConsumerGone
}

// batch hands over the messages that have arrived.
func (r *logReader) batch(ctx context.Context, m jetstream.Msg, more <-chan jetstream.Msg) error {
	var b eventstore.Batch
	size := 0
	for {
		pending, n, err := r.add(ctx, &b, m)
		if err != nil {
			return err
		}
		b.Pending = pending
		if size += n; len(b.Events) >= batchEvents || size >= batchBytes {
			break
		}
		if m = r.nextMessage(more); m == nil {
			break
		}
	}
	if b.Pending == 0 && len(r.held) > 0 {
		if err := r.resolveTail(ctx, &b); err != nil {
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

// gatherTime is the least time between two batches of ACTIVITY under load: fewer, larger batches
// cost readers less. A single event is not delayed, nor is STATE, which callers wait for.
const gatherTime = 4 * time.Millisecond

// nextMessage returns the next message if it has arrived or arrives within gatherTime; nil when
// the batch is complete.
func (r *logReader) nextMessage(more <-chan jetstream.Msg) jetstream.Msg {
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

// deliver hands over a batch once it is durable, so that no reader sees an event that a power
// cut could remove.
func (r *logReader) deliver(ctx context.Context, b eventstore.Batch) error {
	if len(b.Events) == 0 {
		return r.handle(b)
	}
	last := b.Events[len(b.Events)-1].Seq
	if g := r.eventLog.conn.gate(string(r.log)); g != nil {
		g.announce()
		if err := g.wait(ctx, last); err != nil {
			return r.retryLater(ctx, err)
		}
	}
	r.eventLog.advanceKnown(r.log, last)
	if err := r.handle(b); err != nil {
		return err
	}
	r.next, r.delivered = last+1, time.Now()
	return nil
}

// add decodes m into b. Messages of an atomic batch are held until it is known whether the batch
// is complete.
func (r *logReader) add(ctx context.Context, b *eventstore.Batch, m jetstream.Msg) (pending uint64, size int, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: a message without a place: %w", r.log, err)
	}
	st := storedMessage{seq: meta.Sequence.Stream, at: meta.Timestamp, header: m.Headers(), data: m.Data()}
	ev, err := r.eventLog.decode(r.log, st)
	if err != nil {
		return 0, 0, err
	}
	id, seq, batchSize := st.batchPosition()
	if len(r.held) > 0 {
		if heldID, _, _ := r.held[0].msg.batchPosition(); heldID != id {
			if err := r.resolveHeld(ctx, b); err != nil {
				return 0, 0, err
			}
		}
	}
	if batchSize == 0 {
		b.Events = append(b.Events, ev)
		return meta.NumPending, len(st.data), nil
	}
	r.held = append(r.held, heldEvent{ev, st})
	switch {
	case seq < batchSize:
	case uint64(len(r.held)) == batchSize: // the last one, and all before it are held
		b.Events = r.appendHeld(b.Events)
	default:
		err = r.resolveHeld(ctx, b)
	}
	return meta.NumPending, len(st.data), err
}

// appendHeld appends the held events to events.
func (r *logReader) appendHeld(events []domain.Recorded) []domain.Recorded {
	for _, h := range r.held {
		events = append(events, h.event)
	}
	r.held = nil
	return events
}

// resolveHeld appends held events that are not all of a batch: as they are when the rest was
// purged, as Void when the batch was never completed.
func (r *logReader) resolveHeld(ctx context.Context, b *eventstore.Batch) error {
	whole, err := r.eventLog.isBatchComplete(ctx, r.log, r.held[len(r.held)-1].msg)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	for i := range r.held {
		if ev := &r.held[i].event; !whole {
			ev.Data = domain.Void{Name: ev.Data.EventType()}
		}
	}
	b.Events = r.appendHeld(b.Events)
	return nil
}

// resolveTail appends held events at the end of the log when the end of their batch was purged.
// A batch that is still being written stays held.
func (r *logReader) resolveTail(ctx context.Context, b *eventstore.Batch) error {
	whole, err := r.eventLog.isBatchComplete(ctx, r.log, r.held[len(r.held)-1].msg)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	if whole {
		b.Events = r.appendHeld(b.Events)
	}
	return nil
}

// errConsumerGone says that the broker was restarted or unreachable: the reader continues with a
// new consumer.
var errConsumerGone = errors.New("the consumer is gone")

// orderedReader reads a stream in order, with one consumer.
type orderedReader struct {
	pending     uint64 // messages in the stream when it started
	msgs        chan jetstream.Msg
	reconnected <-chan struct{} // closed when the broker was restarted
	ctx         context.Context
	cancel      context.CancelFunc
	consume     jetstream.ConsumeContext
}

// readUntilDone calls read again while it fails with errConsumerGone, until ctx ends.
func readUntilDone(ctx context.Context, read func(context.Context) error) error {
	for {
		err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errConsumerGone):
		case err != nil:
			return err
		}
	}
}

// newOrderedReader creates a consumer of the messages from a sequence on. The caller starts and
// stops the reader.
func (c *connection) newOrderedReader(ctx context.Context, stream string, from uint64, filters ...string) (*orderedReader, jetstream.Consumer, error) {
	r := &orderedReader{msgs: make(chan jetstream.Msg, batchEvents/4), reconnected: c.reconnected()}
	consumer, err := c.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: filters, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, nil, err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.pending = info.NumPending
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r, consumer, nil
}

// start requests messages, at most atOnce at a time.
func (r *orderedReader) start(consumer jetstream.Consumer, atOnce int) (err error) {
	r.consume, err = consumer.Consume(func(m jetstream.Msg) {
		if r.ctx.Err() != nil {
			return // an earlier one may have been dropped: this one would look like a gap
		}
		select {
		case r.msgs <- m:
		case <-r.ctx.Done():
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(atOnce, 2*batchBytes), jetstream.PullHeartbeat(time.Second), jetstream.PullExpiry(30*time.Second))
	return err
}

// stop ends the consumer in the background: the client waits up to ten seconds for a broker that
// does not answer.
func (r *orderedReader) stop() {
	r.cancel()
	if r.consume != nil {
		go r.consume.Stop()
	}
}

// forward calls handle with each message, and with the channel of those that follow.
func (r *orderedReader) forward(handle func(m jetstream.Msg, more <-chan jetstream.Msg) error) error {
	for {
		select {
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-r.reconnected:
			return errConsumerGone
		case m := <-r.msgs:
			if err := handle(m, r.msgs); err != nil {
				return err
			}
		}
	}
}
