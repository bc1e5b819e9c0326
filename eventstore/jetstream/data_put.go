package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// User data that several write at once, whatever the others write, and of any
// size: what is larger than one message takes is stored before in parts, on a
// subject below that of the data. The first byte of a message tells which it is.
const (
	formWhole byte = iota // the body follows
	formParts             // how many parts there are, and their name, follow
)

// maxWhole is how much one message holds.
const maxWhole = 256 << 10

// PutData adds an operation to the data of id, after whatever others added. It
// calls stored with its sequence, and the name of its parts, as soon as the log
// has it, and returns when it is on disk. Repeated with the same name it is
// stored once. It fails like Append.
func (s *Store) PutData(ctx context.Context, id domain.StreamID, name string, body []byte, stored func(seq uint64, parts string)) error {
	f, err := s.inForm(ctx, id, name, body)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: f.subject, Data: f.message, Header: nats.Header{headerID: {dataID(f.subject, name)}}}
	return s.durably(ctx, streamData, func() (uint64, error) {
		seq, err := s.sendBlind(ctx, m)
		if err == nil {
			stored(seq, f.parts)
			s.dropUnnamed(ctx, f, seq)
		}
		return seq, err
	})
}

// dropUnnamed erases the parts of an operation that turned out to be stored already,
// with parts of its own: nothing would ever find them.
func (s *Store) dropUnnamed(ctx context.Context, f form, seq uint64) {
	if f.parts == "" {
		return
	}
	m, ok, err := s.get(ctx, streamData, getRequest{Seq: seq})
	if err == nil && ok && !bytes.Equal(m.data, f.message) {
		err = s.purgeBelow(ctx, streamData, partsSubject(f.subject, f.parts), 0)
	}
	if err != nil {
		s.opts.Log.Warn("parts that nothing names were not purged", "subject", f.subject, "err", err)
	}
}

// ReplaceData makes body all that there is of the data of id. It is on disk when it
// returns nil.
func (s *Store) ReplaceData(ctx context.Context, id domain.StreamID, name string, body []byte) error {
	f, err := s.inForm(ctx, id, name, body)
	if err != nil {
		return err
	}
	_, err = s.AppendData(ctx, id, Change{ID: dataID(f.subject, name), Body: f.message})
	if !errors.Is(err, eventstore.ErrConflict) {
		return err // nothing was there before, most often
	}
	m := &nats.Msg{Subject: f.subject, Data: f.message, Header: nats.Header{
		headerID: {dataID(f.subject, name+"-again")}, headerSnapshot: {"1"},
	}}
	first := f.first
	err = s.durably(ctx, streamData, func() (uint64, error) {
		seq, err := s.sendBlind(ctx, m)
		if first == 0 {
			first = seq
		}
		return seq, err
	})
	if err != nil {
		return err
	}
	if err := s.DropData(ctx, id, first); err != nil {
		s.opts.Log.Warn("replaced data was not purged", "data", id.String(), "err", err)
	}
	return nil
}

// FoldData replaces the operations of id up to a sequence, and the parts of those
// that are named, by a snapshot, and returns its sequence once it is on disk, and
// the name of its parts. It fails with eventstore.ErrConflict when others were
// added since.
func (s *Store) FoldData(ctx context.Context, id domain.StreamID, name string, upTo uint64, replaced []string, body []byte) (seq uint64, parts string, err error) {
	f, err := s.inForm(ctx, id, name, body)
	if err != nil {
		return 0, "", err
	}
	seq, err = s.AppendData(ctx, id, Change{ID: dataID(f.subject, name), Expected: upTo, Snapshot: true, Body: f.message})
	switch {
	case errors.Is(err, eventstore.ErrConflict) && f.parts != "":
		replaced = []string{f.parts} // nothing names them
	case err != nil:
		return 0, "", err
	}
	for _, name := range replaced {
		if err := s.purgeBelow(ctx, streamData, partsSubject(f.subject, name), 0); err != nil {
			s.opts.Log.Warn("parts of replaced data were not purged", "data", id.String(), "err", err)
		}
	}
	return seq, f.parts, err
}

// sendBlind publishes a message without an expectation until its outcome is known.
func (s *Store) sendBlind(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		seq, err := s.sendOne(ctx, m)
		again := err != nil && (transient(err) || codeOf(err) == codeDuplicateInProcess)
		if !again || !s.pause(ctx, attempt) {
			return seq, err
		}
	}
}

// dataID is the broker's name for an operation, which is unique in its stream.
func dataID(subject, name string) string { return subject + "#" + name }

func partsSubject(subject, name string) string { return subject + "." + token(name) }

// form is what a body is stored as.
type form struct {
	subject string
	message []byte
	parts   string // the name of its parts; "" when it has none
	first   uint64 // the sequence of the first of them
}

// inForm returns the message that a body becomes, and stores its parts if it has
// any. Their name tells what they are parts of: an operation that is repeated may
// be sealed anew, and parts of the two must not be taken for one.
func (s *Store) inForm(ctx context.Context, id domain.StreamID, name string, body []byte) (f form, err error) {
	f.subject = dataSubject(id)
	if err := s.Writable(); err != nil {
		return f, err
	}
	if len(body) <= maxWhole {
		f.message = append([]byte{formWhole}, body...)
		return f, nil
	}
	sum := sha256.Sum256(body)
	f.parts = name + "-" + hex.EncodeToString(sum[:8])
	n, subject := 0, partsSubject(f.subject, f.parts)
	for chunk := range slices.Chunk(body, maxWhole) {
		seq, err := s.sendBlind(ctx, &nats.Msg{
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
	f.message = append(binary.AppendUvarint([]byte{formParts}, uint64(n)), f.parts...)
	return f, nil
}
