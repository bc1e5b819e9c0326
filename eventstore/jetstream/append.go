package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// Limits of atomic batches: of their size, and of how many are sent at once. The broker stores one
// after the other, and drops those that wait too long.
const (
	maxFacts   = 1000
	maxBatches = 8
)

// Append implements eventstore.Store.
func (l *Log) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	start := time.Now()
	receipt, err := l.append(ctx, commits)
	l.conn.metrics.appended(start, appendOutcome(err))
	return receipt, err
}

// appendOK is the outcome of most appends.
const appendOK = "ok"

func appendOutcome(err error) string {
	switch {
	case err == nil:
		return appendOK
	case errors.Is(err, eventstore.ErrConflict):
		return "conflict"
	case errors.Is(err, eventstore.ErrUnavailable):
		return "unavailable"
	default:
		return "refused"
	}
}

func (l *Log) append(ctx context.Context, commits []eventstore.Commit) (eventstore.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return eventstore.Receipt{}, err
	}
	l.conn.checkDiskIfStale()
	if err := l.conn.Writable(); err != nil {
		return eventstore.Receipt{}, err
	}
	return l.commit(ctx, commits)
}

// commit appends without checking whether writes are possible.
func (l *Log) commit(ctx context.Context, commits []eventstore.Commit) (receipt eventstore.Receipt, err error) {
	log, err := logOfAll(commits)
	if err != nil {
		return eventstore.Receipt{}, err
	}
	w := &l.writing[indexOf(log)]
	w.open.Add(1)
	defer func() {
		if errors.Is(err, eventstore.ErrUnavailable) {
			w.doubtful.Store(true)
		}
		w.open.Add(-1)
	}()
	var seqs []uint64
	var kept <-chan struct{} // closed when the payloads of the events are stored, too; nil when there are none
	store := func() (seqs []uint64, err error) {
		seqs, kept, err = l.packer.append(ctx, commits)
		return seqs, err
	}
	if !l.usesGroups(log) {
		msgs, err := l.encodeCommits(log, commits)
		if err != nil {
			return eventstore.Receipt{}, err
		}
		kept = l.payloads.storeInBackground(payloadsOf(commits), 0)
		store = func() ([]uint64, error) {
			if log == domain.State && len(msgs) > 1 {
				return l.batcher.append(ctx, commits, msgs)
			}
			return l.publish(ctx, log, commits, msgs)
		}
	}
	err = l.conn.writeDurably(ctx, string(log), func() (message uint64, err error) {
		if seqs, err = store(); err != nil {
			return 0, err
		}
		return l.numbering(log).message(seqs[len(seqs)-1]), nil
	})
	if err != nil {
		return eventstore.Receipt{}, err
	}
	last := seqs[len(seqs)-1]
	l.advanceKnown(log, last)
	if kept != nil {
		select {
		case <-kept:
		case <-ctx.Done():
		}
	}
	return eventstore.Receipt{Seqs: seqs, Position: domain.At(log, last)}, nil
}

// logOfAll returns the log of commits, which belong to one.
func logOfAll(commits []eventstore.Commit) (log domain.Log, err error) {
	facts := 0
	for i, c := range commits {
		if i == 0 {
			log = logOf(c)
		} else if logOf(c) != log {
			return "", errors.New("jetstream: one append cannot span two logs")
		}
		facts += len(c.Facts)
	}
	if facts == 0 || facts > maxFacts || len(commits[0].Facts) == 0 {
		return "", fmt.Errorf("jetstream: an append takes 1 to %d facts, not %d", maxFacts, facts)
	}
	return log, nil
}

// encodeCommits encodes commits as one message for each fact.
func (l *Log) encodeCommits(log domain.Log, commits []eventstore.Commit) (msgs []*nats.Msg, err error) {
	now := l.conn.opts.Now()
	for _, c := range commits {
		for j, f := range c.Facts {
			m, err := l.encode(c, f, now)
			if err != nil {
				return nil, err
			}
			if log == domain.State && j == 0 {
				m.Header[headerExpect] = []string{strconv.FormatUint(c.Expected, 10)}
				m.Header[headerExpectOn] = []string{aggregateFilter(c.Stream)}
			}
			msgs = append(msgs, m)
		}
	}
	return msgs, nil
}

