package recording

import (
	"context"
	"errors"
	"time"

	"svc/commands/programs"
	"svc/commands/sandbox"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// Code runs the code of authors. It is a *sandbox.Sandbox.
type Code interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// again executes custom code again, with the clock and the seed that it had. Code that
// ran out of time or memory, then or now, depends on the machine: it is answered with
// what was recorded.
func (p *player) again(r machine.Request, q *request, recorded machine.Answer) (machine.Answer, error) {
	if p.code == nil || exhausted(recorded.Err) {
		return recorded, nil
	}
	job, err := p.job(r)
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

// exhausted reports whether code came to its end because something was used up.
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

// job reads what is to be run.
func (p *player) job(r machine.Request) (sandbox.Job, error) {
	params, _ := r.Params.At("parameters").(*value.Object)
	params = object(params)
	switch value.Text(r.Params.At("function")) {
	case "run":
		return sandbox.ReadJob(params, p.record.CodeTimeout)
	case "call":
		return p.function(r, params)
	}
	return sandbox.Job{}, automation.Invalid("module code has no function %s", value.Text(r.Params.At("function")))
}

// function reads a call of a function that the config had.
func (p *player) function(r machine.Request, params *value.Object) (sandbox.Job, error) {
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
