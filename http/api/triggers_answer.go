package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"svc/commands"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/http/gateway"
)

// answer runs a tree and answers with what it comes to: piece by piece, unless its chunks
// are sent elsewhere. Whole says that the caller is told all that is known of an error. The
// tree goes on when the caller leaves, or is not
// waited for any more; who repeats the call is answered when it has ended.
func (d Deps) answer(r *http.Request, s runtime.Start, whole bool) (any, error) {
	t := &trickle{start: s, whole: whole, chunks: make(chan []byte)}
	if s.HTTP.Send == nil {
		s.HTTP.Send = t.sendUntil(r.Context().Done())
	}
	t.run = d.Runtime.Launch(s)
	select {
	case <-t.run.Done():
		return t.told()
	case <-r.Context().Done():
		err := context.Cause(r.Context())
		return gateway.Stream{Serve: func(http.ResponseWriter, *http.Request) (any, error) { return nil, err }, Later: t.later}, nil
	case first := <-t.chunks:
		return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) { return nil, t.serve(w, r, first) }, Later: t.later}, nil
	}
}

// told is the answer of a tree that has ended.
func (t *trickle) told() (any, error) {
	out, err := t.outcome()
	if err != nil {
		return nil, err
	}
	status, header := t.start.HTTP.Head()
	answered := http.Header{}
	maps.Copy(answered, header)
	if t.start.Caller.Visitor {
		answered.Set("X-Svc-Session-Id", t.start.Caller.SessionID)
	}
	return shownOutput(out, status, answered), nil
}

// outcome is the output of a tree that has ended, or why there is none.
func (t *trickle) outcome() (any, error) {
	out, err := t.run.Outcome()
	if err != nil {
		return nil, broken(t.run, err)
	}
	if out.Err != nil {
		return nil, refusal(out.Err, &t.start.Caller, t.whole)
	}
	return out.Output, nil
}

// broken is why a tree has no end: the log takes no writes, or the node stops. One that
// stands in a wait has its end elsewhere.
func broken(run *runtime.Running, err error) error {
	err = commands.Refused(err)
	select {
	case <-run.Stands():
		return goesOn(err)
	default:
		return err
	}
}

// goesOn is an error for who waits for a run that has not ended with it.
func goesOn(err error) error { return fmt.Errorf("%w: %w", gateway.ErrGoesOn, err) }

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
