package activity

import (
	"encoding/json"

	"svc/domain"
)

// Executed says that an automation was executed. What it was given and what it gave
// may be kept apart, so that both can be erased before the event is.
type Executed struct {
	Slug              string          `json:"slug"`
	ExecutionID       string          `json:"executionId"`
	ParentExecutionID string          `json:"parentExecutionId,omitempty"`
	Trigger           json.RawMessage `json:"trigger,omitempty"`
	Input             json.RawMessage `json:"payload"`
	Output            json.RawMessage `json:"output"`
	Duration          int64           `json:"duration"` // ms
	Throttled         int64           `json:"throttled,omitempty"`
	StartedAt         string          `json:"startedAt"`
	Break             bool            `json:"break"`
	Error             *Failure        `json:"error,omitempty"`
	Truncated         bool            `json:"truncated,omitempty"`
	Recorded          any             `json:"recorded,omitempty"` // true, or "truncated"
	Apart             bool            `json:"apart,omitempty"`    // payload, output and logs are kept apart; not shown
	Logged            bool            `json:"logged,omitempty"`   // there are logs
}

// EventType implements domain.Event.
func (Executed) EventType() string { return "runtime.automations.executed" }

// UnmarshalJSON implements json.Unmarshaler: null, which says that something was left
// out, is nothing.
func (e *Executed) UnmarshalJSON(body []byte) error {
	type plainly Executed
	if err := json.Unmarshal(body, (*plainly)(e)); err != nil {
		return err
	}
	for _, part := range []*json.RawMessage{&e.Trigger, &e.Input, &e.Output} {
		if string(*part) == "null" {
			*part = nil
		}
	}
	return nil
}

// Within implements Bounded: what went in and what came out are left out before
// anything else is cut.
func (e Executed) Within(limit int) domain.Event { return within(e, limit, FitExecuted) }
