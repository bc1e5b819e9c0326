// Package domain holds the rules of the workspace platform and nothing else.
//
// A rule is a pair of pure functions over one aggregate: Decide turns a command
// into the facts it causes, Evolve folds one fact into the state. Neither reads
// a clock, draws a random number, nor touches a disk or a socket: whatever they
// need of the outside arrives as a field of the command. Each aggregate lives
// in its own package below this one; this package holds what they share.
//
// Domain imports the standard library and small pure libraries only. Every other
// package may import it.
package domain

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is a fact, named in the past tense. Its type name is a stored contract:
// once written to a log it never changes.
type Event interface{ EventType() string }

// PayloadEvent is implemented by an event whose catalogue payload differs from what
// folding needs. The log then keeps both: Payload is what the feed shows, the
// event itself is what aggregates and projections read.
type PayloadEvent interface{ Payload() any }

// Revised is implemented by an event whose payload tells the content revision that
// its workspace has since: the sequence of the last event that changed content, which
// may be its own. That is known only once the event has its place in the log, so what
// is stored lacks it, and whoever shows the event adds it with PayloadOf.
type Revised interface {
	PayloadAt(contentRevision uint64) any
}

// PayloadOf returns what the catalogue shows of a recorded event. revision is asked
// for the content revision that a workspace had at a sequence.
func PayloadOf(ev Recorded, revision func(workspaceID string, seq uint64) (uint64, error)) (any, error) {
	switch e := ev.Data.(type) {
	case Revised:
		at, err := revision(ev.Stream.ID, ev.Seq)
		return e.PayloadAt(at), err
	case PayloadEvent:
		return e.Payload(), nil
	}
	return ev.Data, nil
}

// Log names one of the two event logs.
type Log string

const (
	// State keeps, for ever and without a gap, the facts that aggregates are
	// folded from.
	State Log = "STATE"
	// Activity keeps what happened besides: progress, executions, emitted
	// events, usage, errors. It is cleaned up by age.
	Activity Log = "ACTIVITY"
)

// Logs lists the event logs in the order in which a merged feed shows events of
// the same instant.
func Logs() []Log { return []Log{State, Activity} }

// Platform is the scope of everything that belongs to no single workspace, and
// the id of the workspace where platform-wide events are recorded.
const Platform = "platform"

// StreamID names the history of one aggregate. Scope is the workspace it
// belongs to, or Platform, so that a workspace's whole history shares a prefix.
// An activity event has no aggregate: only its Scope is set.
type StreamID struct{ Scope, Kind, ID string }

// String returns the id in the form scope/kind/id, for messages and logs.
func (s StreamID) String() string { return s.Scope + "/" + s.Kind + "/" + s.ID }

// Recorded is an event as the store returned it.
type Recorded struct {
	ID     string // ULID; the store drops a second event with the same ID
	Log    Log
	Stream StreamID
	Seq    uint64    // position in Log, ever increasing
	Group  uint64    // sequence of the last event that is stored in one message with it; below Seq + MaxGroup
	At     time.Time // the broker's clock when it was stored
	Meta   Meta
	Data   Event
	Size   int // bytes of the stored message, for batching

	Target  *Target         // whom it is for; nil: nobody in particular
	Options EventOptions    // how it was emitted
	Body    json.RawMessage // what the catalogue shows of it, as it is stored; not to be changed
}

// MaxGroup is how many events are stored in one message at most.
const MaxGroup = 256

// Target is whom an emitted event is for, besides those who may read it anyway.
type Target struct {
	UserID        string `json:"userId,omitempty"`
	SessionID     string `json:"sessionId,omitempty"`
	UserTopic     string `json:"userTopic,omitempty"`
	CurrentSocket bool   `json:"currentSocket,omitempty"`
}

// EventOptions say how an event was emitted. The zero value is the usual way.
type EventOptions struct {
	Persist    *bool `json:"persist,omitempty"` // nil: yes; no: it reached live readers and triggers only
	AggPayload bool  `json:"aggPayload,omitempty"`
	Async      bool  `json:"async,omitempty"`
}

// Persisted reports whether the event is kept.
func (o EventOptions) Persisted() bool { return o.Persist == nil || *o.Persist }

// Meta says who and what caused an event: the `source` of the catalogue.
type Meta struct {
	UserID          string     `json:"userId,omitempty"`
	SessionID       string     `json:"sessionId,omitempty"`
	CorrelationID   string     `json:"correlationId,omitempty"`
	TraceID         string     `json:"traceId,omitempty"`
	IP              string     `json:"ip,omitempty"`
	SocketID        string     `json:"socketId,omitempty"`
	AutomationSlug  string     `json:"automationSlug,omitempty"`
	AutomationDepth int        `json:"automationDepth,omitempty"`
	ExecutionID     string     `json:"executionId,omitempty"`
	AppSlug         string     `json:"appSlug,omitempty"`
	AppInstance     string     `json:"appInstanceFullSlug,omitempty"`
	AppDepth        int        `json:"appInstanceDepth,omitempty"`
	ServiceTopic    string     `json:"serviceTopic,omitempty"` // empty: the event's type
	Host            Host       `json:"host"`
	HTTP            *HTTPCause `json:"http,omitempty"`
	Actor           *Actor     `json:"actor,omitempty"` // for the platform alone: no reader is shown it
	Hides           bool       `json:"hides,omitempty"` // the run has secrets of its own; for the platform alone, too
}

