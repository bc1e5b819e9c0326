package recording

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/commands/fetch"
	"svc/domain/activity"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/value"
)

// TestCase returns a recording as a case of a test suite, without what is expected: how the tree started, and what it got
// from outside. It has the real values; see Secrets. The error says, to its user, why a recording cannot be a case.
func (r *Record) TestCase() (*value.Object, error) {
	stubs, err := r.stubs()
	if err != nil {
		return nil, err
	}
	trigger := value.Text(r.Trigger.At("type"))
	c := value.NewObject("name", fmt.Sprintf("%s of %s (%s)", trigger, r.At.UTC().Format("2006-01-02 15:04:05"), shortID(r.CorrelationID)))
	switch trigger {
	case activity.ByEndpoint:
		c.Set("request", r.request())
	case activity.ByEvent:
		c.Set("event", pick(r.Input, "type", "payload", "id", "source", "createdAt"))
	default:
		input := r.Input.Copy()
		input.Delete("$http")
		c.Set("input", input)
	}
	if r.UserID != "" {
		user := pick(r.User, "id", "email", "role", "authData")
		user.Set("id", r.UserID)
		c.Set("user", user)
	}
	if r.SessionID != "" {
		c.Set("session", r.SessionID)
	}
	c.Set("stubs", stubs)
	return c, nil
}

// shortID is the end of an id, which tells runs of one minute apart.
func shortID(id string) string { return id[max(0, len(id)-8):] }

// pick returns an object with those of the keys that have a value.
func pick(o *value.Object, keys ...string) *value.Object {
	picked := &value.Object{}
	for _, key := range keys {
		if v := o.At(key); !value.IsNothing(v) {
			picked.Set(key, v)
		}
	}
	return picked
}

// request returns the input of an endpoint as a case writes it.
func (r *Record) request() *value.Object {
	request := pick(r.Input, "method", "headers", "query", "pathParams", "body")
	body, sent := request.Get("body")
	raw, _ := r.Input.At("rawBody").(string)
	switch {
	case raw == "" && request.At("method") != "POST":
		request.Delete("body") // nothing was sent
	case sent && raw != value.JSON(body, "") && raw != body:
		request.Set("rawBody", raw)
	}
	for _, key := range []string{"query", "pathParams"} {
		if o, _ := request.At(key).(*value.Object); o.Len() == 0 {
			request.Delete(key)
		}
	}
	return request
}

var (
	errStreams    = errors.New("the run reads a stream")
	errUnanswered = errors.New("the run was stopped while it waited for something")
)

// stubs returns what the tree got from outside.
func (r *Record) stubs() (*value.Object, error) {
	stubs := value.NewObject("now", r.firstTime().Format(time.RFC3339Nano))
	contexts := &value.Object{}
	for _, key := range slices.Sorted(maps.Keys(r.loads)) {
		kind, rest, _ := strings.Cut(key, "\x00")
		root, _, _ := strings.Cut(rest, "\x00")
		if read, ok := r.loads[key][0].value.(*value.Object); ok && kind == string(entryView) && read.Len() > 0 {
			contexts.Set(root, read)
		}
	}
	var fetches, modules, events []any
	for _, q := range r.requests {
		if q.answered == nil {
			return nil, errUnanswered
		}
		params, _ := q.asked.value.(*value.Object)
		switch machine.Kind(q.asked.name) {
		case machine.Next:
			return nil, errStreams
		case machine.Fetch:
			stub, err := fetchStub(params, q.answered)
			if err != nil {
				return nil, err
			}
			fetches = addStub(fetches, stub)
		case machine.Module:
			if module := params.At("module"); module == "collections" || module == "secrets" {
				modules = addStub(modules, moduleStub(params, q.answered))
			}
		case machine.Wait:
			if event, ok := q.answered.value.(*value.Object); ok {
				events = append(events, pick(event, "type", "payload"))
			}
		}
	}
	for _, part := range []struct {
		key  string
		list []any
	}{{"fetch", fetches}, {"modules", modules}, {"events", events}} {
		if len(part.list) > 0 {
			stubs.Set(part.key, part.list)
		}
	}
	if contexts.Len() > 0 {
		stubs.Set("contexts", contexts)
	}
	return stubs, nil
}

