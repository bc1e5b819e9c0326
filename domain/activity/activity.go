// Package activity holds the events that tell what happened without changing
// any state: nothing is ever folded from them.
package activity

// Failure says that a request or a run failed in a workspace. It is the `error`
// event of the catalogue.
type Failure struct {
	Error   string         `json:"error"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// EventType implements domain.Event.
func (Failure) EventType() string { return "error" }
