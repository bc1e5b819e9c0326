package versioning

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

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
		operation.Push, operation.Pull, operation.Import, operation.Resolve, operation.BulkPush, operation.BulkImport, operation.Replay, operation.Crawl, operation.Reindex,
	}
	operationStatuses = []string{
		"queued", string(operation.Running), string(operation.Succeeded), string(operation.Failed), string(operation.Conflict), string(operation.Cancelled),
	}
)

// ListOperations handles GET …/operations.
func (h *Handlers) ListOperations(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	kind, status, page := q.OneOf("kind", "", operationKinds...), q.OneOf("status", "", operationStatuses...), q.Page(20, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	items, total := []OperationResponse{}, 0
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err := projections.Operations{}.List(rd, handler.WorkspaceID(r), func(op operation.State) bool {
		if h.isExpired(op) {
			return false // those before it are older still
		}
		if kind != "" && kind != op.Kind || status != "" && status != string(op.Status) {
			return true
		}
		if total >= page.Offset() && len(items) < page.Limit {
			items = append(items, ToOperationResponse(op))
		}
		total++
		return true
	})
	if err != nil {
		return nil, err
	}
	return gateway.List(r, items, total, page), nil
}

// GetOperation handles GET …/operations/{opId}.
func (h *Handlers) GetOperation(r *http.Request) (any, error) {
	op, err := h.findOperation(r)
	if err == nil {
		op, err = h.withResult(r.Context(), op)
	}
	return ToOperationResponse(op), err
}

// findOperation returns the operation that the path names.
func (h *Handlers) findOperation(r *http.Request) (operation.State, error) {
	id := gateway.Var(r, "opId")
	op, ok, err := projections.Find(h.ReadModel, projections.Operations{}.Get, id)
	if err == nil && (!ok || op.WorkspaceID != handler.WorkspaceID(r) || h.isExpired(op)) {
		err = noOperation(id)
	}
	return op, err
}

func noOperation(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such operation").With("resource", "operation").With("id", id)
}

// isExpired reports whether an operation ended too long ago to be shown.
func (h *Handlers) isExpired(op operation.State) bool {
	return op.EndedAt != nil && h.OperationRetention != nil && h.Now().Sub(*op.EndedAt) > h.OperationRetention()
}

// withResult returns an operation with its result, which may be kept apart.
func (h *Handlers) withResult(ctx context.Context, op operation.State) (operation.State, error) {
	if op.Apart == "" {
		return op, nil
	}
	var err error
	op.Result, err = h.Blobs.Get(ctx, op.Apart)
	return op, err
}

// maxOperationID is longer than any id of an operation.
const maxOperationID = 64

// CancelOperation handles POST …/operations/{opId}/cancel: for who started it, and
// who manages the security of the workspace.
func (h *Handlers) CancelOperation(r *http.Request) (any, error) {
	id := gateway.Var(r, "opId")
	if len(id) > maxOperationID {
		return nil, noOperation(id)
	}
	op, err := h.Operations.Get(r.Context(), handler.WorkspaceID(r), id) // the read model may not know it yet
	if err == nil && h.isExpired(op) {
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
	if op, err = h.Operations.Cancel(r.Context(), op.WorkspaceID, op.ID); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return ToOperationResponse(op), nil
}

// OperationResponse is an operation as the API shows it.
type OperationResponse struct {
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
	Progress        progressResponse   `json:"progress"`
	Steps           []stepResponse     `json:"steps"`
	Result          json.RawMessage    `json:"result"`
	Error           *operation.Failure `json:"error"`
}

// progressResponse is how much of an operation is done: of workspaces, and of all its
// steps.
type progressResponse struct {
	Current    int `json:"current"`
	Total      int `json:"total"`
	Percentage int `json:"percentage"`
}

type stepResponse struct {
	Step         string              `json:"step"`
	State        operation.StepState `json:"state"`
	StartedAt    string              `json:"startedAt"`
	StepDuration int64               `json:"stepDuration,omitempty"`
}

// ToOperationResponse returns an operation as the API shows it.
func ToOperationResponse(op operation.State) OperationResponse {
	at := op.CreatedAt.UTC().Format(domain.Timestamp)
	response := OperationResponse{
		ID: op.ID, Kind: op.Kind, WorkspaceID: op.WorkspaceID, RepositoryID: op.RepositoryID, Branch: op.Branch, Status: op.Status, Epoch: op.Epoch,
		CreatedBy: op.CreatedBy, CreatedAt: at, StartedAt: at, CorrelationID: op.CorrelationID, Resumed: op.Resumed, CancelRequested: op.CancelRequested,
		Request: op.Request, Result: op.Result, Error: op.Failure, Steps: []stepResponse{},
	}
	response.Progress.Current, response.Progress.Total = op.Progress()
	response.Progress.Percentage = op.Percentage()
	if op.EndedAt != nil {
		end := op.EndedAt.UTC().Format(domain.Timestamp)
		response.EndedAt = &end
	}
	for _, step := range op.Done {
		response.Steps = append(response.Steps, stepResponse{step.Step, step.State, step.Started.UTC().Format(domain.Timestamp), step.Duration})
	}
	return response
}

// defaultOperationWait is how long the caller waits for an operation unless they say otherwise.
const defaultOperationWait = 15 * time.Second

// readOperationWait reads for how long the caller waits for an operation. A handler asks
// for it before it starts one.
func readOperationWait(r *http.Request) (time.Duration, error) {
	q := gateway.NewQuery(r)
	wait := q.Seconds("timeout", defaultOperationWait)
	return handler.BoundWait(r, wait), q.Err()
}

// operationResponse answers when an operation has ended: with answer when it succeeded,
// else as the call itself would have failed. When it takes longer than the caller
// waits they are told how to follow it.
func (h *Handlers) operationResponse(r *http.Request, started *operations.Handle, answer func(operation.State) (any, error)) (any, error) {
	wait, err := readOperationWait(r)
	if err != nil {
		return nil, err
	}
	end, ended := started.Wait(r.Context(), wait)
	if !ended {
		handler.AwaitVisible(r.Context(), h.ReadModel)
		return handler.WithOperation(started, gateway.Accepted(handler.ProcessingResponse{
			Processing: true, Message: "the operation goes on: follow it by its id", OperationID: started.ID(),
		})), nil
	}
	if end.Failure != nil {
		handler.AwaitVisible(r.Context(), h.ReadModel)
		return nil, gateway.RefuseWith(end.Failure.Error(), handler.OperationHeader, started.ID())
	}
	handler.AwaitImportVisible(r.Context(), h.ReadModel)
	if end, err = h.withResult(r.Context(), end); err != nil {
		return nil, err
	}
	body, err := answer(end)
	if err != nil {
		return nil, err
	}
	if full, ok := body.(*gateway.Answer); ok {
		return handler.WithOperation(started, full), nil
	}
	return handler.WithOperation(started, gateway.OK(body)), nil
}

// bulkResponse answers with the end of a run, or tells of it as it goes.
func (h *Handlers) bulkResponse(r *http.Request, started *operations.Handle, sse bool) (any, error) {
	if !sse {
		return h.operationResponse(r, started, operationResult)
	}
	return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		w.Header().Set(handler.OperationHeader, started.ID())
		f := &operationStream{w: w, flush: http.NewResponseController(w).Flush, only: isBulkEvent}
		err := f.begin(r, h, operation.Stream(domain.Platform, started.ID()))
		return f.last, err
	}}, nil
}

