package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// recognise settles an append that was refused for its expectation or for a
// known id: when the events that follow the expectation are the very ones we
// sent, an earlier attempt was stored and only its answer was lost.
func (s *Store) recognise(ctx context.Context, log domain.Log, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error) {
	if log == domain.Activity {
		return s.recogniseActivity(ctx, commits, msgs)
	}
	c := commits[0]
	m, ok, err := s.get(ctx, string(log), getRequest{NextFor: aggregateFilter(c.Stream), Seq: c.Expected + 1})
	if err != nil {
		return nil, err
	}
	if !ok || m.header.Get(headerID) != c.Facts[0].ID {
		return nil, eventstore.ErrConflict
	}
	return s.own(ctx, log, commits, m.seq)
}

// recogniseActivity finds a commit without an expectation: its first event,
// sent once more by itself, is answered with where it is stored.
func (s *Store) recogniseActivity(ctx context.Context, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error) {
	first := &nats.Msg{Subject: msgs[0].Subject, Data: msgs[0].Data, Header: nats.Header{
		headerID: msgs[0].Header[headerID], headerType: msgs[0].Header[headerType],
	}}
	ack, err := s.request(ctx, first)
	if err != nil || !ack.Duplicate {
		return nil, fmt.Errorf("%w: the outcome is unknown: %w", eventstore.ErrUnavailable, errors.Join(err, errors.New("an id was refused as known, and is not")))
	}
	return s.own(ctx, domain.Activity, commits, ack.Sequence)
}

// own checks that what is stored from seq on are the facts of commits, and
// returns where.
func (s *Store) own(ctx context.Context, log domain.Log, commits []eventstore.Commit, seq uint64) ([]uint64, error) {
	first, at := seq, seq
	for _, c := range commits {
		for _, f := range c.Facts {
			m, ok, err := s.at(ctx, log, at)
			if err != nil {
				return nil, err
			}
			ev, err := s.settledIf(ctx, ok, log, m)
			switch {
			case err != nil:
				return nil, err
			case !ok || ev.ID != f.ID || ev.Stream != c.Stream:
				return nil, fmt.Errorf("jetstream: event id %s is used twice", f.ID)
			case isVoid(ev.Data):
				return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, eventstore.ErrBurned)
			}
			at++
		}
	}
	return run(first, int(at-first)), nil
}

func (s *Store) settledIf(ctx context.Context, ok bool, log domain.Log, m stored) (domain.Recorded, error) {
	if !ok {
		return domain.Recorded{}, nil
	}
	return s.settled(ctx, log, m)
}

func isVoid(ev domain.Event) bool {
	_, void := ev.(domain.Void)
	return void
}
