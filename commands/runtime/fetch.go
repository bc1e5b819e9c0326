package runtime

import (
	"context"

	"svc/commands/fetch"
	"svc/commands/throttle"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
)

// Fetcher sends requests. It is a *fetch.Client.
type Fetcher interface {
	Do(ctx context.Context, call fetch.Call) (fetch.Result, error)
}

// fetchResult is the result of a fetch, with the errors that did not end it.
type fetchResult struct {
	result  fetch.Result
	notices []*automation.Error
}

// sendFetch sends a request.
func (t *performer) sendFetch(r machine.Request) {
	x, e := r.Execution, t.executions.open[r.Execution.ID]
	var published error // of the last chunk
	chunk := t.chunkEmitter(r, &published)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		if err := t.throttle(ctx, e, throttle.Fetches, 1); err != nil {
			return value.Undefined, err
		}
		f := fetchResult{}
		result, err := t.rt.Effects.Fetch.Do(ctx, fetch.Call{
			Params: r.Params, WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID,
			Resolve: t.referenceResolver(x), Token: t.tokenIssuer(x), APIKey: t.roleKeyIssuer(x), Chunk: chunk, Redact: t.secrets.redactText,
			Granted: func(token string) error { return t.secrets.add(token) },
			Notice:  func(err *automation.Error) { f.notices = append(f.notices, err) },
		})
		f.result = result
		return f, err
	}, func(a machine.Answer) machine.Answer {
		f, sent := a.Value.(fetchResult)
		t.lifetime.breakOffIfInDoubt(machine.Answer{Err: published})
		for _, n := range f.notices {
			t.events.recordNotice(x, n)
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

// recordFetchFailed records that a request got an error, or no answer.
func (t *performer) recordFetchFailed(x *machine.Execution, f *fetch.Failed) {
	redacted, _ := t.secrets.set.Value(f.Value()).(*value.Object)
	t.journal.record(t.events.meta(x), t.events.limit(activity.FetchFailed{
		Request: memberJSON(redacted, "request"), Response: memberJSON(redacted, "response"), Error: memberJSON(redacted, "error"),
	}))
}

// memberJSON returns a member of an object as JSON, nil if it does not exist.
func memberJSON(o *value.Object, key string) []byte {
	v, ok := o.Get(key)
	if !ok {
		return nil
	}
	return []byte(value.JSON(v, ""))
}

// chunkEmitter returns the function that emits the chunks of a streamed answer, nil if the
// instruction does not ask for that. Published is the error of the last one.
func (t *performer) chunkEmitter(r machine.Request, published *error) func(context.Context, *value.Object) error {
	stream, ok := r.Params.At("stream").(*value.Object)
	if !ok || !fetch.Streams(stream) {
		return nil
	}
	return t.newEmitter(r, stream, published)
}

// newEmitter returns the function that emits the pieces of what arrives for an instruction, as its stream says. Published
// is the error of the last one.
func (t *performer) newEmitter(r machine.Request, stream *value.Object, published *error) func(context.Context, *value.Object) error {
	meta, x := t.events.meta(r.Execution), t.executions.open[r.Execution.ID]
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

// closeStream closes a stream that no loop reads any more.
func closeStream(s value.Stream) {
	if live, ok := s.(*fetch.Stream); ok {
		live.Close()
	}
}

// readStream reads one item of a stream. A stream that was lost in a restart cannot be read;
// one that broke off is recorded like a failed request.
func (t *performer) readStream(r machine.Request) {
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
