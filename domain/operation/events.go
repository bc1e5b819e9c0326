package operation

import (
	"encoding/json"
	"time"
)

type (
	// Started says that an operation began.
	Started struct {
		About About `json:"about"`
	}
	// Progress says that a step of an operation began, was done or failed.
	Progress struct {
		Operation    string    `json:"operation"` // its kind
		OperationID  string    `json:"operationId"`
		Step         string    `json:"step"`
		State        StepState `json:"state"`
		Message      string    `json:"message"`
		StartedAt    time.Time `json:"startedAt"`
		Duration     int64     `json:"stepDuration,omitempty"` // milliseconds
		RepositoryID string    `json:"repositoryId,omitempty"`
		Branch       string    `json:"branch,omitempty"`
		Failure      *Failure  `json:"error,omitempty"`
		FailedStep   string    `json:"failedStep,omitempty"`
	}
	// CancelRequested says that somebody asked an operation to stop.
	CancelRequested struct {
		ID string `json:"operationId"`
		By string `json:"by"`
	}
	// Resumed says that another runner goes on with an operation.
	Resumed struct {
		ID    string `json:"operationId"`
		Epoch uint64 `json:"epoch"`
	}
	// Ended says how an operation ended. A result that is too large is kept apart.
	Ended struct {
		ID      string          `json:"operationId"`
		Kind    string          `json:"operation"`
		Status  Status          `json:"status"`
		Result  json.RawMessage `json:"result,omitempty"`
		Apart   string          `json:"apart,omitempty"`
		Failure *Failure        `json:"error,omitempty"`
		EndedAt time.Time       `json:"endedAt"`
	}
)

// EventType implements domain.Event.
func (Started) EventType() string { return "workspaces.operations.started" }

// EventType implements domain.Event.
func (Progress) EventType() string { return "workspaces.versions.progress" }

// EventType implements domain.Event.
func (CancelRequested) EventType() string { return "workspaces.operations.cancelRequested" }

// EventType implements domain.Event.
func (Resumed) EventType() string { return "workspaces.operations.resumed" }

// EventType implements domain.Event.
func (Ended) EventType() string { return "workspaces.operations.ended" }

// Payload implements domain.Shown.
func (e Started) Payload() any { return e.About }

// of returns the progress with what it shares with its operation.
func (p Progress) of(s State) Progress {
	p.Operation, p.OperationID, p.RepositoryID, p.Branch = s.Kind, s.ID, s.RepositoryID, s.Branch
	return p
}
