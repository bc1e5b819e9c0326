package jetstream

import (
	"context"
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

// AppendData adds an operation to the data named by id when its last one is
// expected (0: none), and returns its sequence once it is on disk. A snapshot
// stands for everything before it, which is then purged.
func (s *Store) AppendData(ctx context.Context, id domain.StreamID, expected uint64, snapshot bool, body []byte) (seq uint64, err error) {
	if err := s.Writable(); err != nil {
		return 0, err
	}
	subject := dataSubject(id)
	m := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{
		headerExpect: {strconv.FormatUint(expected, 10)},
	}}
	if snapshot {
		m.Header[headerSnapshot] = []string{"1"}
	}
	err = s.durably(ctx, streamData, func() (uint64, error) {
		seq, err = s.sendOne(ctx, m)
		return seq, err
	})
	if err != nil || !snapshot {
		return seq, err
	}
	return seq, s.purgeBelow(ctx, streamData, subject, seq)
}

// sendOne publishes a message that has no id of its own.
func (s *Store) sendOne(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	ack, err := s.request(ctx, m)
	switch codeOf(err) {
	case codeWrongLastSequence, codeWrongLastSequenceConstant:
		return 0, eventstore.ErrConflict
	case codeStoreFailed, codeInsufficientResources, codeStorageExceeded:
		s.fail(err)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return ack.Sequence, nil
}

// LoadData returns the operations of id since its last snapshot, that snapshot
// first.
func (s *Store) LoadData(ctx context.Context, id domain.StreamID) ([]Operation, error) {
	var ops []Operation
	for next := uint64(1); ; {
		msgs, more, err := s.fetch(ctx, streamData, dataSubject(id), next, loadBatch)
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			op := Operation{Seq: m.seq, Snapshot: m.header.Get(headerSnapshot) != "", Body: m.data}
			if op.Snapshot {
				ops = nil // a purge that a crash forestalled
			}
			ops = append(ops, op)
			next = m.seq + 1
		}
		if !more {
			return ops, nil
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
