package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// Codes of the broker's answers. Texts are never matched.
const (
	codeWrongLastSequence         = 10071 // lost race
	codeWrongLastSequenceConstant = 10164 // lost race on a replicated stream, or within a batch
	codeDuplicateInBatch          = 10201 // one of ours is stored already
	codeDuplicateInProcess        = 10158 // our first attempt is still under way
	codeBatchIncomplete           = 10176 // the batch was dropped before its commit
	codeTooManyBatches            = 10210 // more batches under way than the broker takes
	codeNoPeers                   = 10005 // the cluster has not gathered yet
	codeNoMessage                 = 10037 // nothing at that sequence or subject
	codeStoreFailed               = 10077 // the stream could not write
	codeInsufficientResources     = 10023
	codeStorageExceeded           = 10047
)

// Bounds of atomic batches: what the broker takes, and how many at once it is
// given. It stores one after the other: more would only wait longer there, where
// waiting counts as silence.
const (
	maxFacts   = 1000
	maxBatches = 8
)

// Append implements eventstore.Store.
func (s *Store) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	start := time.Now()
	receipt, err := s.append(ctx, commits)
	s.metrics.appended(start, outcome(err))
	return receipt, err
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, eventstore.ErrConflict):
		return "conflict"
	case errors.Is(err, eventstore.ErrUnavailable):
		return "unavailable"
	default:
		return "refused"
	}
}

func (s *Store) append(ctx context.Context, commits []eventstore.Commit) (eventstore.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return eventstore.Receipt{}, err
	}
	s.lookAtDisk()
	if err := s.Writable(); err != nil {
		return eventstore.Receipt{}, err
	}
	return s.commit(ctx, commits)
}

// commit is append without asking whether writes are possible.
func (s *Store) commit(ctx context.Context, commits []eventstore.Commit) (eventstore.Receipt, error) {
	msgs, log, err := s.messages(commits)
	if err != nil {
		return eventstore.Receipt{}, err
	}
	var seqs []uint64
	err = s.durably(ctx, string(log), func() (last uint64, err error) {
		if seqs, err = s.publish(ctx, log, commits, msgs); err != nil {
			return 0, err
		}
		return seqs[len(seqs)-1], nil
	})
	if err != nil {
		return eventstore.Receipt{}, err
	}
	last := seqs[len(seqs)-1]
	s.saw(log, last)
	return eventstore.Receipt{Seqs: seqs, Position: domain.At(log, last)}, nil
}

// messages encodes commits. All of them belong to one log.
func (s *Store) messages(commits []eventstore.Commit) (msgs []*nats.Msg, log domain.Log, err error) {
	now := s.opts.Now()
	for i, c := range commits {
		if i == 0 {
			log = logOf(c)
		} else if logOf(c) != log {
			return nil, "", errors.New("jetstream: one append cannot span two logs")
		}
		for j, f := range c.Facts {
			m, err := s.encode(c, f, now)
			if err != nil {
				return nil, "", err
			}
			if log == domain.State && j == 0 {
				m.Header[headerExpect] = []string{strconv.FormatUint(c.Expected, 10)}
				m.Header[headerExpectOn] = []string{aggregateFilter(c.Stream)}
			}
			msgs = append(msgs, m)
		}
	}
	if len(msgs) == 0 || len(msgs) > maxFacts {
		return nil, "", fmt.Errorf("jetstream: an append takes 1 to %d facts, not %d", maxFacts, len(msgs))
	}
	return msgs, log, nil
}

