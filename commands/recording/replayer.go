package recording

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"

	"svc/commands"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/eventstore"
)

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
			r.Logger.WarnContext(ctx, "a replay could not go on", "workspace", workspaceID, "executionId", rec.ExecutionID, "err", of.Reason)
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
