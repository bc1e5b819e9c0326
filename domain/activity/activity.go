// Package activity holds the events that record what happened without changing
// any state, and the rules of those that users emit: nothing is ever folded from
// them.
package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/automation"
)

// Bounded is an event of the platform whose size is not: Within returns it with its
// largest fields cut, so that its payload has at most limit characters.
type Bounded interface {
	Within(limit int) domain.Event
}

// Failure says that a request or a run failed in a workspace. It is the `error`
// event of the catalogue.
type Failure struct {
	Error     string         `json:"error"`
	Message   string         `json:"message"`
	Details   map[string]any `json:"details,omitempty"`
	Truncated bool           `json:"truncated,omitempty"` // it was larger than events may be
}

// EventType implements domain.Event.
func (Failure) EventType() string { return failure }

// Within implements Bounded.
func (f Failure) Within(limit int) domain.Event {
	return within(f, limit, Fit)
}

// within cuts an event that has more characters than it may have, as fit does.
func within[E domain.Event](e E, limit int, fit func(payload map[string]any, limit int) (map[string]any, bool)) domain.Event {
	body := encode(e)
	if body == nil || utf8.RuneCount(body) <= limit {
		return e // what no JSON can hold is refused by who records it
	}
	fitting, _ := fit(decodeObject(body), limit)
	var cut E
	if json.Unmarshal(encode(fitting), &cut) != nil {
		return e
	}
	return cut
}

// Dropped says that the activity events of a workspace within a range of sequences
// are erased, and with them what is known of them.
type Dropped struct {
	WorkspaceID string `json:"workspaceId"`
	From        uint64 `json:"from"`
	To          uint64 `json:"to"`
}

// EventType implements domain.Event.
func (Dropped) EventType() string { return "events.dropped" }

// The types of the platform that others may emit as well.
const (
	failure = "error"
	usage   = "usage"
)

// Bounds of what is emitted.
const (
	MaxEmissions = 100 // at once
	MaxTarget    = 256 // characters of whom an event is for
)

// Emission is an event under a name of its sender's choice, before it is recorded.
type Emission struct {
	Type    string
	Payload json.RawMessage // an object; nothing and null stand for an empty one
	Target  *domain.Target
	Options domain.EventOptions
	Actor   *domain.Actor // for whom acts what it starts; nil: for whom the source names
}

// Terms are what emissions are held to.
type Terms struct {
	Limit int // characters of the compact JSON of a payload
}

var eventType = regexp.MustCompile(automation.EventName)

// Normalise returns a batch as it is recorded, its payloads compact. It refuses all of it
// when one event is not acceptable.
func (t Terms) Normalise(batch []Emission) ([]Emission, error) {
	if len(batch) == 0 || len(batch) > MaxEmissions {
		return nil, domain.Invalid(domain.FieldError{Field: "events", Message: fmt.Sprintf("must be 1 to %d events", MaxEmissions)})
	}
	normalised := make([]Emission, len(batch))
	var faults []domain.FieldError
	forged := false
	for i, e := range batch {
		var isJSON bool
		e.Payload, isJSON = compact(e.Payload)
		normalised[i] = e
		for _, fault := range faultsOf(e, isJSON) {
			fault.Field = fmt.Sprintf("events[%d].%s", i, fault.Field)
			faults = append(faults, fault)
		}
		forged = forged || automation.Native(e.Type)
	}
	if forged {
		return nil, domain.Invalid(faults...).Reason("native_type")
	}
	if len(faults) > 0 {
		return nil, domain.Invalid(faults...)
	}
	for _, e := range normalised {
		if err := t.checkSize(e); err != nil {
			return nil, err
		}
	}
	return normalised, nil
}

// compact returns a payload without blanks, and {} for none. What is no JSON stays as it
// is.
func compact(payload json.RawMessage) (_ json.RawMessage, isJSON bool) {
	if trimmed := bytes.TrimSpace(payload); len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}"), true
	}
	if domain.IsEncoded(payload) {
		return payload, true
	}
	var b bytes.Buffer
	b.Grow(len(payload))
	if json.Compact(&b, payload) != nil {
		return payload, false
	}
	return b.Bytes(), true
}

