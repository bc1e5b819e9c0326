package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxOrder     = 1 << 30 // bytes of a job; the parent sends none that its memory could not hold
	megabyte     = 1 << 20
	lookEvery    = 5 * time.Millisecond // at the memory
	childThreads = 2                    // one for the code, one to collect after it
)

// Main is the child: it takes one job from in, and writes what becomes of it to
// out. The process must have nothing else to do: Main gives up whatever the code
// is not to have, for good.
func Main(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(childThreads)
	if err := writeFrame(out, frameReady, nil); err != nil {
		return fmt.Errorf("tell that the child is ready: %w", err)
	}
	err := serve(in, out)
	if err != nil {
		err = errors.Join(err, writeFrame(out, frameBroken, []byte(err.Error())))
	}
	return err
}

// serve runs the one job.
func serve(in io.Reader, out io.Writer) error {
	kind, body, err := readFrame(in, maxOrder)
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var o order
	if err := json.Unmarshal(body, &o); err != nil || kind != frameJob {
		return fmt.Errorf("read the job of frame %q: %w", kind, err)
	}
	if err := confine(o); err != nil {
		return fmt.Errorf("confine the child: %w", err)
	}
	return o.answer(out)
}

// answer runs the job. Lines of the console are sent at once, because a killed process can send
// nothing.
func (o order) answer(out io.Writer) error {
	in, err := newInterpreter(o, func(line string) { _ = writeFrame(out, frameLine, []byte(line)) })
	if err != nil {
		return fmt.Errorf("start the interpreter: %w", err)
	}
	unwatch := o.watch(in)
	result, failed := in.run()
	unwatch()
	if failed == nil {
		return writeFrame(out, frameValue, result)
	}
	encoded, err := json.Marshal(failed)
	if err != nil {
		return err
	}
	return writeFrame(out, frameFailed, encoded)
}

// watch interrupts the code when its time is over or its memory used up. What
// cannot be interrupted, the parent and the limits of the process end.
func (o order) watch(in *interpreter) (stop func()) {
	most := o.memory()
	debug.SetMemoryLimit(withGarbage(most)) // collect harder before there is none left
	debug.SetMaxStack(int(min(most/2, 64*megabyte)))
	done, over := make(chan struct{}), time.NewTimer(o.Timeout)
	var watching sync.WaitGroup
	watching.Go(func() {
		defer over.Stop()
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		memory := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-over.C:
				in.vm.Interrupt(o.timeoutFailure())
			case <-look.C:
				metrics.Read(memory)
				if live, all := memory[0].Value.Uint64(), memory[1].Value.Uint64(); int64(live) > most || int64(all) > withGarbage(most) {
					in.vm.Interrupt(o.memoryFailure())
				}
			}
		}
	})
	return func() { close(done); watching.Wait() }
}

// memory is how much the code may hold, in bytes.
func (o order) memory() int64 { return int64(o.MemoryMB) * megabyte }

// withGarbage leaves room for what is no longer held and not yet collected.
func withGarbage(most int64) int64 { return most + most/4 }

func (o order) timeoutFailure() *failure {
	return &failure{Reason: reasonTimeout, Message: fmt.Sprintf("the code ran longer than %d ms", o.Timeout.Milliseconds())}
}

func (o order) memoryFailure() *failure {
	return &failure{Reason: reasonMemory, Message: fmt.Sprintf("the code used more than %d MB", o.MemoryMB)}
}

// maxStderr is how many bytes of stderr are kept.
const maxStderr = 1000

// child is a process that waits for its one job.
type child struct {
	in      *os.File // its input, to write
	out     *os.File // its output, to read
	process *os.Process
	stderr  stderrBuffer  // to be read when it has ended
	ended   chan struct{} // closed when it is gone and was waited for
}

// start starts a child. It is gone when ended is closed, which the caller brings
// about with end.
func start(executable string, args []string) (*child, error) {
	c := &child{ended: make(chan struct{})}
	theirs, err := c.pipes()
	if err != nil {
		closeAll(append(theirs, c.in, c.out))
		return nil, fmt.Errorf("make pipes: %w", err)
	}
	started := make(chan error)
	go c.runProcess(executable, args, theirs, started)
	if err := <-started; err != nil {
		<-c.ended
		return nil, fmt.Errorf("start the child: %w", err)
	}
	return c, nil
}

// pipes makes the two pipes and returns the ends of the child.
func (c *child) pipes() (theirs []*os.File, err error) {
	var in, out *os.File
	if in, c.in, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.out, out, err = os.Pipe(); err != nil {
		return []*os.File{in}, err
	}
	return []*os.File{in, out}, nil
}

// runProcess starts the process and waits for its end. It stays on one thread all that time: the
// kernel kills the child when the thread that started it ends.
func (c *child) runProcess(executable string, args []string, theirs []*os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.ended)
	cmd := exec.Command(executable, args...)
	// Its local time is UTC everywhere, and a crash prints no stacks.
	cmd.Env = []string{"TZ=UTC", "GOTRACEBACK=none"}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], &c.stderr
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = attributes()
	err := cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll([]*os.File{c.in, c.out})
		started <- err
		return
	}
	c.process = cmd.Process
	started <- nil
	_ = cmd.Wait() // stderr says how it ended
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// kill kills the process group.
func (c *child) kill() {
	select {
	case <-c.ended: // its pid may be in use again
	default:
		_ = syscall.Kill(-c.process.Pid, syscall.SIGKILL)
	}
}

// end kills the child, waits for its end and closes its pipes.
func (c *child) end() {
	c.kill()
	<-c.ended
	closeAll([]*os.File{c.in, c.out})
}

// ready waits until the child can take its job.
func (c *child) ready(ctx context.Context) error {
	defer context.AfterFunc(ctx, c.kill)()
	kind, _, err := readFrame(c.out, 0)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the child did not start: %w: %s", err, c.stderrText())
	case kind != frameReady:
		return fmt.Errorf("the child began with a frame %q", kind)
	}
	return nil
}

// stderrBuffer holds the beginning of what is written to it.
type stderrBuffer struct{ text []byte }

// Write implements io.Writer.
func (c *stderrBuffer) Write(p []byte) (int, error) {
	if free := maxStderr - len(c.text); free > 0 {
		c.text = append(c.text, p[:min(free, len(p))]...)
	}
	return len(p), nil
}

// stderrText ends the child and returns what it wrote to stderr.
func (c *child) stderrText() []byte {
	c.kill()
	<-c.ended
	return bytes.TrimSpace(c.stderr.text)
}

// overflowed is how the runtime dies when something called itself too often.
var overflowed = []string{"stack overflow", "stack exceeds"}

// exitFailure returns why a child ended without an answer: its runtime crashed, or the kernel
// killed it. Both happen when memory is used up, in many ways.
func (c *child) exitFailure(o order) *failure {
	output := string(c.stderrText())
	for _, words := range overflowed {
		if strings.Contains(output, words) {
			return &failure{Reason: reasonException, Message: "RangeError: the code calls itself too deeply"}
		}
	}
	return o.memoryFailure()
}