// The rhythm of the stream of an operation.
const (
	operationPoll   = 250 * time.Millisecond // between looks at the log
	operationRights = 5 * time.Second        // between looks at the rights of the reader
	operationPulse  = 15 * time.Second       // between comments, so that nobody takes the connection for dead
)

// StreamOperation handles GET …/operations/{opId}/events: what was recorded of an
// operation, from its start or from where the reader was, until it has ended.
func (h *Handlers) StreamOperation(r *http.Request) (any, error) {
	op, err := h.findOperation(r)
	if err != nil {
		return nil, err
	}
	after, err := readLastEvent(r)
	if err != nil {
		return nil, err
	}
	return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		f := &operationStream{w: w, flush: http.NewResponseController(w).Flush, after: after}
		if op.Kind == operation.BulkImport || op.Kind == operation.BulkPush {
			f.only = isBulkEvent
		}
		return nil, f.follow(r, h, operation.Stream(op.WorkspaceID, op.ID))
	}}, nil
}

// readLastEvent is where a reader was that comes back.
func readLastEvent(r *http.Request) (uint64, error) {
	token := r.Header.Get("Last-Event-ID")
	if token == "" {
		return 0, nil
	}
	at, err := domain.ParsePosition(token)
	if err != nil {
		return 0, domain.Refuse(domain.CodeInvalidParameter, "Last-Event-ID was not sent by this stream: leave it out to start now").With("parameter", "Last-Event-ID")
	}
	return at.State, nil
}