// areNumbersInRange reports whether all numbers of a JSON text can be read as floats.
func areNumbersInRange(text []byte) bool {
	const safe = 300 // so many digits without an exponent are below the largest float
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			from := i
			for i+1 < len(text) && strings.IndexByte("+-.0123456789Ee", text[i+1]) >= 0 {
				i++
			}
			number := text[from : i+1]
			if len(number) <= safe && !bytes.ContainsAny(number, "eE") {
				continue
			}
			if _, err := strconv.ParseFloat(string(number), 64); err != nil {
				return false
			}
		}
	}
	return true
}

// checkSize refuses a payload that is longer than events may be.
func (t Terms) checkSize(e Emission) error {
	size := utf8.RuneCount(e.Payload)
	if size <= t.Limit {
		return nil
	}
	return domain.Refuse(domain.CodeInvalidRequest, "the payload of %s has more than %d characters", e.Type, t.Limit).
		Reason("event_too_large").With("eventType", e.Type).With("length", size).With("limit", t.Limit)
}

// faultsOf lists what is wrong with an emission.
func faultsOf(e Emission, isJSON bool) (all []domain.FieldError) {
	fault := func(field, message string) {
		all = append(all, domain.FieldError{Field: field, Message: message})
	}
	switch {
	case !eventType.MatchString(e.Type):
		fault("type", "must be 1 to 200 letters, digits, blanks, dots, - and _")
	case automation.Native(e.Type):
		fault("type", fmt.Sprintf("%q is an event of the platform itself", e.Type))
	}
	if !isJSON || e.Payload[0] != '{' || !areNumbersInRange(e.Payload) {
		fault("payload", "must be an object whose numbers are in range")
	} else if field, message := wrongShape(e); message != "" {
		fault(field, message)
	}
	for _, field := range Misdirected(e.Target) {
		fault("target."+field, fmt.Sprintf("must be one line of at most %d characters", MaxTarget))
	}
	return all
}

// Misdirected names the fields of a target that are not valid names.
func Misdirected(target *domain.Target) (fields []string) {
	if target == nil {
		return nil
	}
	for _, of := range [...]struct{ field, value string }{
		{"userId", target.UserID}, {"sessionId", target.SessionID}, {"userTopic", target.UserTopic},
	} {
		if !domain.IsLine(of.value, MaxTarget) {
			fields = append(fields, of.field)
		}
	}
	return fields
}

// wrongShape says what is wrong with the payload of a type that the platform reads
// itself: sums are made of usage, and a failure must open again as one.
func wrongShape(e Emission) (field, message string) {
	isUsage := e.Type == usage || strings.HasSuffix(e.Type, "."+usage)
	if !isUsage && e.Type != failure {
		return "", ""
	}
	var payload map[string]any
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		return "payload", "must be an object"
	}
	if isUsage {
		return misshapenUsage(payload)
	}
	for _, name := range []string{"error", "message"} {
		if _, ok := payload[name].(string); !ok {
			return "payload." + name, "must be a text"
		}
	}
	if json.Unmarshal(e.Payload, &Failure{}) != nil {
		return "payload", "must be {error, message, details}, details an object"
	}
	return "", ""
}

// misshapenUsage says what is wrong with {metrics {name: {value, action}}}.
func misshapenUsage(payload map[string]any) (field, message string) {
	metrics, ok := payload["metrics"].(map[string]any)
	if !ok {
		return "payload.metrics", "must be an object"
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		metric, _ := metrics[name].(map[string]any)
		if _, ok := metric["value"].(float64); !ok {
			return "payload.metrics", fmt.Sprintf("%.60q has no value that is a number", name)
		}
		if action := metric["action"]; action != "set" && action != "increment" {
			return "payload.metrics", fmt.Sprintf("%.60q has another action than set and increment", name)
		}
	}
	return "", ""
}

// Interaction says that something made an automation run: the beginning of everything
// that happens under one correlation id.
type Interaction struct {
	WorkspaceID              string  `json:"workspaceId"`
	SourceWorkspaceID        string  `json:"sourceWorkspaceId,omitempty"`        // where it was called from, when that is another
	AuthenticatedWorkspaceID string  `json:"authenticatedWorkspaceId,omitempty"` // that called by itself
	Automation               string  `json:"automation"`
	Trigger                  Trigger `json:"trigger"`
	StartedAt                string  `json:"startedAt"`
}

// EventType implements domain.Event.
func (Interaction) EventType() string { return "runtime.interactions.triggered" }

// AppendJSON implements domain.SelfEncoder.
func (e Interaction) AppendJSON(to []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(to)
	e.encode(&o)
	return o.End()
}

