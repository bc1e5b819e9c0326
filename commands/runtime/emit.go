package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/feed"
	"svc/domain/value"
	"svc/eventstore"
)

var eventName = regexp.MustCompile(automation.EventName)

// emission is an event that an automation emits, before it is recorded.
type emission struct {
	name    string // with the instance in front
	payload *value.Object
	body    json.RawMessage // redacted
	target  *domain.Target
	options domain.EventOptions
	meta    domain.Meta
	async   bool
}

// emit records an event.
func (t *performer) emit(r machine.Request) {
	e, err := t.newEmission(r.Execution, r.Params)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	if e == nil { // an error event was recorded instead
		t.answerNow(r, machine.Answer{Value: value.Undefined})
		return
	}
	x := t.executions.open[r.Execution.ID]
	if r.BeforeWait && e.options.Persisted() && !e.async && t.rt.Simulation == nil {
		t.answerLaterThen(r, func(ctx context.Context) (any, error) {
			return value.Undefined, t.throttle(ctx, x, throttle.Emits, 1)
		}, func(a machine.Answer) machine.Answer {
			if a.Err == nil {
				a.Value, a.Err = t.holdEmit(r, e)
			}
			return a
		})
		return
	}
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		if err := t.throttle(ctx, x, throttle.Emits, 1); err != nil {
			return value.Undefined, err
		}
		return t.publish(ctx, e)
	}, func(a machine.Answer) machine.Answer {
		published, ok := a.Value.(emittedEvent)
		if ok {
			t.lastEmitted = t.lastEmitted.Max(published.at)
			a.Value = automation.LocalEvent(r.Execution.Program.Instance, published.event)
		}
		return t.lifetime.breakOffIfInDoubt(a)
	})
}

// newEmission reads the parameters of emit. It returns nil when the payload is not an object:
// an error event is recorded instead.
func (t *performer) newEmission(x *machine.Execution, params *value.Object) (*emission, error) {
	e, err := t.parseEmission(x.Program.Instance, t.events.meta(x), params)
	if misfit, ok := errors.AsType[*payloadKindError](err); ok {
		t.events.recordNotice(x, automation.Raise(automation.InvalidEvent, "the payload of an event is an object, not "+misfit.kind, "event", misfit.event))
		return nil, nil //nolint:nilnil // an error event was recorded, and nothing is emitted
	}
	return e, err
}

// payloadKindError says that a payload is not an object.
type payloadKindError struct{ event, kind string }

// Error implements error.
func (m *payloadKindError) Error() string { return "the payload of " + m.event + " is " + m.kind }

// parseEmission reads the parameters of emit. Instance is that of the automation.
func (t *performer) parseEmission(instance string, meta domain.Meta, params *value.Object) (*emission, error) {
	name := t.secrets.set.Text(value.Text(params.At("event")))
	e := &emission{name: prefixName(instance, name), payload: &value.Object{}, meta: meta}
	if !eventName.MatchString(name) || automation.Native(e.name) {
		return nil, automation.Raise(automation.InvalidEvent, "an event of this name cannot be emitted: names have 1 to 200 letters, digits, blanks, and . _ -, and names of the platform are reserved", "event", e.name)
	}
	if given := params.At("payload"); !value.IsNothing(given) {
		payload, ok := given.(*value.Object)
		if !ok {
			return nil, &payloadKindError{e.name, value.TypeName(given)}
		}
		if !value.FitsWithin(payload, maxRedactFactor*t.settings.MaxEvent) {
			return nil, t.newTooLargeError(e.name, []byte(value.JSON(payload, "")))
		}
		e.payload, _ = t.secrets.set.Value(payload).(*value.Object)
	}
	e.body = json.RawMessage(value.JSON(e.payload, ""))
	if utf8.RuneCount(e.body) > t.settings.MaxEvent {
		return nil, t.newTooLargeError(e.name, e.body)
	}
	if !isNestedWithin(e.body, maxPayloadDepth) {
		return nil, automation.Raise(automation.InvalidEvent, "the payload of an event is nested too deeply", "event", e.name, "limit", float64(maxPayloadDepth))
	}
	t.setTarget(e, params)
	if wrong := activity.Misdirected(e.target); len(wrong) > 0 {
		return nil, automation.Raise(automation.InvalidEvent, "target."+wrong[0]+" is one line", "event", e.name, "limit", float64(activity.MaxTarget))
	}
	return e, nil
}

// maxRedactFactor limits redaction: a value that is so many times larger than its limit is
// refused unseen, because it would be too large without its secrets, too.
const maxRedactFactor = 100

func (t *performer) newTooLargeError(name string, body []byte) error {
	size := utf8.RuneCount(body)
	return automation.Raise(automation.EventTooLarge, fmt.Sprintf("the payload of the event has %d characters; it may have %d", size, t.settings.MaxEvent),
		"reason", "EventTooLarge", "eventType", name, "eventSize", float64(size), "maxSize", float64(t.settings.MaxEvent))
}

