package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/commands/programs"
	"svc/commands/sandbox"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/value"
)

// Effect is an effect as it is shown with a run.
type Effect struct {
	N           int      `json:"n"` // in the order of completion, in its tree
	Kind        string   `json:"kind"`
	Instruction string   `json:"instruction"`
	Iteration   []int    `json:"iteration,omitempty"` // of the loops around it, the outermost first
	Summary     string   `json:"summary"`
	At          string   `json:"at,omitempty"`          // when it began; not known of random numbers and dates
	Duration    int64    `json:"duration"`              // ms
	ExecutionID string   `json:"executionId,omitempty"` // that a call started
	EventID     string   `json:"eventId,omitempty"`     // that was emitted
	Logs        []string `json:"logs,omitempty"`        // of the console of custom code
}

// maxEffects is how many effects of an execution are shown.
const maxEffects = 1000

// Effects returns the effects of each execution, redacted.
func (r *Record) Effects(known *redact.Set) map[string][]Effect {
	secrets := known.Clone()
	secrets.Add(r.secrets...)
	type done struct {
		order  int
		in     string
		effect Effect
	}
	var all []done
	for _, q := range r.requests {
		if q.answered == nil {
			continue
		}
		began := r.At.Add(time.Duration(q.asked.at) * time.Millisecond)
		effect := Effect{
			Kind: q.asked.name, Instruction: q.asked.path, Iteration: q.asked.iteration, Summary: q.summary(secrets),
			At: began.UTC().Format(stepTime), Duration: q.duration(), ExecutionID: q.answered.callee, Logs: q.consoleLines(secrets),
		}
		if q.effect().Emits {
			effect.EventID, _ = value.At(q.answered.value, "id").(string)
		}
		all = append(all, done{r.order[q.answered], q.asked.execution, effect})
	}
	for _, e := range r.dates {
		effect := Effect{Kind: momentKind(e), Instruction: e.path, Iteration: e.iteration, Summary: momentText(e)}
		if e.kind == entryClock {
			effect.At = time.Unix(0, e.number).UTC().Format(stepTime)
		}
		all = append(all, done{r.order[e], e.execution, effect})
	}
	slices.SortFunc(all, func(a, b done) int { return a.order - b.order })
	effects := map[string][]Effect{}
	for i, d := range all {
		if len(effects[d.in]) < maxEffects {
			d.effect.N = i + 1
			effects[d.in] = append(effects[d.in], d.effect)
		}
	}
	return effects
}

func momentKind(e *entry) string {
	if e.kind == entryRandom {
		return string(entryRandom)
	}
	return string(entryClock)
}

func momentText(e *entry) string {
	switch e.kind {
	case entryClock:
		return time.Unix(0, e.number).UTC().Format(time.RFC3339Nano)
	case entryDate:
		return value.Text(e.value)
	}
	drawn, _ := e.value.(value.Bytes)
	return fmt.Sprintf("%d bytes", len(drawn))
}

// maxSummary is how long a summary is, in bytes.
const maxSummary = 300

// summary describes a request in a line, redacted.
func (q *request) summary(secrets *redact.Set) string {
	text := ""
	if summary := q.effect().Summary; summary != nil {
		slug, _ := q.asked.more.(string)
		text = summary(automation.Asked{Params: q.asked.value, Slug: slug, Duration: time.Duration(q.asked.number)})
	}
	if q.answered != nil && q.answered.failure != nil {
		text += ": " + q.answered.failure.Name
	}
	text = secrets.Text(strings.TrimPrefix(text, ": "))
	if len(text) > maxSummary {
		text = strings.ToValidUTF8(text[:maxSummary], "") + "…"
	}
	return text
}

// consoleLines returns the lines that custom code wrote to its console, redacted.
func (q *request) consoleLines(secrets *redact.Set) (lines []string) {
	if q.console == nil {
		return nil
	}
	list, _ := q.console.value.([]any)
	for _, line := range list {
		lines = append(lines, value.Text(line))
	}
	return sandbox.Lines(lines, secrets)
}

// Code runs the code of authors. It is a *sandbox.Sandbox.
type Code interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// rerunCode executes custom code again, with its original clock and seed. Running out of time
// or memory depends on the computer: then the recorded answer is used.
func (p *player) rerunCode(r machine.Request, q *request, recorded machine.Answer) (machine.Answer, error) {
	if p.code == nil || exhausted(recorded.Err) {
		return recorded, nil
	}
	job, err := p.readJob(r)
	if err != nil {
		return machine.Answer{Value: value.Undefined, Err: err}, nil
	}
	clock, _ := q.code.value.(float64)
	job.WorkspaceID = p.record.WorkspaceID
	job.Undefined = append(job.Undefined, r.Omitted("parameters", "arguments")...)
	job.Clock, job.Seed = time.UnixMilli(int64(clock)).UTC(), q.code.number
	result, err := p.code.Run(p.context, job)
	if err := context.Cause(p.context); err != nil {
		return recorded, err
	}
	if _, raised := errors.AsType[*automation.Error](err); err != nil && (!raised || exhausted(err)) {
		return recorded, nil
	}
	return machine.Answer{Value: result.Value, Err: err}, nil
}

// exhausted reports whether code ran out of time or memory.
func exhausted(err error) bool {
	raised, ok := errors.AsType[*automation.Error](err)
	if !ok || raised.Name != automation.CustomCodeFailed {
		return false
	}
	switch raised.Details.At("reason") {
	case "timeout", "memory":
		return true
	}
	return false
}

// readJob reads the code to be run.
func (p *player) readJob(r machine.Request) (sandbox.Job, error) {
	params, _ := r.Params.At("parameters").(*value.Object)
	params = object(params)
	switch value.Text(r.Params.At("function")) {
	case "run":
		return sandbox.ReadJob(params, p.record.CodeTimeout)
	case "call":
		return p.configFunction(r, params)
	}
	return sandbox.Job{}, automation.Invalid("module code has no function %s", value.Text(r.Params.At("function")))
}

// configFunction reads a call of a function that the config had.
func (p *player) configFunction(r machine.Request, params *value.Object) (sandbox.Job, error) {
	config, known := p.load(entryConfig, r.Execution.Program.Instance)
	if !known {
		return sandbox.Job{}, missing("read")
	}
	name := value.Text(params.At("name"))
	if secret, ok := programs.FindMissingSecret(value.Walk(config.value, "functions", name)); ok {
		return sandbox.Job{}, automation.MissingSecret(secret)
	}
	f, err := sandbox.FunctionAt(config.value.At("functions"), name, p.record.CodeTimeout)
	if err != nil {
		return sandbox.Job{}, err
	}
	return f.Called(params, r.Execution.Input)
}