// publish sends the messages until the outcome is known, for as long as ctx and MaxWait allow. Ids
// and expectations stay the same, so that the broker recognises a repeated message.
func (l *Log) publish(ctx context.Context, log domain.Log, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error) {
	if len(msgs) > 1 {
		select {
		case l.batches <- struct{}{}:
			defer func() { <-l.batches }()
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: too many atomic appends at once: %w", eventstore.ErrUnavailable, ctx.Err())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, l.conn.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		messages, duplicate, err := l.send(ctx, log, msgs)
		if err == nil && !duplicate {
			return l.toSeqs(log, messages), nil
		}
		switch errorCode(err) {
		case codeWrongLastSequence, codeWrongLastSequenceConstant, codeDuplicateInBatch:
			return l.findStored(ctx, log, commits, msgs)
		case codeStoreFailed, codeInsufficientResources, codeStorageExceeded:
			return nil, l.conn.storageError(err)
		case codeDuplicateInProcess, codeBatchIncomplete, codeTooManyBatches:
		case 0:
			if duplicate {
				return l.verifyStored(ctx, log, commits, l.numbering(log).last(messages[0]))
			}
			if !isTransient(err) {
				return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
			}
		default:
			return nil, fmt.Errorf("append: %w", err)
		}
		if !l.conn.waitRetry(ctx, attempt) {
			return nil, fmt.Errorf("%w: the outcome is unknown: %w", eventstore.ErrUnavailable, err)
		}
		if err := l.conn.Writable(); err != nil {
			return nil, err
		}
	}
}

// toSeqs returns the sequences of the events of messages that have one each.
func (l *Log) toSeqs(log domain.Log, messages []uint64) []uint64 {
	n := l.numbering(log)
	for i, message := range messages {
		messages[i] = n.last(message)
	}
	return messages
}

// send makes one attempt to store msgs, all or none, and returns their sequences. duplicate says that the
// first id is stored already.
func (l *Log) send(ctx context.Context, log domain.Log, msgs []*nats.Msg) (seqs []uint64, duplicate bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.conn.attemptWait())
	defer cancel()
	if len(msgs) == 1 {
		ask := l.conn.request
		if l.usesGroups(log) {
			ask = l.publishSingle
		}
		ack, err := ask(ctx, msgs[0])
		return []uint64{ack.Sequence}, ack.Duplicate, err
	}
	if l.usesGroups(log) {
		return l.sendGroup(ctx, msgs)
	}
	seqs, err = l.sendBatch(ctx, msgs)
	return seqs, false, err
}

