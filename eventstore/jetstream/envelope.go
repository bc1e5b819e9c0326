package jetstream

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// Headers of a stored event. What a reader needs to route or count an event is
// in them, so that it can do without the body.
const (
	headerID          = "Nats-Msg-Id"
	headerExpect      = "Nats-Expected-Last-Subject-Sequence"
	headerExpectOn    = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerBatch       = "Nats-Batch-Id"
	headerBatchSeq    = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
	headerBatchSize   = "Svc-Batch-Size"
	headerType        = "Svc-Type"
	headerUser        = "Svc-User"
	headerCorrelation = "Svc-Correlation"
)

// maxBody is what one event may weigh: under the limit of a broker with default
// settings, headers included.
const maxBody = 1<<20 - 32<<10

// envelope is the stored form of an event. Payload is what the catalogue shows;
// Data, when present, is what folding needs instead.
type envelope struct {
	ID        string               `json:"id"`
	Type      string               `json:"type"`
	Schema    int                  `json:"schema"`
	Workspace string               `json:"workspaceId"`
	Kind      string               `json:"aggregate,omitempty"`
	Key       string               `json:"aggregateId,omitempty"`
	CreatedAt string               `json:"createdAt"`
	Source    domain.Meta          `json:"source"`
	Target    *domain.Target       `json:"target,omitempty"`
	Options   *domain.EventOptions `json:"options,omitempty"`
	Payload   json.RawMessage      `json:"payload,omitempty"`
	Data      json.RawMessage      `json:"data,omitempty"`
}

// withBodies puts payload and data, which are JSON already, into an encoded
// envelope without them: to encode them once more would look at every byte again.
func withBodies(body, payload, data []byte) []byte {
	whole := make([]byte, 0, len(body)+len(payload)+len(data)+32)
	whole = append(whole, body[:len(body)-1]...)
	whole = append(append(whole, `,"payload":`...), payload...)
	if data != nil {
		whole = append(append(whole, `,"data":`...), data...)
	}
	return append(whole, '}')
}

// encode turns one fact into a message without expectations.
func (s *Store) encode(c eventstore.Commit, f eventstore.Fact, at time.Time) (*nats.Msg, error) {
	name := f.Event.EventType()
	payload, data, err := bodies(f.Event)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	body, err := json.Marshal(envelope{
		ID: f.ID, Type: name, Schema: max(s.opts.Events[name].Schema, 1), Workspace: c.Stream.Scope,
		Kind: c.Stream.Kind, Key: c.Stream.ID, CreatedAt: at.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		Source: c.Meta, Target: f.Target, Options: unusual(f.Options),
	})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	body = withBodies(body, payload, data)
	if len(body) > maxBody {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "event %s is too large", name).
			Reason("event_too_large").With("eventType", name).With("length", len(body)).With("limit", maxBody)
	}
	m := &nats.Msg{Subject: subjectOf(logOf(c), c.Stream, name), Header: nats.Header{}, Data: body}
	m.Header[headerID] = []string{f.ID}
	m.Header[headerType] = []string{headerText(name)}
	setHeader(m, headerUser, c.Meta.UserID)
	setHeader(m, headerCorrelation, c.Meta.CorrelationID)
	return m, nil
}

// unusual returns options that say something.
func unusual(o domain.EventOptions) *domain.EventOptions {
	if o == (domain.EventOptions{}) {
		return nil
	}
	return &o
}

// bodies returns the catalogue payload of ev and, when it differs, its data.
func bodies(ev domain.Event) (payload, data json.RawMessage, err error) {
	data, err = json.Marshal(ev)
	shown, ok := ev.(domain.Shown)
	if err != nil || !ok {
		return data, nil, err
	}
	payload, err = json.Marshal(shown.Payload())
	return payload, data, err
}

// logOf returns the log of a commit: one without an aggregate is activity.
func logOf(c eventstore.Commit) domain.Log {
	if c.Stream.Kind == "" {
		return domain.Activity
	}
	return domain.State
}

func setHeader(m *nats.Msg, name, value string) {
	if value != "" {
		m.Header[name] = []string{headerText(value)}
	}
}

// headerText makes s fit for a header: one line, or nothing at all.
func headerText(s string) string {
	if len(s) > 256 {
		s = s[:256]
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// stored is a message as the broker returned it, by whichever way it was read.
type stored struct {
	seq    uint64
	at     time.Time
	header nats.Header
	data   []byte
}

// batch returns the place of m in its batch; size is 0 when it is in none.
func (m stored) batch() (batch string, seq, size uint64) {
	if len(m.header[headerBatchSize]) == 0 {
		return "", 0, 0
	}
	id, place := headerBatch, headerBatchSeq
	if m.inRun() {
		id, place = headerRun, headerRunSeq
	}
	seq, _ = strconv.ParseUint(m.header.Get(place), 10, 64)
	size, _ = strconv.ParseUint(m.header.Get(headerBatchSize), 10, 64)
	return m.header.Get(id), seq, size
}

// inRun reports whether m was stored with a run.
func (m stored) inRun() bool { return len(m.header[headerRun]) > 0 }