func (e *Interaction) encode(o *domain.ObjectEncoder) {
	o.Text("workspaceId", e.WorkspaceID)
	o.TextIfAny("sourceWorkspaceId", e.SourceWorkspaceID)
	o.TextIfAny("authenticatedWorkspaceId", e.AuthenticatedWorkspaceID)
	o.Text("automation", e.Automation)
	o.Open("trigger")
	e.Trigger.encode(o)
	o.Close()
	o.Text("startedAt", e.StartedAt)
}

// DecodeJSON decodes what AppendJSON encoded, and returns false for other JSON.
func (e *Interaction) DecodeJSON(body []byte) bool {
	return nil == domain.VisitMembers(body, e.decodeMember)
}

func (e *Interaction) decodeMember(key, value []byte) error {
	switch string(key) {
	case "workspaceId":
		return domain.DecodeText(&e.WorkspaceID, value)
	case "sourceWorkspaceId":
		return domain.DecodeText(&e.SourceWorkspaceID, value)
	case "authenticatedWorkspaceId":
		return domain.DecodeText(&e.AuthenticatedWorkspaceID, value)
	case "automation":
		return domain.DecodeText(&e.Automation, value)
	case "trigger":
		return e.Trigger.decode(value)
	case "startedAt":
		return domain.DecodeText(&e.StartedAt, value)
	}
	return domain.ErrUnknownMember
}

// Trigger is what made an automation run.
type Trigger struct {
	Type            string `json:"type"` // one of those below
	Value           string `json:"value"`
	ID              string `json:"id,omitempty"`
	AppInstanceSlug string `json:"appInstanceSlug,omitempty"`
}

// Encoded returns the trigger as JSON.
func (t Trigger) Encoded() json.RawMessage {
	o := domain.NewObjectEncoder(nil)
	t.encode(&o)
	body, _ := o.End() // texts
	return body
}

// DecodeTrigger returns a trigger from its JSON. Anything else is a trigger without a type.
func DecodeTrigger(body json.RawMessage) (t Trigger) {
	if t.decode(body) != nil {
		t = Trigger{}
		_ = json.Unmarshal(body, &t)
	}
	return t
}

func (t *Trigger) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "type":
			return domain.DecodeText(&t.Type, value)
		case "value":
			return domain.DecodeText(&t.Value, value)
		case "id":
			return domain.DecodeText(&t.ID, value)
		case "appInstanceSlug":
			return domain.DecodeText(&t.AppInstanceSlug, value)
		}
		return domain.ErrUnknownMember
	})
}

func (t Trigger) encode(o *domain.ObjectEncoder) {
	o.Text("type", t.Type)
	o.Text("value", t.Value)
	o.TextIfAny("id", t.ID)
	o.TextIfAny("appInstanceSlug", t.AppInstanceSlug)
}

// The types of triggers.
const (
	ByEvent      = "event"
	ByEndpoint   = "endpoint"
	BySchedule   = "schedule"
	ByAutomation = "automation"
	ByTest       = "test"
	ByPage       = "page"
	ByAgent      = "agent"
	ByMCP        = "mcp"
)

// EndpointCalled says that the endpoint of an automation was called.
type EndpointCalled struct {
	AutomationSlug string `json:"automationSlug"`
	Method         string `json:"method"`
	Endpoint       string `json:"endpoint"`
}

// EventType implements domain.Event.
func (EndpointCalled) EventType() string { return "runtime.webhooks.triggered" }

// AppendJSON implements domain.SelfEncoder.
func (e EndpointCalled) AppendJSON(to []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(to)
	o.Text("automationSlug", e.AutomationSlug)
	o.Text("method", e.Method)
	o.Text("endpoint", e.Endpoint)
	return o.End()
}

// DecodeJSON decodes what AppendJSON encoded, and returns false for other JSON.
func (e *EndpointCalled) DecodeJSON(body []byte) bool {
	return nil == domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "automationSlug":
			return domain.DecodeText(&e.AutomationSlug, value)
		case "method":
			return domain.DecodeText(&e.Method, value)
		case "endpoint":
			return domain.DecodeText(&e.Endpoint, value)
		}
		return domain.ErrUnknownMember
	})
}

// ScheduleFired says that the time of a schedule came. Its id is made of workspace,
// automation, cron and time, so that a time fires once.
type ScheduleFired struct {
	Interaction

	ScheduledAt string `json:"scheduledAt"`
	Late        bool   `json:"late,omitempty"` // the service was down when its time came
}

