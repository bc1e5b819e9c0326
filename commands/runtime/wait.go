package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	Cancels bool            `json:"cancels,omitempty"` // triggers

	again      bool // who went on with the tree before may have recorded that it is over
	begun      bool // that it began is not recorded yet
	refused    error
	cease      context.CancelFunc // of listening
	afterKnown chan struct{}      // closed once After is known; nil: it is
}

// setAfter says where the event is that was recorded with the wait: what came before it does
// not count.
func (p *pending) setAfter(at domain.Position) {
	if p.afterKnown != nil {
		p.After = p.After.Max(at)
		close(p.afterKnown)
		p.afterKnown = nil
	}
}

// wait waits for an event, or for time to pass.
func (t *tree) wait(r machine.Request) {
	options, err := t.awaited(r)
	cancels := slices.ContainsFunc(options, func(o option) bool { return o.CancelsTriggers })
	if err == nil && len(t.waits) >= mostWaiting {
		err = automation.Raise(automation.InvalidInstruction, "too many branches of the automation wait at the same time", "limit", float64(mostWaiting))
	}
	if err == nil && cancels {
		err = t.mayCancel()
	}
	if err != nil {
		t.now(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	params := t.body(t.named(r))
	if size := utf8.RuneCount(params); size > t.settings.MaxEvent {
		t.now(r, machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.InvalidInstruction, "what a wait is for is longer than an event may be", "size", float64(size), "limit", float64(t.settings.MaxEvent))})
		return
	}
	if size := t.awaitedBytes() + len(params); size > mostAwaited {
		t.now(r, machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.InvalidInstruction, "what all branches of the automation wait for is too long together", "size", float64(size), "limit", float64(mostAwaited))})
		return
	}
	expires := t.rt.Now().Add(r.Duration).Truncate(time.Millisecond) // as it is told
	p := &pending{ID: t.rt.NewID(), Expires: expires, After: t.emitted, Params: params, Cancels: cancels, begun: true}
	if p.After == (domain.Position{}) {
		p.After = t.rt.Effects.Position()
	}
	if len(t.heldEmits) > 0 {
		p.afterKnown = make(chan struct{})
	}
	t.waits[r.ID] = p
	t.begunWaits = append(t.begunWaits, eventstore.Commit{
		Stream: domain.StreamID{Scope: t.workspaceID()}, Meta: t.meta(r.Execution), Facts: []eventstore.Fact{{ID: t.rt.NewID(), Event: activity.WaitPending{
			ID: p.ID, ExecutionID: r.Execution.ID, ExpiresAt: stamp(p.Expires), Wait: p.Params,
		}}},
	})
	t.park = true
	t.stand(r, p, options)
}

// stand waits until an event fits or the time is over.
func (t *tree) stand(r machine.Request, p *pending, options []option) {
	t.clock()
	t.waiting++
	listening, cease := context.WithCancel(t.effects)
	p.cease = cease
	afterKnown := p.afterKnown
	t.laterThen(r, func(context.Context) (any, error) {
		defer cease()
		if afterKnown != nil {
			select {
			case <-afterKnown:
			case <-listening.Done():
				return value.Undefined, listening.Err()
			}
		}
		return t.listen(listening, p, options)
	}, func(a machine.Answer) machine.Answer {
		delete(t.waits, r.ID)
		if p.refused != nil {
			a.Err = p.refused
			if !p.begun {
				t.breakOff(t.over(r, p, activity.WaitExpired{ID: p.ID}))
			}
		}
		if a.Err != nil {
			return a
		}
		came, ok := a.Value.(*feed.Event)
		if !ok {
			t.breakOff(t.over(r, p, activity.WaitExpired{ID: p.ID}))
			return machine.Answer{Value: value.Undefined}
		}
		t.emitted = t.emitted.Max(came.Seq)
		t.breakOff(t.over(r, p, activity.WaitFulfilled{ID: p.ID, Event: activity.AwaitedName{ID: came.ID, Type: t.redact.Text(came.Type)}}))
		v, err := value.ParseJSON(string(came.JSON()))
		return machine.Answer{Value: automation.LocalEvent(r.Execution.Program.Instance, v), Err: err}
	})
}

// refuseWaits ends waits of a tree that cannot be kept: those that just began, or all when
// it became too large beside them.
func (t *tree) refuseWaits(why error) {
	all := len(t.begunWaits) == 0
	t.begunWaits = nil
	for _, p := range t.waits {
		if all || p.begun {
			p.refused = why
			p.cease()
		}
	}
}

// over records that a wait ended. Whoever finds that out again, after a crash, records the
// same.
func (t *tree) over(r machine.Request, p *pending, ev domain.Event) error {
	t.learned.refresh()
	fact := eventstore.Fact{ID: derived(p.ID, "over"), Event: ev}
	if !p.again {
		t.journal.add(t.meta(r.Execution), fact)
		return nil
	}
	return t.rt.appendAgain(t.ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: t.workspaceID()}, Meta: t.meta(r.Execution), Facts: []eventstore.Fact{fact},
	})
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

