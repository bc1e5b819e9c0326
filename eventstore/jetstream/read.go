package jetstream

import (
	"cmp"
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
		decoded, err := l.decodeCommitted(ctx, domain.State, m)
		events, last = append(events, decoded...), m.seq
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
	events, err := l.committedAt(ctx, log, l.numbering(log).message(seq))
	if err != nil {
		return domain.Recorded{}, false, err
	}
	ev, ok := eventAt(events, seq)
	return ev, ok, nil
}

// eventAt returns the event with a sequence, of events in their order.
func eventAt(events []domain.Recorded, seq uint64) (domain.Recorded, bool) {
	at, ok := slices.BinarySearchFunc(events, seq, func(ev domain.Recorded, seq uint64) int { return cmp.Compare(ev.Seq, seq) })
	if !ok {
		return domain.Recorded{}, false
	}
	return events[at], true
}

// decodeCommitted decodes m; part of a batch that was never completed is Void.
func (l *Log) decodeCommitted(ctx context.Context, log domain.Log, m storedMessage) ([]domain.Recorded, error) {
	events, err := l.decode(log, m)
	if err != nil {
		return nil, err
	}
	whole, err := l.isBatchComplete(ctx, log, m)
	if err == nil && !whole {
		voidAll(events)
	}
	return events, err
}

// voidAll makes events void.
func voidAll(events []domain.Recorded) {
	for i := range events {
		events[i].Data = domain.Void{Name: events[i].Data.EventType()}
	}
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
		if info, err = l.Info(ctx, log); err != nil || l.numbering(log).message(info.Last) < at {
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
	n, found, wanted := l.numbering(log), make(map[uint64]storedMessage, len(seqs)), make(map[uint64]bool, len(seqs))
	events, decoded := make([]domain.Recorded, 0, len(seqs)), map[uint64][]domain.Recorded{}
	var messages []uint64 // that must be read
	for i, seq := range seqs {
		wanted[seq] = true
		message := n.message(seq)
		if i > 0 && message == n.message(seqs[i-1]) {
			continue
		}
		if log == domain.Activity {
			decoded[message] = l.recent.get(message)
		}
		if decoded[message] == nil {
			messages = append(messages, message)
		}
	}
	if len(seqs) == 1 && len(messages) == 1 { // half the cost of a batch request
		ev, ok, err := l.Read(ctx, log, seqs[0])
		if err != nil || !ok {
			return nil, err
		}
		return []domain.Recorded{ev}, nil
	}
	slices.Sort(messages)
	for run := range slices.Chunk(slices.Compact(messages), loadBatch) {
		if err := l.readRange(ctx, log, run, found); err != nil {
			return nil, fmt.Errorf("read %s: %w", log, err)
		}
	}
	last := n.message(l.Known().Of(log))
	for _, seq := range seqs {
		message := n.message(seq)
		if m, ok := found[message]; ok && decoded[message] == nil {
			var err error
			if message+recentMessages > last {
				decoded[message], err = l.decodeRecent(log, m)
			} else {
				decoded[message], err = l.decodeWanted(log, m, wanted)
			}
			if err != nil {
				return nil, err
			}
		}
		if ev, ok := eventAt(decoded[message], seq); ok {
			events = append(events, ev)
		}
	}
	return events, nil
}

// Scan returns the events of the next n messages of a log, from one sequence up to another, or down to it
// when that is lower. next is the sequence to continue with; more is false when nothing is left.
func (l *Log) Scan(ctx context.Context, log domain.Log, from, to uint64, n int) (events []domain.Recorded, next uint64, more bool, err error) {
	num, low, high := l.numbering(log), min(from, to), max(from, to)
	first, last := num.message(low), num.message(high)
	down := from > to
	switch {
	case down && last-first >= uint64(n):
		first = last - uint64(n) + 1
	case last-first >= uint64(n):
		last = first + uint64(n) - 1
	}
	found := map[uint64]storedMessage{}
	for part := range slices.Chunk(sequenceRange(first, int(last-first)+1), loadBatch) {
		if err := l.readRange(ctx, log, part, found); err != nil {
			return nil, 0, false, fmt.Errorf("read %s: %w", log, err)
		}
	}
	for message := first; message <= last; message++ {
		m, ok := found[message]
		if !ok {
			continue
		}
		decoded, err := l.decode(log, m)
		if err != nil {
			return nil, 0, false, err
		}
		for _, ev := range decoded {
			if ev.Seq >= low && ev.Seq <= high {
				events = append(events, ev)
			}
		}
	}
	if down {
		slices.Reverse(events)
		return events, num.last(first - 1), num.last(first-1) >= low && first > 1, nil
	}
	return events, num.last(last) + 1, num.last(last) < high, nil
}

// readRange adds the messages at sequences, in ascending order, to found.
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
	from = max(from, 1)
	r := &logReader{eventLog: l, log: log, numbering: l.numbering(log), next: l.numbering(log).message(from), from: from, handle: handle}
	return readUntilDone(ctx, r.follow)
}

// logReader hands the events of one log to one handler.
type logReader struct {
	eventLog   *Log
	log        domain.Log
	numbering  numbering
	next       uint64 // message
	from       uint64 // sequence of the first event that is wanted
	handle     func(eventstore.Batch) error
	held       []heldMessage // of a batch whose last message has not arrived
	leaderLast uint64        // last message of the log when the consumer started

	delivered time.Time // when the last batch was handed over
}

// heldMessage is a message and its events.
type heldMessage struct {
	events []domain.Recorded
	msg    storedMessage
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

// pending returns how many messages follow the one at last. The consumer reported reported, and
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
		last = r.numbering.message(b.Events[n-1].Seq)
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
	seq := b.Events[len(b.Events)-1].Seq
	last := r.numbering.message(seq)
	if g := r.eventLog.conn.gate(string(r.log)); g != nil {
		g.announce()
		if err := g.wait(ctx, last); err != nil {
			return r.retryLater(ctx, err)
		}
	}
	r.eventLog.advanceKnown(r.log, seq)
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
	st := storedMessage{seq: meta.Sequence.Stream, at: meta.Timestamp.UTC(), header: m.Headers(), data: m.Data()}
	decode := r.eventLog.decode
	if meta.NumPending < recentMessages {
		decode = r.eventLog.decodeRecent
	}
	events, err := decode(r.log, st)
	if err != nil {
		return 0, 0, err
	}
	for len(events) > 0 && events[0].Seq < r.from {
		events = events[1:]
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
		if b.Events == nil {
			b.Events = events
		} else {
			b.Events = append(b.Events, events...)
		}
		return meta.NumPending, len(st.data), nil
	}
	r.held = append(r.held, heldMessage{events, st})
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
		events = append(events, h.events...)
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
	for _, h := range r.held {
		if !whole {
			voidAll(h.events)
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
