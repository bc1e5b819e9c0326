package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// loadBatch is how many events one exchange asks for.
const loadBatch = 500

// Load implements eventstore.Store.
func (s *Store) Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error) {
	least, err := s.leastLoad(ctx, string(domain.State), aggregateFilter(id))
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", id, err)
	}
	var events []domain.Recorded
	for attempt := 0; ; {
		msgs, more, err := s.fetch(ctx, string(domain.State), aggregateFilter(id), after+1, loadBatch)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", id, err)
		}
		for _, m := range msgs {
			ev, err := s.settled(ctx, domain.State, m)
			if err != nil {
				return nil, fmt.Errorf("load %s: %w", id, err)
			}
			events = append(events, ev)
			after = m.seq
		}
		if !more && after >= least {
			return events, s.loadedOnDisk(ctx, events)
		}
		if !more {
			if attempt++; !s.pause(ctx, attempt) {
				return nil, fmt.Errorf("load %s: %w: the replica is behind", id, eventstore.ErrUnavailable)
			}
		}
	}
}

// loadedOnDisk waits until the events are on disk. From then on they are known.
func (s *Store) loadedOnDisk(ctx context.Context, events []domain.Recorded) error {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1].Seq
	err := s.onDisk(ctx, string(domain.State), last)
	if err == nil {
		s.saw(domain.State, last)
	}
	return err
}

// leastLoad returns the sequence up to which a load must reach. Runs of
// messages are served by any replica, and one may be behind: the leader knows.
func (s *Store) leastLoad(ctx context.Context, stream, filter string) (uint64, error) {
	if s.opts.Replicas == 1 {
		return 0, nil
	}
	m, ok, err := s.get(ctx, stream, getRequest{LastFor: filter})
	if err != nil || !ok {
		return 0, err
	}
	return m.seq, nil
}

// Read implements eventstore.Store.
func (s *Store) Read(ctx context.Context, log domain.Log, seq uint64) (domain.Recorded, bool, error) {
	m, ok, err := s.at(ctx, log, seq)
	if err != nil || !ok {
		return domain.Recorded{}, false, err
	}
	ev, err := s.settled(ctx, log, m)
	return ev, err == nil, err
}

// settled decodes m; part of a batch that was never completed is Void.
func (s *Store) settled(ctx context.Context, log domain.Log, m stored) (domain.Recorded, error) {
	ev, err := s.decode(log, m)
	if err != nil {
		return ev, err
	}
	whole, err := s.completed(ctx, log, m)
	if err == nil && !whole {
		ev.Data = domain.Void{Name: ev.Data.EventType()}
	}
	return ev, err
}

// completed reports whether the batch of m was committed: whether its last
// message is, or was, where it belongs, and of a run, which may have been begun
// twice, the first as well. What was purged counts as having been there; what the
// log never reached, or gave to another, was not.
func (s *Store) completed(ctx context.Context, log domain.Log, m stored) (bool, error) {
	_, seq, size := m.batch()
	whole, err := true, error(nil)
	if seq < size {
		whole, err = s.belongs(ctx, log, m, size)
	}
	if whole && m.inRun() && seq > 1 {
		whole, err = s.belongs(ctx, log, m, 1)
	}
	return whole, err
}

// belongs reports whether one message of the batch of m is, or was, where it
// belongs as seen from m.
func (s *Store) belongs(ctx context.Context, log domain.Log, m stored, n uint64) (bool, error) {
	id, seq, _ := m.batch()
	if m.seq+n <= seq {
		return false, nil // before the log began
	}
	at := m.seq + n - seq
	found, ok, err := s.at(ctx, log, at)
	if err == nil && !ok {
		var info eventstore.Info
		if info, err = s.Info(ctx, log); err != nil || info.Last < at {
			return false, err
		}
		found, ok, err = s.at(ctx, log, at) // another may have taken the place meanwhile
	}
	if err != nil || !ok {
		return err == nil, err
	}
	foundID, foundSeq, _ := found.batch()
	return foundID == id && foundSeq == n, nil
}

