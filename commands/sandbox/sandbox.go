package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"svc/commands/confined"
	"svc/commands/fair"
	"svc/domain/value"
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
	grace     = 250 * time.Millisecond // for a child to end its code itself, with a better error
	maxFailed = 64 << 10               // bytes of what went wrong
)

// Sandbox runs custom code.
type Sandbox struct {
	options Options
	places  *fair.Slots // one for each call under way
	refused error       // why no code is run; nil: it is
	warm    warmPool
}

// New returns a sandbox. Nothing is started before the first call.
func New(o Options) (*Sandbox, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{options: o, places: fair.New(o.Most, (o.Most+1)/2), warm: warmPool{size: o.Warm, children: make(chan *confined.Child)}}
	s.refused = confined.Unconfined()
	s.warm.ctx, s.warm.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Close ends the children that wait. Calls under way end as they would have.
func (s *Sandbox) Close() { s.warm.close() }

// Run runs a job and returns its result. An error of the code is a CustomCodeError, and so is
// that no code is run here; any other error is not caused by the code. Logs are returned in any
// case.
func (s *Sandbox) Run(ctx context.Context, job Job) (Result, error) {
	result := Result{Value: value.Undefined}
	if s.refused != nil {
		return result, (&failure{Reason: reasonException, Message: "custom code is switched off here: it cannot be confined"}).raised(nil)
	}
	if err := s.places.Acquire(ctx, job.WorkspaceID); err != nil {
		return result, err
	}
	defer s.places.Release(job.WorkspaceID)
	o := s.newOrder(job)
	text, err := json.Marshal(o)
	if err != nil {
		return result, fmt.Errorf("write the job: %w", err)
	}
	if int64(len(text)) > min(o.memory(), maxOrder) {
		return result, o.memoryFailure().raised(nil)
	}
	c, err := s.acquireChild(ctx)
	if err != nil {
		return result, err
	}
	defer s.warm.startNext(s.startChild)
	defer c.End()
	return o.runIn(ctx, c, text)
}

func (s *Sandbox) newOrder(job Job) order {
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

// runIn sends a child its job and returns the result.
func (o order) runIn(ctx context.Context, c *confined.Child, text []byte) (Result, error) {
	result := Result{Value: value.Undefined}
	late, cancel := context.WithTimeout(ctx, o.Timeout+grace)
	defer cancel()
	defer context.AfterFunc(late, c.Kill)()
	if err := confined.WriteFrame(c.In, frameJob, text); err == nil {
		failed, err := readResult(c, &result, o.MaxOutput)
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
		return result, o.timeoutFailure().raised(result.Logs)
	}
	return result, o.exitFailure(c).raised(result.Logs)
}

// isEnd reports whether the output of the child just ended.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// readResult reads the frames of the child up to its result.
func readResult(c *confined.Child, result *Result, maxOutput int) (*failure, error) {
	lines := console{left: maxLogs, log: func(line string) { result.Logs = append(result.Logs, line) }}
	for {
		kind, body, err := confined.ReadFrame(c.Out, max(maxOutput, maxFailed))
		if errors.Is(err, confined.ErrFrame) {
			return outputFailure(maxOutput), nil
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
			return nil, fmt.Errorf("the child sent an unknown frame %q", kind)
		}
	}
}

// idleAfter is how long a child waits for a job that does not come.
const idleAfter = time.Minute

// warmPool has children that were started before their calls, because starting this binary
// takes longer than most code. Each child serves one call.
type warmPool struct {
	size     int
	children chan *confined.Child // each sent by the goroutine that holds it
	ctx      context.Context      // ends with the sandbox
	cancel   context.CancelFunc

	mu      sync.Mutex
	count   int // children that wait or are being started
	running sync.WaitGroup
}

// startNext starts a child for the next call, unless enough children wait.
func (w *warmPool) startNext(start func(context.Context) (*confined.Child, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil || w.count >= w.size {
		return
	}
	w.count++
	w.running.Go(func() {
		w.holdChild(start)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.count--
	})
}

// holdChild starts a child and holds it until a call takes it. If it cannot be started, the next
// call starts its own and returns the error.
func (w *warmPool) holdChild(start func(context.Context) (*confined.Child, error)) {
	c, err := start(w.ctx)
	if err != nil {
		return
	}
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	select {
	case w.children <- c:
		return
	case <-c.Ended:
	case <-idle.C:
	case <-w.ctx.Done():
	}
	c.End()
}

func (w *warmPool) close() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.running.Wait()
}

// acquireChild returns a waiting child, or starts one.
func (s *Sandbox) acquireChild(ctx context.Context) (*confined.Child, error) {
	select {
	case c := <-s.warm.children:
		return c, nil
	default:
		return s.startChild(ctx)
	}
}

func (s *Sandbox) startChild(ctx context.Context) (*confined.Child, error) {
	return confined.Start(ctx, s.options.Executable, s.options.Args)
}

// Kinds of frames. All but the job go from the child to the parent.
const (
	frameJob    byte = 'j'
	frameLine   byte = 'l' // one line of the console
	frameValue  byte = 'v' // the result as JSON; empty for undefined
	frameFailed byte = 'e' // what the code did wrong, as JSON
	frameBroken byte = 'x' // why the child could not run it
)
