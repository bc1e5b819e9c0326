package domain

import (
	"encoding/json"
	"fmt"
)

// Fact describes one stored event type: a row of the event table.
type Fact struct {
	Name    string // the stored type name
	Log     Log    // where it is recorded
	Schema  int    // version of its stored shape; grows when the shape changes
	Summary string // one line for the event catalogue
	Hidden  bool   // a means to an end: no feed, search, webhook or subscriber gets it

	decode func([]byte) (Event, error)
}

// Describe returns the row of T. The name is T's own, written out there.
func Describe[T Event](log Log, summary string) Fact {
	var zero T
	name := zero.EventType()
	return Fact{Name: name, Log: log, Schema: 1, Summary: summary, decode: func(b []byte) (Event, error) {
		var ev T
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
