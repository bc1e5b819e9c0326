package sandbox

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/value"
)

// Job is one call of custom code.
type Job struct {
	WorkspaceID string // whose code it is: workspaces wait for each other in turns

	Code      string        // the body of a function
	Arguments *value.Object // its variables, and args: all of them together
	Undefined []string      // names of more variables, which have no value unless an argument has that name
	Timeout   time.Duration // zero, or more than the sandbox allows: as long as that allows
	Clock     time.Time     // what the code sees as now, for as long as it runs
	Seed      int64         // of Math.random
}

// Result is what a call came to.
type Result struct {
	Value any      // Undefined when the code returned nothing
	Logs  []string // lines of the console, the first 10 kB
}

// Function is an entry of config.functions.
type Function struct {
	Code       string
	Parameters *value.Object // typed fields of the form for its arguments, which are not enforced
	Timeout    time.Duration // zero: as long as the sandbox allows
}

// Job returns a call of the function.
func (f Function) Job(arguments *value.Object) Job {
	return Job{Code: f.Code, Arguments: arguments, Timeout: f.Timeout}
}

// ReadJob reads the parameters of code.run. most is the longest timeout there
// may be.
func ReadJob(params *value.Object, most time.Duration) (Job, error) {
	code, ok := params.At("code").(string)
	if !ok {
		return Job{}, automation.Invalid("code is the body of a function, not %s", value.TypeName(params.At("code")))
	}
	arguments, err := Arguments(params)
	if err != nil {
		return Job{}, err
	}
	timeout, err := timeoutOf(params.At("timeout"), most)
	return Job{Code: code, Arguments: arguments, Timeout: timeout}, err
}

// Arguments reads the arguments of code.run and code.call.
func Arguments(params *value.Object) (*value.Object, error) {
	given := params.At("arguments")
	if value.IsNothing(given) {
		return &value.Object{}, nil
	}
	o, ok := given.(*value.Object)
	if !ok {
		return nil, automation.Invalid("arguments are an object, not %s", value.TypeName(given))
	}
	return o, nil
}

// FunctionAt reads the function of that name in config.functions.
func FunctionAt(functions any, name string, most time.Duration) (Function, error) {
	o, ok := value.At(functions, name).(*value.Object)
	if !ok {
		return Function{}, automation.Invalid("config.functions has no function %q", name)
	}
	f := Function{}
	if f.Code, ok = o.At("code").(string); !ok {
		return Function{}, automation.Invalid("config.functions.%s.code is the body of a function, not %s", name, value.TypeName(o.At("code")))
	}
	f.Parameters, _ = o.At("parameters").(*value.Object)
	timeout, err := timeoutOf(o.At("timeout"), most)
	f.Timeout = timeout
	return f, err
}

func timeoutOf(given any, most time.Duration) (time.Duration, error) {
	if value.IsNothing(given) {
		return 0, nil
	}
	n, ok := given.(float64)
	if !ok || !(n > 0) || n > float64(most.Milliseconds()) {
		return 0, automation.Invalid("timeout is a number of milliseconds above 0 and up to %d", most.Milliseconds())
	}
	return time.Duration(n * float64(time.Millisecond)), nil
}

// order is a job as the child gets it, with the limits it sets itself.
type order struct {
	Code      string          `json:"code"`
	Arguments json.RawMessage `json:"arguments"`
	Undefined []string        `json:"undefined,omitempty"` // names of arguments that have no value
	Timeout   time.Duration   `json:"timeout"`
	Clock     int64           `json:"clock"` // milliseconds of the epoch
	Seed      int64           `json:"seed"`
	MemoryMB  int             `json:"memoryMB"`
	MaxOutput int             `json:"maxOutput"`
}

// Reasons of a CustomCodeError.
const (
	reasonException = "exception"
	reasonTimeout   = "timeout"
	reasonMemory    = "memory"
	reasonOutput    = "output"
	reasonSyntax    = "syntax"
)

// failure is an error of the code, as the child sends it.
type failure struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`   // from 1; 0: unknown
	Column  int    `json:"column,omitempty"` // from 1
}

// raised returns the failure as automations see it.
func (f *failure) raised(logs []string) error {
	details := []any{"reason", f.Reason}
	if f.Line > 0 {
		details = append(details, "line", float64(f.Line), "column", float64(f.Column))
	}
	return automation.Raise(automation.CustomCodeFailed, f.Message, append(details, "logs", value.From(logs))...)
}

// Called returns the job of a call of the function with the parameters of code.call. A
// parameter that the function declares and that is not given is undefined. Input is that of
// the calling execution: with `input: true` the function gets all of it, and arguments win.
func (f Function) Called(params, input *value.Object) (Job, error) {
	given, err := Arguments(params)
	if err != nil {
		return Job{}, err
	}
	if params.At("input") == true {
		all := &value.Object{}
		for _, o := range []*value.Object{input, given} {
			for _, key := range o.Keys() {
				all.Set(key, o.At(key))
			}
		}
		given = all
	}
	job := f.Job(given)
	job.Undefined = slices.Clone(f.Parameters.Keys())
	return job, nil
}

// Redacted returns an error without secrets in what code said, of which the end may have
// been cut off: the beginning of one may be left there, which is found nowhere else. Other
// errors, and the rest of it, are returned as they are.
func Redacted(err *automation.Error, secrets *redact.Set) *automation.Error {
	if err.Name != automation.CustomCodeFailed {
		return err
	}
	redacted := *err
	if message, cut := strings.CutSuffix(err.Message, cutMark); cut {
		redacted.Message = secrets.RedactCut(message) + cutMark
	}
	if logs, ok := err.Details.At("logs").([]any); ok {
		lines := make([]string, len(logs))
		for i, line := range logs {
			lines[i] = value.Text(line)
		}
		redacted.Details = err.Details.Copy()
		redacted.Details.Set("logs", value.From(Lines(lines, secrets)))
	}
	return &redacted
}

// Lines returns lines of the console without secrets, nor the beginning of one where no
// more of them were kept.
func Lines(lines []string, secrets *redact.Set) []string {
	redacted, size := make([]string, len(lines)), 0
	for i, line := range lines {
		size += len(line) + 1
		if redacted[i] = secrets.Text(line); i == len(lines)-1 && size >= maxLogs-utf8.UTFMax {
			redacted[i] = secrets.RedactCut(line)
		}
	}
	return redacted
}
