package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/feed"
	"svc/eventstore"
)

// pending is a wait that a branch of the tree stands in.
type pending struct {
	ID      string          `json:"id"`
	Expires time.Time       `json:"expires"`
	After   domain.Position `json:"after"` // events up to it do not count
	Params  json.RawMessage `json:"params"`
}

// wait waits for an event, or for time to pass.
func (t *tree) wait(r machine.Request) {
	options, err := t.awaited(r)
	if err != nil {
		t.now(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	p := &pending{ID: t.rt.NewID(), Expires: t.rt.Now().Add(r.Duration), After: t.emitted, Params: t.body(t.named(r))}
	if p.After == (domain.Position{}) {
		p.After = t.rt.Effects.Position()
	}
	t.waits[r.ID] = p
	t.journal.record(t.meta(r.Execution), activity.WaitPending{
		ID: p.ID, ExecutionID: r.Execution.ID, ExpiresAt: stamp(p.Expires), Wait: p.Params,
	})
	t.journal.appendEarly(t.ctx)
	t.park = true
	t.stand(r, p, options)
}

// stand waits until an event fits or the time is over.
func (t *tree) stand(r machine.Request, p *pending, options []option) {
	t.clock()
	t.waiting++
	t.laterThen(r, func(ctx context.Context) (any, error) { return t.listen(ctx, p, options) }, func(a machine.Answer) machine.Answer {
		delete(t.waits, r.ID)
		if a.Err != nil {
			return a
		}
		came, ok := a.Value.(*feed.Event)
		if !ok {
			t.over(r, p, activity.WaitExpired{ID: p.ID})
			return machine.Answer{Value: value.Undefined}
		}
		t.emitted = t.emitted.Max(came.Seq)
		t.over(r, p, activity.WaitFulfilled{ID: p.ID, Event: activity.AwaitedName{ID: came.ID, Type: came.Type}})
		v, err := value.ParseJSON(string(came.JSON()))
		return machine.Answer{Value: v, Err: err}
	})
}

// over records that a wait ended. Whoever finds that out again, after a crash, records
// the same.
func (t *tree) over(r machine.Request, p *pending, ev domain.Event) {
	t.journal.add(t.meta(r.Execution), eventstore.Fact{ID: derived(p.ID, "over"), Event: ev})
}

// derived is an id that is always the same for one purpose of another id.
func derived(id, purpose string) string {
	var made ulid.ULID
	if from, err := ulid.ParseStrict(id); err == nil {
		made = from
	}
	sum := sha256.Sum256([]byte(id + "\x00" + purpose))
	copy(made[6:], sum[:]) // behind the time
	return made.String()
}

// named is what a wait is for, as events are called in the workspace.
func (t *tree) named(r machine.Request) *value.Object {
	instance := r.Execution.Program.Instance
	list, ok := r.Params.At("oneOf").([]any)
	if instance == "" || !ok {
		return r.Params
	}
	all := make([]any, len(list))
	for i, item := range list {
		all[i] = item
		o, ok := item.(*value.Object)
		if name := value.Text(value.At(item, "event")); ok && name != (activity.Executed{}).EventType() {
			o = o.Copy()
			o.Set("event", prefixed(instance, name))
			all[i] = o
		}
	}
	named := r.Params.Copy()
	named.Set("oneOf", all)
	return named
}

// listen returns the first event that fits, or Undefined when the time is over.
func (t *tree) listen(ctx context.Context, p *pending, options []option) (any, error) {
	within, cancel := context.WithTimeout(ctx, p.Expires.Sub(t.rt.Now()))
	defer cancel()
	if len(options) == 0 {
		<-within.Done()
		return value.Undefined, ctx.Err()
	}
	came, err := t.rt.Effects.Await(within, t.workspaceID(), p.After, func(e *feed.Event) bool {
		for _, o := range options {
			if o.fits(e) {
				return true
			}
		}
		return false
	})
	switch {
	case err == nil:
		return came, nil
	case ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded):
		return value.Undefined, nil
	}
	return value.Undefined, err
}

// option is one of the events that a wait is for.
type option struct {
	pattern string
	matcher *expr.Matcher // nil: whatever it holds
	run     string        // of this correlation id only; "": of any
}

// awaited reads what a wait is for. Within an app instance events have its name in
// front, and of executions it hears those of its own run.
func (t *tree) awaited(r machine.Request) ([]option, error) {
	list, _ := r.Params.At("oneOf").([]any)
	options := make([]option, len(list))
	for i, item := range list {
		o := option{pattern: value.Text(value.Walk(item, "event"))}
		if instance := r.Execution.Program.Instance; instance != "" {
			if o.pattern == (activity.Executed{}).EventType() {
				o.run = t.start.CorrelationID
			} else {
				o.pattern = prefixed(instance, o.pattern)
			}
		}
		if filters, ok := value.Walk(item, "filters").(*value.Object); ok && filters.Len() > 0 {
			m, err := expr.CompileMatcher(filters, true)
			if err != nil {
				return nil, automation.Invalid("wait.oneOf[%d].filters: %s", i, err.Error())
			}
			o.matcher = m
		}
		options[i] = o
	}
	return options, nil
}

func (o option) fits(e *feed.Event) bool {
	if !automation.MatchEvent(o.pattern, e.Type) || o.run != "" && e.Source.CorrelationID != o.run {
		return false
	}
	if strings.HasPrefix(e.Type, "runtime.waits.") {
		return false // waits that wait for waits would never end
	}
	if o.matcher == nil {
		return true
	}
	v, err := value.ParseJSON(string(e.JSON()))
	if err != nil {
		return false
	}
	fits, err := o.matcher.Match(v)
	return err == nil && fits
}
