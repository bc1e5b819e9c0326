// Package feed says what an event looks like to those who may read it, and which
// events somebody asks for: the same for lists, live streams, searches, webhooks
// and subscribers from outside.
package feed

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/domain"
)

// Event is an event as it is shown. It may be shared by many readers: after it was
// made nobody changes it.
type Event struct {
	ID       string
	Type     string
	At       time.Time
	Seq      domain.Position // up to and with this event, in both logs
	Log      domain.Log      // where it is kept
	Payload  json.RawMessage
	Source   Source
	Target   *domain.Target
	Options  domain.EventOptions
	Stripped bool          // payload and output were erased
	Actor    *domain.Actor // whom the automation that emitted it acts for; nobody is shown it
	Hides    bool          // the run has secrets of its own; nobody is shown that

	encoding     sync.Once
	encoded      []byte
	positionText string
	decoding     sync.Once
	fields       map[string]any
	looking      sync.Once
	values       any // of the payload
}

// Source says who and what caused an event, and where.
type Source struct {
	WorkspaceID string `json:"workspaceId"`
	domain.Meta
}

// Failure is the `error` of an event.
type Failure struct {
	Error   string          `json:"error"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
	Level   string          `json:"level"`
}

// Emitted is the service topic of events that users and automations emit.
const Emitted = "topic:runtime:emit"

// Of returns a recorded event as it is shown, at a position, with the payload that
// the catalogue shows of it.
func Of(ev domain.Recorded, at domain.Position, payload json.RawMessage) *Event {
	e := &Event{}
	e.set(&ev, at, payload)
	return e
}

// set sets the fields of a new event.
func (e *Event) set(ev *domain.Recorded, at domain.Position, payload json.RawMessage) {
	e.ID, e.Type, e.At, e.Seq, e.Log, e.Payload = ev.ID, ev.Data.EventType(), ev.At, at, ev.Log, payload
	e.Source.WorkspaceID, e.Source.Meta, e.Target, e.Options = ev.Stream.Scope, ev.Meta, ev.Target, ev.Options
	e.Actor, e.Source.Actor = ev.Meta.Actor, nil
	e.Hides, e.Source.Hides = ev.Meta.Hides, false
	if e.Source.ServiceTopic == "" {
		e.Source.ServiceTopic = e.Type
	}
}

// CreatedAt returns the time of the event as it is shown.
func (e *Event) CreatedAt() string { return domain.FormatTime(e.At) }

// Time returns the time of the event as precisely as it is shown.
func (e *Event) Time() time.Time { return e.At.UTC().Truncate(time.Millisecond) }

// Number returns the sequence of the event in its log.
func (e *Event) Number() uint64 { return e.Seq.Of(e.Log) }

// JSON returns the event as the API shows it. Nobody may change it.
func (e *Event) JSON() []byte {
	e.encoding.Do(func() { e.encode(e.Source.encode()) })
	return e.encoded
}

// EncodeAll makes the JSON of events: that of the source once for all in a row that have the same.
func EncodeAll(events []*Event) {
	var last *Event
	var source []byte
	for _, e := range events {
		if last == nil || e.Source != last.Source {
			last, source = e, e.Source.encode()
		}
		e.encoding.Do(func() { e.encode(source) })
	}
}

// Frame appends the event as a frame of server-sent events to a buffer.
func (e *Event) Frame(buf []byte) []byte {
	body := e.JSON()
	return frame(buf, e.positionText, body)
}

// FrameAt is Frame for a reader to whom the event is at another position.
func (e *Event) FrameAt(buf []byte, at domain.Position) []byte {
	return frame(buf, at.Token(), e.JSON())
}

func frame(buf []byte, id string, data []byte) []byte {
	buf = append(append(buf, "id: "...), id...)
	return append(append(append(buf, "\ndata: "...), data...), "\n\n"...)
}

// MarshalJSON implements json.Marshaler.
func (e *Event) MarshalJSON() ([]byte, error) { return e.JSON(), nil }

// encode makes the JSON of the event, with that of its source: the envelope of the contract. Its last member is the
// length of the rest, in which it is 0.
func (e *Event) encode(source []byte) {
	e.positionText = e.Seq.Token()
	payload := encodePayload(e.Payload)
	b := make([]byte, 0, len(source)+len(payload)+len(e.ID)+len(e.Type)+160)
	b = domain.AppendText(append(b, `{"id":`...), e.ID)
	b = domain.AppendText(append(b, `,"type":`...), e.Type)
	b = domain.AppendText(append(b, `,"createdAt":`...), e.CreatedAt())
	b = domain.AppendText(append(b, `,"seq":`...), e.positionText)
	b = append(append(b, `,"source":`...), source...)
	b = append(append(b, `,"payload":`...), payload...)
	if e.Target != nil {
		b = appendMember(b, "target", e.Target)
	}
	if e.Options != (domain.EventOptions{}) {
		b = appendMember(b, "options", e.Options)
	}
	if f := e.failure(); f != nil {
		b = appendMember(b, "error", f)
	}
	if e.Stripped {
		b = append(b, `,"stripped":true`...)
	}
	b = append(b, `,"size":`...)
	e.encoded = append(strconv.AppendInt(b, int64(len(b)+len("0}")), 10), '}')
}

// encodePayload returns a payload as encoding/json encodes it: that is how most of them are kept already.
func encodePayload(payload json.RawMessage) []byte {
	if domain.IsEncoded(payload) {
		return payload
	}
	encoded, err := json.Marshal(payload)
	if err != nil || len(payload) == 0 { // what is no JSON was damaged where it was kept
		return []byte("{}")
	}
	return encoded
}

func (s *Source) encode() []byte {
	o := domain.NewObjectEncoder(make([]byte, 0, 512))
	o.Text("workspaceId", s.WorkspaceID)
	s.Meta.Encode(&o)
	body, _ := o.End() // texts and numbers
	return body
}

// appendMember appends a member of an object.
func appendMember(b []byte, name string, v any) []byte {
	value, err := json.Marshal(v)
	if err != nil {
		return b // details that are no JSON: they were damaged where they were kept
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), value...)
}

// failure returns what an event says that tells of a failure, in one place for
// all types.
func (e *Event) failure() *Failure {
	if e.Type != "error" && !strings.HasSuffix(e.Type, ".error") && e.Type != "runtime.automations.executed" {
		return nil
	}
	if e.Type == "runtime.automations.executed" {
		var executed struct{ Error *Failure }
		if json.Unmarshal(e.Payload, &executed) != nil || executed.Error == nil {
			return nil
		}
		return executed.Error.withLevel()
	}
	var f Failure
	if json.Unmarshal(e.Payload, &f) != nil {
		return nil
	}
	return f.withLevel()
}

func (f *Failure) withLevel() *Failure {
	if f.Level != "warning" && f.Level != "fatal" {
		f.Level = "error"
	}
	return f
}

// Field implements access.Object: one of the top-level fields.
func (e *Event) Field(name string) (any, bool) {
	switch name { // the usual conditions ask for these
	case "type":
		return e.Type, true
	case "id":
		return e.ID, true
	}
	v, ok := e.decoded()[name]
	return v, ok
}

// decoded returns the event as JSON values.
func (e *Event) decoded() map[string]any {
	e.decoding.Do(func() {
		if json.Unmarshal(e.JSON(), &e.fields) != nil {
			e.fields = map[string]any{}
		}
	})
	return e.fields
}

// Values returns what is at a dotted path of the event as it is shown; a path that
// crosses a list goes on in each of its elements, and a list at its end is its
// elements. Nothing is there: nil.
func (e *Event) Values(path string) []any {
	switch path {
	case "@timestamp", "createdAt":
		return []any{e.CreatedAt()}
	case "type":
		return []any{e.Type}
	}
	if inPayload, ok := strings.CutPrefix(path, "payload."); ok { // which need not encode and decode the rest
		e.looking.Do(func() {
			if json.Unmarshal(e.Payload, &e.values) != nil {
				e.values = nil
			}
		})
		return valuesAt(e.values, inPayload, nil)
	}
	return valuesAt(e.decoded(), path, nil)
}

// PlainText returns the text at a dotted path when it is a member of the payload that can be found without decoding the
// payload; ok is false for everything else that may be there, also for nothing.
func (e *Event) PlainText(path string) (text string, ok bool) {
	name, inPayload := strings.CutPrefix(path, "payload.")
	if !inPayload || strings.Contains(name, ".") {
		return "", false
	}
	err := domain.VisitMembers(e.Payload, func(key, value []byte) (err error) {
		if bytes.IndexByte(key, '\\') >= 0 {
			return domain.ErrUnknownMember // it may be the name
		}
		if string(key) == name {
			if text, ok = domain.PlainText(value); !ok { // of several members with one name the last one counts
				return domain.ErrUnknownMember
			}
		}
		return nil
	})
	return text, ok && err == nil
}

func valuesAt(v any, path string, found []any) []any {
	if list, ok := v.([]any); ok {
		for _, item := range list {
			found = valuesAt(item, path, found)
		}
		return found
	}
	if path == "" {
		if v == nil {
			return found
		}
		return append(found, v)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return found
	}
	if inner, ok := fields[path]; ok { // a name may have dots in it
		return valuesAt(inner, "", found)
	}
	for at := strings.IndexByte(path, '.'); at >= 0; at = nextDot(path, at) {
		if inner, ok := fields[path[:at]]; ok {
			found = valuesAt(inner, path[at+1:], found)
		}
	}
	return found
}

// nextDot returns the place of the dot after the one at a place; -1 when it was the
// last.
func nextDot(path string, at int) int {
	next := strings.IndexByte(path[at+1:], '.')
	if next < 0 {
		return -1
	}
	return at + 1 + next
}