// operationStream writes events to one reader.
type operationStream struct {
	w     http.ResponseWriter
	flush func() error
	after uint64 // the reader has what was recorded up to there
	read  uint64 // what was recorded up to there was looked at
	ended bool

	revision func(workspaceID string, seq uint64) (uint64, error)

	only func(domain.Event) bool // what is told; nil: everything
	last json.RawMessage         // of what was told
}

// begin is follow for who has just started a run: one that is refused before it has
// a plan is refused here too.
func (f *operationStream) begin(r *http.Request, h *Handlers, id domain.StreamID) error {
	poll := time.NewTicker(operationPoll)
	defer poll.Stop()
	for {
		events, err := h.OperationEvents.Load(r.Context(), id, 0)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if end, ok := ev.Data.(operation.Ended); ok && end.Failure != nil {
				return end.Failure.Error()
			}
			if f.only(ev.Data) {
				return f.follow(r, h, id)
			}
		}
		select {
		case <-r.Context().Done():
			return context.Cause(r.Context())
		case <-poll.C:
		}
	}
}

// follow tells what was recorded of an operation, and what is, until it has ended
// or the reader is gone, or may not read it any more. An error is told before the
// first word only.
func (f *operationStream) follow(r *http.Request, h *Handlers, id domain.StreamID) error {
	events, err := h.OperationEvents.Load(r.Context(), id, 0)
	if err != nil {
		return err
	}
	f.revision = h.revisionAt(r.Context())
	handler.SetStreamHeaders(f.w.Header())
	if r.Method == http.MethodHead {
		f.w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := f.write("retry: 2000\n\n"); err != nil {
		return nil // the reader is gone
	}
	poll, rights, pulse := time.NewTicker(operationPoll), time.NewTicker(operationRights), time.NewTicker(operationPulse)
	defer poll.Stop()
	defer rights.Stop()
	defer pulse.Stop()
	for err = f.writeEvents(events); err == nil && !f.ended; {
		select {
		case <-r.Context().Done():
			return nil
		case <-pulse.C:
			err = f.write(": still running\n\n")
		case <-rights.C:
			if _, _, err := gateway.Recheck(r); err != nil {
				return nil
			}
		case <-poll.C:
			err = f.poll(r.Context(), h, id)
		}
	}
	return nil
}

// poll tells what is new. When the log does not answer the next look may.
func (f *operationStream) poll(ctx context.Context, h *Handlers, id domain.StreamID) error {
	events, err := h.OperationEvents.Load(ctx, id, f.read)
	if err != nil {
		return nil
	}
	return f.writeEvents(events)
}

// writeEvents writes the events that the reader does not have.
func (f *operationStream) writeEvents(events []domain.Recorded) error {
	for _, ev := range events {
		f.read = ev.Seq
		if _, void := ev.Data.(domain.Void); void {
			continue
		}
		if _, last := ev.Data.(operation.Ended); last {
			f.ended = true
		}
		if ev.Seq <= f.after || f.only != nil && !f.only(ev.Data) {
			continue
		}
		public, err := domain.PayloadOf(ev, f.revision)
		if err != nil {
			return err
		}
		payload, err := json.Marshal(public)
		if err != nil {
			return err
		}
		f.last = payload
		if err := f.write("id: %s\nevent: %s\ndata: %s\n\n", domain.At(domain.State, ev.Seq).Token(), ev.Data.EventType(), payload); err != nil {
			return err
		}
	}
	return nil
}

func (f *operationStream) write(format string, args ...any) error {
	if _, err := fmt.Fprintf(f.w, format, args...); err != nil {
		return err
	}
	return f.flush()
}
