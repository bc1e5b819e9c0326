package runtime

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/eventstore"
)

// meta is the source of what an execution causes.
func (t *tree) meta(x *machine.Execution) domain.Meta {
	m, place := t.start.Meta, t.program(x).Place
	m.UserID, m.SessionID, m.CorrelationID = t.start.Caller.responsible(), t.world.sessionID, t.start.CorrelationID
	m.AutomationSlug, m.AutomationDepth, m.ExecutionID = x.Program.Slug, x.Depth, x.ID
	m.AppSlug, m.AppInstance, m.AppDepth = place.App, place.Instance, place.Depth()
	m.Host, m.Hides = t.rt.Host, t.hides()
	if m.SessionID != t.start.Caller.SessionID { // any text, that an automation chose
		m.SessionID = t.redact.Text(m.SessionID)
	}
	if m.HTTP != nil {
		shown := *m.HTTP
		shown.Path = t.path(shown.Path)
		m.HTTP = &shown
	}
	return m
}

// body is a value as events tell it: JSON without the secrets of the run.
func (t *tree) body(v any) json.RawMessage { return json.RawMessage(value.JSON(t.redact.Value(v), "")) }

// shownFact is an event of what triggered the tree, as it is told.
func (t *tree) shownFact(ev domain.Event) domain.Event {
	switch ev := ev.(type) {
	case activity.Interaction:
		ev.Trigger = t.shownTrigger(ev.Trigger)
		return ev
	case activity.EndpointCalled:
		ev.Endpoint = t.path(ev.Endpoint)
		return ev
	}
	return ev
}

// ended records that an execution ended.
func (t *tree) ended(x *machine.Execution) {
	e := t.executions[x.ID]
	now := t.rt.Now()
	trigger, _ := json.Marshal(t.shownTrigger(e.trigger)) // strings only
	done := activity.Executed{
		Slug: x.Program.Slug, ExecutionID: x.ID, Trigger: trigger, StartedAt: stamp(e.startedAt),
		Duration: now.Sub(e.startedAt).Milliseconds(), Throttled: time.Duration(e.throttled.Load()).Milliseconds(), Break: x.Broke,
	}
	if x.Parent != nil {
		done.ParentExecutionID = x.Parent.ID
	}
	if x.Err != nil {
		done.Error = t.failure(x.Err)
	}
	done.Recorded = t.recorded(x)
	id := t.rt.NewID()
	kept, fits := t.given(x)
	if !fits {
		kept, done.Truncated = given{}, true
	}
	kept.Logs = e.log.Shown(t.redact)
	done.Logged = len(kept.Logs) > 0
	if done.Apart = fits || done.Logged; done.Apart {
		content, _ := json.Marshal(kept) // JSON already, and texts
		t.journal.apart(payload{id, content})
	}
	t.journal.add(t.meta(x), eventstore.Fact{ID: id, Event: t.bounded(done)})
	delete(t.executions, x.ID)
}

// given is what an execution was given and gave, as it is told; ok is false when that is
// longer than it may be.
func (t *tree) given(x *machine.Execution) (kept given, ok bool) {
	shape, most := t.program(x).Shape, t.settings.MaxExecuted
	in, out := shape.Recorded(x.Input), orObject(shape.RedactedOutput(x.Output))
	if !value.FitsWithin(in, farBeyond*most) || !value.FitsWithin(out, farBeyond*most) {
		return kept, false
	}
	kept = given{Payload: t.body(in), Output: t.body(out)}
	return kept, utf8.RuneCount(kept.Payload)+utf8.RuneCount(kept.Output) <= most
}

// orObject is an output as it is told: nothing is an empty object.
func orObject(v any) any {
	if value.IsUndefined(v) {
		return &value.Object{}
	}
	return v
}

// failure is an error as events tell it.
func (t *tree) failure(err *automation.Error) *activity.Failure {
	details, told := map[string]any{}, t.told(err)
	if told.Details != nil {
		_ = json.Unmarshal([]byte(value.JSON(told.Details, "")), &details) // JSON of our own
	}
	if err.Document != "" {
		details["automation"], details["instruction"] = err.Document, err.Instruction
	}
	return &activity.Failure{Error: err.Name, Message: told.Message, Details: details}
}

// tell records an error event of an execution.
func (t *tree) tell(x *machine.Execution, err *automation.Error) { t.tellAs(t.rt.NewID(), x, err) }

// notice records an error event of an error that ended nothing, which its execution logs,
// too.
func (t *tree) notice(x *machine.Execution, err *automation.Error) {
	t.log(x, lineOf(err))
	t.tell(x, err)
}

// lineOf is an error as a line of a log.
func lineOf(err *automation.Error) string {
	if err.Instruction == "" {
		return err.Name + ": " + err.Message
	}
	return err.Name + ": " + err.Message + " (" + err.Instruction + ")"
}

// log keeps lines for the execution, until it has ended.
func (t *tree) log(x *machine.Execution, lines ...string) {
	if e := t.executions[x.ID]; e != nil {
		e.log.Add(lines...)
	}
}

// tellAs is tell of an event with an id.
func (t *tree) tellAs(id string, x *machine.Execution, err *automation.Error) {
	ev := t.bounded(*t.failure(err))
	t.journal.add(t.meta(x), eventstore.Fact{ID: id, Event: ofInstance(x.Program.Instance, ev)})
}

// ofInstance is an event of an app instance under its name in the workspace.
func ofInstance(instance string, ev domain.Event) domain.Event {
	if instance == "" {
		return ev
	}
	body, _ := json.Marshal(ev) // what encodes it in the log
	return domain.Unknown{Name: prefixed(instance, ev.EventType()), Body: body}
}

// bounded cuts an event that is larger than events may be.
func (t *tree) bounded(ev domain.Event) domain.Event {
	if b, ok := ev.(activity.Bounded); ok {
		return b.Within(t.settings.MaxEvent)
	}
	return ev
}