// sendBatch stores several messages atomically. The broker answers the first and the last; when one in
// between is refused, it answers the last as incomplete.
func (l *Log) sendBatch(ctx context.Context, msgs []*nats.Msg) ([]uint64, error) {
	id := msgs[0].Header.Get(headerID)
	for i, m := range msgs {
		m.Header[headerBatch] = []string{id}
		m.Header[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
		m.Header[headerBatchSize] = []string{strconv.Itoa(len(msgs))}
	}
	first, last := msgs[0], msgs[len(msgs)-1]
	if _, err := l.conn.request(ctx, first); err != nil {
		return nil, err
	}
	for _, m := range msgs[1 : len(msgs)-1] {
		if err := l.conn.nc.PublishMsg(m); err != nil {
			return nil, err
		}
	}
	last.Header[headerBatchCommit] = []string{"1"}
	ack, err := l.conn.request(ctx, last)
	if err != nil {
		return nil, err
	}
	return sequenceRange(ack.Sequence-uint64(len(msgs)-1), len(msgs)), nil
}

// sequenceRange returns n consecutive sequences.
func sequenceRange(first uint64, n int) []uint64 {
	seqs := make([]uint64, n)
	for i := range seqs {
		seqs[i] = first + uint64(i)
	}
	return seqs
}

// Headers of a group, which the broker does not know: see sendGroup.
const (
	headerGroup    = "Svc-Run"
	headerGroupSeq = "Svc-Run-Seq"
)

// usesGroups reports whether several messages of a log are sent as a group instead of an atomic batch
// of the broker. Each batch is a file store of its own there, with several fsyncs. STATE needs it,
// because the broker must check all expectations at once. A group needs a store that is the only
// writer.
func (l *Log) usesGroups(log domain.Log) bool { return log == domain.Activity && l.conn.Alone() }

// sendGroup stores several messages at consecutive sequences. The broker stores messages in the order
// of the connection, and orderMu keeps others from being sent in between. Readers hold the first
// ones until the last is there, as with a batch, so that all of them count or none.
func (l *Log) sendGroup(ctx context.Context, msgs []*nats.Msg) (seqs []uint64, duplicate bool, err error) {
	id := msgs[0].Header.Get(headerID)
	for i, m := range msgs {
		m.Header[headerGroup] = []string{id}
		m.Header[headerGroupSeq] = []string{strconv.Itoa(i + 1)}
		m.Header[headerBatchSize] = []string{strconv.Itoa(len(msgs))}
	}
	first, last, err := l.publishGroup(ctx, msgs)
	switch {
	case err != nil || first.Duplicate:
		return []uint64{first.Sequence}, first.Duplicate, err
	case last.Sequence-first.Sequence != uint64(len(msgs)-1):
		return nil, false, fmt.Errorf("%w: %d messages of a group have the sequences %d to %d", eventstore.ErrUnavailable, len(msgs), first.Sequence, last.Sequence)
	}
	return sequenceRange(first.Sequence, len(msgs)), false, nil
}

// publishGroup sends messages without waiting in between, and returns the answers to the first and
// the last. The broker does not answer the others.
func (l *Log) publishGroup(ctx context.Context, msgs []*nats.Msg) (first, last pubAck, err error) {
	answers := l.conn.replies.open(2)
	defer answers.close()
	begin, end := answers.subject("first"), answers.subject("last")
	for _, m := range msgs {
		m.Reply = ""
	}
	msgs[0].Reply, msgs[len(msgs)-1].Reply = begin, end
	if err := l.publishAll(msgs); err != nil {
		return first, last, err
	}
	var faults [2]error
	for range faults {
		answer, err := answers.next(ctx)
		if err != nil {
			return first, last, err
		}
		if answer.Subject == begin {
			first, faults[0] = parsePubAck(answer)
		} else {
			last, faults[1] = parsePubAck(answer)
		}
	}
	return first, last, errors.Join(faults[:]...)
}

// publishAll sends messages that get consecutive sequences.
func (l *Log) publishAll(msgs []*nats.Msg) error {
	l.orderMu.Lock()
	defer l.orderMu.Unlock()
	for _, m := range msgs {
		if err := l.conn.nc.PublishMsg(m); err != nil {
			return err
		}
	}
	return nil
}

// publishSingle sends one message, not between those of a group, and returns its answer.
func (l *Log) publishSingle(ctx context.Context, m *nats.Msg) (pubAck, error) {
	answers := l.conn.replies.open(1)
	defer answers.close()
	m.Reply = answers.subject("only")
	l.orderMu.RLock()
	err := l.conn.nc.PublishMsg(m)
	l.orderMu.RUnlock()
	if err != nil {
		return pubAck{}, err
	}
	answer, err := answers.next(ctx)
	if err != nil {
		return pubAck{}, err
	}
	return parsePubAck(answer)
}

// findStored resolves an append that was refused for its expectation or for a known id: when the
// events that follow the expectation are those of the append, an earlier attempt was stored and its
// answer was lost.
func (l *Log) findStored(ctx context.Context, log domain.Log, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error) {
	if log == domain.Activity {
		return l.findStoredActivity(ctx, commits, msgs)
	}
	c := commits[0]
	m, ok, err := l.conn.getMessage(ctx, string(log), getRequest{NextFor: aggregateFilter(c.Stream), Seq: c.Expected + 1})
	if err != nil {
		return nil, err
	}
	if !ok || m.header.Get(headerID) != c.Facts[0].ID {
		return nil, eventstore.ErrConflict
	}
	return l.verifyStored(ctx, log, commits, l.numbering(log).last(m.seq))
}

// findStoredActivity finds a commit without an expectation: the broker answers its first event, sent
// again by itself, with its sequence.
func (l *Log) findStoredActivity(ctx context.Context, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error) {
	first := &nats.Msg{Subject: msgs[0].Subject, Data: msgs[0].Data, Header: nats.Header{
		headerID: msgs[0].Header[headerID], headerType: msgs[0].Header[headerType],
	}}
	ack, err := l.conn.request(ctx, first)
	if err != nil || !ack.Duplicate {
		return nil, fmt.Errorf("%w: the outcome is unknown: %w", eventstore.ErrUnavailable, errors.Join(err, errors.New("an id was refused as known, and is not")))
	}
	return l.verifyStored(ctx, domain.Activity, commits, l.numbering(domain.Activity).last(ack.Sequence))
}

// verifyStored checks that the facts of commits are stored from seq on, and returns their sequences.
func (l *Log) verifyStored(ctx context.Context, log domain.Log, commits []eventstore.Commit, seq uint64) (seqs []uint64, err error) {
	message := l.numbering(log).message(seq)
	events, err := l.committedAt(ctx, log, message)
	if err != nil {
		return nil, err
	}
	for len(events) > 0 && events[0].Seq < seq {
		events = events[1:]
	}
	for _, c := range commits {
		for _, f := range c.Facts {
			if len(events) == 0 {
				message++
				if events, err = l.committedAt(ctx, log, message); err != nil {
					return nil, err
				}
			}
			if len(events) == 0 || events[0].ID != f.ID || events[0].Stream != c.Stream {
				return nil, usedTwice(f.ID)
			}
			if _, void := events[0].Data.(domain.Void); void {
				return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, eventstore.ErrVoidIDs)
			}
			seqs, events = append(seqs, events[0].Seq), events[1:]
		}
	}
	return seqs, nil
}

// usedTwice says that an id is that of another event.
func usedTwice(id string) error { return fmt.Errorf("jetstream: event id %s is used twice", id) }

// committedAt returns the events of the message at a sequence; none when there is none.
func (l *Log) committedAt(ctx context.Context, log domain.Log, message uint64) ([]domain.Recorded, error) {
	m, ok, err := l.messageAt(ctx, log, message)
	if err != nil || !ok {
		return nil, err
	}
	return l.decodeCommitted(ctx, log, m)
}
