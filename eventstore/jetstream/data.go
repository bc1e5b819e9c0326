package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// Data keeps user data that changes often and is no history: operations since the last
// snapshot.
type Data struct{ conn *connection }

// Alone reports whether nobody but this process writes.
func (d *Data) Alone() bool { return d.conn.Alone() }

// headerSnapshot marks an operation that replaces all before it.
const headerSnapshot = "Svc-Snapshot"

// dataChange is one operation to be added.
type dataChange struct {
	ID       string // repeated with the same id it is stored once
	Expected uint64 // sequence of the last operation; 0 for none
	Snapshot bool   // replaces all before it, which is then purged
	Body     []byte
}

// append adds a change to the data of id and returns its sequence once it is durable. It fails
// like Log.Append.
func (d *Data) append(ctx context.Context, id domain.StreamID, c dataChange) (seq uint64, err error) {
	if err := d.conn.Writable(); err != nil {
		return 0, err
	}
	subject := dataSubject(id)
	m := &nats.Msg{Subject: subject, Data: c.Body, Header: nats.Header{
		headerID: {c.ID}, headerExpect: {strconv.FormatUint(c.Expected, 10)},
	}}
	if c.Snapshot {
		m.Header[headerSnapshot] = []string{"1"}
	}
	err = d.conn.writeDurably(ctx, streamData, func() (uint64, error) {
		seq, err = d.conn.sendUntilKnown(ctx, streamData, m, getRequest{NextFor: subject, Seq: c.Expected + 1})
		return seq, err
	})
	if err == nil && c.Snapshot {
		if err := d.conn.purgeBelow(ctx, streamData, subject, seq); err != nil {
			d.conn.opts.Log.Warn("operations before a snapshot were not purged; the next one does it", "data", id.String(), "err", err)
		}
	}
	return seq, err
}

func dataSubject(id domain.StreamID) string {
	return dataRoot + token(id.Scope) + "." + token(id.Kind) + "." + token(id.ID)
}

// The first byte of a message says how the body of its operation is stored. A body that is too large
// for one message is stored in parts first, on a subject below that of the data.
const (
	bodyInline  byte = iota // the body follows
	bodyInParts             // the number of parts and their name follow
	bodyUnknown
)

// maxInline is the largest body that is stored in one message.
const maxInline = 256 << 10

// Put adds an operation to the data of id, whatever others added before. It calls stored with the
// sequence and the name of the parts as soon as the broker has stored it, and returns when it is
// durable. An operation that is repeated under the same name is stored once. It fails like
// Log.Append.
func (d *Data) Put(ctx context.Context, id domain.StreamID, name string, body []byte, stored func(seq uint64, parts string)) error {
	f, err := d.encodeBody(ctx, id, name, body)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: f.subject, Data: f.message, Header: nats.Header{headerID: {dataID(f.subject, name)}}}
	return d.conn.writeDurably(ctx, streamData, func() (uint64, error) {
		seq, err := d.conn.sendUnconditional(ctx, m)
		if err == nil {
			stored(seq, f.parts)
			d.purgeUnusedParts(ctx, f, seq)
		}
		return seq, err
	})
}

// purgeUnusedParts erases the parts of an operation that was stored already, with parts of its own.
func (d *Data) purgeUnusedParts(ctx context.Context, f encodedBody, seq uint64) {
	if f.parts == "" {
		return
	}
	m, ok, err := d.conn.getMessage(ctx, streamData, getRequest{Seq: seq})
	if err == nil && ok && !bytes.Equal(m.data, f.message) {
		err = d.conn.purgeBelow(ctx, streamData, partsSubject(f.subject, f.parts), 0)
	}
	if err != nil {
		d.conn.opts.Log.Warn("unused parts of an operation were not purged", "subject", f.subject, "err", err)
	}
}

// Replace replaces the data of id by body. That is durable when it returns nil.
func (d *Data) Replace(ctx context.Context, id domain.StreamID, name string, body []byte) error {
	f, err := d.encodeBody(ctx, id, name, body)
	if err != nil {
		return err
	}
	_, err = d.append(ctx, id, dataChange{ID: dataID(f.subject, name), Body: f.message})
	if !errors.Is(err, eventstore.ErrConflict) {
		return err // in most cases there was no data before
	}
	m := &nats.Msg{Subject: f.subject, Data: f.message, Header: nats.Header{
		headerID: {dataID(f.subject, name+"-again")}, headerSnapshot: {"1"},
	}}
	first := f.first
	err = d.conn.writeDurably(ctx, streamData, func() (uint64, error) {
		seq, err := d.conn.sendUnconditional(ctx, m)
		if first == 0 {
			first = seq
		}
		return seq, err
	})
	if err != nil {
		return err
	}
	if err := d.Drop(ctx, id, first); err != nil {
		d.conn.opts.Log.Warn("replaced data was not purged", "data", id.String(), "err", err)
	}
	return nil
}

