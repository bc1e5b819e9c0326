package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/operation"
	"svc/http/gateway"
	"svc/projections"
)

// OperationsDeps are what the operations of workspaces ask for.
type OperationsDeps struct {
	Runner OperationRunner
	Events OperationEvents
	Keeps  func() time.Duration // OPERATIONS_RETENTION_DAYS
}

// OperationRunner looks after operations. It is an *operations.Runner.
type OperationRunner interface {
	// Get returns an operation as the log has it now.
	Get(ctx context.Context, workspaceID, id string) (operation.State, error)
	// Cancel asks an operation to stop.
	Cancel(ctx context.Context, workspaceID, id string) (operation.State, error)
}

// OperationEvents returns what was recorded of an aggregate after a sequence. It
// is a *jetstream.Log.
type OperationEvents interface {
	Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error)
}

var (
	operationKinds = []string{
		operation.Push, operation.Pull, operation.Import, operation.Resolve, operation.BulkPush, operation.BulkImport, operation.Replay,
	}
	operationStatuses = []string{
		"queued", string(operation.Running), string(operation.Succeeded), string(operation.Failed), string(operation.Conflict), string(operation.Cancelled),
	}
)

// listOperations handles GET …/operations.
func listOperations(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		kind, status, page := q.OneOf("kind", "", operationKinds...), q.OneOf("status", "", operationStatuses...), q.Page(20, 100)
		if err := q.Err(); err != nil {
			return nil, err
		}
		shown, total := []shownOperation{}, 0
		err := d.ReadModel.View(func(rd projections.Reader) error {
			return projections.Operations{}.List(rd, workspaceID(r), func(op operation.State) bool {
				if d.forgotten(op) {
					return false // those before it are older still
				}
				if kind != "" && kind != op.Kind || status != "" && status != string(op.Status) {
					return true
				}
				if total >= page.Offset() && len(shown) < page.Limit {
					shown = append(shown, showOperation(op))
				}
				total++
				return true
			})
		})
		if err != nil {
			return nil, err
		}
		return gateway.List(r, shown, total, page), nil
	}
}

// getOperation handles GET …/operations/{opId}.
func getOperation(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		op, err := findOperation(d, r)
		if err == nil {
			op, err = d.whole(r.Context(), op)
		}
		return showOperation(op), err
	}
}

// findOperation returns the operation that the path names.
func findOperation(d Deps, r *http.Request) (op operation.State, err error) {
	id, ok := gateway.Var(r, "opId"), false
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		op, ok, err = projections.Operations{}.Get(rd, id)
		return err
	})
	if err == nil && (!ok || op.WorkspaceID != workspaceID(r) || d.forgotten(op)) {
		err = noOperation(id)
	}
	return op, err
}

func noOperation(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such operation").With("resource", "operation").With("id", id)
}

// forgotten reports whether an operation ended too long ago to be shown.
func (d Deps) forgotten(op operation.State) bool {
	return op.EndedAt != nil && d.Operations.Keeps != nil && d.Now().Sub(*op.EndedAt) > d.Operations.Keeps()
}

// whole returns an operation with its result, which may be kept apart.
func (d Deps) whole(ctx context.Context, op operation.State) (operation.State, error) {
	if op.Apart == "" {
		return op, nil
	}
	var err error
	op.Result, err = d.Blobs.Get(ctx, op.Apart)
	return op, err
}

// maxOperationID is longer than any id of an operation.
const maxOperationID = 64

// cancelOperation handles POST …/operations/{opId}/cancel: for who started it, and
// who manages the security of the workspace.
func cancelOperation(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id := gateway.Var(r, "opId")
		if len(id) > maxOperationID {
			return nil, noOperation(id)
		}
		op, err := d.Operations.Runner.Get(r.Context(), workspaceID(r), id) // the read model may not know it yet
		if err == nil && d.forgotten(op) {
			err = noOperation(id)
		}
		if err != nil {
			return nil, err
		}
		if op.CreatedBy != gateway.CallerFrom(r.Context()).Actor() {
			if err := gateway.GrantFrom(r.Context()).Rights.Check("manage_security", "workspaces", nil); err != nil {
				return nil, err
			}
		}
		if op, err = d.Operations.Runner.Cancel(r.Context(), op.WorkspaceID, op.ID); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return showOperation(op), nil
	}
}

// shownOperation is an operation as the API shows it.
type shownOperation struct {
	ID              string             `json:"id"`
	Kind            string             `json:"kind"`
	WorkspaceID     string             `json:"workspaceId"`
	RepositoryID    string             `json:"repositoryId,omitempty"`
	Branch          string             `json:"branch,omitempty"`
	Status          operation.Status   `json:"status"`
	Epoch           uint64             `json:"epoch"`
	CreatedBy       string             `json:"createdBy"`
	CreatedAt       string             `json:"createdAt"`
	StartedAt       string             `json:"startedAt"`
	EndedAt         *string            `json:"endedAt"`
	CorrelationID   string             `json:"correlationId"`
	Resumed         int                `json:"resumed"`
	CancelRequested bool               `json:"cancelRequested,omitempty"`
	Request         json.RawMessage    `json:"request"`
	Progress        shownProgress      `json:"progress"`
	Steps           []shownStep        `json:"steps"`
	Result          json.RawMessage    `json:"result"`
	Error           *operation.Failure `json:"error"`
}

// shownProgress is how much of an operation is done: of workspaces, and of all its
// steps.
type shownProgress struct {
	Current    int `json:"current"`
	Total      int `json:"total"`
	Percentage int `json:"percentage"`
}

type shownStep struct {
	Step         string              `json:"step"`
	State        operation.StepState `json:"state"`
	StartedAt    string              `json:"startedAt"`
	StepDuration int64               `json:"stepDuration,omitempty"`
}

func showOperation(op operation.State) shownOperation {
	at := op.CreatedAt.UTC().Format(domain.Timestamp)
	shown := shownOperation{
		ID: op.ID, Kind: op.Kind, WorkspaceID: op.WorkspaceID, RepositoryID: op.RepositoryID, Branch: op.Branch, Status: op.Status, Epoch: op.Epoch,
		CreatedBy: op.CreatedBy, CreatedAt: at, StartedAt: at, CorrelationID: op.CorrelationID, Resumed: op.Resumed, CancelRequested: op.CancelRequested,
		Request: op.Request, Result: op.Result, Error: op.Failure, Steps: []shownStep{},
	}
	shown.Progress.Current, shown.Progress.Total = op.Progress()
	shown.Progress.Percentage = op.Percentage()
	if op.EndedAt != nil {
		end := op.EndedAt.UTC().Format(domain.Timestamp)
		shown.EndedAt = &end
	}
	for _, step := range op.Done {
		shown.Steps = append(shown.Steps, shownStep{step.Step, step.State, step.Started.UTC().Format(domain.Timestamp), step.Duration})
	}
	return shown
}
