package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/machine"
	"svc/domain/feed"
	"svc/domain/value"
	"svc/eventstore"
)

// pendingWait is a wait of one branch of the run.
type pendingWait struct {
	ID      string          `json:"id"`
	Expires time.Time       `json:"expires"`
	After   domain.Position `json:"after"` // events up to it do not count
	Params  json.RawMessage `json:"params"`
	Cancels bool            `json:"cancels,omitempty"` // triggers

	resumed       bool // another node may have recorded its end
	unrecorded    bool // its beginning is not recorded yet
	refused       error
	stopListening context.CancelFunc
	afterKnown    chan struct{} // closed once After is known; nil: it is
}

// setAfter sets the position of the event that was recorded with the wait: earlier events do
// not count.
func (p *pendingWait) setAfter(at domain.Position) {
	if p.afterKnown != nil {
		p.After = p.After.Max(at)
		close(p.afterKnown)
		p.afterKnown = nil
	}
}

// startWait waits for an event, or for time to pass.
func (t *performer) startWait(r machine.Request) {
	options, err := t.awaitedEvents(r)
	cancels := slices.ContainsFunc(options, func(o awaitedEvent) bool { return o.CancelsTriggers })
	if err == nil && len(t.waits) >= maxWaits {
		err = automation.Raise(automation.InvalidInstruction, "too many branches of the automation wait at the same time", "limit", float64(maxWaits))
	}
	if err == nil && cancels {
		err = t.checkCancelling()
	}
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	params := t.secrets.redactJSON(t.workspaceWait(r))
	if size := utf8.RuneCount(params); size > t.settings.MaxEvent {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.InvalidInstruction, "what a wait is for is longer than an event may be", "size", float64(size), "limit", float64(t.settings.MaxEvent))})
		return
	}
	if size := t.waitBytes() + len(params); size > maxWaitBytes {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.InvalidInstruction, "what all branches of the automation wait for is too long together", "size", float64(size), "limit", float64(maxWaitBytes))})
		return
	}
	expires := t.rt.clock().Add(r.Duration).Truncate(time.Millisecond) // as the event has it
	p := &pendingWait{ID: t.rt.NewID(), Expires: expires, After: t.lastEmitted, Params: params, Cancels: cancels, unrecorded: true}
	if p.After == (domain.Position{}) {
		p.After = t.rt.Effects.Position()
	}
	if len(t.heldEmits) > 0 {
		p.afterKnown = make(chan struct{})
	}
	t.waits[r.ID] = p
	if t.rt.Simulation != nil { // it is over at once
		t.awaitEvent(r, p, options)
		return
	}
	t.startedWaits = append(t.startedWaits, eventstore.Commit{
		Stream: domain.StreamID{Scope: t.workspaceID()}, Meta: t.events.meta(r.Execution), Facts: []eventstore.Fact{{ID: t.rt.NewID(), Event: activity.WaitPending{
			ID: p.ID, ExecutionID: r.Execution.ID, ExpiresAt: formatTime(p.Expires), Wait: p.Params,
		}}},
	})
	t.parkDue = true
	t.awaitEvent(r, p, options)
}

