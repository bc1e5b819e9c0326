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
func (l *Log) Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error) {
	least, err := l.conn.lastOnLeader(ctx, string(domain.State), aggregateFilter(id))
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", id, err)
	}
	var events []domain.Recorded
	for attempt := 0; ; {
		msgs, more, err := l.conn.getMessages(ctx, string(domain.State), aggregateFilter(id), after+1, loadBatch)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", id, err)
		}
		for _, m := range msgs {
			ev, err := l.decodeCommitted(ctx, domain.State, m)
			if err != nil {
				return nil, fmt.Errorf("load %s: %w", id, err)
			}
			events = append(events, ev)
			after = m.seq
		}
		if !more && after >= least {
			return events, l.loadedOnDisk(ctx, events)
		}
		if !more {
			if attempt++; !l.conn.waitRetry(ctx, attempt) {
				return nil, fmt.Errorf("load %s: %w: the replica is behind", id, eventstore.ErrUnavailable)
			}
		}
	}
}

// loadedOnDisk waits until the events are on disk. From then on they are known.
func (l *Log) loadedOnDisk(ctx context.Context, events []domain.Recorded) error {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1].Seq
	err := l.conn.waitDurable(ctx, string(domain.State), last)
	if err == nil {
		l.advanceKnown(domain.State, last)
	}
	return err
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

// isBatchComplete reports whether the batch of m was committed: whether its last
// message is, or was, where it belongs, and of a run, which may have been begun
// twice, the first as well. What was purged counts as having been there; what the
// log never reached, or gave to another, was not.
func (l *Log) isBatchComplete(ctx context.Context, log domain.Log, m storedMessage) (bool, error) {
	_, seq, size := m.batchPlace()
	whole, err := true, error(nil)
	if seq < size {
		whole, err = l.hasBatchMember(ctx, log, m, size)
	}
	if whole && m.inGroup() && seq > 1 {
		whole, err = l.hasBatchMember(ctx, log, m, 1)
	}
	return whole, err
}

// hasBatchMember reports whether one message of the batch of m is, or was, where it
// belongs as seen from m.
func (l *Log) hasBatchMember(ctx context.Context, log domain.Log, m storedMessage, n uint64) (bool, error) {
	id, seq, _ := m.batchPlace()
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
		found, ok, err = l.messageAt(ctx, log, at) // another may have taken the place meanwhile
	}
	if err != nil || !ok {
		return err == nil, err
	}
	foundID, foundSeq, _ := found.batchPlace()
	return foundID == id && foundSeq == n, nil
}

// messageAt returns the message at seq.
func (l *Log) messageAt(ctx context.Context, log domain.Log, seq uint64) (storedMessage, bool, error) {
	return l.conn.getMessage(ctx, string(log), getRequest{Seq: seq})
}

// maxSparsity is from how many messages to one that is wanted on a run is not read whole.
const maxSparsity = 4

