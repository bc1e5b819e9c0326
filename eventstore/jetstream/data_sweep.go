package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"svc/eventstore"
)

// SweepData erases the operations of one kind of data that are over, each with its
// parts: of a workspace, or of all when that is empty. Over is shown how the body of an
// operation begins. On a dry run they are only counted. All of the data is read, a
// little at a time.
func (s *Store) SweepData(ctx context.Context, workspaceID, kind string, dry bool, over func(start []byte) bool) (count, bytes uint64, err error) {
	w := dataSweep{Store: s, over: over, dry: dry}
	if w.stream, err = s.js.Stream(ctx, streamData); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	filter := dataRoot + anyOr(workspaceID) + "." + token(kind) + ".*"
	for next, more := uint64(1), true; more; {
		var msgs []stored
		if msgs, more, err = s.fetch(ctx, streamData, filter, next, dataBatch); err != nil {
			return w.count, w.bytes, err
		}
		for _, m := range msgs {
			next = m.seq + 1
			if err := w.look(ctx, m); err != nil {
				return w.count, w.bytes, fmt.Errorf("sweep %s: %w", m.header.Get(headerSubject), err)
			}
		}
	}
	if g := s.gate(streamData); g != nil && w.count > 0 && !dry {
		err = gateError(g.flush(ctx))
	}
	return w.count, w.bytes, err
}

// headerSubject is where a direct answer says which subject a message has.
const headerSubject = "Nats-Subject"

// dataSweep is one walk over data.
type dataSweep struct {
	*Store

	stream       jetstream.Stream
	over         func(start []byte) bool
	dry          bool
	count, bytes uint64
}

// look erases the operation of a message if it is over.
func (w *dataSweep) look(ctx context.Context, m stored) error {
	if len(m.data) > 0 && m.data[0] == formWhole {
		if !w.over(m.data[1:]) {
			return nil
		}
		return w.erase(ctx, m.seq, "", uint64(len(m.data)-1))
	}
	if len(m.data) == 0 || m.data[0] != formParts {
		return nil // nobody knows what it is
	}
	count, used := binary.Uvarint(m.data[1:])
	if used <= 0 || count == 0 {
		return nil
	}
	parts := partsSubject(m.header.Get(headerSubject), string(m.data[1+used:]))
	start, _, err := w.part(ctx, getRequest{Seq: 1, NextFor: parts})
	if err != nil {
		return err
	}
	// Nothing can be made of an operation whose parts are gone: it is over, too.
	last, there, err := w.part(ctx, getRequest{LastFor: parts})
	if err != nil || there && !w.over(start) {
		return err
	}
	return w.erase(ctx, m.seq, parts, (count-1)*maxWhole+uint64(len(last)))
}

// part returns what a part of an operation holds.
func (w *dataSweep) part(ctx context.Context, req getRequest) (body []byte, ok bool, err error) {
	m, ok, err := w.get(ctx, streamData, req)
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
		_, there, unknown := w.get(ctx, streamData, getRequest{Seq: seq})
		if there || unknown != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, errors.Join(err, unknown))
		}
	}
	if parts == "" {
		return nil
	}
	return w.purgeBelow(ctx, streamData, parts, 0)
}
