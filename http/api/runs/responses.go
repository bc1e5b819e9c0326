package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"svc/commands"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// respond runs a tree and answers with what it comes to: piece by piece, unless its chunks
// are sent elsewhere. Test says that the caller tests it and is shown all that is known of
// an error. The tree goes on when the caller leaves, or is not waited for any more; who
// repeats the call is answered when it has ended.
func (h *Handlers) respond(r *http.Request, s runtime.Start, test bool) (any, error) {
	t := &chunkedResponse{start: s, test: test, chunks: make(chan []byte)}
	if s.HTTP.Send == nil {
		s.HTTP.Send = t.sendUntil(r.Context().Done())
	}
	t.run = h.Runtime.Launch(s)
	select {
	case <-t.run.Done():
		return t.response()
	case <-r.Context().Done():
		err := context.Cause(r.Context())
		return gateway.Stream{Serve: func(http.ResponseWriter, *http.Request) (any, error) { return nil, err }, Later: t.repeatedResponse}, nil
	case first := <-t.chunks:
		return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) { return nil, t.serve(w, r, first) }, Later: t.repeatedResponse}, nil
	}
}

// response is the answer of a tree that has ended.
func (t *chunkedResponse) response() (any, error) {
	out, err := t.outcome()
	if err != nil {
		return nil, err
	}
	status, header := t.start.HTTP.Head()
	answered := http.Header{}
	maps.Copy(answered, header)
	if t.start.Caller.Visitor {
		answered["X-Svc-Session-Id"] = []string{t.start.Caller.SessionID}
	}
	return outputResponse(out, status, answered), nil
}

// outcome is the output of a tree that has ended, or why there is none.
func (t *chunkedResponse) outcome() (any, error) {
	out, err := t.run.Outcome()
	if err != nil {
		return nil, interruptedError(t.run, err)
	}
	if out.Err != nil {
		return nil, refuseRun(out, &t.start.Caller, audienceOf(&t.start, t.test))
	}
	return out.Output, nil
}

// interruptedError is why a tree has no end: the log takes no writes, or the node stops. One that
// stands in a wait has its end elsewhere.
func interruptedError(run *runtime.Handle, err error) error {
	err = commands.Refused(err)
	select {
	case <-run.Parked():
		return stillRunningError(err)
	default:
		return err
	}
}

// stillRunningError is an error for who waits for a run that has not ended with it.
func stillRunningError(err error) error { return fmt.Errorf("%w: %w", gateway.ErrGoesOn, err) }

// outputResponse is the output of an automation as the answer of its endpoint.
func outputResponse(out any, status int, header http.Header) gateway.Content {
	c := gateway.Content{Status: status, Header: header, Type: header.Get("Content-Type")}
	given := c.Type != ""
	kind := "application/json; charset=utf-8"
	switch out := out.(type) {
	case string:
		kind, c.Body = "text/plain; charset=utf-8", []byte(out)
	case value.Bytes:
		kind, c.Body = "application/octet-stream", out
	default:
		c.Body = []byte(value.JSON(out, ""))
	}
	if !value.IsTruthy(out) {
		kind, c.Body = "application/json; charset=utf-8", []byte("{}")
	}
	if !given {
		c.Type = kind
	}
	c.Type = strings.TrimSpace(c.Type)
	addSandboxPolicy(header)
	return c
}

// sandboxPolicy lets scripts of an answer run, but not as ones of the API. Answers share it: it has no room, so that
// appending copies it.
var sandboxPolicy = []string{"sandbox allow-scripts allow-forms"}

// addSandboxPolicy keeps an answer, of whatever type, from acting as the site that it comes
// from. A policy of the automation stays beside it, which can only take away more.
func addSandboxPolicy(header http.Header) {
	header.Set("X-Content-Type-Options", "nosniff")
	header["Content-Security-Policy"] = append(sandboxPolicy, header["Content-Security-Policy"]...)
}

// chunkedResponse is the answer of a tree, which may be sent piece by piece.
type chunkedResponse struct {
	start     runtime.Start
	run       *runtime.Handle
	test      bool
	chunks    chan []byte
	lastChunk atomic.Pointer[[]byte] // the last chunk, whoever got it; nil: there was none
}

// sendUntil passes chunks on until nobody takes any more: from then on they go nowhere.
func (t *chunkedResponse) sendUntil(gone <-chan struct{}) func(context.Context, []byte) {
	return func(ctx context.Context, chunk []byte) {
		t.lastChunk.Store(&chunk)
		select {
		case t.chunks <- chunk:
		case <-gone:
		case <-ctx.Done():
		}
	}
}