// EventType implements domain.Event.
func (ScheduleFired) EventType() string { return "runtime.schedules.triggered" }

// AppendJSON implements domain.SelfEncoder: that of Interaction lacks the members after it.
func (e ScheduleFired) AppendJSON(to []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(to)
	e.encode(&o)
	o.Text("scheduledAt", e.ScheduledAt)
	o.IfTrue("late", e.Late)
	return o.End()
}

// DecodeJSON decodes what AppendJSON encoded, and returns false for other JSON.
func (e *ScheduleFired) DecodeJSON(body []byte) bool {
	return nil == domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "scheduledAt":
			return domain.DecodeText(&e.ScheduledAt, value)
		case "late":
			return domain.DecodeBool(&e.Late, value)
		}
		return e.decodeMember(key, value)
	})
}

// Scheduled says when an automation will fire.
type Scheduled struct {
	Slug      string       `json:"slug"`
	Schedules []string     `json:"schedules"`
	Details   []NextFiring `json:"details"`
}

// NextFiring is when a schedule fires next.
type NextFiring struct {
	Cron string `json:"cron"`
	Next string `json:"next,omitempty"` // absent: not for years
}

// EventType implements domain.Event.
func (Scheduled) EventType() string { return "runtime.schedules.created" }

// Executed says that an automation was executed. What it was given and what it gave
// may be kept apart, so that both can be erased before the event is.
type Executed struct {
	Slug              string          `json:"slug"`
	ExecutionID       string          `json:"executionId"`
	ParentExecutionID string          `json:"parentExecutionId,omitempty"`
	Trigger           json.RawMessage `json:"trigger,omitempty"`
	Input             json.RawMessage `json:"payload"`
	Output            json.RawMessage `json:"output"`
	Duration          int64           `json:"duration"` // ms
	Throttled         int64           `json:"throttled,omitempty"`
	StartedAt         string          `json:"startedAt"`
	Break             bool            `json:"break"`
	Error             *Failure        `json:"error,omitempty"`
	Truncated         bool            `json:"truncated,omitempty"`
	Recorded          any             `json:"recorded,omitempty"` // true, or "truncated"
	Apart             bool            `json:"apart,omitempty"`    // payload, output and logs are kept apart; not shown
	Logged            bool            `json:"logged,omitempty"`   // there are logs
}

// EventType implements domain.Event.
func (Executed) EventType() string { return "runtime.automations.executed" }

// AppendJSON implements domain.SelfEncoder.
func (e Executed) AppendJSON(to []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(to)
	o.Text("slug", e.Slug)
	o.Text("executionId", e.ExecutionID)
	o.TextIfAny("parentExecutionId", e.ParentExecutionID)
	if len(e.Trigger) > 0 {
		o.JSON("trigger", e.Trigger)
	}
	encodePart(&o, "payload", e.Input)
	encodePart(&o, "output", e.Output)
	o.Int("duration", e.Duration)
	o.IntIfAny("throttled", e.Throttled)
	o.Text("startedAt", e.StartedAt)
	o.Bool("break", e.Break)
	if e.Error != nil {
		o.Any("error", e.Error)
	}
	o.IfTrue("truncated", e.Truncated)
	if e.Recorded != nil {
		o.Any("recorded", e.Recorded)
	}
	o.IfTrue("apart", e.Apart)
	o.IfTrue("logged", e.Logged)
	return o.End()
}

// encodePart adds what went in or came out: null when it is left out.
func encodePart(o *domain.ObjectEncoder, name string, part json.RawMessage) {
	if part == nil {
		o.Encoded(name, []byte("null"))
		return
	}
	o.JSON(name, part)
}

