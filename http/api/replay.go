package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"svc/commands/programs"
	"svc/commands/recording"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/projections"
)

// Replays executes recorded runs again. It is a *recording.Replayer.
type Replays interface {
	Replay(ctx context.Context, programSet *programs.ProgramSet, w recording.Wanted) (report recording.Report, found bool, err error)
	Recorded(ctx context.Context, programSet *programs.ProgramSet, correlationID string) (recording.RecordedRun, error)
}

// replayRequest is the body of POST …/replay.
type replayRequest struct {
	Document    string `json:"document"`
	ExecutionID string `json:"executionId"`
}

// replayedRun is what replaying a run came to.
type replayedRun struct {
	CorrelationID string `json:"correlationId"`
	Document      string `json:"document"`
	recording.Report
}

// replayRun handles POST …/runs/{correlationId}/replay: it executes what was recorded
// again, with nothing leaving. Whoever asks must be allowed to test every automation that
// began a tree of it; of one tree only, that one.
func replayRun(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in := replayRequest{}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		in.Document = cmp.Or(in.Document, recording.Recorded)
		if in.Document != recording.Recorded && in.Document != recording.Current {
			return nil, domain.Invalid(domain.FieldError{Field: "document", Message: "must be one of current, recorded"})
		}
		programSet, err := d.programSet(r)
		if err != nil {
			return nil, err
		}
		run, err := d.knownRun(programSet, gateway.Var(r, "correlationId"))
		if err != nil {
			return nil, err
		}
		may := func(automation string) error {
			return mayTestRun(programSet, automation, gateway.GrantFrom(r.Context()).Rights)
		}
		refusal := d.replayable(run)
		if in.ExecutionID == "" || refusal != nil {
			if err := cmp.Or(may(run.Automation), refusal); err != nil {
				return nil, err
			}
		}
		report, found, err := d.Replays.Replay(r.Context(), programSet, recording.Wanted{
			CorrelationID: run.CorrelationID, ExecutionID: in.ExecutionID, Document: in.Document, May: may,
		})
		switch {
		case err != nil:
			return nil, err
		case !found && in.ExecutionID != "":
			return nil, cmp.Or(may(run.Automation), notReplayable("not_recorded", "this execution began no tree of the run that is recorded"))
		case !found:
			return nil, notReplayable("expired", "the recording of the run has expired")
		}
		return replayedRun{run.CorrelationID, in.Document, report}, nil
	}
}

// knownRun returns a run of a workspace.
func (d Deps) knownRun(programSet *programs.ProgramSet, id string) (run projections.Run, err error) {
	known := false
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		run, known, err = projections.Runs{}.Get(rd, programSet.Workspace.ID, id)
		return err
	})
	if err == nil && !known {
		err = noRun(id)
	}
	return run, err
}

// replayable refuses a run that cannot be replayed.
func (d Deps) replayable(run projections.Run) error {
	switch {
	case !run.HasEnded():
		return notReplayable("running", "the run has not ended")
	case run.Recorded == "truncated":
		return notReplayable("truncated", "the run was too large to be recorded")
	case run.Recorded != true || d.Replays == nil:
		return notReplayable("not_recorded", "the run was not recorded")
	}
	return nil
}

// mayTestRun refuses what needs the right to test an automation of a run. Of one that is
// not there any more nobody knows what rules said of it: all must be theirs to test.
func mayTestRun(programSet *programs.ProgramSet, automation string, rights *access.Rights) error {
	if program := programSet.Program(automation); program != nil {
		return rights.Check(mayTest.Action, mayTest.Subject, runtime.Subject(program))
	}
	if rights.Always(mayTest.Action, mayTest.Subject) {
		return nil
	}
	return rights.Refusal(mayTest.Action, mayTest.Subject)
}

func notReplayable(reason, message string) error {
	return domain.Refuse(domain.CodeConflict, "%s", message).Reason(reason)
}

// addRecorded adds to the executions of a run what they did and what left them, as far as
// that was recorded, and returns the chunks that were sent. What the caller may not read of
// the run is left out.
func (d Deps) addRecorded(r *http.Request, run projections.Run, tree *runTree) (chunks []json.RawMessage, err error) {
	if d.Replays == nil || run.Recorded != true || len(tree.all) == 0 {
		return nil, nil
	}
	programSet, err := d.programSet(r)
	if err != nil {
		return nil, err
	}
	told, err := d.Replays.Recorded(r.Context(), programSet, run.CorrelationID)
	if err != nil {
		return nil, err
	}
	for _, x := range tree.all {
		x.Effects, x.Steps = told.Effects[x.ExecutionID], told.Steps[x.ExecutionID]
		x.Input, x.Output = told.Inputs[x.ExecutionID], told.Outputs[x.ExecutionID]
	}
	tree.cut = tree.cut || told.Cut
	return told.Chunks, nil
}
