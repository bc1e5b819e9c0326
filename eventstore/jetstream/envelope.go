package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"svc/domain"
	"svc/eventstore"
)

// Headers of a stored event. A reader can route or count events by them, without the body.
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

// maxBody is the largest size of an event: with headers it is below the default limit of a broker.
const maxBody = 1<<20 - 32<<10

// encode returns the message of a fact, without expectations.
func (l *Log) encode(c eventstore.Commit, f eventstore.Fact, at time.Time) (*nats.Msg, error) {
	name := f.Event.EventType()
	payload, data, err := encodeBodies(f.Event)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	o := domain.NewObjectEncoder(make([]byte, 0, len(payload)+len(data)+envelopeRoom))
	o.Text("id", f.ID)
	o.Text("type", name)
	o.Int("schema", int64(max(l.conn.opts.Events[name].Schema, 1)))
	o.Text("workspaceId", c.Stream.Scope)
	o.TextIfAny("aggregate", c.Stream.Kind)
	o.TextIfAny("aggregateId", c.Stream.ID)
	o.Text("createdAt", domain.FormatTime(at))
	o.Open("source")
	c.Meta.Encode(&o)
	o.Close()
	encodeEmission(&o, f)
	o.Encoded("payload", payload)
	if data != nil {
		o.Encoded("data", data) // what folding needs instead of the payload, which the API shows
	}
	body, err := o.End()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	if len(body) > maxBody {
		return nil, errTooLarge(name, len(body))
	}
	m := &nats.Msg{Subject: subjectOf(logOf(c), c.Stream, name), Header: nats.Header{}, Data: body}
	m.Header[headerID] = []string{f.ID}
	m.Header[headerType] = []string{sanitizeHeader(name)}
	setHeader(m, headerUser, c.Meta.UserID)
	setHeader(m, headerCorrelation, c.Meta.CorrelationID)
	return m, nil
}

// envelopeRoom is what an envelope takes besides the payload and the data, about.
const envelopeRoom = 768

// encodeEmission adds whom an event is for, and how it was emitted.
func encodeEmission(o *domain.ObjectEncoder, f eventstore.Fact) {
	if f.Target != nil {
		o.Any("target", f.Target)
	}
	if f.Options != (domain.EventOptions{}) {
		o.Any("options", f.Options)
	}
}

// errTooLarge refuses an event for its size.
func errTooLarge(name string, length int) error {
	return domain.Refuse(domain.CodeInvalidRequest, "event %s is too large", name).
		Reason("event_too_large").With("eventType", name).With("length", length).With("limit", maxBody)
}

// encodeBodies returns the payload of ev and, when it differs, its data.
func encodeBodies(ev domain.Event) (payload, data json.RawMessage, err error) {
	data, err = encodeBody(ev)
	withPayload, ok := ev.(domain.PayloadEvent)
	if err != nil || !ok {
		return data, nil, err
	}
	payload, err = encodeBody(withPayload.Payload())
	return payload, data, err
}

// encodeMember adds an event, or what the API shows of it.
func encodeMember(o *domain.ObjectEncoder, name string, v any) {
	if v, ok := v.(domain.SelfEncoder); ok {
		o.Self(name, v)
		return
	}
	body, err := encodeBody(v)
	if err != nil {
		o.Fail(err)
		return
	}
	o.Encoded(name, body)
}

// encodeBody encodes an event, or what the API shows of it.
func encodeBody(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case domain.SelfEncoder:
		return v.AppendJSON(make([]byte, 0, 512))
	case domain.Unknown:
		if domain.IsEncoded(v.Body) {
			return v.Body, nil
		}
	}
	return json.Marshal(v)
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
		m.Header[name] = []string{sanitizeHeader(value)}
	}
}

