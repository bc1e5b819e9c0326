package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
)

// Operation is a long piece of work on a workspace.
type Operation struct {
	ID           string             `json:"id"`
	Kind         string             `json:"kind"`
	WorkspaceID  string             `json:"workspaceId"`
	RepositoryID string             `json:"repositoryId"`
	Status       operation.Status   `json:"status"`
	Result       json.RawMessage    `json:"result"` // what the call would have answered
	Failure      *operation.Failure `json:"error"`
}

// Err is how an operation that has ended failed; nil when it did not.
func (o Operation) Err() error {
	switch {
	case o.Failure != nil:
		return &Error{Code: o.Failure.Code, Message: o.Failure.Message, Details: o.Failure.Details, Operation: o.ID}
	case o.Status == operation.Cancelled && (o.Result == nil || string(o.Result) == "null"): // a bulk run tells how far it came
		return &Error{Code: domain.CodeConflict, Message: "the operation was cancelled", Operation: o.ID}
	}
	return nil
}

// Start sends a call that may become an operation, and returns it when it has
// ended. Meanwhile tell hears its frames, each once. Without an operation the
// answer is the result of one that has no id. With an error the operation has the
// id that it is known by, if it is known.
func (c *Client) Start(ctx context.Context, workspace, path string, in any, tell func(Frame)) (Operation, error) {
	answer, err := c.send(ctx, call{method: http.MethodPost, path: path, accept: "application/json, " + streamType, wait: planTime}, in)
	if err != nil {
		return Operation{ID: answer.Operation}, err
	}
	t := &thread{c: c, at: OperationPath(workspace, answer.Operation), id: answer.Operation, tell: tell}
	switch {
	case answer.stream != nil:
		_ = frames(answer.stream, t.hear) // a stream that broke goes on elsewhere
		if t.id == "" {
			return Operation{}, c.unreachable(ctx, errors.New("the stream broke before it named the operation"))
		}
		t.at = OperationPath(workspace, t.id)
	case answer.Status != http.StatusAccepted:
		return Operation{ID: answer.Operation, Status: operation.Succeeded, Result: answer.Body}, nil
	}
	return t.follow(ctx)
}

// Follow returns an operation when it has ended. Meanwhile tell hears its frames,
// from the first.
func (c *Client) Follow(ctx context.Context, workspace, id string, tell func(Frame)) (Operation, error) {
	t := &thread{c: c, at: OperationPath(workspace, id), id: id, tell: tell}
	return t.follow(ctx)
}

// OperationPath is where an operation is.
func OperationPath(workspace, id string) string {
	return "/workspaces/" + url.PathEscape(workspace) + "/operations/" + url.PathEscape(id)
}

// thread is an operation that is followed over all its streams.
type thread struct {
	c    *Client
	at   string
	id   string
	last string // the frame that was heard last
	tell func(Frame)
	over bool // the last frame of all was heard
}

// maxLost is how often in a row the service may not answer: about a minute.
const maxLost = 16

// follow reads the stream, again and again, until the operation has ended.
func (t *thread) follow(ctx context.Context) (Operation, error) {
	for lost, pause := 0, t.c.pause(); ; {
		before := t.last
		op, err := t.look(ctx)
		switch {
		case err == nil && op.Status.Ended() && !t.over && t.last != before:
			continue // it was cut off: there is more to hear
		case err == nil && op.Status.Ended():
			return op, nil
		case err == nil:
			lost, pause = 0, t.c.pause()
		case !mayPass(err) || lost == maxLost:
			return Operation{ID: t.id}, err
		}
		lost++
		if err := commands.Sleep(ctx, pause); err != nil {
			return Operation{ID: t.id}, err
		}
		pause = min(2*pause, 16*t.c.pause())
	}
}

// look hears what is new until the stream ends, and asks how the operation is.
func (t *thread) look(ctx context.Context) (op Operation, err error) {
	if !t.over {
		answer, err := t.c.once(ctx, call{method: http.MethodGet, path: t.at + "/events", accept: streamType, after: t.last})
		if err != nil {
			return op, err
		}
		if answer.stream != nil {
			_ = frames(answer.stream, t.hear) // how it is going is asked next
		}
	}
	answer, err := t.c.once(ctx, call{method: http.MethodGet, path: t.at})
	if err == nil {
		err = json.Unmarshal(answer.Body, &op)
	}
	return op, err
}

// hear keeps where the stream is, and tells the frame.
func (t *thread) hear(f Frame) {
	t.last = f.ID
	if f.Data == nil {
		return
	}
	if t.id == "" {
		var about struct {
			OperationID string `json:"operationId"`
		}
		_ = json.Unmarshal(f.Data, &about) // then the next one names it
		t.id = about.OperationID
	}
	switch f.Type {
	case operation.Ended{}.EventType(), operation.BulkPushCompleted{}.EventType(), operation.BulkImportCompleted{}.EventType():
		t.over = true
	}
	t.tell(f)
}

// mayPass reports whether an error is one of the moment.
func mayPass(err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests
	}
	_, ok := errors.AsType[*Unreachable](err)
	return ok
}