// Actor is whom an automation acts for when it emits an event: what the event starts
// is checked with their rights, whatever session the event shows, and never with more
// than the credential gave that the run began with.
type Actor struct {
	UserID      string   `json:"userId,omitempty"`
	SessionID   string   `json:"sessionId,omitempty"`
	KeyID       string   `json:"keyId,omitempty"`       // of an API key
	KeyRole     string   `json:"keyRole,omitempty"`     // of the workspace, that an automation took
	WorkspaceID string   `json:"workspaceId,omitempty"` // a workspace that acts by itself
	Scopes      []string `json:"scopes,omitzero"`       // of the credential; nil: it has no such claim
	// Lent says that an automation acts for them already, with a token that it was lent:
	// it has their rights in the workspace LentTo, and may execute automations in others.
	Lent   bool   `json:"lent,omitempty"`
	LentTo string `json:"lentTo,omitempty"`
}

// Host names the part of the platform, and the node, that recorded an event.
type Host struct {
	Service string `json:"service,omitempty"`
	Replica string `json:"replica,omitempty"`
}

// HTTPCause is the request that caused an event.
type HTTPCause struct {
	Method   string `json:"method,omitempty"`
	Path     string `json:"path,omitempty"`
	Hostname string `json:"hostname,omitempty"`
}

// Fact describes one stored event type: a row of the event table.
type Fact struct {
	Name    string // the stored type name
	Log     Log    // where it is recorded
	Schema  int    // version of its stored shape; grows when the shape changes
	Summary string // one line for the event catalogue
	Hidden  bool   // a means to an end: no feed, search, webhook or subscriber gets it
	// ErasedByType says that it is erased sooner than other activity, by its type.
	ErasedByType bool

	decode func([]byte) (Event, error)
}

// Describe returns the row of T. The name is T's own, written out there.
func Describe[T Event](log Log, summary string) Fact {
	var zero T
	name := zero.EventType()
	return Fact{Name: name, Log: log, Schema: 1, Summary: summary, decode: func(b []byte) (Event, error) {
		var ev T
		if d, ok := any(&ev).(selfDecoder); ok {
			if d.DecodeJSON(b) {
				return ev, nil
			}
			ev = zero
		}
		if err := json.Unmarshal(b, &ev); err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		return ev, nil
	}}
}

// Internal returns the row of an event that is a means to an end: nobody reads it.
func (f Fact) Internal() Fact {
	f.Hidden = true
	return f
}

// ErasedAlone returns the row of an event that is erased by its type, and is never stored in one message with
// events of other types.
func (f Fact) ErasedAlone() Fact {
	f.ErasedByType = true
	return f
}

// Registry finds an event type by its stored name.
type Registry map[string]Fact

// NewRegistry indexes facts. It panics on a duplicate: two facts with one name
// is a programming error that must not reach a running server.
func NewRegistry(facts ...Fact) Registry {
	r := make(Registry, len(facts))
	for _, f := range facts {
		if _, dup := r[f.Name]; dup {
			panic("domain: event type registered twice: " + f.Name)
		}
		r[f.Name] = f
	}
	return r
}

// Decode returns the event stored as body under name. A name that the registry
// does not hold is returned as Unknown: whether that is a fault depends on the
// log it was read from.
func (r Registry) Decode(name string, body []byte) (Event, error) {
	f, ok := r[name]
	if !ok {
		return Unknown{Name: name, Body: append(json.RawMessage(nil), body...)}, nil
	}
	return f.decode(body)
}

// Unknown is an event whose type is not in the registry: a user's own event, or
// one written by a newer version.
type Unknown struct {
	Name string
	Body json.RawMessage
}

// EventType implements Event.
func (u Unknown) EventType() string { return u.Name }

// MarshalJSON implements json.Marshaler: the body as it was stored.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Body, nil }

// Void stands for a stored event that never counted: part of a commit that the
// power cut in half and that nobody was told about. It holds its sequence and
// changes nothing.
type Void struct{ Name string }

// EventType implements Event.
func (v Void) EventType() string { return v.Name }

// Sealed says that the log ended in a commit that the power cut in half, and
// that this commit is void from here on for every reader.
type Sealed struct {
	Last uint64 `json:"last"` // the last sequence of that commit
}

// EventType implements Event.
func (Sealed) EventType() string { return "log.sealed" }

// Decider is the rule of one kind of aggregate over its state S and commands C.
type Decider[S, C any] struct {
	// Kind names the aggregate in stream ids and subjects.
	Kind string
	// Version is part of every snapshot; raise it when S or Evolve changes.
	Version int
	// Decide turns a command into the facts it causes, or refuses it. No facts
	// and no error means that there is nothing to do.
	Decide func(S, C) ([]Event, error)
	// Evolve folds one fact into the state. Facts it does not know change nothing.
	Evolve func(S, Event) S
}

// Fold applies events to s, in order.
func (d Decider[S, C]) Fold(s S, events ...Event) S {
	for _, ev := range events {
		s = d.Evolve(s, ev)
	}
	return s
}

// Stream returns the id of one aggregate of this kind.
func (d Decider[S, C]) Stream(scope, id string) StreamID {
	return StreamID{Scope: scope, Kind: d.Kind, ID: id}
}
