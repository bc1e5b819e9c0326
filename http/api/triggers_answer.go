package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"svc/commands"
	"svc/commands/runtime"
	"svc/domain/automation/value"
	"svc/http/gateway"
)

// answer runs a tree and answers with what it comes to: piece by piece, unless its chunks
// are sent elsewhere. Test says that the caller tests it and is shown all that is known of
// an error. The tree goes on when the caller leaves, or is not waited for any more; who
// repeats the call is answered when it has ended.
func (d Deps) answer(r *http.Request, s runtime.Start, test bool) (any, error) {
	t := &trickle{start: s, test: test, chunks: make(chan []byte)}
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
		return nil, refuseRun(out, &t.start.Caller, audienceOf(&t.start, t.test))
	}
	return out.Output, nil
}

// broken is why a tree has no end: the log takes no writes, or the node stops. One that
// stands in a wait has its end elsewhere.
func broken(run *runtime.Handle, err error) error {
	err = commands.Refused(err)
	select {
	case <-run.Parked():
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
	if !value.IsTruthy(out) {
		kind, c.Body = "application/json; charset=utf-8", []byte("{}")
	}
	if !given {
		c.Type = kind
	}
	c.Type = strings.TrimSpace(c.Type)
	putInSandbox(header)
	return c
}

// sandboxed lets scripts of an answer run, but not as ones of the API.
const sandboxed = "sandbox allow-scripts allow-forms"

// putInSandbox keeps an answer, of whatever type, from acting as the site that it comes
// from. A policy of the automation stays beside it, which can only take away more.
func putInSandbox(header http.Header) {
	header.Set("X-Content-Type-Options", "nosniff")
	header["Content-Security-Policy"] = append([]string{sandboxed}, header["Content-Security-Policy"]...)
}
