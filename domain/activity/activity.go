// Package activity holds the events that tell what happened without changing
// any state, and the rules of those that users emit: nothing is ever folded from
// them.
package activity

import (
	"encoding/json"
	"unicode/utf8"

	"svc/domain"
)

// Bounded is an event of the platform whose size is not: Within returns it with its
// largest fields cut, so that its payload has at most limit characters.
type Bounded interface {
	Within(limit int) domain.Event
}

// Failure says that a request or a run failed in a workspace. It is the `error`
// event of the catalogue.
type Failure struct {
	Error     string         `json:"error"`
	Message   string         `json:"message"`
	Details   map[string]any `json:"details,omitempty"`
	Truncated bool           `json:"truncated,omitempty"` // it was larger than events may be
}

// EventType implements domain.Event.
func (Failure) EventType() string { return failure }

// Within implements Bounded.
func (f Failure) Within(limit int) domain.Event {
	return within(f, limit, Fit)
}

// within cuts an event that has more characters than it may have, as fit does.
func within[E domain.Event](e E, limit int, fit func(payload map[string]any, limit int) (map[string]any, bool)) domain.Event {
	body := encode(e)
	if body == nil || utf8.RuneCount(body) <= limit {
		return e // what no JSON can hold is refused by who records it
	}
	fitting, _ := fit(plain(body), limit)
	var cut E
	if json.Unmarshal(encode(fitting), &cut) != nil {
		return e
	}
	return cut
}

// Dropped says that the activity events of a workspace within a range of sequences
// are erased, and with them what is known of them.
type Dropped struct {
	WorkspaceID string `json:"workspaceId"`
	From        uint64 `json:"from"`
	To          uint64 `json:"to"`
}

// EventType implements domain.Event.
func (Dropped) EventType() string { return "events.dropped" }