// sanitizeHeader truncates s, and quotes it when it has control characters.
func sanitizeHeader(s string) string {
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

// storedMessage is a message of a stream.
type storedMessage struct {
	seq    uint64
	at     time.Time
	header nats.Header
	data   []byte
}

// batchPosition returns the place of m in its batch; size is 0 when it is in none.
func (m storedMessage) batchPosition() (batch string, seq, size uint64) {
	if len(m.header[headerBatchSize]) == 0 {
		return "", 0, 0
	}
	id, seqHeader := headerBatch, headerBatchSeq
	if m.inGroup() {
		id, seqHeader = headerGroup, headerGroupSeq
	}
	seq, _ = strconv.ParseUint(m.header.Get(seqHeader), 10, 64)
	size, _ = strconv.ParseUint(m.header.Get(headerBatchSize), 10, 64)
	return m.header.Get(id), seq, size
}

// inGroup reports whether m was stored with a group; see sendGroup.
func (m storedMessage) inGroup() bool { return len(m.header[headerGroup]) > 0 }

// errDamaged says that a stored message cannot be decoded.
var errDamaged = errors.New("the stored event is damaged")

// decode turns a stored message back into its events.
func (l *Log) decode(log domain.Log, m storedMessage) ([]domain.Recorded, error) {
	return l.decodeWanted(log, m, nil)
}

// decodeWanted decodes the events of a message with the sequences that are wanted; nil: all of them. The
// only event of a message is always decoded.
func (l *Log) decodeWanted(log domain.Log, m storedMessage, wanted map[uint64]bool) ([]domain.Recorded, error) {
	if len(m.header[headerPack]) > 0 {
		return l.decodePack(log, m, wanted)
	}
	seq := l.numbering(log).last(m.seq)
	ev := domain.Recorded{Log: log, Seq: seq, Group: seq, At: m.at, Size: len(m.data)}
	if err := l.decodeEvent(&ev, m.data); err != nil {
		return nil, fmt.Errorf("%s %d: %w", log, m.seq, err)
	}
	return []domain.Recorded{ev}, nil
}

// decodeEvent decodes the members of an event, which stands alone or in a pack.
func (l *Log) decodeEvent(ev *domain.Recorded, data []byte) error {
	var name string
	var body json.RawMessage
	err := domain.VisitMembers(data, func(key, value []byte) error {
		switch string(key) {
		case "id":
			return domain.DecodeText(&ev.ID, value)
		case "type":
			if known, ok := l.conn.opts.Events[string(domain.Unquoted(value))]; ok { // the usual case, without a copy
				name = known.Name
				return nil
			}
			return domain.DecodeText(&name, value)
		case "workspaceId":
			return domain.DecodeText(&ev.Stream.Scope, value)
		case "aggregate":
			return domain.DecodeText(&ev.Stream.Kind, value)
		case "aggregateId":
			return domain.DecodeText(&ev.Stream.ID, value)
		case "source":
			return decodeMeta(&ev.Meta, &ev.Meta, value)
		case "target":
			return json.Unmarshal(value, &ev.Target)
		case "options":
			return json.Unmarshal(value, &ev.Options)
		case "payload":
			ev.Body = value
			if body == nil {
				body = value
			}
		case "data":
			body = value // preferred to the payload
		}
		return nil
	})
	if err != nil {
		return errors.Join(errDamaged, err)
	}
	if ev.Data, err = l.conn.opts.Events.Decode(name, body); err != nil && ev.Log == domain.Activity {
		ev.Data, err = domain.Unknown{Name: name, Body: slices.Clone(body)}, nil // an event of a user under the name of a platform type
	}
	return err
}

// decodeMeta is a faster json.Unmarshal for the source of an event: it decodes the common members itself, the others with
// encoding/json. Texts that are those of the source before are taken from there.
func decodeMeta(to, before *domain.Meta, value []byte) error {
	return domain.VisitMembers(value, func(key, value []byte) error {
		switch string(key) {
		case "userId":
			return domain.DecodeRepeated(&to.UserID, value, before.UserID)
		case "sessionId":
			return domain.DecodeRepeated(&to.SessionID, value, before.SessionID)
		case "correlationId":
			return domain.DecodeRepeated(&to.CorrelationID, value, before.CorrelationID)
		case "traceId":
			return domain.DecodeRepeated(&to.TraceID, value, before.TraceID)
		case "ip":
			return domain.DecodeRepeated(&to.IP, value, before.IP)
		case "automationSlug":
			return domain.DecodeRepeated(&to.AutomationSlug, value, before.AutomationSlug)
		case "automationDepth":
			return domain.DecodeInt(&to.AutomationDepth, value)
		case "executionId":
			return domain.DecodeRepeated(&to.ExecutionID, value, before.ExecutionID)
		case "host":
			return decodeHost(&to.Host, before.Host, value)
		case "http":
			return decodeHTTP(to, before, value)
		}
		return decodeRest(to, key, value)
	})
}

func decodeHost(to *domain.Host, before domain.Host, value []byte) error {
	return domain.VisitMembers(value, func(key, value []byte) error {
		switch string(key) {
		case "service":
			return domain.DecodeRepeated(&to.Service, value, before.Service)
		case "replica":
			return domain.DecodeRepeated(&to.Replica, value, before.Replica)
		}
		return nil
	})
}

func decodeHTTP(to, before *domain.Meta, value []byte) error {
	to.HTTP = &domain.HTTPCause{}
	likely := before.HTTP
	if likely == nil {
		likely = &domain.HTTPCause{}
	}
	return domain.VisitMembers(value, func(key, value []byte) error {
		switch string(key) {
		case "method":
			return domain.DecodeRepeated(&to.HTTP.Method, value, likely.Method)
		case "path":
			return domain.DecodeRepeated(&to.HTTP.Path, value, likely.Path)
		case "hostname":
			return domain.DecodeRepeated(&to.HTTP.Hostname, value, likely.Hostname)
		}
		return nil
	})
}

// decodeRest decodes a member that is rare.
func decodeRest(to *domain.Meta, key, value []byte) error {
	member := make([]byte, 0, len(key)+len(value)+5)
	member = append(append(append(append(member, `{"`...), key...), `":`...), value...)
	return json.Unmarshal(append(member, '}'), to)
}