// DecodeJSON decodes what AppendJSON encoded, and returns false for other JSON.
func (e *Executed) DecodeJSON(body []byte) bool {
	return nil == domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "slug":
			return domain.DecodeText(&e.Slug, value)
		case "executionId":
			return domain.DecodeText(&e.ExecutionID, value)
		case "parentExecutionId":
			return domain.DecodeText(&e.ParentExecutionID, value)
		case "trigger":
			return domain.DecodeRaw(&e.Trigger, value)
		case "payload":
			return domain.DecodeRaw(&e.Input, value)
		case "output":
			return domain.DecodeRaw(&e.Output, value)
		case "duration":
			return domain.DecodeInt(&e.Duration, value)
		case "throttled":
			return domain.DecodeInt(&e.Throttled, value)
		case "startedAt":
			return domain.DecodeText(&e.StartedAt, value)
		case "break":
			return domain.DecodeBool(&e.Break, value)
		case "error":
			return json.Unmarshal(value, &e.Error)
		case "truncated":
			return domain.DecodeBool(&e.Truncated, value)
		case "recorded":
			return json.Unmarshal(value, &e.Recorded)
		case "apart":
			return domain.DecodeBool(&e.Apart, value)
		case "logged":
			return domain.DecodeBool(&e.Logged, value)
		}
		return domain.ErrUnknownMember
	})
}

// UnmarshalJSON implements json.Unmarshaler: null, which says that something was left
// out, is nothing.
func (e *Executed) UnmarshalJSON(body []byte) error {
	type plainly Executed
	if err := json.Unmarshal(body, (*plainly)(e)); err != nil {
		return err
	}
	for _, part := range []*json.RawMessage{&e.Trigger, &e.Input, &e.Output} {
		if string(*part) == "null" {
			*part = nil
		}
	}
	return nil
}

// Within implements Bounded: what went in and what came out are left out before
// anything else is cut.
func (e Executed) Within(limit int) domain.Event {
	if e.Error == nil && e.longest() <= limit {
		return e // without encoding it
	}
	return within(e, limit, FitExecuted)
}

// longest returns how many characters an execution without an error has at most.
func (e *Executed) longest() int {
	const names, escaped = 400, len(`\u003c`) // of all members, with numbers, and the longest form of a character
	return names + escaped*(len(e.Slug)+len(e.ExecutionID)+len(e.ParentExecutionID)+len(e.Trigger)+len(e.Input)+len(e.Output)+len(e.StartedAt))
}

// TreeStarted says that a tree began, or begins again because the node that ran it is
// gone. It is for the runtime alone: a tree ends with the event of its first execution,
// and what has no such event was interrupted. A tree that is over at once has no start
// of its own, and of one that is not the cleanup says again how it began before it erases
// what said so first.
type TreeStarted struct {
	ExecutionID string  `json:"executionId"` // of its first execution
	Automation  string  `json:"automation"`
	Trigger     Trigger `json:"trigger"`
	Attempt     int     `json:"attempt"`
	Replica     string  `json:"replica"` // the node, as it is since its last start
	StartedAt   string  `json:"startedAt"`
}

// EventType implements domain.Event.
func (TreeStarted) EventType() string { return "runtime.trees.started" }

// WaitPending says that a tree stands in a wait. Where it stands is kept apart, sealed.
type WaitPending struct {
	ID          string          `json:"id"`
	ExecutionID string          `json:"executionId"`
	ExpiresAt   string          `json:"expiresAt"`
	Wait        json.RawMessage `json:"wait,omitempty"` // as the instruction has it
	Since       time.Time       `json:"since,omitzero"` // when the wait began; zero: with this event
}

// EventType implements domain.Event.
func (WaitPending) EventType() string { return "runtime.waits.pending" }

// WaitKept says again that a tree stands in a wait, before the cleanup erases what said so
// first. It is for the runtime alone: nothing has happened.
type WaitKept WaitPending

// EventType implements domain.Event.
func (WaitKept) EventType() string { return "runtime.waits.kept" }

// WaitFulfilled says that the event that a wait is for came.
type WaitFulfilled struct {
	ID    string      `json:"id"`
	Event AwaitedName `json:"event"`
}

// AwaitedName names the event that ended a wait.
type AwaitedName struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// EventType implements domain.Event.
func (WaitFulfilled) EventType() string { return "runtime.waits.fulfilled" }

// WaitExpired says that the time of a wait is over.
type WaitExpired struct {
	ID string `json:"id"`
}

// EventType implements domain.Event.
func (WaitExpired) EventType() string { return "runtime.waits.expired" }

// FetchFailed says that a request of an automation was answered with an error, or not
// at all. Credentials in it are left out.
type FetchFailed struct {
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    json.RawMessage `json:"error,omitempty"`
}

// EventType implements domain.Event.
func (FetchFailed) EventType() string { return "runtime.fetch.failed" }

// Within implements Bounded.
func (e FetchFailed) Within(limit int) domain.Event { return within(e, limit, Fit) }

