package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// Headers of a run, which the broker does not know of: see sendRun.
const (
	headerRun    = "Svc-Run"
	headerRunSeq = "Svc-Run-Seq"
)

// inRuns reports whether several messages of a log go as a run. A store that writes
// alone knows that nobody comes between them. An atomic batch of the broker would be
// a file store of its own, with several fsyncs, for each; that is for STATE, where
// the broker must judge the expectations of all of them at once.
func (s *Store) inRuns(log domain.Log) bool { return log == domain.Activity && s.Alone() }

// sendRun stores several messages one right behind the other. Readers hold the first
// ones until the last is there, as with a batch, so that all of them count or none;
// the order is kept by a lock while they are sent, which those who send one message only
// share: the broker stores what comes over one connection in its order.
func (s *Store) sendRun(ctx context.Context, msgs []*nats.Msg) (seqs []uint64, duplicate bool, err error) {
	id := msgs[0].Header.Get(headerID)
	for i, m := range msgs {
		m.Header[headerRun] = []string{id}
		m.Header[headerRunSeq] = []string{strconv.Itoa(i + 1)}
		m.Header[headerBatchSize] = []string{strconv.Itoa(len(msgs))}
	}
	first, last, err := s.inOneGo(ctx, msgs)
	switch {
	case err != nil || first.Duplicate:
		return []uint64{first.Sequence}, first.Duplicate, err
	case last.Sequence-first.Sequence != uint64(len(msgs)-1):
		return nil, false, fmt.Errorf("%w: %d messages of a run have the places %d to %d", eventstore.ErrUnavailable, len(msgs), first.Sequence, last.Sequence)
	}
	return run(first.Sequence, len(msgs)), false, nil
}

// inOneGo sends messages without waiting in between, and returns the answers to the
// first and the last of them. The others are not answered.
func (s *Store) inOneGo(ctx context.Context, msgs []*nats.Msg) (first, last pubAck, err error) {
	answers := s.mail.rent(2)
	defer answers.giveBack()
	begin, end := answers.reply("first"), answers.reply("last")
	for _, m := range msgs {
		m.Reply = ""
	}
	msgs[0].Reply, msgs[len(msgs)-1].Reply = begin, end
	if err := s.publishAll(msgs); err != nil {
		return first, last, err
	}
	var faults [2]error
	for range faults {
		answer, err := answers.next(ctx)
		if err != nil {
			return first, last, err
		}
		if answer.Subject == begin {
			first, faults[0] = acknowledged(answer)
		} else {
			last, faults[1] = acknowledged(answer)
		}
	}
	return first, last, errors.Join(faults[:]...)
}

// publishAll sends messages of which each follows the one before in the log.
func (s *Store) publishAll(msgs []*nats.Msg) error {
	s.order.Lock()
	defer s.order.Unlock()
	for _, m := range msgs {
		if err := s.nc.PublishMsg(m); err != nil {
			return err
		}
	}
	return nil
}

// inBetween sends one message where none of a run is being sent, and returns its answer.
func (s *Store) inBetween(ctx context.Context, m *nats.Msg) (pubAck, error) {
	answers := s.mail.rent(1)
	defer answers.giveBack()
	m.Reply = answers.reply("only")
	s.order.RLock()
	err := s.nc.PublishMsg(m)
	s.order.RUnlock()
	if err != nil {
		return pubAck{}, err
	}
	answer, err := answers.next(ctx)
	if err != nil {
		return pubAck{}, err
	}
	return acknowledged(answer)
}

// acknowledged reads an answer of the broker to a publish.
func acknowledged(answer *nats.Msg) (ack pubAck, err error) {
	if len(answer.Data) == 0 {
		if answer.Header.Get("Status") == "503" {
			return ack, nats.ErrNoResponders
		}
		return ack, nil // within a batch
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return ack, fmt.Errorf("the broker's answer is not understood: %w", err)
	}
	if ack.Error != nil {
		return ack, ack.Error
	}
	return ack, nil
}
