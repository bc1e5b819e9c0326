package jetstream

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/domain/collection"
	"svc/eventstore"
)

// Collections keeps the entries of collections, which are a kind of user data.
type Collections struct {
	conn *connection
	data *Data
}

// Alone reports whether nobody but this process writes.
func (c *Collections) Alone() bool { return c.conn.Alone() }

// collectionsFilter matches the entries of all namespaces, but not their parts, which have longer
// subjects.
const collectionsFilter = dataRoot + "*." + collection.Kind + ".*"

// Append adds an entry to a namespace, after the one at expected, and returns its sequence once it is
// durable. A snapshot replaces all before it, which is purged. It fails like Log.Append.
func (c *Collections) Append(ctx context.Context, id domain.StreamID, name string, expected uint64, snapshot bool, body []byte) (uint64, error) {
	return c.data.append(ctx, id, dataChange{ID: dataID(dataSubject(id), name), Expected: expected, Snapshot: snapshot, Body: body})
}

// PutPart stores one part of an entry that is too large for a message, before the entry, and returns its
// sequence. It is durable when the entry is.
func (c *Collections) PutPart(ctx context.Context, id domain.StreamID, name string, n int, body []byte) (uint64, error) {
	if err := c.conn.Writable(); err != nil {
		return 0, err
	}
	subject := partsSubject(dataSubject(id), name)
	return c.conn.sendUnconditional(ctx, &nats.Msg{
		Subject: subject, Data: append(binary.AppendUvarint(nil, uint64(n)), body...),
		Header: nats.Header{headerID: {dataID(subject, strconv.Itoa(n))}},
	})
}

// ReadParts calls visit with the parts of an entry, in order. It fails with collection.ErrUnreadable
// unless there are count parts.
func (c *Collections) ReadParts(ctx context.Context, id domain.StreamID, name string, count int, visit func(body []byte) error) error {
	subject, seen := partsSubject(dataSubject(id), name), 0
	for after, more := uint64(0), true; more; {
		var msgs []storedMessage
		var err error
		if msgs, more, err = c.conn.getMessages(ctx, streamData, subject, after+1, partsBatch); err != nil {
			return err
		}
		for _, m := range msgs {
			after = m.seq
			n, used := binary.Uvarint(m.data)
			if used <= 0 || n != uint64(seen) {
				continue // a duplicate, sent again after a lost answer
			}
			if err := visit(m.data[used:]); err != nil {
				return err
			}
			seen++
		}
	}
	if seen != count {
		return fmt.Errorf("%w: there are %d of %d parts", collection.ErrUnreadable, seen, count)
	}
	return nil
}

// partsBatch is how many parts are read with one request.
const partsBatch = 16

// DropParts erases the parts of a namespace before a sequence.
func (c *Collections) DropParts(ctx context.Context, id domain.StreamID, below uint64) error {
	return c.conn.purgeBelow(ctx, streamData, dataSubject(id)+".*", below)
}

// Since calls visit with the entries of a namespace after a sequence, in order, once all of them are
// durable.
func (c *Collections) Since(ctx context.Context, id domain.StreamID, after uint64, visit func(collection.Logged) error) error {
	msgs, err := c.data.readAll(ctx, dataSubject(id), after)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if err := visit(collectionsEntry(id, m.seq, m.header, m.data)); err != nil {
			return err
		}
	}
	return nil
}

// collectionsEntry decodes a message.
func collectionsEntry(id domain.StreamID, seq uint64, header nats.Header, body []byte) collection.Logged {
	previous, _ := strconv.ParseUint(header.Get(headerExpect), 10, 64)
	return collection.Logged{Stream: id, ID: header.Get(headerID), Seq: seq, Previous: previous, Snapshot: header.Get(headerSnapshot) != "", Body: body}
}

// Last returns the sequence of the last entry of a namespace, 0 for none, from the leader.
func (c *Collections) Last(ctx context.Context, id domain.StreamID) (uint64, error) {
	m, _, err := c.conn.getMessage(ctx, streamData, getRequest{LastFor: dataSubject(id)})
	return m.seq, err
}