// at returns the message at seq.
func (s *Store) at(ctx context.Context, log domain.Log, seq uint64) (stored, bool, error) {
	return s.get(ctx, string(log), getRequest{Seq: seq})
}

// getRequest names one message: by its sequence, the first of a subject at or
// after it, or the last of a subject.
type getRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
}

// patiently repeats a question that got no answer: a broker may just be gone,
// or be electing a leader. Asking again is always safe.
func (s *Store) patiently(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := within(ctx, s.opts.MaxWait/4, ask)
		if err == nil || !transient(err) || !s.pause(ctx, attempt) {
			return err
		}
	}
}

// get returns one message from the stream's leader, which alone is never behind.
func (s *Store) get(ctx context.Context, stream string, req getRequest) (m stored, ok bool, err error) {
	err = s.patiently(ctx, func(ctx context.Context) (err error) {
		m, ok, err = s.getOnce(ctx, stream, req)
		return err
	})
	return m, ok, err
}

func (s *Store) getOnce(ctx context.Context, stream string, req getRequest) (stored, bool, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return stored{}, false, err
	}
	answer, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return stored{}, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq    uint64    `json:"seq"`
			Time   time.Time `json:"time"`
			Header []byte    `json:"hdrs"`
			Data   []byte    `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil {
		return stored{}, false, fmt.Errorf("the broker's answer is not understood: %w", err)
	}
	if got.Error != nil {
		if got.Error.ErrorCode == codeNoMessage {
			return stored{}, false, nil
		}
		return stored{}, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, got.Error)
	}
	header, err := decodeHeader(got.Message.Header)
	return stored{seq: got.Message.Seq, at: got.Message.Time, header: header, data: got.Message.Data}, err == nil, err
}

func decodeHeader(raw []byte) (nats.Header, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return nats.DecodeHeadersMsg(raw)
}

// batchRequest asks for a run of messages.
type batchRequest struct {
	Seq     uint64 `json:"seq"`
	NextFor string `json:"next_by_subj"`
	Batch   int    `json:"batch"`
}

// fetch returns up to n messages that match filter, from seq on; more tells
// whether others follow. It needs no consumer.
func (s *Store) fetch(ctx context.Context, stream, filter string, seq uint64, n int) (msgs []stored, more bool, err error) {
	err = s.patiently(ctx, func(ctx context.Context) (err error) {
		msgs, more, err = s.fetchOnce(ctx, stream, filter, seq, n)
		return err
	})
	return msgs, more, err
}

func (s *Store) fetchOnce(ctx context.Context, stream, filter string, seq uint64, n int) (msgs []stored, more bool, err error) {
	answers := s.mail.rent(n + 1)
	defer answers.giveBack()
	body, err := json.Marshal(batchRequest{Seq: seq, NextFor: filter, Batch: n})
	if err != nil {
		return nil, false, err
	}
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, answers.reply("all"), body); err != nil {
		return nil, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return collect(ctx, answers)
}

// collect reads answers up to the end-of-batch mark.
func collect(ctx context.Context, answers *slot) (msgs []stored, more bool, err error) {
	for {
		m, err := answers.next(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		switch m.Header.Get("Status") {
		case "204":
			pending, _ := strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64)
			return msgs, pending > 0 && len(msgs) > 0, nil
		case "404":
			return msgs, false, nil
		case "":
		default:
			return nil, false, fmt.Errorf("%w: the broker answered %s", eventstore.ErrUnavailable, m.Header.Get("Description"))
		}
		got, err := fromDirect(m)
		if err != nil {
			return nil, false, err
		}
		msgs = append(msgs, got)
	}
}

// fromDirect reads a direct answer, whose place is in its headers.
func fromDirect(m *nats.Msg) (stored, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return stored{}, fmt.Errorf("the broker's answer has no sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return stored{}, fmt.Errorf("the broker's answer has no time: %w", err)
	}
	return stored{seq: seq, at: at, header: m.Header, data: m.Data}, nil
}
