package activity

import (
	"encoding/json"

	"svc/domain"
)

// The jobs that erase what is old.
const (
	JobIndices    = "indices"
	JobExecutions = "executions"
)

// Cleaned says what a run of a cleanup job erased, or would erase. It is the answer
// to who asked for the run, and, with Job, the `events.cleaned` event. The parts of
// the other job are left out.
type Cleaned struct {
	Job       string `json:"job,omitempty"`
	DryRun    bool   `json:"dryRun"`
	StartedAt string `json:"startedAt"`
	Duration  int64  `json:"duration"` // ms

	Expired  *Expired  `json:"expiredEvents,omitempty"`
	Inactive *Inactive `json:"inactiveWorkspaces,omitempty"`
	Deleted  *Deleted  `json:"deletedWorkspaces,omitempty"`
	Blobs    *Blobs    `json:"blobs,omitempty"`

	*Stripped

	Errors    []Fault `json:"errors"`
	Truncated bool    `json:"truncated,omitempty"` // it was larger than events may be
}

type (
	// Expired are the events that were older than the retention.
	Expired struct {
		Before *string `json:"before"` // null: no event is too old
		Total  uint64  `json:"total"`
	}
	// Inactive are the workspaces that are small and had no event for long.
	Inactive struct {
		Found         []Idle `json:"found"`
		DeletedEvents uint64 `json:"deletedEvents"`
	}
	// Idle is one of them.
	Idle struct {
		WorkspaceID    string `json:"workspaceId"`
		InactivityDays int    `json:"inactivityDays"`
		EventsCount    int    `json:"eventsCount"`
	}
	// Deleted are the workspaces that cannot come back any more.
	Deleted struct {
		Found         []Gone `json:"found"`
		DeletedEvents uint64 `json:"deletedEvents"`
	}
	// Gone is one of them.
	Gone struct {
		WorkspaceID string `json:"workspaceId"`
		DeletedAt   string `json:"deletedAt"`
	}
	// Blobs are the contents that nothing referred to.
	Blobs struct {
		Deleted    uint64 `json:"deleted"`
		FreedBytes uint64 `json:"freedBytes"`
	}
	// Stripped are the executions whose payload and output were erased.
	Stripped struct {
		Before     *string `json:"before"` // null: none is too old
		Count      uint64  `json:"stripped"`
		FreedBytes uint64  `json:"freedBytes"`
	}
	// Fault says which part of a run was not done, and why.
	Fault struct {
		Part        string `json:"part"`
		WorkspaceID string `json:"workspaceId,omitempty"`
		Message     string `json:"message"`
	}
)

// EventType implements domain.Event.
func (Cleaned) EventType() string { return "events.cleaned" }

// Within implements Bounded.
func (c Cleaned) Within(limit int) domain.Event {
	fields := map[string]any{}
	body, err := json.Marshal(c)
	if err != nil || json.Unmarshal(body, &fields) != nil {
		return c // what no JSON can hold is refused by who records it
	}
	fitting, cut := Fit(fields, limit)
	if !cut {
		return c
	}
	short := Cleaned{}
	if body, err = json.Marshal(fitting); err != nil || json.Unmarshal(body, &short) != nil {
		return c
	}
	return short
}

// DeliveriesDropped says that the records of deliveries of a workspace within a range
// of sequences are erased; other events of the range are not.
type DeliveriesDropped Dropped

// EventType implements domain.Event.
func (DeliveriesDropped) EventType() string { return "events.deliveries.dropped" }