// repeatedResponse waits for the end of the tree, and is what a repeated call is answered with: the
// last piece when there were some.
func (t *chunkedResponse) repeatedResponse(r *http.Request) (any, error) {
	select {
	case <-t.run.Done():
	case <-r.Context().Done():
	}
	if !t.run.HasEnded() {
		return nil, gateway.ErrGoesOn
	}
	chunk := t.lastChunk.Load()
	if chunk == nil {
		return t.response()
	}
	out, err := t.outcome()
	if err != nil {
		return nil, err
	}
	if last := encodeLastChunk(out); last != nil {
		chunk = &last
	}
	return gateway.Content{Type: "application/json; charset=utf-8", Body: *chunk}, nil
}

// serve writes chunks as they come, and the output last. When the caller leaves the
// run goes on.
func (t *chunkedResponse) serve(w http.ResponseWriter, r *http.Request, first []byte) error {
	status, header := t.start.HTTP.Head()
	gateway.AddHeader(w.Header(), header)
	if t.start.Caller.Visitor {
		w.Header().Set("X-Svc-Session-Id", t.start.Caller.SessionID)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	addSandboxPolicy(w.Header())
	if status != 0 {
		w.WriteHeader(status)
	}
	out := handler.NewStreamWriter(w, r)
	if err := out.SendData(first); err != nil {
		return err
	}
	if err := t.sendChunks(r, out.SendData); err != nil {
		return err
	}
	return out.SetDeadline(time.Time{}) // the connection may serve more
}

// sendChunks writes the rest.
func (t *chunkedResponse) sendChunks(r *http.Request, write func([]byte) error) error {
	for {
		var alive <-chan time.Time
		timer := time.NewTimer(time.Hour)
		every, changed := t.start.HTTP.KeepAlive()
		if every > 0 {
			timer.Reset(every)
			alive = timer.C
		}
		var err error
		select {
		case chunk := <-t.chunks:
			err = write(chunk)
		case <-alive:
			err = write([]byte(`{"keepAlive": true}`))
		case <-changed:
		case <-r.Context().Done():
			err = context.Cause(r.Context())
		case <-t.run.Done():
			timer.Stop()
			return t.sendLast(r, write)
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// sendLast writes the output, or the error that the run ended with.
func (t *chunkedResponse) sendLast(r *http.Request, write func([]byte) error) error {
	out, err := t.outcome()
	if err != nil {
		return write(gateway.ErrorFrame(r, err))
	}
	if piece := encodeLastChunk(out); piece != nil {
		return write(piece)
	}
	return nil
}

// encodeLastChunk is an output after chunks; nil when it says nothing.
func encodeLastChunk(out any) []byte {
	if o, ok := out.(*value.Object); value.IsUndefined(out) || ok && o.Len() == 0 {
		return nil
	}
	return []byte(value.JSON(out, ""))
}

// automationFailed is the reason of an internal_error that is a fault of an automation.
const automationFailed = "automation_failed"

// errorAudience says how much of an error the caller of an endpoint is shown.
type errorAudience int

const (
	anyCaller errorAudience = iota // of a server error nothing but its name
	reader                         // may read the automation: the message as well
	tester                         // runs a test: all details as well
)

// audienceOf returns how much the caller of a tree is shown.
func audienceOf(s *runtime.Start, test bool) errorAudience {
	switch {
	case test:
		return tester
	case s.Caller.Rights == nil || s.Caller.Rights.Allows("read", "automations", runtime.Subject(s.Program)):
		return reader
	}
	return anyCaller
}

// refuseRun returns the error that a run ended with as its caller is answered it.
func refuseRun(out runtime.Outcome, c *runtime.Caller, to errorAudience) error {
	err := out.Err
	e := domain.Refuse(out.Code(c.Credential), "%s", err.Message).With("name", err.Name)
	refusal := gateway.RefuseRecorded(e) // the run recorded it
	if e.Code == domain.CodeInternal && err.Name != automation.InternalFault {
		e.Reason(automationFailed)
	}
	if refusal.Status >= 500 && to == anyCaller {
		e.Message = "The automation failed."
		return refusal
	}
	if listed := value.Walk(err.Details, "errors"); !value.IsUndefined(listed) {
		e.With("errors", asJSON(listed))
	}
	if to == tester {
		for _, key := range err.Details.Keys() {
			detailKey := key
			if key == "name" { // that of the error stands there
				detailKey = "secret"
			}
			e.With(detailKey, asJSON(err.Details.At(key)))
		}
		if err.Document != "" {
			e.With("automation", err.Document).With("instruction", err.Instruction)
		}
	}
	switch err.Name {
	case automation.Forbidden:
		e.With("action", "execute").With("subject", "automations")
	case automation.RateLimitExceeded:
		refusal.Header.Set("Retry-After", strconv.Itoa(max(1, int(value.ToNumber(err.Details.At("retryAfter"))))))
	}
	return refusal
}

// asJSON is a value of an automation as encoders know it.
func asJSON(v any) any { return json.RawMessage(value.JSON(v, "")) }
