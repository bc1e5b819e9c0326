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

// fetchResult is what came of a fetch, with what is to be told of it.
type fetchResult struct {
	result  fetch.Result
	notices []*automation.Error
}

// sendFetch sends a request.
func (t *run) sendFetch(r machine.Request) {
	x, e := r.Execution, t.executions[r.Execution.ID]
	var published error // of the last chunk
	chunk := t.chunkEmitter(r, &published)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		if err := t.throttle(ctx, e, throttle.Fetches, 1); err != nil {
			return value.Undefined, err
		}
		f := fetchResult{}
		result, err := t.rt.Effects.Fetch.Do(ctx, fetch.Call{
			Params: r.Params, WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID,
			Resolve: t.referenceResolver(x), Token: t.tokenIssuer(x), APIKey: t.roleKeyIssuer(x), Chunk: chunk, Redact: t.redactText,
			Granted: func(token string) error { return t.addSecrets(token) },
			Notice:  func(err *automation.Error) { f.notices = append(f.notices, err) },
		})
		f.result = result
		return f, err
	}, func(a machine.Answer) machine.Answer {
		f, sent := a.Value.(fetchResult)
		t.breakOffIfInDoubt(machine.Answer{Err: published})
		for _, n := range f.notices {
			t.recordNotice(x, n)
		}
		if f.result.Failed != nil {
			t.recordFetchFailed(x, f.result.Failed)
		}
		if sent {
			a.Value = f.result.Value
		}
		return a
	})
}

// recordFetchFailed records that a request was answered with an error, or not at all.
func (t *run) recordFetchFailed(x *machine.Execution, f *fetch.Failed) {
	told, _ := t.redact.Value(f.Value()).(*value.Object)
	t.journal.record(t.meta(x), t.limitEvent(activity.FetchFailed{
		Request: memberJSON(told, "request"), Response: memberJSON(told, "response"), Error: memberJSON(told, "error"),
	}))
}

// memberJSON is a member of an object as JSON, nil when there is none.
func memberJSON(o *value.Object, key string) []byte {
	v, ok := o.Get(key)
	if !ok {
		return nil
	}
	return []byte(value.JSON(v, ""))
}

// chunkEmitter emits what a streamed answer consists of, as the instruction asks for it, and
// notes in published what came of the last one; nil when it does not.
func (t *run) chunkEmitter(r machine.Request, published *error) func(context.Context, *value.Object) error {
	stream, ok := r.Params.At("stream").(*value.Object)
	if !ok || !fetch.Streams(stream) {
		return nil
	}
	meta, x := t.meta(r.Execution), t.executions[r.Execution.ID]
	return func(ctx context.Context, payload *value.Object) error {
		params := value.NewObject("event", stream.At("event"), "payload", payload, "target", stream.At("target"), "options", stream.At("options"))
		e, err := t.parseEmission(r.Execution.Program.Instance, meta, params)
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

// readStream reads one item of a stream. One that a restart cut off cannot be read; that one
// broke off by itself is told as of any request.
func (t *run) readStream(r machine.Request) {
	live, ok := r.Stream.(*fetch.Stream)
	if !ok {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.FetchFailed, "the stream was cut off", "reason", "reset")})
		return
	}
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		item, more, err := live.Next(ctx)
		if err != nil || !more {
			return value.Undefined, err
		}
		return item, nil
	}, func(a machine.Answer) machine.Answer {
		if failed := live.Failed(); a.Err != nil && failed != nil {
			t.recordFetchFailed(r.Execution, failed)
		}
		return a
	})
}