// awaitEvent waits until an event fits or the time is over.
func (t *performer) awaitEvent(r machine.Request, p *pendingWait, options []awaitedEvent) {
	t.lifetime.countActive(t.onlyWaits())
	t.openWaits++
	listening, cease := context.WithCancel(t.context())
	p.stopListening = cease
	afterKnown := p.afterKnown
	t.answerLaterThen(r, func(context.Context) (any, error) {
		defer cease()
		if afterKnown != nil {
			select {
			case <-afterKnown:
			case <-listening.Done():
				return value.Undefined, listening.Err()
			}
		}
		return t.awaitMatch(listening, p, options)
	}, func(a machine.Answer) machine.Answer {
		delete(t.waits, r.ID)
		if p.refused != nil {
			a.Err = p.refused
			if !p.unrecorded {
				t.lifetime.breakOff(t.recordWaitEnded(r, p, activity.WaitExpired{ID: p.ID}))
			}
		}
		if a.Err != nil {
			return a
		}
		event, ok := a.Value.(*feed.Event)
		if !ok {
			t.lifetime.breakOff(t.recordWaitEnded(r, p, activity.WaitExpired{ID: p.ID}))
			return machine.Answer{Value: value.Undefined}
		}
		t.lastEmitted = t.lastEmitted.Max(event.Seq)
		t.lifetime.breakOff(t.recordWaitEnded(r, p, activity.WaitFulfilled{ID: p.ID, Event: activity.AwaitedName{ID: event.ID, Type: t.secrets.set.Text(event.Type)}}))
		v, err := value.ParseJSON(string(event.JSON()))
		return machine.Answer{Value: automation.LocalEvent(r.Execution.Program.Instance, v), Err: err}
	})
}

// refuseWaits ends waits of a run whose state cannot be stored: those that just began, or all
// if the run became too large without new ones.
func (t *performer) refuseWaits(why error) {
	all := len(t.startedWaits) == 0
	t.startedWaits = nil
	for _, p := range t.waits {
		if all || p.unrecorded {
			p.refused = why
			p.stopListening()
		}
	}
}

// recordWaitEnded records that a wait ended, under an id that is derived from the wait: after a
// crash another node records the same.
func (t *performer) recordWaitEnded(r machine.Request, p *pendingWait, ev domain.Event) error {
	t.secrets.markUnstored()
	fact := eventstore.Fact{ID: deriveID(p.ID, "over"), Event: ev}
	if !p.resumed {
		t.journal.add(t.events.meta(r.Execution), fact)
		return nil
	}
	return t.rt.appendAgain(t.ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: t.workspaceID()}, Meta: t.events.meta(r.Execution), Facts: []eventstore.Fact{fact},
	})
}

// deriveID derives an id from another one. It is always the same for one purpose.
func deriveID(id, purpose string) string {
	var derived ulid.ULID
	if from, err := ulid.ParseStrict(id); err == nil {
		derived = from
	}
	sum := sha256.Sum256([]byte(id + "\x00" + purpose))
	copy(derived[6:], sum[:]) // behind the time
	return derived.String()
}

// workspaceWait returns the parameters of a wait with the names that events have in the
// workspace. Its filters still use the names of the instance.
func (t *performer) workspaceWait(r machine.Request) *value.Object {
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
			o.Set("event", prefixName(instance, name))
			all[i] = o
		}
	}
	named := r.Params.Copy()
	named.Set("oneOf", all)
	named.Set(automation.WaitInstance, instance)
	return named
}

// maxWaits is how many waits a run may have at the same time: all of them are stored with its
// state, each time one more begins.
const maxWaits = 1000

// maxWaitBytes limits the parameters of all waits of a run: each is stored more than once.
const maxWaitBytes = 5_000_000

// waitBytes returns the size of the parameters of all waits.
func (t *performer) waitBytes() (size int) {
	for _, p := range t.waits {
		size += len(p.Params)
	}
	return size
}

// maxCancellingWaits is how many waits of a workspace may cancel triggers at the same time:
// each event is compared with all of them.
const maxCancellingWaits = 1000

// checkCancelling refuses a wait that cancels triggers when too many do: in the workspace, if
// somebody counts them, or in the run.
func (t *performer) checkCancelling() error {
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
	if max(own, all) >= maxCancellingWaits {
		return automation.Raise(automation.InvalidInstruction, "too many waits of the workspace cancel triggers at the same time", "limit", float64(maxCancellingWaits))
	}
	return nil
}

// Awaited describes the events that a wait is for.
type Awaited struct {
	After  domain.Position // events up to it do not count
	Before time.Time       // later events do not count
	Types  []string        // with * for any text
}

