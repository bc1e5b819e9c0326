package recording

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
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
