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
	"svc/domain/value"
	"svc/eventstore"
)

// Which documents a replay executes: the recorded ones, or the current ones.
const (
	Recorded = "recorded"
	Current  = "current"
)

// The results of a replay.
const (
	Identical = "identical"
	Different = "different"
	Failed    = "failed" // it could not continue
)

// Options of a replay.
type Options struct {
	Document string // Recorded or Current
	// Find returns the program of a Ref. Current returns its current version, and an
	// *automation.Error when there is none.
	Find, Current func(ctx context.Context, ref string) (*machine.Program, error)
	Code          Code        // nil: custom code is answered with what was recorded
	Redact        *redact.Set // what reports must not show; nil: nothing
	MaxBytes      int         // bytes that a replay may hold to be compared; 0: 64 MB
}

// Report is the result of a replay.
type Report struct {
	Status      string            `json:"status"`
	Executions  []ExecutionReport `json:"executions"`
	Differences []Difference      `json:"differences"`

	// Count is how many differences there are, also those that are not listed.
	Count int `json:"-"`
	// Reason is why the replay could not continue, for the operator.
	Reason error `json:"-"`
}

// ExecutionReport is the result of an execution in a replay.
type ExecutionReport struct {
	ExecutionID string `json:"executionId"`
	Slug        string `json:"slug"`
	Status      string `json:"status"`
	Output      string `json:"output"` // same or different
}

// Difference is something that a replay did differently.
type Difference struct {
	ExecutionID string          `json:"executionId"`
	Instruction string          `json:"instruction"`
	Iteration   []int           `json:"iteration,omitempty"` // of the loops around it, the outermost first
	Kind        string          `json:"kind"`
	Expected    json.RawMessage `json:"expected,omitempty"`
	Actual      json.RawMessage `json:"actual,omitempty"`
}

// Replay executes a recorded tree again. Nothing is sent.
func Replay(ctx context.Context, r *Record, o Options) Report {
	find := func(ref string) (*machine.Program, error) { return o.Find(ctx, ref) }
	p := newPlayer(ctx, r, find, o)
	err := p.playAll()
	if err == nil && o.Document == Current {
		expected := p
		p = newPlayer(ctx, r, func(ref string) (*machine.Program, error) { return o.Current(ctx, ref) }, o)
		err = p.playAll()
		p.compareObserved(expected)
	}
	if err == nil {
		p.reportUnused()
	}
	p.reportOutcomes()
	return p.newReport(o.Redact, err)
}

// playAll replays a recording to its end, or as far as possible.
func (p *player) playAll() error {
	root, err := p.find(p.record.Ref)
	if err != nil {
		return err
	}
	return p.play(root)
}

// newReport returns the redacted report of a replay.
func (p *player) newReport(known *redact.Set, failed error) Report {
	secrets := known.Clone()
	secrets.Add(p.record.secrets...)
	rep := Report{Status: Identical, Count: p.different, Reason: failed, Executions: []ExecutionReport{}, Differences: []Difference{}}
	if p.different > 0 {
		rep.Status = Different
	}
	if failed != nil {
		rep.Status = Failed
	}
	for _, was := range p.record.ended {
		rep.Executions = append(rep.Executions, p.executionReport(was))
	}
	for _, d := range p.differences {
		rep.Differences = append(rep.Differences, Difference{
			ExecutionID: d.execution, Instruction: d.location.Path, Iteration: d.location.Iteration, Kind: d.kind,
			Expected: redactedJSON(secrets, d.expected), Actual: redactedJSON(secrets, d.actual),
		})
	}
	return rep
}

func (p *player) executionReport(was *entry) ExecutionReport {
	report := ExecutionReport{ExecutionID: was.execution, Slug: was.name, Status: Identical, Output: "same"}
	is, ended := p.ended[was.execution]
	switch {
	case !ended:
		report.Status, report.Output = Failed, "different"
	case !equal(was.value, is.output):
		report.Status, report.Output = Different, "different"
	case p.differs[was.execution]:
		report.Status = Different
	}
	return report
}

// maxDifferenceBytes is how many bytes of a value a difference shows.
const maxDifferenceBytes = 10_000

// redactedJSON returns a value as reports show it.
func redactedJSON(secrets *redact.Set, v any) json.RawMessage {
	if value.IsUndefined(v) {
		return nil
	}
	if !value.FitsWithin(v, maxCompared) {
		return json.RawMessage(`"(too large to be shown)"`)
	}
	text := value.JSON(secrets.Value(v), "")
	if len(text) > maxDifferenceBytes {
		cut, _ := json.Marshal(strings.ToValidUTF8(text[:maxDifferenceBytes], "") + "…") // a text
		return cut
	}
	return json.RawMessage(text)
}

// Join adds the report of another tree of the run.
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

// Log appends events. It is a *jetstream.Log.
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
	// May refuses automations that the caller may not execute. It is called for the first one
	// of each tree; nil: nothing is refused.
	May func(automation string) error
}

// Replay executes the recorded trees of a run again and records that, with the result. Found is
// false when no recording is left.
func (r *Replayer) Replay(ctx context.Context, programSet *programs.ProgramSet, w Wanted) (report Report, found bool, err error) {
	workspaceID := programSet.Workspace.ID
	secrets, err := r.Secrets.Redactor(ctx, workspaceID)
	if err != nil {
		return report, false, err
	}
	report = Report{Executions: []ExecutionReport{}, Differences: []Difference{}}
	o := Options{Document: w.Document, Find: recordedFinder(programSet), Current: currentFinder(programSet), Code: r.Code, Redact: secrets}
	n, err := r.Store.Each(ctx, workspaceID, w.CorrelationID, w.ExecutionID, func(rec *Record) error {
		if w.May != nil {
			if err := w.May(rec.Slug); err != nil {
				return err // nothing was sent, and nothing is shown of what was executed before
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
	return report, true, r.recordReplay(ctx, workspaceID, w, report)
}

// recordReplay records that a run was replayed.
func (r *Replayer) recordReplay(ctx context.Context, workspaceID string, w Wanted, report Report) error {
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

// RecordedRun is what the recordings of a run contain, redacted. Effects and steps are by the id
// of their execution.
type RecordedRun struct {
	Effects map[string][]Effect
	Steps   map[string][]*Step
	Inputs  map[string]json.RawMessage // of the first execution of each tree
	Outputs map[string]json.RawMessage
	Chunks  []json.RawMessage // that were sent to the caller of the endpoint
	Cut     bool              // there are more steps or chunks, or larger values
}

// Recorded returns what the recordings of a run contain.
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
		steps, all := rec.Steps(within, recordedFinder(programSet), secrets, left)
		maps.Copy(run.Steps, steps)
		for _, of := range steps {
			left -= len(of)
		}
		run.Cut = run.Cut || !all
		return context.Cause(ctx)
	})
	return run, err
}

// recordedFinder returns the function that finds the recorded versions of documents.
func recordedFinder(programSet *programs.ProgramSet) func(context.Context, string) (*machine.Program, error) {
	return func(ctx context.Context, ref string) (*machine.Program, error) {
		p, err := programSet.FindByRef(ctx, ref)
		if err != nil {
			return nil, err
		}
		return p.Machine(), nil
	}
}

// currentFinder returns the function that finds the current versions of documents. In the
// workspace itself they may be disabled, as in a test.
func currentFinder(programSet *programs.ProgramSet) func(context.Context, string) (*machine.Program, error) {
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