// awaitMatch returns the first event that matches, or Undefined when the time is over. An event
// that was recorded in time counts, whenever it is read.
func (t *performer) awaitMatch(ctx context.Context, p *pendingWait, options []awaitedEvent) (any, error) {
	if len(options) == 0 && t.rt.Simulation != nil {
		t.rt.Simulation.Sleep(p.Expires.Sub(t.rt.clock()))
		return value.Undefined, nil
	}
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
	event, err := t.rt.Effects.Await(ctx, t.workspaceID(), w, func(e *feed.Event) bool {
		return !p.isSubjectOf(e) && slices.ContainsFunc(options, func(o awaitedEvent) bool { return o.matchesName(e) && (o.Matcher == nil || t.matchesFilter(ctx, o, e)) })
	})
	if err != nil || event == nil {
		return value.Undefined, err
	}
	return event, nil
}

// awaitedEvent is one of the events that a wait is for, with its name in the workspace.
type awaitedEvent struct {
	automation.Awaited
	instance string // in whose names the filter is written; "": those of the workspace
	run      string // of this correlation id only; "": of any
}

// awaitedEvents reads which events a wait is for. An app instance has its name in front of its
// events, and gets only the executions of its own run.
func (t *performer) awaitedEvents(r machine.Request) ([]awaitedEvent, error) {
	list := automation.OneOf(r.Params)
	options := make([]awaitedEvent, len(list))
	for i, item := range list {
		awaited, err := automation.ReadAwaited(item)
		if err != nil {
			return nil, automation.Invalid("wait.oneOf[%d].filters: %s", i, err.Error())
		}
		o := awaitedEvent{Awaited: awaited}
		o.Event = t.secrets.set.Text(o.Event) // as emit redacts the name
		if instance := r.Execution.Program.Instance; instance != "" {
			o.instance = instance
			if o.Event == (activity.Executed{}).EventType() {
				o.run = t.start.CorrelationID
			} else {
				o.Event = prefixName(instance, o.Event)
			}
		}
		options[i] = o
	}
	return options, nil
}

// matchesName reports whether the type of an event matches.
func (o awaitedEvent) matchesName(e *feed.Event) bool {
	return automation.MatchEvent(o.Event, e.Type) && (o.run == "" || e.Source.CorrelationID == o.run)
}

// isSubjectOf reports whether an event is about the wait itself.
func (p *pendingWait) isSubjectOf(e *feed.Event) bool {
	var wait struct {
		ID string `json:"id"`
	}
	return strings.HasPrefix(e.Type, "runtime.waits.") && json.Unmarshal(e.Payload, &wait) == nil && wait.ID == p.ID
}

// matchesFilter reports whether an event matches a filter. It computes in a turn slot, with a
// budget of steps: an event that needs more does not match.
func (t *performer) matchesFilter(ctx context.Context, o awaitedEvent, e *feed.Event) bool {
	if t.rt.turnSlots.Acquire(ctx, t.workspaceID()) != nil {
		return false // the tree ends
	}
	defer t.rt.turnSlots.Release(t.workspaceID())
	v, err := t.rt.parsedEvents.parse(e)
	if err != nil {
		return false
	}
	fits, _, err := o.Matcher.MatchWithin(automation.LocalEvent(o.instance, v), expr.FilterSteps)
	return err == nil && fits
}

// eventCache has the last events that filters were applied to, so that an event that many wait
// for is parsed once.
type eventCache [16]struct {
	sync.Mutex
	event *feed.Event
	value any
	err   error
}

// parse returns an event as automations see it. The caller must not change it.
func (p *eventCache) parse(e *feed.Event) (any, error) {
	last := 0
	if n := len(e.ID); n > 0 {
		last = int(e.ID[n-1])
	}
	slot := &p[last%len(p)]
	slot.Lock()
	defer slot.Unlock()
	if slot.event != e {
		slot.event = e
		slot.value, slot.err = value.ParseJSON(string(e.JSON()))
	}
	return slot.value, slot.err
}
