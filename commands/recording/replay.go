package recording

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
	"svc/eventstore"
)

// Which documents a replay executes: those of the record, or those of now.
const (
	Recorded = "recorded"
	Current  = "current"
)

// What a replay came to.
const (
	Identical = "identical"
	Different = "different"
	Failed    = "failed" // it could not go on
)

// Options say how a record is replayed.
type Options struct {
	Document string // Recorded or Current
	// Find returns the program of a Ref. Current returns the one that is in its place
	// now, and an *automation.Error when there is none.
	Find, Current func(ctx context.Context, ref string) (*machine.Program, error)
	Code          Code        // nil: custom code is answered with what was recorded
	Redact        *redact.Set // what reports must not tell; nil: nothing
	MaxKept       int         // bytes that are kept to be compared; 0: 64 MB
}

// Report is what replaying came to.
type Report struct {
	Status      string           `json:"status"`
	Executions  []ExecutionShown `json:"executions"`
	Differences []Difference     `json:"differences"`

	// Count is how many differences there are, also those that are not told.
	Count int `json:"-"`
	// Reason is why the replay could not go on, for the operator.
	Reason error `json:"-"`
}

// ExecutionShown is what became of an execution in a replay.
type ExecutionShown struct {
	ExecutionID string `json:"executionId"`
	Slug        string `json:"slug"`
	Status      string `json:"status"`
	Output      string `json:"output"` // same or different
}

// Difference is something that a replay did otherwise.
type Difference struct {
	ExecutionID string          `json:"executionId"`
	Instruction string          `json:"instruction"`
	Iteration   []int           `json:"iteration,omitempty"` // of the loops around it, the outermost first
	Kind        string          `json:"kind"`
	Expected    json.RawMessage `json:"expected,omitempty"`
	Actual      json.RawMessage `json:"actual,omitempty"`
}

// Replay executes a recorded tree again. Nothing leaves.
func Replay(ctx context.Context, r *Record, o Options) Report {
	find := func(ref string) (*machine.Program, error) { return o.Find(ctx, ref) }
	p := newPlayer(ctx, r, find, o)
	err := p.playAll()
	if err == nil && o.Document == Current {
		expected := p
		p = newPlayer(ctx, r, func(ref string) (*machine.Program, error) { return o.Current(ctx, ref) }, o)
		err = p.playAll()
		p.against(expected)
	}
	if err == nil {
		p.unused()
	}
	p.outcomes()
	return p.report(o.Redact, err)
}

// playAll plays a record to its end, or as far as it goes.
func (p *player) playAll() error {
	root, err := p.find(p.record.Ref)
	if err != nil {
		return err
	}
	return p.play(root)
}

// report tells what a replay came to, without secrets.
func (p *player) report(known *redact.Set, failed error) Report {
	secrets := known.Clone()
	secrets.Add(p.record.secrets...)
	rep := Report{Status: Identical, Count: p.different, Reason: failed, Executions: []ExecutionShown{}, Differences: []Difference{}}
	if p.different > 0 {
		rep.Status = Different
	}
	if failed != nil {
		rep.Status = Failed
	}
	for _, was := range p.record.ended {
		rep.Executions = append(rep.Executions, p.execution(was))
	}
	for _, d := range p.differences {
		rep.Differences = append(rep.Differences, Difference{
			ExecutionID: d.execution, Instruction: d.place.Path, Iteration: d.place.Iteration, Kind: d.kind,
			Expected: shown(secrets, d.expected), Actual: shown(secrets, d.actual),
		})
	}
	return rep
}

func (p *player) execution(was *entry) ExecutionShown {
	shown := ExecutionShown{ExecutionID: was.execution, Slug: was.name, Status: Identical, Output: "same"}
	is, ended := p.ended[was.execution]
	switch {
	case !ended:
		shown.Status, shown.Output = Failed, "different"
	case !equal(was.value, is.output):
		shown.Status, shown.Output = Different, "different"
	case p.differs[was.execution]:
		shown.Status = Different
	}
	return shown
}

// maxShown is how much of a value a difference tells.
const maxShown = 10_000

// shown is a value as reports tell it.
func shown(secrets *redact.Set, v any) json.RawMessage {
	if value.IsUndefined(v) {
		return nil
	}
	if !value.FitsWithin(v, maxCompared) {
		return json.RawMessage(`"(too large to be shown)"`)
	}
	text := value.JSON(secrets.Value(v), "")
	if len(text) > maxShown {
		cut, _ := json.Marshal(strings.ToValidUTF8(text[:maxShown], "") + "…") // a text
		return cut
	}
	return json.RawMessage(text)
}

// Join puts the reports of the trees of a run together.
func (r *Report) Join(of Report) {
	rank := []string{"", Identical, Different, Failed}
	if slices.Index(rank, of.Status) > slices.Index(rank, r.Status) {
		r.Status, r.Reason = of.Status, of.Reason
	}
	r.Executions = append(r.Executions, of.Executions...)
	room := max(0, MaxDifferences-len(r.Differences))
	r.Differences = append(r.Differences, of.Differences[:min(room, len(of.Differences))]...)
	r.Count += of.Count
}

// Log keeps events. It is a *jetstream.Log.
type Log interface {
	Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
}

// Secrets are those of workspaces.
type Secrets interface {
	Redactor(ctx context.Context, workspaceID string) (*redact.Set, error)
}