// named is what a wait is for, as events are called in the workspace. Its filters are about
// events as they are called in the instance.
func (t *tree) named(r machine.Request) *value.Object {
	instance, list := r.Execution.Program.Instance, automation.OneOf(r.Params)
	if instance == "" || list == nil {
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
	named.Set(automation.WaitInstance, instance)
	return named
}

// mostWaiting is in how many waits a tree may stand at the same time: all of them are kept
// with everything that it knows, each time one more begins.
const mostWaiting = 1000

// mostAwaited is how many bytes those of a tree may be for, together: each is kept more
// than once.
const mostAwaited = 5_000_000

// awaitedBytes is how long it is what the tree waits for.
func (t *tree) awaitedBytes() (size int) {
	for _, p := range t.waits {
		size += len(p.Params)
	}
	return size
}

// mostCancelling is how many waits of a workspace may keep events from starting anything
// else at the same time: all of them are asked about every event.
const mostCancelling = 1000

// mayCancel refuses a wait that cancels triggers when too many do: in the workspace, as far
// as that is known, or in the tree alone.
func (t *tree) mayCancel() error {
	own := 0
	for _, p := range t.waits {
		if p.Cancels {
			own++
		}
	}
	all := 0
	if t.rt.Effects.Cancelling != nil {
		var err error
		if all, err = t.rt.Effects.Cancelling(t.workspaceID()); err != nil {
			return err
		}
	}
	if max(own, all) >= mostCancelling {
		return automation.Raise(automation.InvalidInstruction, "too many waits of the workspace cancel triggers at the same time", "limit", float64(mostCancelling))
	}
	return nil
}

// Awaited is which events somebody waits for.
type Awaited struct {
	After  domain.Position // events up to it do not count
	Before time.Time       // nor do those that were recorded later
	Types  []string        // with * for any text
}

// listen returns the first event that fits, or Undefined when the time is over. An event
// that was recorded in time counts, whenever it is read.
func (t *tree) listen(ctx context.Context, p *pending, options []option) (any, error) {
	if len(options) == 0 {
		within, cancel := context.WithTimeout(ctx, p.Expires.Sub(t.rt.Now()))
		defer cancel()
		<-within.Done()
		return value.Undefined, ctx.Err()
	}
	w := Awaited{After: p.After, Before: p.Expires}
	for _, o := range options {
		w.Types = append(w.Types, o.Event)
	}
	came, err := t.rt.Effects.Await(ctx, t.workspaceID(), w, func(e *feed.Event) bool {
		return !p.tellsOf(e) && slices.ContainsFunc(options, func(o option) bool { return o.names(e) && (o.Matcher == nil || t.fits(ctx, o, e)) })
	})
	if err != nil || came == nil {
		return value.Undefined, err
	}
	return came, nil
}

// option is one of the events that a wait is for, as it is called in the workspace.
type option struct {
	automation.Awaited
	instance string // in whose names the filter is written; "": those of the workspace
	run      string // of this correlation id only; "": of any
}

// awaited reads what a wait is for. Within an app instance events have its name in
// front, and of executions it hears those of its own run.
func (t *tree) awaited(r machine.Request) ([]option, error) {
	list := automation.OneOf(r.Params)
	options := make([]option, len(list))
	for i, item := range list {
		one, err := automation.ReadAwaited(item)
		if err != nil {
			return nil, automation.Invalid("wait.oneOf[%d].filters: %s", i, err.Error())
		}
		o := option{Awaited: one}
		o.Event = t.redact.Text(o.Event) // as emit tells the name
		if instance := r.Execution.Program.Instance; instance != "" {
			o.instance = instance
			if o.Event == (activity.Executed{}).EventType() {
				o.run = t.start.CorrelationID
			} else {
				o.Event = prefixed(instance, o.Event)
			}
		}
		options[i] = o
	}
	return options, nil
}

// names reports whether an event is of a name that is waited for.
func (o option) names(e *feed.Event) bool {
	return automation.MatchEvent(o.Event, e.Type) && (o.run == "" || e.Source.CorrelationID == o.run)
}

// tellsOf reports whether an event is about the wait itself.
func (p *pending) tellsOf(e *feed.Event) bool {
	var told struct {
		ID string `json:"id"`
	}
	return strings.HasPrefix(e.Type, "runtime.waits.") && json.Unmarshal(e.Payload, &told) == nil && told.ID == p.ID
}

// fits reports whether an event fits a filter. That is work, which takes its turn with that
// of other workspaces; what takes too much of it does not fit.
func (t *tree) fits(ctx context.Context, o option, e *feed.Event) bool {
	if t.rt.lanes.Enter(ctx, t.workspaceID()) != nil {
		return false // the tree ends
	}
	defer t.rt.lanes.Leave(t.workspaceID())
	v, err := t.rt.parsed.of(e)
	if err != nil {
		return false
	}
	fits, _, err := o.Matcher.MatchWithin(automation.LocalEvent(o.instance, v), expr.FilterSteps)
	return err == nil && fits
}
