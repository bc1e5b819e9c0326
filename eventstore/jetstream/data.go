package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// headerSnapshot marks an operation that stands for all before it.
const headerSnapshot = "Svc-Snapshot"

// Operation is one change of a piece of user data since its last snapshot, or
// that snapshot.
type Operation struct {
	Seq      uint64
	Snapshot bool
	Body     []byte
}

// Change is one operation to be added to a piece of user data.
type Change struct {
	ID       string // repeated with the same id it is stored once
	Expected uint64 // sequence of the last operation; 0 for none
	Snapshot bool   // stands for everything before it, which is then purged
	Body     []byte
}

// AppendData adds a change to the data named by id and returns its sequence
// once it is on disk. It fails like Append.
func (s *Store) AppendData(ctx context.Context, id domain.StreamID, c Change) (seq uint64, err error) {
	if err := s.Writable(); err != nil {
		return 0, err
	}
	subject := dataSubject(id)
	m := &nats.Msg{Subject: subject, Data: c.Body, Header: nats.Header{
		headerID: {c.ID}, headerExpect: {strconv.FormatUint(c.Expected, 10)},
	}}
	if c.Snapshot {
		m.Header[headerSnapshot] = []string{"1"}
	}
	err = s.durably(ctx, streamData, func() (uint64, error) {
		seq, err = s.sendUntilKnown(ctx, streamData, m, getRequest{NextFor: subject, Seq: c.Expected + 1})
		return seq, err
	})
	if err == nil && c.Snapshot {
		if err := s.purgeBelow(ctx, streamData, subject, seq); err != nil {
			s.opts.Log.Warn("operations before a snapshot were not purged; the next one does it", "data", id.String(), "err", err)
		}
	}
	return seq, err
}

// sendUntilKnown publishes one message until its outcome is known. When it is
// refused for its expectation, winner names the message that may be it.
func (s *Store) sendUntilKnown(ctx context.Context, stream string, m *nats.Msg, winner getRequest) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		seq, err := s.sendOne(ctx, m)
		if errors.Is(err, eventstore.ErrConflict) {
			won, ok, getErr := s.get(ctx, stream, winner)
			if getErr == nil && ok && won.header.Get(headerID) == m.Header.Get(headerID) {
				return won.seq, nil
			}
			return 0, errors.Join(err, getErr)
		}
		if err == nil || !transient(err) || !s.pause(ctx, attempt) {
			return seq, err
		}
	}
}

// sendOne makes one attempt to publish a message.
func (s *Store) sendOne(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.attemptWait())
	defer cancel()
	ack, err := s.request(ctx, m)
	switch codeOf(err) {
	case codeWrongLastSequence, codeWrongLastSequenceConstant:
		return 0, eventstore.ErrConflict
	case codeStoreFailed, codeInsufficientResources, codeStorageExceeded:
		return 0, s.refused(err)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return ack.Sequence, nil
}

// LoadData returns the operations of id since its last snapshot, that snapshot
// first.
func (s *Store) LoadData(ctx context.Context, id domain.StreamID) ([]Operation, error) {
	least, err := s.leastLoad(ctx, streamData, dataSubject(id))
	if err != nil {
		return nil, err
	}
	var ops []Operation
	for last, attempt := uint64(0), 0; ; {
		msgs, more, err := s.fetch(ctx, streamData, dataSubject(id), last+1, loadBatch)
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			op := Operation{Seq: m.seq, Snapshot: m.header.Get(headerSnapshot) != "", Body: m.data}
			if op.Snapshot {
				ops = nil // a purge that a crash forestalled
			}
			ops = append(ops, op)
			last = m.seq
		}
		if !more && last >= least {
			return ops, s.onDisk(ctx, streamData, last)
		}
		if attempt++; !more && !s.pause(ctx, attempt) {
			return nil, fmt.Errorf("%w: the replica is behind", eventstore.ErrUnavailable)
		}
	}
}

// DeleteData erases everything kept under id.
func (s *Store) DeleteData(ctx context.Context, id domain.StreamID) error {
	return s.purgeBelow(ctx, streamData, dataSubject(id), 0)
}

func dataSubject(id domain.StreamID) string {
	return dataRoot + token(id.Scope) + "." + token(id.Kind) + "." + token(id.ID)
}

// purgeBelow erases the messages of subject before seq; all of them when 0.
func (s *Store) purgeBelow(ctx context.Context, stream, subject string, seq uint64) error {
	st, err := s.js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if seq > 0 {
		options = append(options, jetstream.WithPurgeSequence(seq))
	}
	if err := st.Purge(ctx, options...); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// PutPayload keeps the payload of one event apart from it, so that it can be
// erased without rewriting the log.
func (s *Store) PutPayload(ctx context.Context, workspace, eventID string, body []byte) error {
	if err := s.Writable(); err != nil {
		return err
	}
	m := &nats.Msg{Subject: payloadSubject(workspace, eventID), Data: body}
	return s.durably(ctx, streamPayloads, func() (uint64, error) { return s.sendOne(ctx, m) })
}

// GetPayload returns the payload of one event; ok is false when it was erased
// or never kept.
func (s *Store) GetPayload(ctx context.Context, workspace, eventID string) (body []byte, ok bool, err error) {
	m, ok, err := s.get(ctx, streamPayloads, getRequest{LastFor: payloadSubject(workspace, eventID)})
	return m.data, ok, err
}

func payloadSubject(workspace, eventID string) string {
	return payloadsRoot + token(workspace) + "." + token(eventID)
}
