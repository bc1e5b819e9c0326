package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/value"
	"svc/eventstore"
)

// Start describes an execution tree to run.
type Start struct {
	ProgramSet *programs.ProgramSet
	Program    *programs.Program
	Trigger    activity.Trigger
	Input      *value.Object
	Caller     Caller

	CorrelationID string
	Depth         int // of its first execution; a trigger starts at 1
	Attempt       int // 1, or more when it was interrupted before
	// TriggeredAt is the time of the trigger: a run that was cancelled since then is not
	// started again. It is used from the second attempt on.
	TriggeredAt time.Time
	// Interrupted says that the tree was interrupted too often: that is recorded, and nothing
	// is run.
	Interrupted bool
	// Meta is that of the request that caused it: trace, ip, socket and HTTP.
	Meta domain.Meta
	// SourceWorkspaceID is the workspace that called it, when that is another one.
	SourceWorkspaceID string

	HTTP *HTTP // the answer that $http changes; nil unless an endpoint started it
	// Facts are the events about its trigger. They are recorded before anything else of the tree.
	Facts []domain.Event
	// Announce records the trigger of the tree before anything is run: its launcher answers when
	// that is on disk.
	Announce bool
	// RunSecrets are the secrets of the run so far, when one of its trees starts this one.
	RunSecrets []string
	// Record stores everything that is needed to replay the tree, whatever the setting.
	Record bool

	throttlePaid bool          // the run that started it has waited for the throttle, for this time:
	throttled    time.Duration // it counts as that of the execution
	onRelease    func()        // is called when it has ended or is parked; nil: nothing is called
}

// release notifies the run that started this one that it has ended or is parked.
func (s *Start) release() {
	if s.onRelease != nil {
		s.onRelease()
	}
}

// Outcome is the result of a run.
type Outcome struct {
	Output      any               // Undefined when there is none
	Err         *automation.Error // nil unless it failed
	ExecutionID string            // of the first execution
}

// Handle is a run that was launched.
type Handle struct {
	done    chan struct{}
	started chan struct{}
	parked  chan struct{}
	once    sync.Once
	cancel  context.CancelCauseFunc // nil: it never started
	outcome Outcome
	err     error
}

// Done is closed when the run has ended.
func (r *Handle) Done() <-chan struct{} { return r.done }

// Started is closed once the trigger of the run is on disk, if its Start asks for that.
func (r *Handle) Started() <-chan struct{} { return r.started }

// Parked is closed once the state of the run is stored, so that any node can resume it.
func (r *Handle) Parked() <-chan struct{} { return r.parked }

// HasEnded reports whether the run has ended.
func (r *Handle) HasEnded() bool { return isClosed(r.done) }

// HasStarted reports whether the trigger of the run is on disk, if its Start asks for that.
func (r *Handle) HasStarted() bool { return isClosed(r.started) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// BreakOff breaks the run off, so that another node can start it. It returns false when that
// takes longer than ctx lasts.
func (r *Handle) BreakOff(ctx context.Context) bool {
	if r.cancel != nil {
		r.cancel(ErrAway)
	}
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// WaitEndedOrParked waits until the run has ended or is parked. It returns false when that
// takes longer than grace after ctx ended.
func (r *Handle) WaitEndedOrParked(ctx context.Context, grace time.Duration) bool {
	ended := ctx.Done()
	var over <-chan time.Time
	for {
		select {
		case <-r.done:
			return true
		case <-r.parked:
			return true
		case <-over:
			return false
		case <-ended:
			timer := time.NewTimer(grace)
			defer timer.Stop()
			ended, over = nil, timer.C
		}
	}
}

// Outcome returns the result of the run. Call it only after Done is closed.
func (r *Handle) Outcome() (Outcome, error) { return r.outcome, r.err }

// ErrClosing means that the node stops: nothing new is started.
var ErrClosing = errors.New("runtime: the node stops")

// lifecycle owns the goroutines of the runs on this node.
type lifecycle struct {
	mu      sync.Mutex
	ctx     context.Context
	cancel  context.CancelCauseFunc
	closing bool
	closed  chan struct{} // closed when the node is about to stop
	process string        // that runs start under; "" while the node is away
	running sync.WaitGroup
	workers *commands.WorkerPool
}

func newLifecycle(process string) *lifecycle {
	f := &lifecycle{closed: make(chan struct{}), process: process}
	f.workers = commands.NewWorkerPool(f.closed)
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	return f
}

// Launch starts a run and returns at once. The run continues whether or not anybody waits for
// it.
func (r *Runtime) Launch(s Start) *Handle {
	return r.launch(func(ctx context.Context, run *Handle) (Outcome, error) { return r.execute(ctx, s, run) }, func() []any {
		return []any{"workspace", s.ProgramSet.Workspace.ID, "automation", s.Program.Name, "correlationId", s.CorrelationID}
	})
}

// launch does the work of a run in a goroutine. named identifies the run in the log.
func (r *Runtime) launch(work func(context.Context, *Handle) (Outcome, error), named func() []any) *Handle {
	run := &Handle{done: make(chan struct{}), started: make(chan struct{}), parked: make(chan struct{})}
	r.lifecycle.mu.Lock()
	defer r.lifecycle.mu.Unlock()
	if r.lifecycle.closing || r.lifecycle.process == "" {
		run.err = ErrAway
		if r.lifecycle.closing {
			run.err = ErrClosing
		}
		close(run.done)
		return run
	}
	ctx, cancel := context.WithCancelCause(r.lifecycle.ctx)
	run.cancel = cancel
	r.lifecycle.running.Add(1)
	r.lifecycle.workers.Run(func() {
		defer r.lifecycle.running.Done()
		defer close(run.done)
		defer cancel(nil)
		run.err = commands.CatchPanic(func() (err error) { // one run never ends the others
			run.outcome, err = work(ctx, run)
			return err
		})
		switch {
		case run.err != nil && ctx.Err() != nil:
			run.err = errors.Join(context.Cause(ctx), run.err)
		case run.err != nil:
			r.Log.ErrorContext(ctx, "run broke off", append(named(), "err", run.err)...)
		}
	})
	return run
}

// closeTimeout limits how long a stopping node lets runs end by themselves.
const closeTimeout = 5 * time.Second

// Close lets runs end for a while and breaks off the rest; another node starts those again
// that can be. Parked runs are left at once.
func (r *Runtime) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	r.lifecycle.mu.Lock()
	if !r.lifecycle.closing {
		close(r.lifecycle.closed)
	}
	r.lifecycle.closing = true
	cancelRuns := r.lifecycle.cancel
	r.lifecycle.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the last tree
		r.lifecycle.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	cancelRuns(ErrClosing)
	<-ended
	return nil
}

// ErrAway means that the other nodes consider this one lost: nothing is started until it is
// back.
var ErrAway = fmt.Errorf("%w: the other nodes take this one for lost", eventstore.ErrUnavailable)

// BreakOffAll breaks off all runs, because the other nodes consider this one lost and resume
// or restart them. Nothing is started before Reopen.
func (r *Runtime) BreakOffAll() {
	f := r.lifecycle
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process = ""
	f.cancel(ErrAway)
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
}

// Reopen lets runs start again, under another process id than before.
func (r *Runtime) Reopen(process string) {
	r.lifecycle.mu.Lock()
	defer r.lifecycle.mu.Unlock()
	r.lifecycle.process = process
}

// CurrentProcess returns the process id that runs start under; "" while the node is away.
func (r *Runtime) CurrentProcess() string {
	r.lifecycle.mu.Lock()
	defer r.lifecycle.mu.Unlock()
	return r.lifecycle.process
}

// IsRunning reports whether a run is on this node.
func (r *Runtime) IsRunning(workspaceID, correlationID, executionID string) bool {
	r.runs.mu.Lock()
	defer r.runs.mu.Unlock()
	return r.runs.executions[executionKey{correlationKey{workspaceID, correlationID}, executionID}] > 0
}

// byWorkspace lists the correlation ids of the runs on this node by workspace.
func (g *runRegistry) byWorkspace() map[string][]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[string][]string{}
	for key := range g.byCorrelation {
		all[key.workspaceID] = append(all[key.workspaceID], key.correlationID)
	}
	return all
}