// Replayed says that a recorded run was executed again, with nothing leaving.
type Replayed struct {
	CorrelationID string `json:"correlationId"`
	Document      string `json:"document"`
	Status        string `json:"status"`
	Differences   int    `json:"differences"`
}

// EventType implements domain.Event.
func (Replayed) EventType() string { return "runtime.runs.replayed" }

// MessageContext says which message to an agent an event is about.
type MessageContext struct {
	Agent          string `json:"agent"`
	ConversationID string `json:"conversationId"`
	MessageID      string `json:"messageId"`
	Draft          bool   `json:"draft"`
}

// MessageStarted says that an agent began to answer a message.
type MessageStarted struct{ MessageContext }

// EventType implements domain.Event.
func (MessageStarted) EventType() string { return "agents.messages.started" }

// MessageCompleted says how the answer to a message ended. It has no text of the conversation.
type MessageCompleted struct {
	MessageContext

	Status    string        `json:"status"`
	Model     string        `json:"model,omitempty"`
	Steps     int           `json:"steps"`
	ToolCalls []string      `json:"toolCalls"`
	Usage     MessageUsage  `json:"usage"`
	Duration  int64         `json:"duration"` // milliseconds
	Error     *MessageError `json:"error,omitempty"`
}

// MessageUsage is the tokens that a message took.
type MessageUsage struct {
	PromptTokens     int  `json:"promptTokens"`
	CompletionTokens int  `json:"completionTokens"`
	Estimated        bool `json:"estimated,omitempty"`
}

// MessageError is why a message failed.
type MessageError struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Reason  string `json:"reason,omitempty"`
}

// EventType implements domain.Event.
func (MessageCompleted) EventType() string { return "agents.messages.completed" }

// ToolCalled says that an agent called a function.
type ToolCalled struct {
	Agent     string `json:"agent"`
	MessageID string `json:"messageId"`
	CallID    string `json:"callId"`
	Name      string `json:"name"`
	Duration  int64  `json:"duration"` // milliseconds
	Error     string `json:"error,omitempty"`
}

// EventType implements domain.Event.
func (ToolCalled) EventType() string { return "agents.tools.called" }

// KnowledgeQueried says that documents of knowledge bases were searched, or that a question was asked.
type KnowledgeQueried struct {
	KnowledgeBases []string `json:"knowledgeBases"`
	Kind           string   `json:"kind"` // search or ask
	Mode           string   `json:"mode"`
	Query          string   `json:"query,omitempty"` // its beginning; absent: the operator does not want it
	Total          int      `json:"total"`
	DocumentIDs    []string `json:"documentIds"` // the first
	Grounded       *bool    `json:"grounded,omitempty"`
	Model          string   `json:"model,omitempty"`
	Took           int64    `json:"took"` // milliseconds
}

// EventType implements domain.Event.
func (KnowledgeQueried) EventType() string { return "knowledge.queried" }

// Usage says how much of something was used. It is stored under the name that apps report their own metrics with, and is
// no row of the catalogue: such a report may have any other fields, and must be shown with them.
type Usage struct {
	Metrics       map[string]Metric `json:"metrics"`
	KnowledgeBase string            `json:"knowledgeBase,omitempty"` // its slug
	Agent         string            `json:"agent,omitempty"`         // its slug
	Model         string            `json:"model,omitempty"`
}

// EventType implements domain.Event.
func (Usage) EventType() string { return usage }

// Metric is a number that grows by a value, or is set to it.
type Metric struct {
	Value  float64 `json:"value"`
	Action string  `json:"action"` // set or increment
}

// The metrics of knowledge bases and language models.
const (
	PromptTokens     = "tokens.prompt"
	CompletionTokens = "tokens.completion"
	EmbeddingTokens  = "tokens.embedding"
	Queries          = "knowledge.queries"
	Questions        = "knowledge.questions"
	DocumentsIndexed = "knowledge.documents.indexed"
	PagesCrawled     = "knowledge.pages.crawled"
	Documents        = "knowledge.documents"
	Chunks           = "knowledge.chunks"
	Bytes            = "knowledge.bytes"
)

// Levels returns metrics that are set to values.
func Levels(to map[string]float64) map[string]Metric {
	metrics := map[string]Metric{}
	for name, value := range to {
		metrics[name] = Metric{value, "set"}
	}
	return metrics
}

