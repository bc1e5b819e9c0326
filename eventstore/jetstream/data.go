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

// headerSnapshot marks an operation that stands for all before it.
const headerSnapshot = "Svc-Snapshot"

// operation is one change of a piece of user data since its last snapshot, or
// that snapshot.
type operation struct {
	Seq      uint64
	Snapshot bool
	Body     []byte
}

// dataChange is one operation to be added to a piece of user data.
type dataChange struct {
	ID       string // repeated with the same id it is stored once
	Expected uint64 // sequence of the last operation; 0 for none
	Snapshot bool   // stands for everything before it, which is then purged
	Body     []byte
}

// append adds a change to the data named by id and returns its sequence
// once it is on disk. It fails like Append.
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

// User data that several write at once, whatever the others write, and of any
// size: what is larger than one message takes is stored before in parts, on a
// subject below that of the data. The first byte of a message tells which it is.
const (
	bodyInline  byte = iota // the body follows
	bodyInParts             // how many parts there are, and their name, follow
)

// maxInline is how much one message holds.
const maxInline = 256 << 10

// Put adds an operation to the data of id, after whatever others added. It
// calls stored with its sequence, and the name of its parts, as soon as the log
// has it, and returns when it is on disk. Repeated with the same name it is
// stored once. It fails like Append.
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

// purgeUnusedParts erases the parts of an operation that turned out to be stored already,
// with parts of its own: nothing would ever find them.
func (d *Data) purgeUnusedParts(ctx context.Context, f encodedBody, seq uint64) {
	if f.parts == "" {
		return
	}
	m, ok, err := d.conn.getMessage(ctx, streamData, getRequest{Seq: seq})
	if err == nil && ok && !bytes.Equal(m.data, f.message) {
		err = d.conn.purgeBelow(ctx, streamData, partsSubject(f.subject, f.parts), 0)
	}
	if err != nil {
		d.conn.opts.Log.Warn("parts that nothing names were not purged", "subject", f.subject, "err", err)
	}
}

// Replace makes body all that there is of the data of id. It is on disk when it
// returns nil.
func (d *Data) Replace(ctx context.Context, id domain.StreamID, name string, body []byte) error {
	f, err := d.encodeBody(ctx, id, name, body)
	if err != nil {
		return err
	}
	_, err = d.append(ctx, id, dataChange{ID: dataID(f.subject, name), Body: f.message})
	if !errors.Is(err, eventstore.ErrConflict) {
		return err // nothing was there before, most often
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

// Fold replaces the operations of id up to a sequence, and the parts of those
// that are named, by a snapshot, and returns its sequence once it is on disk, and
// the name of its parts. It fails with eventstore.ErrConflict when others were
// added since.
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

// dataID is the broker's name for an operation, which is unique in its stream.
func dataID(subject, name string) string { return subject + "#" + name }

func partsSubject(subject, name string) string { return subject + "." + token(name) }

// encodedBody is what a body is stored as.
type encodedBody struct {
	subject string
	message []byte
	parts   string // the name of its parts; "" when it has none
	first   uint64 // the sequence of the first of them
}

// encodeBody returns the message that a body becomes, and stores its parts if it has
// any. Their name tells what they are parts of: an operation that is repeated may
// be sealed anew, and parts of the two must not be taken for one.
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
	dataBatch = 64 // messages of the largest size, asked for in one exchange
	maxReads  = 5  // of data whose parts are replaced meanwhile
)

// errNoParts says that the parts of an operation are not there: it has been
// replaced by a snapshot since, or it is damaged.
var errNoParts = errors.New("parts of stored data are missing")

// Since calls visit with each operation of id after a sequence, in order. A
// snapshot stands for all before it; parts names those of an operation that has any.
// What is handed over is on disk.
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
		if err := visit(op.Seq, op.Snapshot, op.parts, op.Body); err != nil {
			return err
		}
	}
	return nil
}

// WaitDurable waits until the operations up to a sequence are on disk.
func (d *Data) WaitDurable(ctx context.Context, seq uint64) error {
	return d.conn.waitDurable(ctx, streamData, seq)
}

// Delete erases the data of id before a sequence, with the parts that were
// stored before it; everything when it is 0.
func (d *Data) Drop(ctx context.Context, id domain.StreamID, below uint64) error {
	if err := d.conn.purgeBelow(ctx, streamData, dataSubject(id), below); err != nil {
		return err
	}
	return d.conn.purgeBelow(ctx, streamData, dataSubject(id)+".>", below)
}

// IDs lists the data of one kind that a workspace has, as far as their ids
// are plain.
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

// dataOperation is an operation with the name of its parts, if it has any.
type dataOperation struct {
	operation

	parts string
}

