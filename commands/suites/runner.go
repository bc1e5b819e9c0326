package suites

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/collection"
	"svc/domain/document"
	"svc/domain/suite"
	"svc/domain/value"
	"svc/domain/workspace"
)

// Runner runs cases. All fields are required.
type Runner struct {
	Runtime *runtime.Runtime // whose settings and turn slots tests share
	Limits  func() collection.Limits
	// StatusOf returns the HTTP status that a code is answered with.
	StatusOf func(domain.Code) int
}

// The results of a case.
const (
	Passed = "passed"
	Failed = "failed"
)

// Report is what became of suites.
type Report struct {
	Passed   int           `json:"passed"`
	Failed   int           `json:"failed"`
	Duration int64         `json:"duration"` // ms
	Suites   []SuiteReport `json:"suites"`
}

// SuiteReport is what became of one suite.
type SuiteReport struct {
	Slug       string       `json:"slug"`
	Automation string       `json:"automation"`
	Cases      []CaseReport `json:"cases"`
}

// CaseReport is what became of one case.
type CaseReport struct {
	Name        string             `json:"name"`
	Status      string             `json:"status"` // Passed or Failed
	Duration    int64              `json:"duration"`
	Differences []suite.Difference `json:"differences"`
	Actual      *Actual            `json:"actual,omitempty"` // of a case that failed
}

