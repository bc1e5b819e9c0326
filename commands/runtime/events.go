package runtime

import (
	"encoding/binary"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
	"svc/eventstore"
)

// runEvents records what happens in a run: its start, the ends of its executions, errors. It
// adds events to the journal, which appends them.
type runEvents struct {
	*runCore
	executions *executions
	secrets    *runSecrets
	world      *world
	recording  *runRecording
	journal    *journal

	startRecorded bool   // the start of the run was added to the journal
	reservedEnd   string // id of the end of a run that is over at once; "": none
}

// meta returns the source of the events that an execution causes.
func (r *runEvents) meta(x *machine.Execution) domain.Meta {
	m, scope := r.start.Meta, r.executions.program(x).Scope
	m.UserID, m.SessionID, m.CorrelationID = r.start.Caller.responsible(), r.world.sessionID, r.start.CorrelationID
	m.AutomationSlug, m.AutomationDepth, m.ExecutionID = x.Program.Slug, x.Depth, x.ID
	m.AppSlug, m.AppInstance, m.AppDepth = scope.App, scope.Instance, scope.Depth()
	m.Host, m.Hides = r.rt.Host, r.secrets.exist()
	if m.SessionID != r.start.Caller.SessionID { // any text, that an automation chose
		m.SessionID = r.secrets.set.Text(m.SessionID)
	}
	if m.HTTP != nil {
		redacted := *m.HTTP
		redacted.Path = r.secrets.redactPath(redacted.Path)
		m.HTTP = &redacted
	}
	return m
}

// recordStart records that the run has started, before it has any visible effect. It does not
// wait for the append.
func (r *runEvents) recordStart() {
	if !r.startRecorded && r.executions.open[r.id] != nil {
		r.addStart()
		r.journal.appendInBackground(r.ctx)
	}
}

// recordStartNow is recordStart, but waits until the event is on disk.
func (r *runEvents) recordStartNow() error {
	r.addStart()
	_, err := r.journal.append(r.ctx)
	return err
}

// recordTrigger records the events about the trigger. Their ids follow each other, and so does that of the end of a run
// that is over at once: the index of the feed has one key for them.
func (r *runEvents) recordTrigger() {
	id := ""
	for _, fact := range r.start.Facts {
		if id = followingID(id); id == "" {
			id = r.rt.NewID()
		}
		r.journal.add(r.meta(r.machine.Root()), eventstore.Fact{ID: id, Event: r.secrets.redactFact(fact)})
	}
	r.reservedEnd = followingID(id)
}

// followingID returns the id that follows an id; "" when that is no ULID.
func followingID(id string) string {
	next, err := ulid.ParseStrict(id)
	if err != nil {
		return ""
	}
	binary.BigEndian.PutUint64(next[8:], binary.BigEndian.Uint64(next[8:])+1)
	return next.String()
}

// endID returns the id of the end of an execution. Its time is about that of the event.
func (r *runEvents) endID(x *machine.Execution, lasted time.Duration) string {
	if r.reservedEnd == "" || x.Parent != nil || r.startRecorded || lasted > maxReserved {
		return r.rt.NewID()
	}
	id := r.reservedEnd
	r.reservedEnd = ""
	return id
}

// maxReserved is how long a run takes at most that is over at once.
const maxReserved = 100 * time.Millisecond

// addStart adds the start event of the run to the journal.
func (r *runEvents) addStart() {
	r.startRecorded = true
	root := r.machine.Root()
	r.journal.record(r.meta(root), activity.TreeStarted{
		ExecutionID: root.ID, Automation: root.Program.Slug, Trigger: r.secrets.redactTrigger(r.start.Trigger), Attempt: r.start.Attempt,
		Replica: r.process, StartedAt: formatTime(r.executions.open[root.ID].startedAt),
	})
}

// recordUncaught records the error that nothing caught, with the execution that raised it as
// its source.
func (r *runEvents) recordUncaught(root *machine.Execution) {
	x := r.executions.raised[root.Origin]
	if x == nil {
		x = root
	}
	r.recordError(x, root.Err)
}