// publish sends the messages until the outcome is known, for as long as ctx and
// MaxWait allow. The ids and expectations stay the same, so that a repeated
// message meets the one that was stored.
func (s *Store) publish(ctx context.Context, log domain.Log, commits []eventstore.Commit, msgs []*nats.Msg) ([]uint64, error) {
	if len(msgs) > 1 {
		select {
		case s.batches <- struct{}{}:
			defer func() { <-s.batches }()
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: too many atomic appends at once: %w", eventstore.ErrUnavailable, ctx.Err())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		seqs, duplicate, err := s.send(ctx, log, msgs)
		if err == nil && !duplicate {
			return seqs, nil
		}
		switch codeOf(err) {
		case codeWrongLastSequence, codeWrongLastSequenceConstant, codeDuplicateInBatch:
			return s.recognise(ctx, log, commits, msgs)
		case codeStoreFailed, codeInsufficientResources, codeStorageExceeded:
			return nil, s.refused(err)
		case codeDuplicateInProcess, codeBatchIncomplete, codeTooManyBatches:
		case 0:
			if duplicate {
				return s.own(ctx, log, commits, seqs[0])
			}
			if !transient(err) {
				return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
			}
		default:
			return nil, fmt.Errorf("append: %w", err)
		}
		if !s.pause(ctx, attempt) {
			return nil, fmt.Errorf("%w: the outcome is unknown: %w", eventstore.ErrUnavailable, err)
		}
		if err := s.Writable(); err != nil {
			return nil, err
		}
	}
}

// refused turns an error of the broker's storage into ours. A stream that could
// not write must be reopened; one that is full must not.
func (s *Store) refused(err error) error {
	if codeOf(err) == codeStoreFailed {
		s.fail(err)
	} else {
		err = fmt.Errorf("the log has reached its size limit, see JETSTREAM_MAX_STORE: %w", err)
	}
	return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
}

// pause waits before a repeated attempt; false when there is no time for one.
func (s *Store) pause(ctx context.Context, attempt int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(time.Duration(attempt+1)*20*time.Millisecond, 250*time.Millisecond)):
		return true
	}
}

// attemptWait bounds one exchange, so that a lost answer leaves time to ask again.
func (s *Store) attemptWait() time.Duration { return min(s.opts.MaxWait/2, 5*time.Second) }

// send makes one attempt to store msgs, all or none. A duplicate is one whose first
// id is stored already.
func (s *Store) send(ctx context.Context, log domain.Log, msgs []*nats.Msg) (seqs []uint64, duplicate bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.attemptWait())
	defer cancel()
	if len(msgs) == 1 {
		ask := s.request
		if s.inRuns(log) {
			ask = s.inBetween
		}
		ack, err := ask(ctx, msgs[0])
		return []uint64{ack.Sequence}, ack.Duplicate, err
	}
	if s.inRuns(log) {
		return s.sendRun(ctx, msgs)
	}
	seqs, err = s.sendBatch(ctx, msgs)
	return seqs, false, err
}

// sendBatch stores several messages atomically. Only the first and the last are
// answered; a fault of one in between answers the last as incomplete.
func (s *Store) sendBatch(ctx context.Context, msgs []*nats.Msg) ([]uint64, error) {
	id := msgs[0].Header.Get(headerID)
	for i, m := range msgs {
		m.Header[headerBatch] = []string{id}
		m.Header[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
		m.Header[headerBatchSize] = []string{strconv.Itoa(len(msgs))}
	}
	first, last := msgs[0], msgs[len(msgs)-1]
	if _, err := s.request(ctx, first); err != nil {
		return nil, err
	}
	for _, m := range msgs[1 : len(msgs)-1] {
		if err := s.nc.PublishMsg(m); err != nil {
			return nil, err
		}
	}
	last.Header[headerBatchCommit] = []string{"1"}
	ack, err := s.request(ctx, last)
	if err != nil {
		return nil, err
	}
	return run(ack.Sequence-uint64(len(msgs)-1), len(msgs)), nil
}

// run returns n sequences from first on.
func run(first uint64, n int) []uint64 {
	seqs := make([]uint64, n)
	for i := range seqs {
		seqs[i] = first + uint64(i)
	}
	return seqs
}

// pubAck is the broker's answer to a publish.
type pubAck struct {
	Error     *jetstream.APIError `json:"error"`
	Sequence  uint64              `json:"seq"`
	Duplicate bool                `json:"duplicate"`
	Value     string              `json:"val"` // of a counter
}

func (s *Store) request(ctx context.Context, m *nats.Msg) (pubAck, error) {
	answer, err := s.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return pubAck{}, err
	}
	return acknowledged(answer)
}

// codeOf returns the broker's code; 0 for an error that is not the broker's.
func codeOf(err error) int {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return int(api.ErrorCode)
	}
	return 0
}
