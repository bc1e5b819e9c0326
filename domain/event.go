package domain

import (
	"encoding/json"
	"time"
)

// Event is a fact, named in the past tense. Its type name is a stored contract:
// once written to a log it never changes.
type Event interface{ EventType() string }

// Shown is implemented by an event whose catalogue payload differs from what
// folding needs. The log then keeps both: Payload is what the feed shows, the
// event itself is what aggregates and projections read.
type Shown interface{ Payload() any }

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
	case Shown:
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
	At     time.Time // the broker's clock when it was stored
	Meta   Meta
	Data   Event
	Size   int // bytes of the stored message, for batching

	Target  *Target         // whom it is for; nil: nobody in particular
	Options EventOptions    // how it was emitted
	Body    json.RawMessage // what the catalogue shows of it, as it is stored; not to be changed
}

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
