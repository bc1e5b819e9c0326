package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

const (
	dataBatch = 64 // messages of the largest size, asked for in one exchange
	maxReads  = 5  // of data whose parts are replaced meanwhile
)

// errNoParts says that the parts of an operation are not there: it has been
// replaced by a snapshot since, or it is damaged.
var errNoParts = errors.New("parts of stored data are missing")

// SinceData calls visit with each operation of id after a sequence, in order. A
// snapshot stands for all before it; parts names those of an operation that has any.
// What is handed over is on disk.
func (s *Store) SinceData(ctx context.Context, id domain.StreamID, after uint64, visit func(seq uint64, snapshot bool, parts string, body []byte) error) error {
	var found []dataOperation
	for attempt := 1; ; attempt++ {
		var err error
		found, err = s.readData(ctx, dataSubject(id), after)
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

// DataOnDisk waits until the operations up to a sequence are on disk.
func (s *Store) DataOnDisk(ctx context.Context, seq uint64) error {
	return s.onDisk(ctx, streamData, seq)
}

// DropData erases the data of id before a sequence, with the parts that were
// stored before it; everything when it is 0.
func (s *Store) DropData(ctx context.Context, id domain.StreamID, below uint64) error {
	if err := s.purgeBelow(ctx, streamData, dataSubject(id), below); err != nil {
		return err
	}
	return s.purgeBelow(ctx, streamData, dataSubject(id)+".>", below)
}

// DataIDs lists the data of one kind that a workspace has, as far as their ids
// are plain.
func (s *Store) DataIDs(ctx context.Context, workspaceID, kind string) (ids []string, err error) {
	prefix := dataRoot + token(workspaceID) + "." + token(kind) + "."
	err = s.patiently(ctx, func(ctx context.Context) error {
		info, err := s.infoOf(ctx, streamData, prefix+"*")
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		ids = ids[:0]
		for subject := range info.State.Subjects {
			if id := strings.TrimPrefix(subject, prefix); plain(id) {
				ids = append(ids, id)
			}
		}
		return nil
	})
	slices.Sort(ids)
	return ids, err
}

// infoOf tells of a stream, with the subjects that match a filter.
func (s *Store) infoOf(ctx context.Context, name, filter string) (*jetstream.StreamInfo, error) {
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return stream.Info(ctx, jetstream.WithSubjectFilter(filter))
}

// dataOperation is an operation with the name of its parts, if it has any.
type dataOperation struct {
	Operation

	parts string
}

// readData returns the operations of a subject after a sequence; those before a
// snapshot are left out.
func (s *Store) readData(ctx context.Context, subject string, after uint64) ([]dataOperation, error) {
	msgs, err := s.readAll(ctx, subject, after, dataBatch)
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
		op := Operation{Seq: m.seq, Snapshot: m.header.Get(headerSnapshot) != ""}
		if ops[i], err = s.whole(ctx, subject, op, m.data); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// readAll returns the messages of a subject after a sequence once they are on
// disk, so many at a time.
func (s *Store) readAll(ctx context.Context, subject string, after uint64, batch int) ([]stored, error) {
	least, err := s.leastLoad(ctx, streamData, subject)
	if err != nil || after > 0 && least == after {
		return nil, err
	}
	var all []stored
	for attempt := 0; ; {
		msgs, more, err := s.fetch(ctx, streamData, subject, after+1, batch)
		if err != nil {
			return nil, err
		}
		if len(msgs) > 0 {
			all, after = append(all, msgs...), msgs[len(msgs)-1].seq
		}
		if !more && after >= least {
			break
		}
		if attempt++; !more && !s.pause(ctx, attempt) {
			return nil, fmt.Errorf("%w: the replica is behind", eventstore.ErrUnavailable)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, s.onDisk(ctx, streamData, after)
}

// whole takes a message apart and brings its parts together.
func (s *Store) whole(ctx context.Context, subject string, op Operation, data []byte) (dataOperation, error) {
	if len(data) > 0 && data[0] == formWhole {
		op.Body = data[1:]
		return dataOperation{Operation: op}, nil
	}
	if len(data) == 0 || data[0] != formParts {
		return dataOperation{}, errDamaged
	}
	count, used := binary.Uvarint(data[1:])
	if used <= 0 {
		return dataOperation{}, errDamaged
	}
	name := string(data[1+used:])
	body, err := s.joined(ctx, partsSubject(subject, name), count)
	op.Body = body
	return dataOperation{Operation: op, parts: name}, err
}

// joined returns the body that was stored in so many parts. One that was stored
// again after its answer was lost is there twice.
func (s *Store) joined(ctx context.Context, subject string, count uint64) ([]byte, error) {
	msgs, err := s.readAll(ctx, subject, 0, dataBatch)
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
