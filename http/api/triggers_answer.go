package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/http/gateway"
)

// answer runs a tree and answers with what it comes to. Whole says that the caller is
// told all that is known of an error. The tree goes on when the caller leaves.
func (d Deps) answer(r *http.Request, s runtime.Start, whole bool) (any, error) {
	chunks, gone := make(chan []byte), make(chan struct{})
	s.HTTP.Send = func(ctx context.Context, chunk []byte) {
		select {
		case chunks <- chunk:
		case <-gone:
		case <-ctx.Done():
		}
	}
	run := d.Runtime.Launch(s)
	select {
	case <-run.Done():
		close(gone)
		return told(s, run, whole)
	case <-r.Context().Done():
		close(gone)
		return nil, context.Cause(r.Context())
	case first := <-chunks:
		t := &trickle{d: d, start: s, run: run, chunks: chunks, gone: gone, whole: whole}
		return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) { return t.serve(w, r, first) }}, nil
	}
}

// told is the answer of a tree that has ended.
func told(s runtime.Start, run *runtime.Running, whole bool) (any, error) {
	out, err := run.Outcome()
	if err != nil {
		return nil, broken(err)
	}
	status, header := s.HTTP.Head()
	if out.Err != nil {
		return nil, refusal(out.Err, &s.Caller, whole)
	}
	answered := http.Header{}
	maps.Copy(answered, header)
	if s.Caller.Visitor {
		answered.Set("X-Svc-Session-Id", s.Caller.SessionID)
	}
	return shownOutput(out.Output, status, answered), nil
}

// broken is why a tree has no end: the log takes no writes, or the node stops.
func broken(err error) error { return commands.Refused(err) }

// shownOutput is the output of an automation as the answer of its endpoint.
func shownOutput(out any, status int, header http.Header) gateway.Content {
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
	if !value.Truth(out) {
		kind, c.Body = "application/json; charset=utf-8", []byte("{}")
	}
	if !given {
		c.Type = kind
	}
	c.Type = strings.TrimSpace(c.Type)
	header.Set("X-Content-Type-Options", "nosniff")
	if !inert(c.Type) { // beside a policy of the automation, which can only take away more
		header["Content-Security-Policy"] = append([]string{sandboxed}, header["Content-Security-Policy"]...)
	}
	return c
}

// sandboxed lets scripts of an answer run, but not as ones of the API.
const sandboxed = "sandbox allow-scripts allow-forms"

// inert reports whether browsers execute nothing of a content type.
func inert(kind string) bool {
	media, _, err := mime.ParseMediaType(kind)
	return err == nil && slices.Contains([]string{
		"application/json", "text/plain", "application/octet-stream", "text/event-stream",
		"image/png", "image/jpeg", "image/gif", "image/webp",
	}, media)
}

// refusal is an error of a run as the caller of an endpoint is told it.
func refusal(err *automation.Error, c *runtime.Caller, whole bool) error {
	e := domain.Refuse(codeOf(err, c), "%s", err.Message).With("name", err.Name)
	if listed := value.Walk(err.Details, "errors"); !value.IsUndefined(listed) {
		e.With("errors", plainly(listed))
	}
	if whole {
		for _, key := range err.Details.Keys() {
			e.With(key, plainly(err.Details.At(key)))
		}
		if err.Document != "" {
			e.With("automation", err.Document).With("instruction", err.Instruction)
		}
	}
	if err.Name == automation.Forbidden {
		e.With("action", "execute").With("subject", "automations")
	}
	told := gateway.RefuseTold(e) // by the run
	if err.Name == automation.RateLimitExceeded {
		told.Header.Set("Retry-After", strconv.Itoa(max(1, int(value.Num(err.Details.At("retryAfter"))))))
	}
	return told
}