// maxPayloadDepth is how deep the payload of an event may be nested. In the event it is a few
// levels deeper, and readers must be able to decode that.
const maxPayloadDepth = 500

// isNestedWithin reports whether JSON is nested no deeper than so many levels.
func isNestedWithin(body []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > most {
				return false
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return true
}

func prefixName(instance, name string) string {
	if instance == "" {
		return name
	}
	return instance + "." + name
}

// setTarget sets the target, the options and the source of an event.
func (t *performer) setTarget(e *emission, params *value.Object) {
	at := func(root, key string) any { return value.Walk(params.At(root), key) }
	e.options.AggPayload, _ = at("options", "aggPayload").(bool)
	e.async, _ = at("options", "async").(bool)
	e.options.Async = e.async
	if persist, ok := at("options", "persist").(bool); ok && !persist {
		e.options.Persist = &persist
	}
	socket, _ := at("target", "currentSocket").(bool)
	redacted := func(key string) string { return t.secrets.set.Text(value.Text(at("target", key))) }
	target := domain.Target{
		UserID: redacted("userId"), SessionID: redacted("sessionId"), UserTopic: redacted("userTopic"), CurrentSocket: socket && t.start.Meta.SocketID != "",
	}
	if target != (domain.Target{}) {
		e.target = &target
	}
	actor := t.start.Caller.causedActor(t.workspaceID())
	e.meta.UserID, e.meta.Actor, e.meta.ServiceTopic = "", &actor, feed.Emitted
}

// emittedEvent is an event that was emitted, and its position.
type emittedEvent struct {
	event any
	at    domain.Position
}

// holdEmit holds an event, so that it is recorded together with the wait that follows it. If
// it were recorded before, the answer could come before the wait, and start other automations.
func (t *performer) holdEmit(r machine.Request, e *emission) (any, error) {
	ev := t.toRecorded(e)
	v, err := withoutPosition(ev, t.rt.Effects.Position())
	emitted, ok := v.(emittedEvent)
	if err != nil || !ok {
		return value.Undefined, err
	}
	t.heldEmits = append(t.heldEmits, toCommit(ev))
	t.lastEmitted = t.lastEmitted.Max(emitted.at)
	return automation.LocalEvent(r.Execution.Program.Instance, emitted.event), nil
}

// releaseHeldEmits records the held events when no wait follows.
func (t *performer) releaseHeldEmits() {
	if len(t.heldEmits) == 0 {
		return
	}
	for _, c := range t.heldEmits {
		t.journal.add(c.Meta, c.Facts...)
	}
	t.heldEmits = nil
	t.journal.appendInBackground(t.ctx)
}

// toRecorded returns an event in the form in which it will be recorded.
func (t *performer) toRecorded(e *emission) domain.Recorded {
	return domain.Recorded{
		ID: t.rt.NewID(), Log: domain.Activity, Stream: domain.StreamID{Scope: t.workspaceID()}, At: t.rt.clock(), Meta: e.meta,
		Data: domain.Unknown{Name: e.name, Body: e.body}, Target: e.target, Options: e.options, Body: e.body,
	}
}

func toCommit(ev domain.Recorded) eventstore.Commit {
	return eventstore.Commit{Stream: ev.Stream, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ev.ID, Event: ev.Data, Target: ev.Target, Options: ev.Options}}}
}

// publish records an event, or passes it to the current readers only.
func (t *performer) publish(ctx context.Context, e *emission) (any, error) {
	ev := t.toRecorded(e)
	before := t.rt.Effects.Position() // an answer to the event comes after this
	if !e.options.Persisted() {
		if err := t.secrets.store(ctx); err != nil {
			return value.Undefined, err
		}
		t.rt.Effects.Live(t.workspaceID(), ev)
		return withoutPosition(ev, before)
	}
	commit := toCommit(ev)
	if e.async {
		t.journal.add(ev.Meta, commit.Facts...)
		t.journal.appendInBackground(t.ctx)
		return withoutPosition(ev, before)
	}
	t.journal.setUnanswered(ev.ID, true)
	defer t.journal.setUnanswered(ev.ID, false)
	receipt, err := t.journal.append(ctx, commit)
	if err != nil {
		return value.Undefined, err
	}
	ev.Seq = receipt.Position.Activity
	return toEmittedEvent(ev, receipt.Position)
}

// withoutPosition returns an event that has no position in the log, or none yet; after is a
// position before it.
func withoutPosition(ev domain.Recorded, after domain.Position) (any, error) {
	v, err := toEmittedEvent(ev, domain.Position{})
	if r, ok := v.(emittedEvent); ok {
		v = emittedEvent{r.event, after}
	}
	return v, err
}

// toEmittedEvent returns an event as readers see it.
func toEmittedEvent(ev domain.Recorded, at domain.Position) (any, error) {
	v, err := value.ParseJSON(string(feed.Of(ev, at, ev.Body).JSON()))
	return emittedEvent{v, at}, err
}