// firstTime returns the first time that the tree saw.
func (r *Record) firstTime() time.Time {
	for _, e := range r.dates {
		switch e.kind {
		case entryClock:
			return time.Unix(0, e.number).UTC()
		case entryDate:
			if at, err := time.Parse(time.RFC3339, value.Text(e.value)); err == nil {
				return at.UTC()
			}
		}
	}
	return r.At.UTC()
}

// addStub adds a stub that answers once; one that is like the last lets that answer once more.
func addStub(list []any, stub *value.Object) []any {
	if len(list) > 0 {
		last := list[len(list)-1].(*value.Object) //nolint:forcetypeassert // as they are added here
		once := last.Copy()
		once.Set("times", 1.0)
		if equal(once, stub) {
			n, _ := last.At("times").(float64)
			last.Set("times", n+1)
			return list
		}
	}
	return append(list, stub)
}

// fetchStub returns the stub that answers as a request was answered. What the tree did not see of the answer is made up:
// its status is 200 when only the body is known.
func fetchStub(params *value.Object, answered *entry) (*value.Object, error) {
	if stream, ok := params.At("stream").(*value.Object); ok && fetch.Streams(stream) {
		return nil, errStreams
	}
	method, address, err := fetch.Target(params)
	if err != nil {
		return nil, fmt.Errorf("a request cannot be a stub: %w", err)
	}
	stub := value.NewObject("method", method, "url", address, "times", 1.0)
	if failed := answered.failure; failed != nil {
		reason, _ := failed.Details.At("reason").(string)
		if !slices.Contains([]string{"dns", "connect", "tls", "timeout", "reset"}, reason) {
			return nil, fmt.Errorf("a request failed with %s, which a stub cannot do", failed.Name)
		}
		stub.Set("error", reason)
		return stub, nil
	}
	answer := &value.Object{}
	switch v := answered.value.(type) {
	case *value.Object:
		if params.At("outputMode") == "detailed_response" {
			if v.At("stream") == true {
				return nil, errStreams
			}
			answer = pick(v, "status", "headers")
			setBody(answer, v.At("body"))
			break
		}
		setBody(answer, v)
	case string:
		if mode := params.At("outputMode"); mode == "base64" || mode == "data_url" {
			_, encoded, found := strings.Cut(v, ";base64,")
			if !found {
				encoded = v
			}
			answer.Set("base64", encoded)
			break
		}
		setBody(answer, v)
	default:
		setBody(answer, v)
	}
	stub.Set("answer", answer)
	return stub, nil
}

func setBody(answer *value.Object, body any) {
	switch body := body.(type) {
	case value.Bytes:
		answer.Set("base64", base64.StdEncoding.EncodeToString(body))
	default:
		if !value.IsUndefined(body) {
			answer.Set("body", body)
		}
	}
}

func moduleStub(params *value.Object, answered *entry) *value.Object {
	stub := value.NewObject("module", params.At("module"), "function", params.At("function"), "times", 1.0)
	if of, ok := params.At("parameters").(*value.Object); ok && !value.IsUndefined(of.At("collection")) {
		stub.Set("parameters", pick(of, "collection"))
	}
	if failed := answered.failure; failed != nil {
		raised := value.NewObject("error", failed.Name, "message", failed.Message)
		if failed.Details != nil {
			raised.Set("details", failed.Details)
		}
		stub.Set("error", raised)
	} else if !value.IsUndefined(answered.value) {
		stub.Set("result", answered.value)
	}
	return stub
}

// Secrets returns everything that the recording has and nobody must be shown, besides those that are known.
func (r *Record) Secrets(known *redact.Set) *redact.Set {
	secrets := known.Clone()
	secrets.Add(r.secrets...)
	secrets.Add(r.credentials()...)
	return secrets
}

// HasFailed reports whether the first execution of the tree failed.
func (r *Record) HasFailed() bool {
	return slices.ContainsFunc(r.ended, func(e *entry) bool { return e.execution == r.ExecutionID && e.failure != nil })
}
