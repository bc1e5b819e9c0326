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
func (t *run) meta(x *machine.Execution) domain.Meta {
	m, scope := t.start.Meta, t.program(x).Scope
	m.UserID, m.SessionID, m.CorrelationID = t.start.Caller.responsible(), t.world.sessionID, t.start.CorrelationID
	m.AutomationSlug, m.AutomationDepth, m.ExecutionID = x.Program.Slug, x.Depth, x.ID
	m.AppSlug, m.AppInstance, m.AppDepth = scope.App, scope.Instance, scope.Depth()
	m.Host, m.Hides = t.rt.Host, t.hasRunSecrets()
	if m.SessionID != t.start.Caller.SessionID { // any text, that an automation chose
		m.SessionID = t.redact.Text(m.SessionID)
	}
	if m.HTTP != nil {
		shown := *m.HTTP
		shown.Path = t.redactPath(shown.Path)
		m.HTTP = &shown
	}
	return m
}

// redactJSON is a value as events tell it: JSON without the secrets of the run.
func (t *run) redactJSON(v any) json.RawMessage {
	return json.RawMessage(value.JSON(t.redact.Value(v), ""))
}

// redactFact is an event of what triggered the tree, as it is told.
func (t *run) redactFact(ev domain.Event) domain.Event {
	switch ev := ev.(type) {
	case activity.Interaction:
		ev.Trigger = t.redactTrigger(ev.Trigger)
		return ev
	case activity.EndpointCalled:
		ev.Endpoint = t.redactPath(ev.Endpoint)
		return ev
	}
	return ev
}

// recordEnded records that an execution ended.
func (t *run) recordEnded(x *machine.Execution) {
	e := t.executions[x.ID]
	now := t.rt.Now()
	trigger, _ := json.Marshal(t.redactTrigger(e.trigger)) // strings only
	done := activity.Executed{
		Slug: x.Program.Slug, ExecutionID: x.ID, Trigger: trigger, StartedAt: formatTime(e.startedAt),
		Duration: now.Sub(e.startedAt).Milliseconds(), Throttled: time.Duration(e.throttled.Load()).Milliseconds(), Break: x.Broke,
	}
	if x.Parent != nil {
		done.ParentExecutionID = x.Parent.ID
	}
	if x.Err != nil {
		done.Error = t.toFailure(x.Err)
	}
	done.Recorded = t.recordResult(x)
	id := t.rt.NewID()
	kept, fits := t.executionPayload(x)
	if !fits {
		kept, done.Truncated = executionPayload{}, true
	}
	kept.Logs = e.log.Shown(t.redact)
	done.Logged = len(kept.Logs) > 0
	if done.Apart = fits || done.Logged; done.Apart {
		content, _ := json.Marshal(kept) // JSON already, and texts
		t.journal.addPayload(payload{id, content})
	}
	t.journal.add(t.meta(x), eventstore.Fact{ID: id, Event: t.limitEvent(done)})
	delete(t.executions, x.ID)
}

// executionPayload is what an execution was given and gave, as it is told; ok is false when that is
// longer than it may be.
func (t *run) executionPayload(x *machine.Execution) (kept executionPayload, ok bool) {
	shape, most := t.program(x).Shape, t.settings.MaxExecuted
	in, out := shape.Recorded(x.Input), orObject(shape.RedactedOutput(x.Output))
	if !value.FitsWithin(in, maxRedactFactor*most) || !value.FitsWithin(out, maxRedactFactor*most) {
		return kept, false
	}
	kept = executionPayload{Payload: t.redactJSON(in), Output: t.redactJSON(out)}
	return kept, utf8.RuneCount(kept.Payload)+utf8.RuneCount(kept.Output) <= most
}

// orObject is an output as it is told: nothing is an empty object.
func orObject(v any) any {
	if value.IsUndefined(v) {
		return &value.Object{}
	}
	return v
}

// toFailure is an error as events tell it.
func (t *run) toFailure(err *automation.Error) *activity.Failure {
	details, told := map[string]any{}, t.redactRaised(err)
	if told.Details != nil {
		_ = json.Unmarshal([]byte(value.JSON(told.Details, "")), &details) // JSON of our own
	}
	if err.Document != "" {
		details["automation"], details["instruction"] = err.Document, err.Instruction
	}
	return &activity.Failure{Error: err.Name, Message: told.Message, Details: details}
}

// recordError records an error event of an execution.
func (t *run) recordError(x *machine.Execution, err *automation.Error) {
	t.recordErrorAs(t.rt.NewID(), x, err)
}

// recordNotice records an error event of an error that ended nothing, which its execution logs,
// too.
func (t *run) recordNotice(x *machine.Execution, err *automation.Error) {
	t.addLog(x, logLine(err))
	t.recordError(x, err)
}

// logLine is an error as a line of a log.
func logLine(err *automation.Error) string {
	if err.Instruction == "" {
		return err.Name + ": " + err.Message
	}
	return err.Name + ": " + err.Message + " (" + err.Instruction + ")"
}

// addLog keeps lines for the execution, until it has ended.
func (t *run) addLog(x *machine.Execution, lines ...string) {
	if e := t.executions[x.ID]; e != nil {
		e.log.Add(lines...)
	}
}

// recordErrorAs is tell of an event with an id.
func (t *run) recordErrorAs(id string, x *machine.Execution, err *automation.Error) {
	ev := t.limitEvent(*t.toFailure(err))
	t.journal.add(t.meta(x), eventstore.Fact{ID: id, Event: prefixEvent(x.Program.Instance, ev)})
}

// prefixEvent is an event of an app instance under its name in the workspace.
func prefixEvent(instance string, ev domain.Event) domain.Event {
	if instance == "" {
		return ev
	}
	body, _ := json.Marshal(ev) // what encodes it in the log
	return domain.Unknown{Name: prefixName(instance, ev.EventType()), Body: body}
}

// limitEvent cuts an event that is larger than events may be.
func (t *run) limitEvent(ev domain.Event) domain.Event {
	if b, ok := ev.(activity.Bounded); ok {
		return b.Within(t.settings.MaxEvent)
	}
	return ev
}
