// Package automation is the language of automations: the one parser that checks
// a document when it is saved and that the runtime runs later.
//
// Parse turns a document into an Automation and a list of faults. A document
// with faults is parsed all the same: imports keep it, and an instruction with
// a fault raises it when it is reached. Nothing runs here. Two tables say what
// documents may contain: instructions (instructions.go) and documentFields
// (automation.go). Parser, JSON Schema and review read them.
package automation

import (
	"fmt"
	"regexp"
	"time"

	"svc/domain"
	"svc/domain/automation/expr"
)

// The names of errors that faults of a document raise when it runs.
const (
	InvalidInstruction = "InvalidInstructionError"
	InvalidEvent       = "InvalidEventError"
	InvalidOutput      = "InvalidOutputError"
	InvalidSchedule    = "InvalidScheduleError"
	InvalidVariable    = expr.VariableError
	InvalidExpression  = expr.SyntaxError
)

// The limits of a document.
const (
	MaxSize    = 1 << 20 // bytes of its JSON
	MaxNesting = 50      // instructions in instructions
	MaxSlug    = 128     // characters
)

// Fault is something wrong with a document.
type Fault struct {
	Field   string // its path, such as do[2].fetch.url
	Message string
	// Code is what saving is refused with: validation_failed, invalid_request for
	// a field that documents do not have or that is of another type, or
	// missing_parameter for one they must have.
	Code domain.Code
	// Name is the error that it raises when it runs, "" when it raises none.
	Name string
	// Offset is the character of the string at fault, -1 when it is not about
	// one.
	Offset int
	// Warning marks a fault that a document is saved with.
	Warning bool

	cause *expr.Error // of an expression or a path that cannot be parsed
}

// String returns the fault as one line.
func (f Fault) String() string { return f.Field + ": " + f.Message }

// Rules are the settings that decide about documents. The zero Rules are the
// defaults.
type Rules struct {
	Slug      *regexp.Regexp // SLUG_VALIDATION_REGEXP
	MinPeriod time.Duration  // SCHEDULES_MIN_PERIOD; 0: a minute
	MaxWait   time.Duration  // WAIT_MAX_TIMEOUT; 0: 30 days
}

var defaultSlug = regexp.MustCompile(`^[/a-zA-Z0-9 _-]+$`)

func (r Rules) withDefaults() Rules {
	if r.Slug == nil {
		r.Slug = defaultSlug
	}
	if r.MinPeriod == 0 {
		r.MinPeriod = time.Minute
	}
	if r.MaxWait == 0 {
		r.MaxWait = 30 * 24 * time.Hour
	}
	return r
}

// checker collects the faults of one document.
type checker struct {
	Rules
	faults []Fault
	// running says that the parameters of an instruction are checked as they are when it
	// runs.
	running   bool
	maxFaults int // of schemas, after which the check stops; 0: all are reported
}

// fault reports one that saving is refused for, and returns it.
func (c *checker) fault(name, path, format string, args ...any) *Fault {
	f := Fault{Field: path, Message: fmt.Sprintf(format, args...), Code: domain.CodeValidation, Name: name, Offset: -1}
	c.faults = append(c.faults, f)
	return &f
}

// warn reports one that a document may have.
func (c *checker) warn(name, path, format string, args ...any) {
	c.fault(name, path, format, args...)
	c.faults[len(c.faults)-1].Warning = true
}