// Actual is what an automation did in a case.
type Actual struct {
	Status  int             `json:"status"`
	Error   *ActualError    `json:"error,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Events  []ActualEvent   `json:"events"`
	Fetches []ActualFetch   `json:"fetches"`
	Logs    []string        `json:"logs,omitempty"`
}

// ActualError is an error that an automation failed with.
type ActualError struct {
	Error       string `json:"error"`
	Message     string `json:"message"`
	Automation  string `json:"automation,omitempty"`
	Instruction string `json:"instruction,omitempty"`
}

// ActualEvent is an event that was emitted.
type ActualEvent struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// ActualFetch is a request that was made.
type ActualFetch struct {
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Draft replaces what is saved while cases run.
type Draft = map[string]*document.Map

// Wanted says which cases run.
type Wanted struct {
	Suites []*suite.Suite
	// Case reports whether a case runs; nil: all do.
	Case  func(suite, name string) bool
	Draft Draft // automations that replace the saved ones, by slug; nil: that one is deleted
}

// Run runs cases, one after the other. It fails only when ctx ends, or the platform cannot run anything.
func (r *Runner) Run(ctx context.Context, set *programs.ProgramSet, w Wanted) (Report, error) {
	began := time.Now()
	report := Report{Suites: []SuiteReport{}}
	for _, s := range w.Suites {
		done := SuiteReport{Slug: s.Slug, Automation: s.Automation, Cases: []CaseReport{}}
		for i := range s.Cases {
			c := &s.Cases[i]
			if w.Case != nil && !w.Case(s.Slug, c.Name) {
				continue
			}
			result, err := r.runCase(ctx, set, s, c, w)
			if err != nil {
				return report, err
			}
			if done.Cases = append(done.Cases, result); result.Status == Passed {
				report.Passed++
			} else {
				report.Failed++
			}
		}
		if len(done.Cases) > 0 || w.Case == nil {
			report.Suites = append(report.Suites, done)
		}
	}
	report.Duration = time.Since(began).Milliseconds()
	return report, nil
}

func (r *Runner) runCase(ctx context.Context, set *programs.ProgramSet, s *suite.Suite, c *suite.Case, w Wanted) (CaseReport, error) {
	began := time.Now()
	outcome, err := r.Simulate(ctx, set, s.Automation, c, w.Draft)
	if missing, ok := errors.AsType[*MissingAutomationError](err); ok {
		return CaseReport{Name: c.Name, Status: Failed, Differences: []suite.Difference{{Path: "automation", Message: missing.Error()}}}, nil
	}
	if err != nil {
		return CaseReport{}, err
	}
	report := CaseReport{Name: c.Name, Status: Passed, Differences: suite.Compare(c.Expect, outcome), Duration: time.Since(began).Milliseconds()}
	if report.Differences == nil {
		report.Differences = []suite.Difference{}
	}
	if len(report.Differences) > 0 {
		report.Status, report.Actual = Failed, newActual(outcome)
	}
	return report, nil
}

// MissingAutomationError says that there is no automation of a slug.
type MissingAutomationError struct{ Slug, Near string }

// Error implements error.
func (e *MissingAutomationError) Error() string {
	text := fmt.Sprintf("there is no automation %q", e.Slug)
	if e.Near != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	return text
}

// caseTime is how long a case may compute.
const caseTime = 5 * time.Second

// correlationID is that of the run of a case.
const correlationID = "test"

// Simulate runs an automation as a case says, and returns what it did. Nothing of that is stored, and nothing leaves.
func (r *Runner) Simulate(ctx context.Context, set *programs.ProgramSet, slug string, c *suite.Case, draft Draft) (suite.Outcome, error) {
	varied := set.Vary(ctx, programs.Variant{Automations: draft, Config: c.Stubs.Config, Secrets: c.Stubs.Secrets})
	program := varied.Program(slug)
	if program == nil {
		missing := &MissingAutomationError{Slug: slug}
		if near := varied.NearestProgram(slug); near != nil {
			missing.Near = near.Slug
		}
		return suite.Outcome{}, missing
	}
	s := newSimulation(c, r.Limits(), r.Runtime.Effects.Code)
	settings := r.Runtime.Settings()
	settings.Recording, settings.MaxActive = "off", min(settings.MaxActive, caseTime)
	o, err := s.options(settings, r.Runtime.Host)
	if err != nil {
		return suite.Outcome{}, err
	}
	o.Log = r.Runtime.Log
	simulated, err := r.Runtime.NewSimulated(o)
	if err != nil {
		return suite.Outcome{}, err
	}
	defer func() { _ = simulated.Close(context.WithoutCancel(ctx)) }() // nothing runs any more
	start := s.start(varied, program, c)
	run := simulated.Launch(start)
	select {
	case <-run.Done():
	case <-ctx.Done():
		run.BreakOff(context.WithoutCancel(ctx))
		return suite.Outcome{}, context.Cause(ctx)
	}
	out, err := run.Outcome()
	if err != nil {
		return suite.Outcome{}, fmt.Errorf("the case %q: %w", c.Name, commands.Refused(err))
	}
	return s.result(start, out, r.StatusOf), nil
}

// start returns how the automation of a case starts.
func (s *simulation) start(set *programs.ProgramSet, p *programs.Program, c *suite.Case) runtime.Start {
	caller := runtime.Caller{Actor: domain.Actor{UserID: c.User.Text("id"), SessionID: c.Session}, Email: c.User.Text("email"), Role: c.User.Text("role")}
	caller.Credential = caller.UserID != ""
	caller.AuthData, _ = c.User.At("authData").(*value.Object)
	start := runtime.Start{
		ProgramSet: set, Program: p, Caller: caller, CorrelationID: correlationID, Depth: 1, Attempt: 1,
		Meta:    domain.Meta{CorrelationID: correlationID, UserID: caller.UserID, SessionID: caller.SessionID},
		Trigger: activity.Trigger{Type: activity.ByTest, Value: p.Slug},
	}
	switch {
	case c.Event != nil:
		start.Trigger = activity.Trigger{Type: activity.ByEvent, Value: c.Event.Text("type"), ID: cmp.Or(c.Event.Text("id"), s.newID())}
		start.Input = s.eventInput(set, c.Event, start.Trigger.ID)
		return start
	case c.Request != nil:
		start.Trigger = activity.Trigger{Type: activity.ByEndpoint, Value: p.Slug}
		if p.When.Endpoint != nil {
			start.Trigger.Value = p.When.Endpoint.String()
		}
		start.Input = requestInput(set, p, c.Request)
	default:
		start.Input = c.Input.Copy()
	}
	start.Input.Set("$http", machine.HTTP{})
	start.HTTP = &runtime.HTTP{Send: s.addChunk}
	return start
}

// addChunk adds a chunk that a caller would get.
func (s *simulation) addChunk(_ context.Context, chunk []byte) {
	if v, err := value.ParseJSON(string(chunk)); err == nil {
		s.outcome.Chunks = append(s.outcome.Chunks, v)
	}
}

// eventInput returns an event as an automation that listens to it gets it.
func (s *simulation) eventInput(set *programs.ProgramSet, given *value.Object, id string) *value.Object {
	at := s.now
	if created, err := time.Parse(time.RFC3339, given.Text("createdAt")); err == nil {
		at = created
	}
	payload, _ := given.At("payload").(*value.Object)
	event, _ := value.ParseJSON(string(newEvent(set.Workspace.ID, id, given.Text("type"), payload, at).JSON())) // of our own
	in, _ := event.(*value.Object)
	in = in.Copy()
	if source, ok := given.At("source").(*value.Object); ok {
		in.Set("source", source)
	}
	return in
}

// requestInput returns a request as an automation gets it that it starts.
func requestInput(set *programs.ProgramSet, p *programs.Program, given *value.Object) *value.Object {
	body, sent := given.Get("body")
	method, raw := "GET", ""
	if sent {
		method = "POST"
		if text, ok := body.(string); ok {
			raw = text
		} else {
			raw = value.JSON(body, "")
		}
	} else {
		body = &value.Object{}
	}
	headers := &value.Object{}
	for name, v := range objectAt(given, "headers").All() {
		headers.Set(strings.ToLower(name), v)
	}
	return value.NewObject(
		"method", cmp.Or(given.Text("method"), method), "headers", headers, "query", objectAt(given, "query"), "pathParams", objectAt(given, "pathParams"),
		"body", body, "rawBody", cmp.Or(given.Text("rawBody"), raw), "workspaceId", set.Workspace.ID, "automationSlug", p.Slug,
	)
}

func objectAt(o *value.Object, key string) *value.Object {
	member, _ := o.At(key).(*value.Object)
	return member.Copy()
}

// result returns what came of the run.
func (s *simulation) result(start runtime.Start, out runtime.Outcome, statusOf func(domain.Code) int) suite.Outcome {
	o := s.outcome
	o.Err, o.Output, o.Status = out.Err, out.Output, usualStatus
	if start.HTTP != nil {
		if status, _ := start.HTTP.Head(); status != 0 {
			o.Status = status
		}
	}
	if out.Err != nil {
		o.Status = statusOf(out.Code(start.Caller.Credential))
		if out.Err.Name == automation.SecretMissing {
			o.SecretNames = append(o.SecretNames, value.Text(out.Err.Details.At("name")))
		}
	}
	o.Contexts, o.Collections = s.usedContexts(), s.collections()
	return o
}

// maxShown is how many bytes of a value a report shows.
const maxShown = 10_000

func shown(v any) json.RawMessage {
	if value.IsUndefined(v) {
		return nil
	}
	text, whole := value.JSONWithin(v, "", maxShown)
	if !whole {
		return json.RawMessage(`"(too large to be shown)"`)
	}
	return json.RawMessage(text)
}

func newActual(o suite.Outcome) *Actual {
	a := &Actual{Status: o.Status, Output: shown(o.Output), Events: []ActualEvent{}, Fetches: []ActualFetch{}, Logs: o.Logs}
	if o.Err != nil {
		a.Error = &ActualError{Error: o.Err.Name, Message: o.Err.Message, Automation: o.Err.Document, Instruction: o.Err.Instruction}
	}
	for _, e := range o.Events {
		a.Events = append(a.Events, ActualEvent{e.Type, shown(e.Payload)})
	}
	for _, f := range o.Fetches {
		a.Fetches = append(a.Fetches, ActualFetch{f.Method, f.URL, shown(f.Body)})
	}
	return a
}

// FailedCases returns the names of the cases that failed, with their suites.
func (r Report) FailedCases() (names []string) {
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			if c.Status == Failed {
				names = append(names, s.Slug+": "+c.Name)
			}
		}
	}
	return names
}

// Library reads saved documents. It is a content.Library.
type Library interface {
	At(ctx context.Context, workspaceID string, seq uint64) (map[string]content.Ref, error)
	Document(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error)
}

// Load returns the suites of a workspace at a sequence, by their slugs.
func Load(ctx context.Context, library Library, workspaceID string, seq uint64) (map[string]*document.Map, error) {
	refs, err := library.At(ctx, workspaceID, seq)
	if err != nil {
		return nil, err
	}
	all := map[string]*document.Map{}
	for path, ref := range refs {
		if folder, slug := workspace.Folder(path); folder == document.Test.Folder {
			if all[slug], err = library.Document(ctx, workspaceID, ref); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// Read returns the suites of documents, in the order of their slugs.
func Read(docs map[string]*document.Map) []*suite.Suite {
	list := make([]*suite.Suite, 0, len(docs))
	for _, slug := range slices.Sorted(maps.Keys(docs)) {
		list = append(list, suite.Read(slug, docs[slug]))
	}
	return list
}