// Fold replaces the operations of id up to a sequence, and the named parts, by a snapshot. It
// returns the sequence of the snapshot once it is durable, and the name of its parts. It fails
// with eventstore.ErrConflict when operations were added since.
func (d *Data) Fold(ctx context.Context, id domain.StreamID, name string, upTo uint64, replaced []string, body []byte) (seq uint64, parts string, err error) {
	f, err := d.encodeBody(ctx, id, name, body)
	if err != nil {
		return 0, "", err
	}
	seq, err = d.append(ctx, id, dataChange{ID: dataID(f.subject, name), Expected: upTo, Snapshot: true, Body: f.message})
	switch {
	case errors.Is(err, eventstore.ErrConflict) && f.parts != "":
		replaced = []string{f.parts} // nothing names them
	case err != nil:
		return 0, "", err
	}
	for _, name := range replaced {
		if err := d.conn.purgeBelow(ctx, streamData, partsSubject(f.subject, name), 0); err != nil {
			d.conn.opts.Log.Warn("parts of replaced data were not purged", "data", id.String(), "err", err)
		}
	}
	return seq, f.parts, err
}

// dataID is the message id of an operation, which is unique in its stream.
func dataID(subject, name string) string { return subject + "#" + name }

func partsSubject(subject, name string) string { return subject + "." + token(name) }

// encodedBody is a body as it is stored.
type encodedBody struct {
	subject string
	message []byte
	parts   string // the name of its parts; "" when it has none
	first   uint64 // the sequence of the first of them
}

// encodeBody returns the message of a body, and stores its parts if it has any. The name of the
// parts has a hash of the body: a repeated operation may be sealed again, and the parts of the two
// must not be mixed.
func (d *Data) encodeBody(ctx context.Context, id domain.StreamID, name string, body []byte) (f encodedBody, err error) {
	f.subject = dataSubject(id)
	if err := d.conn.Writable(); err != nil {
		return f, err
	}
	if len(body) <= maxInline {
		f.message = append([]byte{bodyInline}, body...)
		return f, nil
	}
	sum := sha256.Sum256(body)
	f.parts = name + "-" + hex.EncodeToString(sum[:8])
	n, subject := 0, partsSubject(f.subject, f.parts)
	for chunk := range slices.Chunk(body, maxInline) {
		seq, err := d.conn.sendUnconditional(ctx, &nats.Msg{
			Subject: subject, Data: append(binary.AppendUvarint(nil, uint64(n)), chunk...),
			Header: nats.Header{headerID: {dataID(subject, strconv.Itoa(n))}},
		})
		if err != nil {
			return f, err
		}
		if n++; n == 1 {
			f.first = seq
		}
	}
	f.message = append(binary.AppendUvarint([]byte{bodyInParts}, uint64(n)), f.parts...)
	return f, nil
}

const (
	dataBatch = 64 // messages of the largest size in one request
	maxReads  = 5  // attempts to read data whose parts are replaced meanwhile
)

// errNoParts says that the parts of an operation are missing: a snapshot has replaced it since, or
// it is damaged.
var errNoParts = errors.New("parts of stored data are missing")

// Since calls visit with each operation of id after a sequence, in order, once all of them are
// durable. A snapshot replaces all before it. parts is the name of the parts of an operation.
func (d *Data) Since(ctx context.Context, id domain.StreamID, after uint64, visit func(seq uint64, snapshot bool, parts string, body []byte) error) error {
	var found []dataOperation
	for attempt := 1; ; attempt++ {
		var err error
		found, err = d.readData(ctx, dataSubject(id), after)
		if err == nil {
			break
		}
		if !errors.Is(err, errNoParts) || attempt == maxReads {
			return fmt.Errorf("read %s: %w", id, err)
		}
	}
	for _, op := range found {
		if err := visit(op.seq, op.snapshot, op.parts, op.body); err != nil {
			return err
		}
	}
	return nil
}