// CancelDeleted cancels the runs on this node whose workspace is deleted, and returns how
// many. Runs that the deletion triggered continue.
func (r *Runtime) CancelDeleted(isDeleted func(workspaceID string) (bool, error)) (cancelled int, err error) {
	for workspaceID, runs := range r.runs.byWorkspace() {
		deleted, err := isDeleted(workspaceID)
		if err != nil {
			return cancelled, err
		}
		for _, correlationID := range runs {
			if deleted {
				cancelled += r.runs.cancel(workspaceID, correlationID, func(t *run) bool { return !t.start.ProgramSet.Workspace.Deleted })
			}
		}
	}
	return cancelled, nil
}

// CancelWorkspace cancels all runs of an erased workspace on this node.
func (r *Runtime) CancelWorkspace(workspaceID string) {
	for _, correlationID := range r.runs.byWorkspace()[workspaceID] {
		r.Cancel(workspaceID, correlationID)
	}
}

// runRegistry holds the runs on this node.
type runRegistry struct {
	mu            sync.Mutex
	byCorrelation map[correlationKey][]*run
	executions    map[executionKey]int // how many runs there are with this first execution
}

type correlationKey struct{ workspaceID, correlationID string }

type executionKey struct {
	correlationKey
	executionID string
}

// add registers a run and returns the function that removes it.
func (g *runRegistry) add(t *run) (remove func()) {
	key := correlationKey{t.workspaceID(), t.start.CorrelationID}
	first := executionKey{key, t.id}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byCorrelation == nil {
		g.byCorrelation, g.executions = map[correlationKey][]*run{}, map[executionKey]int{}
	}
	t.registered = len(g.byCorrelation[key])
	g.byCorrelation[key] = append(g.byCorrelation[key], t)
	g.executions[first]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.executions[first]--; g.executions[first] == 0 {
			delete(g.executions, first)
		}
		all := g.byCorrelation[key]
		last := len(all) - 1
		if last == 0 {
			delete(g.byCorrelation, key)
			return
		}
		all[t.registered] = all[last]
		all[t.registered].registered = t.registered
		all[last] = nil
		g.byCorrelation[key] = all[:last]
	}
}

// Cancel cancels the runs of a correlation id on this node, and returns how many there were.
func (r *Runtime) Cancel(workspaceID, correlationID string) (cancelled int) {
	return r.runs.cancel(workspaceID, correlationID, func(*run) bool { return true })
}

// cancel cancels the wanted trees of a run, and returns how many were not cancelled before.
func (g *runRegistry) cancel(workspaceID, correlationID string, wanted func(*run) bool) (cancelled int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.byCorrelation[correlationKey{workspaceID, correlationID}] {
		if wanted(t) && t.lifetime.cancel() {
			cancelled++
		}
	}
	return cancelled
}
