package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"svc/domain"
)

// Error is a refusal of the service.
type Error struct {
	Status     int // of HTTP; 0 for an operation that was followed
	Code       domain.Code
	Message    string
	Details    map[string]any
	RequestID  string // by which the operator finds it
	Operation  string // the operation that failed; "" for none
	RetryAfter string // seconds; "" when nothing was said
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Reason is the sub-code; "" for none.
func (e *Error) Reason() string {
	var reason string
	e.Detail("reason", &reason)
	return reason
}

// Detail decodes a detail. It reports whether there is one of that form.
func (e *Error) Detail(name string, into any) bool {
	text, err := json.Marshal(e.Details[name])
	return e.Details[name] != nil && err == nil && json.Unmarshal(text, into) == nil
}

// refusal is the error that an answer tells. An answer that is none of ours comes
// from something between, or from another program.
func refusal(resp *http.Response, text []byte) error {
	e := &Error{Status: resp.StatusCode, Operation: resp.Header.Get(operationHeader), RetryAfter: resp.Header.Get("Retry-After")}
	var told struct {
		Error     domain.Code    `json:"error"`
		Message   string         `json:"message"`
		Details   map[string]any `json:"details"`
		RequestID string         `json:"requestId"`
	}
	if err := json.Unmarshal(text, &told); err == nil && told.Error != "" {
		e.Code, e.Message, e.Details, e.RequestID = told.Error, told.Message, told.Details, told.RequestID
		return e
	}
	e.Message = fmt.Sprintf("%s answered %s: is this the address of the service?", resp.Request.URL.Host, resp.Status)
	if to := resp.Header.Get("Location"); to != "" {
		e.Message = fmt.Sprintf("%s answered %s and sends to %s: use the address of the service itself", resp.Request.URL.Host, resp.Status, to)
	}
	return e
}

// Unreachable says that there was no answer.
type Unreachable struct {
	URL string
	Err error

	unsent bool
}

// Error implements error.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("the service at %s does not answer: %v", e.URL, e.Err)
}

// Unwrap returns why.
func (e *Unreachable) Unwrap() error { return e.Err }

// errLate says that an answer took longer than any should.
var errLate = errors.New("no answer in time")

// unreachable is the error of a call without an answer. When the caller gave up it
// is why they did.
func (c *Client) unreachable(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause != nil && !errors.Is(cause, errLate) {
		return cause
	}
	if cause != nil {
		err = cause
	} else if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	op, ok := errors.AsType[*net.OpError](err)
	return &Unreachable{URL: c.URL, Err: err, unsent: ok && op.Op == "dial"}
}