// readData returns the operations of a subject after a sequence; those before a
// snapshot are left out.
func (d *Data) readData(ctx context.Context, subject string, after uint64) ([]dataOperation, error) {
	msgs, err := d.readAll(ctx, subject, after, dataBatch)
	if err != nil {
		return nil, err
	}
	for i := len(msgs) - 1; i > 0; i-- {
		if msgs[i].header.Get(headerSnapshot) != "" {
			msgs = msgs[i:] // a purge is under way, or was forestalled
			break
		}
	}
	ops := make([]dataOperation, len(msgs))
	for i, m := range msgs {
		op := operation{Seq: m.seq, Snapshot: m.header.Get(headerSnapshot) != ""}
		if ops[i], err = d.decodeOperation(ctx, subject, op, m.data); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// readAll returns the messages of a subject after a sequence once they are on
// disk, so many at a time.
func (d *Data) readAll(ctx context.Context, subject string, after uint64, batch int) ([]storedMessage, error) {
	least, err := d.conn.lastOnLeader(ctx, streamData, subject)
	if err != nil || after > 0 && least == after {
		return nil, err
	}
	var all []storedMessage
	for attempt := 0; ; {
		msgs, more, err := d.conn.getMessages(ctx, streamData, subject, after+1, batch)
		if err != nil {
			return nil, err
		}
		if len(msgs) > 0 {
			all, after = append(all, msgs...), msgs[len(msgs)-1].seq
		}
		if !more && after >= least {
			break
		}
		if attempt++; !more && !d.conn.waitRetry(ctx, attempt) {
			return nil, fmt.Errorf("%w: the replica is behind", eventstore.ErrUnavailable)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, d.conn.waitDurable(ctx, streamData, after)
}

// decodeOperation takes a message apart and brings its parts together.
func (d *Data) decodeOperation(ctx context.Context, subject string, op operation, data []byte) (dataOperation, error) {
	if len(data) > 0 && data[0] == bodyInline {
		op.Body = data[1:]
		return dataOperation{operation: op}, nil
	}
	if len(data) == 0 || data[0] != bodyInParts {
		return dataOperation{}, errDamaged
	}
	count, used := binary.Uvarint(data[1:])
	if used <= 0 {
		return dataOperation{}, errDamaged
	}
	name := string(data[1+used:])
	body, err := d.joinParts(ctx, partsSubject(subject, name), count)
	op.Body = body
	return dataOperation{operation: op, parts: name}, err
}

// joinParts returns the body that was stored in so many parts. One that was stored
// again after its answer was lost is there twice.
func (d *Data) joinParts(ctx context.Context, subject string, count uint64) ([]byte, error) {
	msgs, err := d.readAll(ctx, subject, 0, dataBatch)
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

// Sweep erases the operations of one kind of data that are over, each with its
// parts: of a workspace, or of all when that is empty. Over is shown how the body of an
// operation begins. On a dry run they are only counted. All of the data is read, a
// little at a time.
func (d *Data) Sweep(ctx context.Context, workspaceID, kind string, dry bool, over func(start []byte) bool) (count, bytes uint64, err error) {
	w := dataSweep{connection: d.conn, isExpired: over, dry: dry}
	if w.stream, err = d.conn.js.Stream(ctx, streamData); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	filter := dataRoot + workspaceToken(workspaceID) + "." + token(kind) + ".*"
	for next, more := uint64(1), true; more; {
		var msgs []storedMessage
		if msgs, more, err = d.conn.getMessages(ctx, streamData, filter, next, dataBatch); err != nil {
			return w.count, w.bytes, err
		}
		for _, m := range msgs {
			next = m.seq + 1
			if err := w.sweepMessage(ctx, m); err != nil {
				return w.count, w.bytes, fmt.Errorf("sweep %s: %w", m.header.Get(headerSubject), err)
			}
		}
	}
	if g := d.conn.gate(streamData); g != nil && w.count > 0 && !dry {
		err = gateError(g.flush(ctx))
	}
	return w.count, w.bytes, err
}

// headerSubject is where a direct answer says which subject a message has.
const headerSubject = "Nats-Subject"

// dataSweep is one walk over data.
type dataSweep struct {
	*connection

	stream       jetstream.Stream
	isExpired    func(start []byte) bool
	dry          bool
	count, bytes uint64
}

// sweepMessage erases the operation of a message if it is over.
func (w *dataSweep) sweepMessage(ctx context.Context, m storedMessage) error {
	if len(m.data) > 0 && m.data[0] == bodyInline {
		if !w.isExpired(m.data[1:]) {
			return nil
		}
		return w.erase(ctx, m.seq, "", uint64(len(m.data)-1))
	}
	if len(m.data) == 0 || m.data[0] != bodyInParts {
		return nil // nobody knows what it is
	}
	count, used := binary.Uvarint(m.data[1:])
	if used <= 0 || count == 0 {
		return nil
	}
	parts := partsSubject(m.header.Get(headerSubject), string(m.data[1+used:]))
	start, _, err := w.readPart(ctx, getRequest{Seq: 1, NextFor: parts})
	if err != nil {
		return err
	}
	// Nothing can be made of an operation whose parts are gone: it is over, too.
	last, there, err := w.readPart(ctx, getRequest{LastFor: parts})
	if err != nil || there && !w.isExpired(start) {
		return err
	}
	return w.erase(ctx, m.seq, parts, (count-1)*maxInline+uint64(len(last)))
}

// readPart returns what a part of an operation holds.
func (w *dataSweep) readPart(ctx context.Context, req getRequest) (body []byte, ok bool, err error) {
	m, ok, err := w.getMessage(ctx, streamData, req)
	if err != nil || !ok {
		return nil, ok, err
	}
	_, used := binary.Uvarint(m.data)
	return m.data[max(used, 0):], true, nil
}

// erase erases an operation, and then its parts: who reads meanwhile finds all of it or
// nothing.
func (w *dataSweep) erase(ctx context.Context, seq uint64, parts string, size uint64) error {
	if w.count, w.bytes = w.count+1, w.bytes+size; w.dry {
		return nil
	}
	if err := w.Writable(); err != nil {
		return err
	}
	if err := w.stream.DeleteMsg(ctx, seq); err != nil {
		_, there, unknown := w.getMessage(ctx, streamData, getRequest{Seq: seq})
		if there || unknown != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, errors.Join(err, unknown))
		}
	}
	if parts == "" {
		return nil
	}
	return w.purgeBelow(ctx, streamData, parts, 0)
}
