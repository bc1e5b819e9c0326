package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"svc/commands/fair"
	"svc/domain/automation/value"
)

// Options say how code is run. The zero value of every field but Executable is
// good.
type Options struct {
	Executable string        // the program whose Args make it call Main; required
	Args       []string      // default "sandbox"
	Timeout    time.Duration // longest time of one call; default 20 s
	MemoryMB   int           // memory of one call; default 128
	MaxOutput  int           // bytes of a result; default 10 MB
	Most       int           // calls at once, of one workspace half of them; the others wait; default 4
	Warm       int           // children that wait for the next calls; default 1, below 0 none
}

func (o Options) withDefaults() (Options, error) {
	if o.Executable == "" {
		return o, errors.New("sandbox: Options.Executable is required")
	}
	if len(o.Args) == 0 {
		o.Args = []string{"sandbox"}
	}
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	o.MemoryMB = cmp.Or(o.MemoryMB, 128)
	o.MaxOutput = cmp.Or(o.MaxOutput, 10<<20)
	o.Most = cmp.Or(o.Most, 4)
	o.Warm = max(cmp.Or(o.Warm, 1), 0)
	if o.Timeout < 0 || o.MemoryMB < 0 || o.MaxOutput < 0 || o.Most < 0 {
		return o, errors.New("sandbox: a limit below 0")
	}
	return o, nil
}

const (
	startWait = 10 * time.Second       // for a child to be ready
	grace     = 250 * time.Millisecond // for a child to end its code itself, which tells more
	maxFailed = 64 << 10               // bytes of what went wrong
)

// Sandbox runs custom code.
type Sandbox struct {
	options Options
	places  *fair.Places // one for each call under way
	refused error        // why no code is run; nil: it is
	warm    warm
}

// New returns a sandbox. Nothing is started before the first call.
func New(o Options) (*Sandbox, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{options: o, places: fair.New(o.Most, (o.Most+1)/2), warm: warm{most: o.Warm, children: make(chan *child)}}
	s.refused = Unconfined()
	s.warm.open, s.warm.shut = context.WithCancel(context.Background())
	return s, nil
}

// Close ends the children that wait. Calls under way end as they would have.
func (s *Sandbox) Close() { s.warm.close() }

// Unconfined returns why the kernel cannot be told to refuse what code might ask it for;
// nil when it can. No code is run then.
func Unconfined() error { return filterable() }

// Run runs a job and returns what it came to. What the code did wrong is a
// CustomCodeError, and so is that no code is run here; any other error is not its
// fault. Logs are returned either way.
func (s *Sandbox) Run(ctx context.Context, job Job) (Result, error) {
	result := Result{Value: value.Undefined}
	if s.refused != nil {
		return result, (&failure{Reason: reasonException, Message: "custom code is switched off here: it cannot be confined"}).raised(nil)
	}
	if err := s.places.Enter(ctx, job.WorkspaceID); err != nil {
		return result, err
	}
	defer s.places.Leave(job.WorkspaceID)
	o := s.order(job)
	text, err := json.Marshal(o)
	if err != nil {
		return result, fmt.Errorf("write the job: %w", err)
	}
	if int64(len(text)) > min(o.memory(), maxOrder) {
		return result, o.heavy().raised(nil)
	}
	c, err := s.take(ctx)
	if err != nil {
		return result, err
	}
	defer s.warm.keep(s.startChild)
	defer c.end()
	return c.do(ctx, o, text)
}

func (s *Sandbox) order(job Job) order {
	timeout := job.Timeout
	if timeout <= 0 || timeout > s.options.Timeout {
		timeout = s.options.Timeout
	}
	arguments := job.Arguments
	if arguments == nil {
		arguments = &value.Object{}
	}
	var undefined []string
	for _, name := range job.Undefined {
		if _, given := arguments.Get(name); !given {
			undefined = append(undefined, name)
		}
	}
	return order{
		Code: job.Code, Arguments: json.RawMessage(value.JSON(arguments, "")), Undefined: undefined, Timeout: timeout, Clock: job.Clock.UnixMilli(), Seed: job.Seed,
		MemoryMB: s.options.MemoryMB, MaxOutput: s.options.MaxOutput,
	}
}

// do gives the child its job and returns what becomes of it.
func (c *child) do(ctx context.Context, o order, text []byte) (Result, error) {
	result := Result{Value: value.Undefined}
	late, cancel := context.WithTimeout(ctx, o.Timeout+grace)
	defer cancel()
	defer context.AfterFunc(late, c.kill)()
	if err := writeFrame(c.in, frameJob, text); err == nil {
		failed, err := c.hear(&result, o.MaxOutput)
		if failed != nil {
			return result, failed.raised(result.Logs)
		}
		if err == nil || !isEnd(err) {
			return result, err
		}
	}
	if late.Err() != nil {
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		return result, o.late().raised(result.Logs)
	}
	return result, c.died(o).raised(result.Logs)
}

// isEnd reports whether the output of the child just ended.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// hear listens to the child until it has said what came of its job.
func (c *child) hear(result *Result, maxOutput int) (*failure, error) {
	lines := console{left: maxLogs, tell: func(line string) { result.Logs = append(result.Logs, line) }}
	for {
		kind, body, err := readFrame(c.out, max(maxOutput, maxFailed))
		if errors.Is(err, errFrame) {
			return tooMuch(maxOutput), nil
		}
		if err != nil {
			return nil, err
		}
		switch kind {
		case frameLine:
			lines.line(string(body))
		case frameFailed:
			var f failure
			err := json.Unmarshal(body, &f)
			return &f, err
		case frameValue:
			if len(body) == 0 {
				return nil, nil
			}
			result.Value, err = value.ParseJSON(string(body))
			return nil, err
		case frameBroken:
			return nil, fmt.Errorf("the child could not run the code: %s", body)
		default:
			return nil, fmt.Errorf("the child said a frame %q", kind)
		}
	}
}