// WaitDurable waits until the operations up to a sequence are durable.
func (d *Data) WaitDurable(ctx context.Context, seq uint64) error {
	return d.conn.waitDurable(ctx, streamData, seq)
}

// Drop erases the data of id, and its parts, before a sequence; everything when that is 0.
func (d *Data) Drop(ctx context.Context, id domain.StreamID, below uint64) error {
	if err := d.conn.purgeBelow(ctx, streamData, dataSubject(id), below); err != nil {
		return err
	}
	return d.conn.purgeBelow(ctx, streamData, dataSubject(id)+".>", below)
}

// IDs lists the ids of the data of one kind in a workspace that need no encoding in a subject.
func (d *Data) IDs(ctx context.Context, workspaceID, kind string) (ids []string, err error) {
	prefix := dataRoot + token(workspaceID) + "." + token(kind) + "."
	err = d.conn.retryRead(ctx, func(ctx context.Context) error {
		info, err := d.conn.subjectsInfo(ctx, streamData, prefix+"*")
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		ids = ids[:0]
		for subject := range info.State.Subjects {
			if id := strings.TrimPrefix(subject, prefix); isPlainToken(id) {
				ids = append(ids, id)
			}
		}
		return nil
	})
	slices.Sort(ids)
	return ids, err
}

// dataOperation is one change of a piece of user data since its last snapshot, or that snapshot.
type dataOperation struct {
	seq      uint64
	snapshot bool
	parts    string // name of its parts; "" when it has none
	body     []byte
}

