package runtime

import (
	"context"
	"encoding/binary"

	"svc/commands/sandbox"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// Code runs the code of authors. It is a *sandbox.Sandbox.
type Code interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// runCode runs JavaScript: that of the instruction, or a function of the config.
func (t *run) runCode(r machine.Request, function string, params *value.Object) {
	job, err := t.codeJob(r, function, params)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	var said []string
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		result, err := t.rt.Effects.Code.Run(ctx, job)
		said = result.Logs
		return result.Value, err
	}, func(a machine.Answer) machine.Answer {
		t.recorder.Console(r.ID, said)
		t.addLog(r.Execution, said...)
		return a
	})
}

// codeJob reads what is to be run. Its clock is that of now, its chance is drawn here: with
// both the same comes out again.
func (t *run) codeJob(r machine.Request, function string, params *value.Object) (job sandbox.Job, err error) {
	switch function {
	case "run":
		job, err = sandbox.ReadJob(params, t.settings.CodeTimeout)
	case "call":
		job, err = t.configFunction(r, params)
	default:
		err = automation.Invalid("module code has no function %s", function)
	}
	job.WorkspaceID = t.workspaceID()
	job.Undefined = append(job.Undefined, r.Omitted("parameters", "arguments")...)
	job.Clock, job.Seed = t.world.Now(), int64(binary.LittleEndian.Uint64(t.world.Random(8))) //nolint:gosec // any number will do
	t.recorder.Code(r.ID, job.Clock, job.Seed)
	return job, err
}

// configFunction reads a call of a function that the config has.
func (t *run) configFunction(r machine.Request, params *value.Object) (sandbox.Job, error) {
	name := value.Text(params.At("name"))
	function, err := t.world.readConfig(t.program(r.Execution).Scope, []string{"functions", name})
	if err != nil {
		return sandbox.Job{}, err
	}
	f, err := sandbox.FunctionAt(value.NewObject(name, function), name, t.settings.CodeTimeout)
	if err != nil {
		return sandbox.Job{}, err
	}
	return f.Called(params, r.Execution.Input)
}
