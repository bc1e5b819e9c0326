package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"svc/commands/confined"
)

const (
	maxOrder  = 1 << 30 // bytes of a job; the parent sends none that its memory could not hold
	megabyte  = 1 << 20
	lookEvery = 5 * time.Millisecond // at the memory
)

// Main is the child: it takes one job from in, and writes what becomes of it to
// out. The process must have nothing else to do: Main gives up whatever the code
// is not to have, for good.
func Main(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(confined.Threads)
	if err := confined.WriteFrame(out, confined.FrameReady, nil); err != nil {
		return fmt.Errorf("tell that the child is ready: %w", err)
	}
	err := serve(in, out)
	if err != nil {
		err = errors.Join(err, confined.WriteFrame(out, frameBroken, []byte(err.Error())))
	}
	return err
}

// serve runs the one job.
func serve(in io.Reader, out io.Writer) error {
	kind, body, err := confined.ReadFrame(in, maxOrder)
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var o order
	if err := json.Unmarshal(body, &o); err != nil || kind != frameJob {
		return fmt.Errorf("read the job of frame %q: %w", kind, err)
	}
	if err := confined.Confine(o.Timeout, withGarbage(o.memory())); err != nil {
		return fmt.Errorf("confine the child: %w", err)
	}
	return o.answer(out)
}

// answer runs the job. Lines of the console are sent at once, because a killed process can send
// nothing.
func (o order) answer(out io.Writer) error {
	in, err := newInterpreter(o, func(line string) { _ = confined.WriteFrame(out, frameLine, []byte(line)) })
	if err != nil {
		return fmt.Errorf("start the interpreter: %w", err)
	}
	unwatch := o.watch(in)
	result, failed := in.run()
	unwatch()
	if failed == nil {
		return confined.WriteFrame(out, frameValue, result)
	}
	encoded, err := json.Marshal(failed)
	if err != nil {
		return err
	}
	return confined.WriteFrame(out, frameFailed, encoded)
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

// overflowed is how the runtime dies when something called itself too often.
var overflowed = []string{"stack overflow", "stack exceeds"}

// exitFailure returns why a child ended without an answer: its runtime crashed, or the kernel
// killed it. Both happen when memory is used up, in many ways.
func (o order) exitFailure(c *confined.Child) *failure {
	output := string(c.Stderr())
	for _, words := range overflowed {
		if strings.Contains(output, words) {
			return &failure{Reason: reasonException, Message: "RangeError: the code calls itself too deeply"}
		}
	}
	return o.memoryFailure()
}