// readData returns the operations of a subject after a sequence, without those before a snapshot.
func (d *Data) readData(ctx context.Context, subject string, after uint64) ([]dataOperation, error) {
	msgs, err := d.readAll(ctx, subject, after)
	if err != nil {
		return nil, err
	}
	for i := len(msgs) - 1; i > 0; i-- {
		if msgs[i].header.Get(headerSnapshot) != "" {
			msgs = msgs[i:] // the purge is under way, or a crash prevented it
			break
		}
	}
	ops := make([]dataOperation, len(msgs))
	for i, m := range msgs {
		if ops[i], err = d.decodeOperation(ctx, subject, m); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// readAll returns the messages of a subject after a sequence, once they are durable.
func (d *Data) readAll(ctx context.Context, subject string, after uint64) (all []storedMessage, err error) {
	err = d.conn.visitMessages(ctx, streamData, subject, after, dataBatch, func(m storedMessage) error {
		all = append(all, m)
		return nil
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all, d.conn.waitDurable(ctx, streamData, all[len(all)-1].seq)
}

// decodeOperation decodes a message and joins the parts of its body.
func (d *Data) decodeOperation(ctx context.Context, subject string, m storedMessage) (op dataOperation, err error) {
	op = dataOperation{seq: m.seq, snapshot: m.header.Get(headerSnapshot) != ""}
	switch count, name, form := parseBody(m.data); form {
	case bodyInline:
		op.body = m.data[1:]
	case bodyInParts:
		op.parts = name
		op.body, err = d.joinParts(ctx, partsSubject(subject, name), count)
	default:
		err = errDamaged
	}
	return op, err
}

// parseBody reads how a body is stored, and the number and the name of its parts. The form is
// bodyUnknown when the message is damaged.
func parseBody(data []byte) (count uint64, name string, form byte) {
	switch {
	case len(data) == 0 || data[0] > bodyInParts:
		return 0, "", bodyUnknown
	case data[0] == bodyInline:
		return 0, "", bodyInline
	}
	count, used := binary.Uvarint(data[1:])
	if used <= 0 {
		return 0, "", bodyUnknown
	}
	return count, string(data[1+used:]), bodyInParts
}

// joinParts returns a body that was stored in count parts. A part that was sent again after a lost
// answer is there twice.
func (d *Data) joinParts(ctx context.Context, subject string, count uint64) ([]byte, error) {
	msgs, err := d.readAll(ctx, subject, 0)
	if err != nil {
		return nil, err
	}
	var body []byte
	next := uint64(0)
	for _, m := range msgs {
		n, used := binary.Uvarint(m.data)
		if used > 0 && n == next {
			body = append(body, m.data[used:]...)
			next++
		}
	}
	if next != count {
		return nil, errNoParts
	}
	return body, nil
}

// Sweep erases the expired operations of one kind of data, each with its parts: of a workspace, or
// of all when that is empty. isExpired gets the first bytes of the body of an operation, at least
// those of its first part. A dry run only counts.
func (d *Data) Sweep(ctx context.Context, workspaceID, kind string, dry bool, isExpired func(start []byte) bool) (count, bytes uint64, err error) {
	w := &dataSweep{connection: d.conn, isExpired: isExpired, dry: dry}
	err = w.run(ctx, workspaceID, kind)
	return w.count, w.bytes, err
}

// SweepEach is Sweep for all workspaces; erased is told of the data whose operation was erased, if its workspace and id
// need no encoding in a subject. An error of it ends the sweep.
func (d *Data) SweepEach(ctx context.Context, kind string, isExpired func(start []byte) bool, erased func(ctx context.Context, workspaceID, id string) error) error {
	w := &dataSweep{connection: d.conn, isExpired: isExpired, erased: erased}
	return w.run(ctx, "", kind)
}

// run erases what has expired.
func (w *dataSweep) run(ctx context.Context, workspaceID, kind string) (err error) {
	if w.stream, err = w.js.Stream(ctx, streamData); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	filter := dataRoot + workspaceToken(workspaceID) + "." + token(kind) + ".*"
	for next, more := uint64(1), true; more; {
		var msgs []storedMessage
		if msgs, more, err = w.getMessages(ctx, streamData, filter, next, dataBatch); err != nil {
			return err
		}
		for _, m := range msgs {
			next = m.seq + 1
			if err := w.sweepMessage(ctx, m); err != nil {
				return fmt.Errorf("sweep %s: %w", m.header.Get(headerSubject), err)
			}
		}
	}
	if g := w.gate(streamData); g != nil && w.count > 0 && !w.dry {
		err = gateError(g.flush(ctx))
	}
	return err
}

// headerSubject has the subject of a message in the answer to a direct get.
const headerSubject = "Nats-Subject"

// dataSweep is one call of Sweep.
type dataSweep struct {
	*connection

	stream       jetstream.Stream
	isExpired    func(start []byte) bool
	erased       func(ctx context.Context, workspaceID, id string) error // nil: nobody is told
	dry          bool
	count, bytes uint64
}

// sweepMessage erases the operation of a message if it has expired. An operation whose parts are
// gone has expired, too.
func (w *dataSweep) sweepMessage(ctx context.Context, m storedMessage) error {
	count, name, form := parseBody(m.data)
	if form == bodyInline && w.isExpired(m.data[1:]) {
		return w.erase(ctx, m, "", uint64(len(m.data)-1))
	}
	if form != bodyInParts || count == 0 {
		return nil
	}
	parts := partsSubject(m.header.Get(headerSubject), name)
	start, _, err := w.readPart(ctx, getRequest{Seq: 1, NextFor: parts})
	if err != nil {
		return err
	}
	last, exists, err := w.readPart(ctx, getRequest{LastFor: parts})
	if err != nil || exists && !w.isExpired(start) {
		return err
	}
	return w.erase(ctx, m, parts, (count-1)*maxInline+uint64(len(last)))
}

// readPart returns the content of a part of an operation.
func (w *dataSweep) readPart(ctx context.Context, req getRequest) (body []byte, ok bool, err error) {
	m, ok, err := w.getMessage(ctx, streamData, req)
	if err != nil || !ok {
		return nil, ok, err
	}
	_, used := binary.Uvarint(m.data)
	return m.data[max(used, 0):], true, nil
}

// erase erases an operation, then its parts: a concurrent reader finds all of it or nothing.
func (w *dataSweep) erase(ctx context.Context, m storedMessage, parts string, size uint64) error {
	if w.count, w.bytes = w.count+1, w.bytes+size; w.dry {
		return nil
	}
	if err := w.Writable(); err != nil {
		return err
	}
	if err := w.stream.DeleteMsg(ctx, m.seq); err != nil {
		_, exists, unknown := w.getMessage(ctx, streamData, getRequest{Seq: m.seq})
		if exists || unknown != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, errors.Join(err, unknown))
		}
	}
	if parts != "" {
		if err := w.purgeBelow(ctx, streamData, parts, 0); err != nil {
			return err
		}
	}
	tokens := strings.Split(strings.TrimPrefix(m.header.Get(headerSubject), dataRoot), ".") // workspace, kind, id
	if w.erased == nil || len(tokens) != 3 || !isPlainToken(tokens[0]) || !isPlainToken(tokens[2]) {
		return nil
	}
	return w.erased(ctx, tokens[0], tokens[2])
}
