package runtime

import (
	"context"

	"svc/commands/fetch"
	"svc/commands/throttle"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// Fetcher sends requests. It is a *fetch.Client.
type Fetcher interface {
	Do(ctx context.Context, call fetch.Call) (fetch.Result, error)
}

// fetched is what came of a fetch, with what is to be told of it.
type fetched struct {
	result  fetch.Result
	notices []*automation.Error
}

// fetch sends a request.
func (t *tree) fetch(r machine.Request) {
	x, e := r.Execution, t.executions[r.Execution.ID]
	var published error // of the last chunk
	chunk := t.chunks(r, &published)
	t.laterThen(r, func(ctx context.Context) (any, error) {
		if err := t.throttle(ctx, e, throttle.Fetches, 1); err != nil {
			return fetched{}, err
		}
		f := fetched{}
		result, err := t.rt.Effects.Fetch.Do(ctx, fetch.Call{
			Params: r.Params, WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID,
			Resolve: t.resolver(x), Token: t.tokens(x), APIKey: t.keys(x), Chunk: chunk, Redact: t.shown,
			Granted: func(token string) error { return t.learn(token) },
			Notice:  func(err *automation.Error) { f.notices = append(f.notices, err) },
		})
		f.result = result
		return f, err
	}, func(a machine.Answer) machine.Answer {
		f, _ := a.Value.(fetched)
		t.unlessInDoubt(machine.Answer{Err: published})
		for _, n := range f.notices {
			t.notice(x, n)
		}
		if f.result.Failed != nil {
			t.failed(x, f.result.Failed)
		}
		if a.Value = f.result.Value; a.Value == nil && f.result.RequestHash == "" {
			a.Value = value.Undefined
		}
		return a
	})
}

// failed records that a request was answered with an error, or not at all.
func (t *tree) failed(x *machine.Execution, f *fetch.Failed) {
	told, _ := t.redact.Value(f.Value()).(*value.Object)
	t.journal.record(t.meta(x), t.bounded(activity.FetchFailed{
		Request: part(told, "request"), Response: part(told, "response"), Error: part(told, "error"),
	}))
}

// part is a member of an object as JSON, nil when there is none.
func part(o *value.Object, key string) []byte {
	v, ok := o.Get(key)
	if !ok {
		return nil
	}
	return []byte(value.JSON(v, ""))
}

// chunks emits what a streamed answer consists of, as the instruction asks for it, and
// notes in published what came of the last one; nil when it does not.
func (t *tree) chunks(r machine.Request, published *error) func(context.Context, *value.Object) error {
	stream, ok := r.Params.At("stream").(*value.Object)
	if !ok || !fetch.Streams(stream) {
		return nil
	}
	meta, x := t.meta(r.Execution), t.executions[r.Execution.ID]
	return func(ctx context.Context, payload *value.Object) error {
		params := value.NewObject("event", stream.At("event"), "payload", payload, "target", stream.At("target"), "options", stream.At("options"))
		e, err := t.emissionOf(r.Execution.Program.Instance, meta, params)
		if err != nil {
			return err
		}
		if err := t.throttle(ctx, x, throttle.Emits, 1); err != nil {
			return err
		}
		_, *published = t.publish(ctx, e)
		return *published
	}
}

// closeStream ends a stream that nobody reads any more.
func closeStream(s value.Stream) {
	if live, ok := s.(*fetch.Stream); ok {
		live.Close()
	}
}

// next reads one item of a stream. One that a restart cut off cannot be read; that one
// broke off by itself is told as of any request.
func (t *tree) next(r machine.Request) {
	live, ok := r.Stream.(*fetch.Stream)
	if !ok {
		t.now(r, machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.FetchFailed, "the stream was cut off", "reason", "reset")})
		return
	}
	t.laterThen(r, func(ctx context.Context) (any, error) {
		item, more, err := live.Next(ctx)
		if err != nil || !more {
			return value.Undefined, err
		}
		return item, nil
	}, func(a machine.Answer) machine.Answer {
		if failed := live.Failed(); a.Err != nil && failed != nil {
			t.failed(r.Execution, failed)
		}
		return a
	})
}
