// Package confined runs children that read what is not trusted: the code of authors, the files of others. A child is
// the same binary, started with an argument that makes it call the main function of its package.
//
// A child has no environment, no descriptors but its pipes, and it ends with the service. Before it reads anything it
// calls Confine: limits on memory, time, descriptors and file sizes, and on Linux a filter that refuses sockets, files
// and other programs.
//
// Parent and child exchange frames. The child begins with FrameReady; all others are up to their package.
package confined

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Threads is how many threads of a child work at once: one for the work, one to collect after it.
const Threads = 2

// maxStderr is how many bytes of stderr are kept.
const maxStderr = 1000

// Child is a process that waits for its one job.
type Child struct {
	In      *os.File      // its input, to write
	Out     *os.File      // its output, to read
	Ended   chan struct{} // closed when it is gone and was waited for
	process *os.Process
	stderr  stderrBuffer // to be read when it has ended
}

// startWait is how long a child may take to be ready.
const startWait = 10 * time.Second

// Start starts a child and waits until it is ready. It is gone when Ended is closed, which the caller brings about with
// End.
func Start(ctx context.Context, executable string, args []string) (*Child, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startWait, errors.New("the child was not ready in time"))
	defer cancel()
	c, err := start(executable, args)
	if err != nil {
		return nil, err
	}
	if err := c.ready(ctx); err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

func start(executable string, args []string) (*Child, error) {
	c := &Child{Ended: make(chan struct{})}
	theirs, err := c.pipes()
	if err != nil {
		closeAll(append(theirs, c.In, c.Out))
		return nil, fmt.Errorf("make pipes: %w", err)
	}
	started := make(chan error)
	go c.runProcess(executable, args, theirs, started)
	if err := <-started; err != nil {
		<-c.Ended
		return nil, fmt.Errorf("start the child: %w", err)
	}
	return c, nil
}

// pipes makes the two pipes and returns the ends of the child.
func (c *Child) pipes() (theirs []*os.File, err error) {
	var in, out *os.File
	if in, c.In, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.Out, out, err = os.Pipe(); err != nil {
		return []*os.File{in}, err
	}
	return []*os.File{in, out}, nil
}

// runProcess starts the process and waits for its end. It stays on one thread all that time: the
// kernel kills the child when the thread that started it ends.
func (c *Child) runProcess(executable string, args []string, theirs []*os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.Ended)
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
		closeAll([]*os.File{c.In, c.Out})
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

// Kill kills the process group.
func (c *Child) Kill() {
	select {
	case <-c.Ended: // its pid may be in use again
	default:
		_ = syscall.Kill(-c.process.Pid, syscall.SIGKILL)
	}
}

// End kills the child, waits for its end and closes its pipes.
func (c *Child) End() {
	c.Kill()
	<-c.Ended
	closeAll([]*os.File{c.In, c.Out})
}

// ready waits until the child can take its job.
func (c *Child) ready(ctx context.Context) error {
	defer context.AfterFunc(ctx, c.Kill)()
	kind, _, err := ReadFrame(c.Out, 0)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the child did not start: %w: %s", err, c.Stderr())
	case kind != FrameReady:
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

// Stderr ends the child and returns what it wrote to stderr.
func (c *Child) Stderr() []byte {
	c.Kill()
	<-c.Ended
	return bytes.TrimSpace(c.stderr.text)
}

// FrameReady is the kind of the frame that says that the child waits for its work.
const FrameReady byte = 'r'

// frameHeader is the kind and the length.
const frameHeader = 5

// ErrFrame is a frame that is longer than its reader takes.
var ErrFrame = errors.New("frame too long")

// WriteFrame writes a frame in one piece.
func WriteFrame(w io.Writer, kind byte, body []byte) error {
	frame := make([]byte, frameHeader, frameHeader+len(body))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(body)))
	_, err := w.Write(append(frame, body...))
	return err
}

// ReadFrame reads a frame of at most so many bytes. It allocates as the bytes arrive, because
// the length may be wrong.
func ReadFrame(r io.Reader, most int) (kind byte, body []byte, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	length := int64(binary.BigEndian.Uint32(header[1:]))
	if length > int64(most) {
		return header[0], nil, fmt.Errorf("%w: %d bytes of at most %d", ErrFrame, length, most)
	}
	body, err = io.ReadAll(io.LimitReader(r, length))
	if err == nil && int64(len(body)) < length {
		err = io.ErrUnexpectedEOF
	}
	return header[0], body, err
}
