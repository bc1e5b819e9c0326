package runtime

import (
	"sync/atomic"
	"time"

	"svc/commands/programs"
	"svc/commands/sandbox"
	"svc/domain/activity"
	"svc/domain/automation/machine"
)

// executions are those of a run, with their programs. The goroutine of the run owns them.
type executions struct {
	programs map[*machine.Program]*programs.Program
	open     map[string]*execution         // that have not ended, by id
	raised   map[string]*machine.Execution // that ended with an error of their own, by id
}

// execution is the state of one execution of a run.
type execution struct {
	trigger   activity.Trigger
	startedAt time.Time
	throttled atomic.Int64 // nanoseconds
	log       sandbox.Log  // lines of its custom code, and errors that did not end it
}

// program returns the program of an execution, with its scope.
func (e *executions) program(x *machine.Execution) *programs.Program { return e.programs[x.Program] }

// add registers a new execution and returns its program for the machine.
func (e *executions) add(id string, p *programs.Program, x *execution) *machine.Program {
	e.open[id] = x
	program := p.Machine()
	e.programs[program] = p
	return program
}

// addLog adds lines to the log of an execution that has not ended.
func (e *executions) addLog(x *machine.Execution, lines ...string) {
	if open := e.open[x.ID]; open != nil {
		open.log.Add(lines...)
	}
}

// maxRaised is how many executions that raised an error are remembered.
const maxRaised = 1000

// noteRaised remembers an execution that raised an error.
func (e *executions) noteRaised(x *machine.Execution) {
	if e.raised == nil || len(e.raised) >= maxRaised {
		e.raised = map[string]*machine.Execution{}
	}
	e.raised[x.ID] = &machine.Execution{ID: x.ID, Program: x.Program, Depth: x.Depth}
}