// Info returns the identity of the stream, its last sequence, and the sequence of the last entry.
func (c *Collections) Info(ctx context.Context) (identity string, reach, last uint64, err error) {
	err = c.conn.retryRead(ctx, func(ctx context.Context) error {
		st, err := c.conn.js.Stream(ctx, streamData)
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		info := st.CachedInfo()
		identity, reach = info.Created.UTC().Format(time.RFC3339Nano), info.State.LastSeq
		return nil
	})
	if err != nil {
		return "", 0, 0, err
	}
	m, _, err := c.conn.getMessage(ctx, streamData, getRequest{LastFor: collectionsFilter})
	return identity, max(reach, m.seq), m.seq, err
}

// IDs lists the namespaces of collections that have entries.
func (c *Collections) IDs(ctx context.Context) (ids []domain.StreamID, err error) {
	err = c.conn.retryRead(ctx, func(ctx context.Context) error {
		info, err := c.conn.subjectsInfo(ctx, streamData, collectionsFilter)
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		ids = ids[:0]
		for subject := range info.State.Subjects {
			ids = append(ids, collectionsID(subject))
		}
		return nil
	})
	return ids, err
}

// collectionsID returns the namespace of a subject.
func collectionsID(subject string) domain.StreamID {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return domain.StreamID{}
	}
	return domain.StreamID{Scope: untoken(tokens[2]), Kind: collection.Kind, ID: untoken(tokens[4])}
}

// untoken decodes a token that was not truncated.
func untoken(s string) string {
	text, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return text
}

// Follow calls handle with the entries of all collections from a sequence on, in order, once they are
// durable, and with the number of those that follow. It returns when ctx ends or handle fails.
func (c *Collections) Follow(ctx context.Context, from uint64, handle func(entries []collection.Logged, pending uint64) error) error {
	r := &dataReader{conn: c.conn, next: max(from, 1), handle: handle}
	return readUntilDone(ctx, r.follow)
}

// dataReader is one call of Follow.
type dataReader struct {
	conn   *connection
	next   uint64
	handle func([]collection.Logged, uint64) error
}

// follow reads with one consumer for as long as it lasts.
func (r *dataReader) follow(ctx context.Context) error {
	from, consumer, err := r.conn.newOrderedReader(ctx, streamData, r.next, collectionsFilter)
	if err != nil {
		return r.retryLater(ctx, err)
	}
	defer from.stop()
	if from.pending == 0 {
		if err := r.handle(nil, 0); err != nil {
			return err
		}
	}
	if err := from.start(consumer, batchEvents); err != nil {
		return r.retryLater(ctx, err)
	}
	return from.forward(func(m jetstream.Msg, more <-chan jetstream.Msg) error { return r.batch(ctx, m, more) })
}

// retryLater logs an error, waits, and returns errConsumerGone.
func (r *dataReader) retryLater(ctx context.Context, err error) error {
	r.conn.opts.Log.Warn("reading collections was interrupted, trying again", "err", err)
	r.conn.waitRetry(ctx, 10)
	return errConsumerGone
}

// batch hands over the messages that have arrived.
func (r *dataReader) batch(ctx context.Context, m jetstream.Msg, more <-chan jetstream.Msg) error {
	var entries []collection.Logged
	pending := uint64(0)
	for size := 0; ; {
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("collections: a message without a place: %w", err)
		}
		entries = append(entries, collectionsEntry(collectionsID(m.Subject()), meta.Sequence.Stream, m.Headers(), m.Data()))
		pending = meta.NumPending
		if size += len(m.Data()); len(entries) >= batchEvents || size >= batchBytes {
			break
		}
		select {
		case m = <-more:
			continue
		default:
		}
		break
	}
	last := entries[len(entries)-1].Seq
	if err := r.conn.waitDurable(ctx, streamData, last); err != nil {
		return r.retryLater(ctx, err)
	}
	if err := r.handle(entries, pending); err != nil {
		return err
	}
	r.next = last + 1
	return nil
}
