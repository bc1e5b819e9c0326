package api

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Check tests one module of a service: a row of readiness.
type Check struct {
	Service string // one of the services of the contract
	Module  string
	Driver  string // what serves the module
	// Check fails when the module does not work. It has two seconds. An error
	// that is, or wraps, a Fault is reported under the fault's name.
	Check func(context.Context) error
}

// Fault gives a check's error the name it has in the report, such as
// WriteFailed.
type Fault struct {
	Name string
	Err  error
}

// Error implements error.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the error itself.
func (f *Fault) Unwrap() error { return f.Err }

// module is a module that works.
type module struct {
	Module string `json:"module"`
	Driver string `json:"driver"`
}

// moduleError is one that does not.
type moduleError struct {
	Error   string `json:"error"`
	Module  string `json:"module"`
	Driver  string `json:"driver"`
	Message string `json:"message"`
}

// examination is what the checks of one service came to.
type examination struct {
	Status       string        `json:"status"`
	ModulesReady []module      `json:"modulesReady"`
	Errors       []moduleError `json:"errors,omitempty"`
}

// checkWait is how long one check may take.
const checkWait = 2 * time.Second

// examine runs the checks of a service side by side.
func (rd *readiness) examine(ctx context.Context, service string) examination {
	var rows []int
	for i, c := range rd.checks {
		if c.Service == service {
			rows = append(rows, i)
		}
	}
	faults := make([]error, len(rows))
	var running sync.WaitGroup
	for i, row := range rows {
		running.Go(func() { faults[i] = rd.try(ctx, row) })
	}
	running.Wait()
	found := examination{Status: statusReady, ModulesReady: []module{}}
	for i, row := range rows {
		found.add(rd.checks[row], faults[i])
	}
	return found
}

func (e *examination) add(c Check, fault error) {
	if fault == nil {
		e.ModulesReady = append(e.ModulesReady, module{c.Module, c.Driver})
		return
	}
	e.Status = statusError
	e.Errors = append(e.Errors, moduleError{nameOf(fault), c.Module, c.Driver, fault.Error()})
}

// nameOf is the word for an error in the report.
func nameOf(err error) string {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Name
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "TimedOut"
	}
	return "CheckFailed"
}

// try runs one check, or joins it when it runs already. One that does not end
// in time is left behind, and met again by the next who asks: a module that
// hangs holds one goroutine, not one for each question.
func (rd *readiness) try(ctx context.Context, row int) error {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	done := rd.flights.DoChan("check "+strconv.Itoa(row), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkWait)
		defer cancel()
		return nil, guarded(ctx, rd.checks[row].Check)
	})
	select {
	case outcome := <-done:
		return outcome.Err
	case <-ctx.Done():
		return fmt.Errorf("no result within %s: %w", checkWait, ctx.Err())
	}
}

// guarded turns a panic of a check into its error.
func guarded(ctx context.Context, check func(context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Fault{"Panicked", fmt.Errorf("panic: %v", value)}
		}
	}()
	return check(ctx)
}