// Increments returns metrics that grow, without those that do not.
func Increments(by map[string]int) map[string]Metric {
	metrics := map[string]Metric{}
	for name, n := range by {
		if n > 0 {
			metrics[name] = Metric{float64(n), "increment"}
		}
	}
	return metrics
}

// CollectionUpdated says that a collection was declared or altered.
type CollectionUpdated struct {
	Collection    string          `json:"collection"`
	OldCollection string          `json:"oldCollection,omitempty"`
	Schema        string          `json:"schema"`
	Properties    json.RawMessage `json:"properties,omitempty"`
	Indexes       json.RawMessage `json:"indexes,omitempty"`
	Uniques       json.RawMessage `json:"uniques,omitempty"`
	AppSlug       string          `json:"appSlug,omitempty"`
}

// EventType implements domain.Event.
func (CollectionUpdated) EventType() string { return "workspaces.collections.updated" }

// Within implements Bounded.
func (e CollectionUpdated) Within(limit int) domain.Event { return within(e, limit, Fit) }

// The jobs that erase what is old.
const (
	JobIndices    = "indices"
	JobExecutions = "executions"
)

// Cleaned says what a run of a cleanup job erased, or would erase. It is the answer
// to who asked for the run, and, with Job, the `events.cleaned` event. The parts of
// the other job are left out.
type Cleaned struct {
	Job       string `json:"job,omitempty"`
	DryRun    bool   `json:"dryRun"`
	StartedAt string `json:"startedAt"`
	Duration  int64  `json:"duration"` // ms

	Expired  *Expired  `json:"expiredEvents,omitempty"`
	Inactive *Inactive `json:"inactiveWorkspaces,omitempty"`
	Deleted  *Deleted  `json:"deletedWorkspaces,omitempty"`
	Blobs    *Blobs    `json:"blobs,omitempty"`

	*Stripped

	Errors    []Fault `json:"errors"`
	Truncated bool    `json:"truncated,omitempty"` // it was larger than events may be
}

type (
	// Expired are the events that were older than the retention.
	Expired struct {
		Before *string `json:"before"` // null: no event is too old
		Total  uint64  `json:"total"`
	}
	// Inactive are the workspaces that are small and had no event for long.
	Inactive struct {
		Found         []Idle `json:"found"`
		DeletedEvents uint64 `json:"deletedEvents"`
	}
	// Idle is one of them.
	Idle struct {
		WorkspaceID    string `json:"workspaceId"`
		InactivityDays int    `json:"inactivityDays"`
		EventsCount    int    `json:"eventsCount"`
	}
	// Deleted are the workspaces that cannot come back any more.
	Deleted struct {
		Found         []Gone `json:"found"`
		DeletedEvents uint64 `json:"deletedEvents"`
	}
	// Gone is one of them.
	Gone struct {
		WorkspaceID string `json:"workspaceId"`
		DeletedAt   string `json:"deletedAt"`
	}
	// Blobs are the contents that nothing referred to.
	Blobs struct {
		Deleted    uint64 `json:"deleted"`
		FreedBytes uint64 `json:"freedBytes"`
	}
	// Stripped are the executions whose payload and output were erased.
	Stripped struct {
		Before     *string `json:"before"` // null: none is too old
		Count      uint64  `json:"stripped"`
		FreedBytes uint64  `json:"freedBytes"`
	}
	// Fault says which part of a run was not done, and why.
	Fault struct {
		Part        string `json:"part"`
		WorkspaceID string `json:"workspaceId,omitempty"`
		Message     string `json:"message"`
	}
)

// EventType implements domain.Event.
func (Cleaned) EventType() string { return "events.cleaned" }

// Within implements Bounded.
func (c Cleaned) Within(limit int) domain.Event {
	fields := map[string]any{}
	body, err := json.Marshal(c)
	if err != nil || json.Unmarshal(body, &fields) != nil {
		return c // what no JSON can hold is refused by who records it
	}
	fitting, cut := Fit(fields, limit)
	if !cut {
		return c
	}
	short := Cleaned{}
	if body, err = json.Marshal(fitting); err != nil || json.Unmarshal(body, &short) != nil {
		return c
	}
	return short
}

// DeliveriesDropped says that the records of deliveries of a workspace within a range
// of sequences are erased; other events of the range are not.
type DeliveriesDropped Dropped

// EventType implements domain.Event.
func (DeliveriesDropped) EventType() string { return "events.deliveries.dropped" }