// recordEnded records that an execution ended.
func (r *runEvents) recordEnded(x *machine.Execution) {
	e := r.executions.open[x.ID]
	now := r.rt.Now()
	done := activity.Executed{
		Slug: x.Program.Slug, ExecutionID: x.ID, Trigger: r.secrets.redactTrigger(e.trigger).Encoded(), StartedAt: formatTime(e.startedAt),
		Duration: now.Sub(e.startedAt).Milliseconds(), Throttled: time.Duration(e.throttled.Load()).Milliseconds(), Break: x.Broke,
	}
	if x.Parent != nil {
		done.ParentExecutionID = x.Parent.ID
	}
	if x.Err != nil {
		done.Error = r.toFailure(x.Err)
	}
	done.Recorded = r.recording.recordResult(x)
	id := r.endID(x, now.Sub(e.startedAt))
	stored, fits := r.executionPayload(x)
	if !fits {
		stored, done.Truncated = executionPayload{}, true
	}
	stored.Logs = e.log.Redacted(r.secrets.set)
	done.Logged = len(stored.Logs) > 0
	var apart []byte
	if done.Apart = fits || done.Logged; done.Apart {
		apart = stored.encode()
	}
	r.journal.add(r.meta(x), eventstore.Fact{ID: id, Event: r.limit(done), Apart: apart})
	delete(r.executions.open, x.ID)
}

// executionPayload returns the redacted input and output of an execution; ok is false when
// they are too long to be stored.
func (r *runEvents) executionPayload(x *machine.Execution) (stored executionPayload, ok bool) {
	shape, most := r.executions.program(x).Shape, r.settings.MaxExecuted
	in, out := shape.Recorded(x.Input), shape.RedactedOutput(x.Output)
	if value.IsUndefined(out) {
		out = &value.Object{}
	}
	if !value.FitsWithin(in, maxRedactFactor*most) || !value.FitsWithin(out, maxRedactFactor*most) {
		return stored, false
	}
	stored = executionPayload{Payload: r.secrets.redactJSON(in), Output: r.secrets.redactJSON(out)}
	return stored, utf8.RuneCount(stored.Payload)+utf8.RuneCount(stored.Output) <= most
}

// toFailure returns an error in the form of events, redacted.
func (r *runEvents) toFailure(err *automation.Error) *activity.Failure {
	details, redacted := map[string]any{}, r.secrets.redactRaised(err)
	if redacted.Details != nil {
		_ = json.Unmarshal([]byte(value.JSON(redacted.Details, "")), &details) // JSON of our own
	}
	if err.Document != "" {
		details["automation"], details["instruction"] = err.Document, err.Instruction
	}
	return &activity.Failure{Error: err.Name, Message: redacted.Message, Details: details}
}

// recordError records an error event of an execution.
func (r *runEvents) recordError(x *machine.Execution, err *automation.Error) {
	r.recordErrorAs(r.rt.NewID(), x, err)
}

// recordNotice records an error that does not end its execution: as an event, and in the log
// of the execution.
func (r *runEvents) recordNotice(x *machine.Execution, err *automation.Error) {
	r.executions.addLog(x, logLine(err))
	r.recordError(x, err)
}

// logLine returns an error as a line of the log of its execution.
func logLine(err *automation.Error) string {
	if err.Instruction == "" {
		return err.Name + ": " + err.Message
	}
	return err.Name + ": " + err.Message + " (" + err.Instruction + ")"
}

// recordErrorAs records an error event under an id.
func (r *runEvents) recordErrorAs(id string, x *machine.Execution, err *automation.Error) {
	ev := r.limit(*r.toFailure(err))
	r.journal.add(r.meta(x), eventstore.Fact{ID: id, Event: prefixEvent(x.Program.Instance, ev)})
}

// prefixEvent returns an event of an app instance under its name in the workspace.
func prefixEvent(instance string, ev domain.Event) domain.Event {
	if instance == "" {
		return ev
	}
	body, _ := json.Marshal(ev) // what encodes it in the log
	return domain.Unknown{Name: prefixName(instance, ev.EventType()), Body: body}
}

// limit cuts an event that is larger than events may be.
func (r *runEvents) limit(ev domain.Event) domain.Event {
	if b, ok := ev.(activity.Bounded); ok {
		return b.Within(r.settings.MaxEvent)
	}
	return ev
}
