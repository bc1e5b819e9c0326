package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// sparse is from how many messages to one that is wanted on a run is not read whole.
const sparse = 4

// Reread implements eventstore.Store.
func (s *Store) Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error) {
	if len(seqs) == 1 { // one is asked for and answered at half the price of a run
		ev, ok, err := s.Read(ctx, log, seqs[0])
		if err != nil || !ok {
			return nil, err
		}
		return []domain.Recorded{ev}, nil
	}
	found := make(map[uint64]stored, len(seqs))
	for run := range slices.Chunk(slices.Sorted(slices.Values(seqs)), loadBatch) {
		if err := s.readRun(ctx, log, run, found); err != nil {
			return nil, fmt.Errorf("read %s: %w", log, err)
		}
	}
	events := make([]domain.Recorded, 0, len(seqs))
	for _, seq := range seqs {
		m, ok := found[seq]
		if !ok {
			continue
		}
		ev, err := s.decode(log, m)
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// readRun adds the messages at seqs, which ascend, to found.
func (s *Store) readRun(ctx context.Context, log domain.Log, seqs []uint64, found map[uint64]stored) error {
	if span := seqs[len(seqs)-1] - seqs[0] + 1; span <= uint64(len(seqs)*sparse) && span <= loadBatch {
		msgs, _, err := s.fetch(ctx, string(log), rootOf(log)+">", seqs[0], int(span))
		for _, m := range msgs {
			found[m.seq] = m
		}
		if err != nil {
			return err
		}
	} else if err := s.patiently(ctx, func(ctx context.Context) error { return s.pick(ctx, log, seqs, found) }); err != nil {
		return err
	}
	if s.opts.Replicas == 1 {
		return nil
	}
	for _, seq := range seqs { // a replica that is behind does not have the last ones yet
		if _, ok := found[seq]; ok {
			continue
		}
		m, ok, err := s.at(ctx, log, seq)
		if err != nil {
			return err
		}
		if ok {
			found[seq] = m
		}
	}
	return nil
}

// pick asks for messages one by one, without waiting for an answer in between.
func (s *Store) pick(ctx context.Context, log domain.Log, seqs []uint64, found map[uint64]stored) error {
	answers := s.mail.rent(len(seqs))
	defer answers.giveBack()
	for _, seq := range seqs {
		body := strconv.AppendUint([]byte(`{"seq":`), seq, 10)
		err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+string(log), answers.reply("one"), append(body, '}'))
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
	}
	for range seqs {
		m, err := answers.next(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		if err := picked(m, found); err != nil {
			return err
		}
	}
	return nil
}

// picked adds one answer to found.
func picked(m *nats.Msg, found map[uint64]stored) error {
	switch m.Header.Get("Status") {
	case "404":
		return nil
	case "":
		got, err := fromDirect(m)
		if err == nil {
			found[got.seq] = got
		}
		return err
	}
	return fmt.Errorf("%w: the broker answered %s", eventstore.ErrUnavailable, strings.TrimSpace(m.Header.Get("Description")))
}
