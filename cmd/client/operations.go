package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
)

// Operation is a long operation on a workspace.
type Operation struct {
	ID           string             `json:"id"`
	Kind         string             `json:"kind"`
	WorkspaceID  string             `json:"workspaceId"`
	RepositoryID string             `json:"repositoryId"`
	Status       operation.Status   `json:"status"`
	Result       json.RawMessage    `json:"result"` // what the call would have answered
	Failure      *operation.Failure `json:"error"`
}

// Err returns how an operation failed; nil when it did not.
func (o Operation) Err() error {
	switch {
	case o.Failure != nil:
		return &Error{Code: o.Failure.Code, Message: o.Failure.Message, Details: o.Failure.Details, Operation: o.ID}
	case o.Status == operation.Cancelled && (o.Result == nil || string(o.Result) == "null"): // a bulk run tells how far it came
		return &Error{Code: domain.CodeConflict, Message: "the operation was cancelled", Operation: o.ID}
	}
	return nil
}

// Start sends a call that may start an operation, and returns the operation when it has ended. It
// calls tell for each of its frames once. Without an operation, the answer is the result of one
// without an id. With an error, the operation has its id, if that is known.
func (c *Client) Start(ctx context.Context, workspace, path string, in any, notify func(Frame)) (Operation, error) {
	answer, err := c.send(ctx, call{method: http.MethodPost, path: path, accept: "application/json, " + streamType, wait: planTime}, in)
	if err != nil {
		return Operation{ID: answer.Operation}, err
	}
	t := &followedOperation{c: c, at: OperationPath(workspace, answer.Operation), id: answer.Operation, notify: notify}
	switch {
	case answer.stream != nil:
		_ = frames(answer.stream, t.handle) // a stream that broke goes on elsewhere
		if t.id == "" {
			return Operation{}, c.unreachable(ctx, errors.New("the stream broke before it named the operation"))
		}
		t.at = OperationPath(workspace, t.id)
	case answer.Status != http.StatusAccepted:
		return Operation{ID: answer.Operation, Status: operation.Succeeded, Result: answer.Body}, nil
	}
	return t.follow(ctx)
}

// Follow returns an operation when it has ended. It calls tell for all of its frames.
func (c *Client) Follow(ctx context.Context, workspace, id string, notify func(Frame)) (Operation, error) {
	t := &followedOperation{c: c, at: OperationPath(workspace, id), id: id, notify: notify}
	return t.follow(ctx)
}

// OperationPath returns the path of an operation.
func OperationPath(workspace, id string) string {
	return "/workspaces/" + url.PathEscape(workspace) + "/operations/" + url.PathEscape(id)
}

// followedOperation is an operation over all its streams.
type followedOperation struct {
	c      *Client
	at     string
	id     string
	last   string // the frame that was heard last
	notify func(Frame)
	over   bool // the last frame of all was heard
}

// maxUnanswered is how many calls in a row may have no answer: about a minute.
const maxUnanswered = 16

// follow reads the stream until the operation has ended.
func (t *followedOperation) follow(ctx context.Context) (Operation, error) {
	for lost, pause := 0, t.c.pause(); ; {
		before := t.last
		op, err := t.readOnce(ctx)
		switch {
		case err == nil && op.Status.Ended() && !t.over && t.last != before:
			continue // it was cut off: there is more to hear
		case err == nil && op.Status.Ended():
			return op, nil
		case err == nil:
			lost, pause = 0, t.c.pause()
		case !isTransient(err) || lost == maxUnanswered:
			return Operation{ID: t.id}, err
		}
		lost++
		if err := commands.Sleep(ctx, pause); err != nil {
			return Operation{ID: t.id}, err
		}
		pause = min(2*pause, 16*t.c.pause())
	}
}