// Reread implements eventstore.Store.
func (l *Log) Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error) {
	if len(seqs) == 1 { // one is asked for and answered at half the price of a run
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

// readRange adds the messages at seqs, which ascend, to found.
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
	for _, seq := range seqs { // a replica that is behind does not have the last ones yet
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

// getEach asks for messages one by one, without waiting for an answer in between.
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
	held       []heldEvent // of a batch whose commit has not come yet
	leaderLast uint64      // what the log held when the consumer began

	delivered time.Time // when events were handed over last
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

// loadLast asks the leader for the last event. The consumer may read from a
// replica that is behind and does not know what it lacks.
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

// pending returns how many events follow the one at last, of which the consumer
// knows told.
func (r *logReader) pending(told, last uint64) uint64 {
	if last >= r.leaderLast {
		return told
	}
	return max(told, r.leaderLast-last)
}

// retryLater turns a failed start of a consumer into another attempt.
func (r *logReader) retryLater(ctx context.Context, err error) error {
	r.eventLog.conn.opts.Log.Warn("reading the log was interrupted, trying again", "log", r.log, "err", err)
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
	return errConsumerGone
}

// batchPlace gathers what has arrived and hands it over.
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

// gatherTime is how far apart batches are handed over at least while much happens: what
// comes together costs its readers less. It delays nothing that comes alone, and nothing
// of STATE, which people wait for.
const gatherTime = 4 * time.Millisecond

// nextMessage returns the next message if it is there, or about to come; nil when the batch
// is complete.
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

// deliver hands over a batch once it is on disk: nobody sees an event that a
// power cut could take back.
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

// add decodes m into b. Members of an atomic batch are held until it is known
// whether the batch was completed.
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
	id, seq, batchSize := st.batchPlace()
	if len(r.held) > 0 && r.heldID() != id {
		if err := r.resolveHeld(ctx, b); err != nil {
			return 0, 0, err
		}
	}
	if batchSize == 0 {
		b.Events = append(b.Events, ev)
		return meta.NumPending, len(st.data), nil
	}
	r.held = append(r.held, heldEvent{ev, st})
	switch {
	case seq < batchSize:
	case uint64(len(r.held)) == batchSize: // its commit, behind all that belongs before it
		b.Events = r.appendHeld(b.Events)
	default:
		err = r.resolveHeld(ctx, b)
	}
	return meta.NumPending, len(st.data), err
}

// heldID is the id of the batch that is held.
func (r *logReader) heldID() string {
	id, _, _ := r.held[0].msg.batchPlace()
	return id
}

// appendHeld moves what is held behind events, as it is.
func (r *logReader) appendHeld(events []domain.Recorded) []domain.Recorded {
	for _, h := range r.held {
		events = append(events, h.event)
	}
	r.held = nil
	return events
}

// resolveHeld hands on what is held and is not all of a batch: as it is when the batch
// was completed after all and a part of it was purged, else as events that never
// counted.
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

// resolveTail hands on what is held when the log goes on no further, because the
// end of the batch was purged. A batch still being written stays held.
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

// errConsumerGone says that the broker was restarted or unreachable: the reader
// goes on with a new consumer where it was.
var errConsumerGone = errors.New("the consumer is gone")

// orderedReader is one consumer of a stream, in order.
type orderedReader struct {
	pending     uint64 // how many messages there were when it began
	msgs        chan jetstream.Msg
	reconnected <-chan struct{} // closed when the broker was restarted
	ctx         context.Context
	cancel      context.CancelFunc
	consume     jetstream.ConsumeContext
}

// readUntilDone reads with one consumer after the other, until ctx ends or read fails
// with anything but errConsumerGone.
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

// newOrderedReader makes a consumer of the messages from a sequence on. It is to be begun, and
// to be stopped.
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

// start lets messages come, so many at once at most.
func (r *orderedReader) start(consumer jetstream.Consumer, atOnce int) (err error) {
	r.consume, err = consumer.Consume(func(m jetstream.Msg) {
		if r.ctx.Err() != nil {
			return // one before it may have been dropped: that would look like a gap
		}
		select {
		case r.msgs <- m:
		case <-r.ctx.Done():
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(atOnce, 2*batchBytes), jetstream.PullHeartbeat(time.Second), jetstream.PullExpiry(30*time.Second))
	return err
}

// stop ends the consumer. The client waits there for a broker that does not answer, up to
// ten seconds, so nobody waits for it.
func (r *orderedReader) stop() {
	r.cancel()
	if r.consume != nil {
		go r.consume.Stop()
	}
}

// forward hands over each message that comes, with those that may be there already.
func (r *orderedReader) forward(take func(m jetstream.Msg, more <-chan jetstream.Msg) error) error {
	for {
		select {
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-r.reconnected:
			return errConsumerGone
		case m := <-r.msgs:
			if err := take(m, r.msgs); err != nil {
				return err
			}
		}
	}
}