// codeOf is the code of an error of a run.
func codeOf(err *automation.Error, c *runtime.Caller) domain.Code {
	switch err.Name {
	case automation.Forbidden:
		if !c.Credential {
			return domain.CodeMissingToken
		}
		return domain.CodePermissionDenied
	case automation.RateLimitExceeded:
		return domain.CodeRateLimit
	case automation.ResourceLocked:
		return domain.CodeLocked
	case automation.ExecutionTimeout:
		return domain.CodeGatewayTimeout
	case automation.ExecutionCancelled:
		return domain.CodeConflict
	case automation.InternalFault:
		return domain.CodeInternal
	}
	return domain.CodeInvalidRequest
}

// plainly is a value as encoders know it.
func plainly(v any) any { return json.RawMessage(value.JSON(v, "")) }

// trickle is an answer that is sent piece by piece.
type trickle struct {
	d      Deps
	start  runtime.Start
	run    *runtime.Running
	chunks chan []byte
	gone   chan struct{}
	whole  bool
}

// serve writes chunks as they come, and the output last. When the caller leaves the
// run goes on.
func (t *trickle) serve(w http.ResponseWriter, r *http.Request, first []byte) (any, error) {
	defer close(t.gone)
	status, header := t.start.HTTP.Head()
	gateway.AddHeader(w.Header(), header)
	if t.start.Caller.Visitor {
		w.Header().Set("X-Svc-Session-Id", t.start.Caller.SessionID)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status != 0 {
		w.WriteHeader(status)
	}
	out := &drops{w: w, out: http.NewResponseController(w), patience: livePatience}
	if err := out.write(first); err != nil {
		return nil, err
	}
	if err := t.pour(r, out.write); err != nil {
		return nil, err
	}
	return nil, out.limit(time.Time{}) // the connection may serve more
}

// drops writes to a caller who is given up when they take nothing for a while.
type drops struct {
	w        http.ResponseWriter
	out      *http.ResponseController
	patience time.Duration
	bound    time.Time // when they were given that while
}

// write sends one chunk.
func (d *drops) write(chunk []byte) error {
	if now := time.Now(); now.Sub(d.bound) > d.patience/6 { // not each time: it costs as much as a write
		d.bound = now
		if err := d.limit(now.Add(d.patience)); err != nil {
			return err
		}
	}
	if _, err := d.w.Write([]byte("data: " + string(chunk) + "\n\n")); err != nil {
		return err
	}
	return d.out.Flush()
}

// limit sets until when the caller is to take what is sent; zero: for ever.
func (d *drops) limit(at time.Time) error {
	if err := d.out.SetWriteDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// pour writes the rest.
func (t *trickle) pour(r *http.Request, write func([]byte) error) error {
	for {
		var alive <-chan time.Time
		timer := time.NewTimer(time.Hour)
		if every := t.start.HTTP.KeepAlive(); every > 0 {
			timer.Reset(every)
			alive = timer.C
		}
		var err error
		select {
		case chunk := <-t.chunks:
			err = write(chunk)
		case <-alive:
			err = write([]byte(`{"keepAlive": true}`))
		case <-r.Context().Done():
			err = context.Cause(r.Context())
		case <-t.run.Done():
			timer.Stop()
			return t.last(r, write)
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// last writes the output, or the error that the run ended with.
func (t *trickle) last(r *http.Request, write func([]byte) error) error {
	out, err := t.run.Outcome()
	if err == nil && out.Err == nil {
		if o, ok := out.Output.(*value.Object); value.IsUndefined(out.Output) || ok && o.Len() == 0 {
			return nil
		}
		return write([]byte(value.JSON(out.Output, "")))
	}
	if err != nil {
		err = broken(err)
	} else {
		err = refusal(out.Err, &t.start.Caller, t.whole)
	}
	told := gateway.Explain(r, err)
	body, err := json.Marshal(map[string]any{
		"error": told.Code, "message": told.Message, "details": told.Details, "requestId": gateway.CorrelationID(r.Context()),
	})
	if err != nil {
		return err
	}
	return write(body)
}