// Replayer replays runs. All fields are required but Code and Logger.
type Replayer struct {
	Store   *Store
	Log     Log
	Secrets Secrets
	Code    Code // nil: custom code is answered with what was recorded
	NewID   func() string
	Logger  *slog.Logger
}

// Wanted says what is to be replayed.
type Wanted struct {
	CorrelationID string
	ExecutionID   string // of the first execution of a tree; "": all trees
	Document      string // Recorded or Current
	// May refuses automations that are not to be executed. It is asked for the first one of
	// each tree; nil: nothing is refused.
	May func(automation string) error
}

// Replay executes the recorded trees of a run again and records that it did, and what
// came of it. Found is false when no record is left.
func (r *Replayer) Replay(ctx context.Context, programSet *programs.ProgramSet, w Wanted) (report Report, found bool, err error) {
	workspaceID := programSet.Workspace.ID
	secrets, err := r.Secrets.Redactor(ctx, workspaceID)
	if err != nil {
		return report, false, err
	}
	report = Report{Executions: []ExecutionShown{}, Differences: []Difference{}}
	o := Options{Document: w.Document, Find: finder(programSet), Current: newest(programSet), Code: r.Code, Redact: secrets}
	n, err := r.Store.Each(ctx, workspaceID, w.CorrelationID, w.ExecutionID, func(rec *Record) error {
		if w.May != nil {
			if err := w.May(rec.Slug); err != nil {
				return err // nothing has left, and nobody sees what was executed before
			}
		}
		of := Replay(ctx, rec, o)
		if of.Status == Failed && r.Logger != nil {
			r.Logger.WarnContext(ctx, "replay could not continue", "workspace", workspaceID, "executionId", rec.ExecutionID, "err", of.Reason)
		}
		report.Join(of)
		return context.Cause(ctx)
	})
	if err != nil || n == 0 {
		return report, false, err
	}
	return report, true, r.tell(ctx, workspaceID, w, report)
}

// tell records that a run was replayed.
func (r *Replayer) tell(ctx context.Context, workspaceID string, w Wanted, report Report) error {
	request := commands.RequestFrom(ctx)
	receipt, err := r.Log.Append(ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: workspaceID}, Meta: request.Meta,
		Facts: []eventstore.Fact{{ID: r.NewID(), Event: activity.Replayed{
			CorrelationID: w.CorrelationID, Document: w.Document, Status: report.Status, Differences: report.Count,
		}}},
	})
	if err == nil {
		request.Saw(receipt.Position)
	}
	return err
}

// RecordedRun is what the records of a run tell of it, without secrets. Effects and steps are
// those of each execution, by its id.
type RecordedRun struct {
	Effects map[string][]Effect
	Steps   map[string][]*Step
	Inputs  map[string]json.RawMessage // of the first execution of each tree
	Outputs map[string]json.RawMessage
	Chunks  []json.RawMessage // that were sent to the caller of the endpoint
	Cut     bool              // there are more steps or chunks, or larger values
}

// Recorded returns what the records of a run tell of it.
func (r *Replayer) Recorded(ctx context.Context, programSet *programs.ProgramSet, correlationID string) (RecordedRun, error) {
	run := RecordedRun{
		Effects: map[string][]Effect{}, Steps: map[string][]*Step{}, Inputs: map[string]json.RawMessage{}, Outputs: map[string]json.RawMessage{},
	}
	secrets, err := r.Secrets.Redactor(ctx, programSet.Workspace.ID)
	if err != nil {
		return run, err
	}
	within, cancel := context.WithTimeout(ctx, maxStepTime)
	defer cancel()
	left := maxSteps
	_, err = r.Store.Each(ctx, programSet.Workspace.ID, correlationID, "", func(rec *Record) error {
		maps.Copy(run.Effects, rec.Effects(secrets))
		chunks, all := rec.Chunks(secrets)
		run.Chunks, run.Cut = append(run.Chunks, chunks...), run.Cut || !all
		input, outputs, all := rec.Values(secrets)
		run.Inputs[rec.ExecutionID] = input
		maps.Copy(run.Outputs, outputs)
		run.Cut = run.Cut || !all
		steps, all := rec.Steps(within, finder(programSet), secrets, left)
		maps.Copy(run.Steps, steps)
		for _, of := range steps {
			left -= len(of)
		}
		run.Cut = run.Cut || !all
		return context.Cause(ctx)
	})
	return run, err
}

// finder finds the documents that were recorded.
func finder(programSet *programs.ProgramSet) func(context.Context, string) (*machine.Program, error) {
	return func(ctx context.Context, ref string) (*machine.Program, error) {
		p, err := programSet.FindByRef(ctx, ref)
		if err != nil {
			return nil, err
		}
		return p.Machine(), nil
	}
}

// newest finds what is now in the place of a document. In the workspace itself that may
// be disabled: a test runs it, too.
func newest(programSet *programs.ProgramSet) func(context.Context, string) (*machine.Program, error) {
	return func(ctx context.Context, ref string) (*machine.Program, error) {
		was, err := programSet.FindByRef(ctx, ref)
		if err != nil {
			return nil, err
		}
		if now := programSet.Program(was.Slug); was.Scope.Instance == "" && now != nil {
			return now.Machine(), nil
		}
		now, err := was.Scope.ResolveCall(was.Slug)
		if err != nil {
			return nil, err
		}
		return now.Machine(), nil
	}
}