// readOnce reads new frames until the stream ends, and reads the operation.
func (t *followedOperation) readOnce(ctx context.Context) (op Operation, err error) {
	if !t.over {
		answer, err := t.c.once(ctx, call{method: http.MethodGet, path: t.at + "/events", accept: streamType, after: t.last})
		if err != nil {
			return op, err
		}
		if answer.stream != nil {
			_ = frames(answer.stream, t.handle) // how it is going is asked next
		}
	}
	answer, err := t.c.once(ctx, call{method: http.MethodGet, path: t.at})
	if err == nil {
		err = json.Unmarshal(answer.Body, &op)
	}
	return op, err
}

// handle stores the position of a frame, and passes the frame on.
func (t *followedOperation) handle(f Frame) {
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
	t.notify(f)
}

// isTransient reports whether an error may be gone at the next try.
func isTransient(err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests
	}
	_, ok := errors.AsType[*Unreachable](err)
	return ok
}

// Tail calls tell for the events of a stream, until ctx ends, tell returns false or the service
// refuses. A stream that breaks is opened again after the last event: none is missed or repeated.
func (c *Client) Tail(ctx context.Context, path string, notify func(Frame) (more bool)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t := &followedStream{c: c, path: path, notify: notify, stop: stop}
	for lost, pause := 0, c.pause(); ; {
		err := t.readOnce(ctx)
		switch {
		case t.over || ctx.Err() != nil:
			return nil
		case err == nil:
			lost, pause = 0, c.pause()
		case !isTransient(err) || !t.begun || lost == maxUnanswered:
			return err
		}
		lost++
		if err := commands.Sleep(ctx, pause); err != nil {
			return nil
		}
		pause = min(2*pause, 16*c.pause())
	}
}

// followedStream is a stream over all its connections.
type followedStream struct {
	c      *Client
	path   string
	last   string // the frame that was heard last
	notify func(Frame) bool
	stop   func()
	begun  bool // the service was there once
	over   bool // nobody wants to hear more
}

// readOnce reads new frames until the connection ends.
func (t *followedStream) readOnce(ctx context.Context) error {
	answer, err := t.c.once(ctx, call{method: http.MethodGet, path: t.path, accept: streamType, after: t.last})
	if err != nil {
		return err
	}
	if answer.stream == nil {
		return fmt.Errorf("GET %s was answered with something else than a stream", t.path)
	}
	t.begun = true
	_ = frames(answer.stream, t.handle) // however it ended, it goes on after what was heard
	return nil
}

// handle stores the position of a frame, and passes the frame on.
func (t *followedStream) handle(f Frame) {
	if t.over {
		return // what was on its way when the last one was told
	}
	t.last = f.ID
	if f.Data != nil && !t.notify(f) {
		t.over = true
		t.stop()
	}
}

// Frame is one event of a stream.
type Frame struct {
	ID   string // where the stream goes on after it
	Type string
	Data json.RawMessage // nil: it only tells where the stream is
}

const (
	silence  = 45 * time.Second // three times what the service lets pass without a word
	maxFrame = 64 << 20         // the result of a run over 2000 workspaces
)

// stream is a stream that is read, and can be closed.
type stream struct {
	io.ReadCloser
	stop func()
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.stop()
	return s.ReadCloser.Close()
}

// frames calls tell for the frames of a stream until it ends: nil, or its error. A stream that is
// silent for too long is closed.
func frames(from io.ReadCloser, notify func(Frame)) error {
	defer from.Close()
	quiet := time.AfterFunc(silence, func() { _ = from.Close() }) // the next read fails
	defer quiet.Stop()
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 4<<10), maxFrame)
	var now Frame
	var data []string
	for lines.Scan() {
		quiet.Reset(silence)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && (data != nil || now.ID != ""):
			if data != nil {
				now.Data = json.RawMessage(strings.Join(data, "\n"))
			}
			notify(now)
			now, data = Frame{}, nil
		case name == "id":
			now.ID = value
		case name == "event":
			now.Type = value
		case name == "data":
			data = append(data, value)
		}
	}
	return lines.Err()
}
