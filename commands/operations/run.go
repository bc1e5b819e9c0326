package operations

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Run is an operation in the hands of its work, or of who settles it.
type Run struct {
	runner  *Runner
	about   operation.About // with the epoch of this run
	lockSeq uint64
	heir    bool // it goes on with what another run began
	base    context.Context
	request *commands.Request // of base
	done    chan struct{}     // closed when nothing more is done here

	mu        sync.Mutex
	cancel    context.CancelCauseFunc
	stopped   error // why it was told to stop; nil: it was not
	committed bool
	step      string // that was begun and is not done
}

// ID is the id of the operation.
func (run *Run) ID() string { return run.about.ID }

// WorkspaceID is the workspace that it works on.
func (run *Run) WorkspaceID() string { return run.about.WorkspaceID }

// Epoch is that of the lock which the run holds: its changes of the workspace
// carry it, and are refused once the lock is somebody else's.
func (run *Run) Epoch() uint64 { return run.about.Epoch }

// LockSeq is the sequence at which the workspace was locked: the moment that a
// push takes its snapshot at. It is 0 for who settles an operation whose lock is
// gone.
func (run *Run) LockSeq() uint64 { return run.lockSeq }

func (run *Run) stream() domain.StreamID {
	return operation.Stream(run.about.WorkspaceID, run.about.ID)
}

// Step does one step and tells of it: that it began, and that it was done or
// failed. An operation that somebody cancelled does not begin another one before
// Commit.
func (run *Run) Step(ctx context.Context, name, message string, do func(context.Context) error) error {
	began := run.runner.Workspaces.Now()
	p := operation.Progress{Step: name, State: operation.StepStarted, Message: message, StartedAt: began.UTC().Truncate(time.Millisecond)}
	if err := run.report(ctx, p, run.wanted); err != nil {
		return err
	}
	run.at(name)
	failed := do(ctx)
	if p.State = operation.StepDone; failed != nil {
		p.State = operation.StepFailed
	}
	p.Duration = (run.runner.Workspaces.Now().Sub(began) + time.Millisecond - 1).Milliseconds()
	telling, cancel := aside(ctx) // what was done is told, whatever happened meanwhile
	defer cancel()
	if err := run.report(telling, p); failed == nil {
		failed = err
	}
	if failed == nil {
		run.at("")
	}
	return failed
}

// Commit is the point of no return: from then on a cancel is not heeded any more.
// It refuses when the operation was cancelled before, or has lost its lock.
func (run *Run) Commit(ctx context.Context) error {
	now, err := run.runner.Get(ctx, run.about.WorkspaceID, run.about.ID)
	if err == nil {
		err = run.wanted(now)
	}
	if err != nil {
		return err
	}
	if err := run.locked(ctx); err != nil {
		return err
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.stopped != nil {
		return run.stopped
	}
	run.committed = true
	return nil
}

// locked refuses a run whose lock, or that of the operation that it works under, is
// somebody else's.
func (run *Run) locked(ctx context.Context) error {
	if run.about.Under && run.about.Epoch == 0 {
		return nil
	}
	now, err := run.runner.Workspaces.Get(ctx, run.about.WorkspaceID)
	if err != nil {
		return err
	}
	if lock := now.State.Lock; lock == nil || lock.Epoch != run.about.Epoch || !run.about.Under && !ours(lock, run.about.ID) {
		return workspace.LockLost()
	}
	return nil
}

// wanted refuses to go on with an operation that was cancelled in time.
func (run *Run) wanted(now operation.State) error {
	if now.CancelRequested && !run.beyond() {
		return Cancelled()
	}
	return nil
}

// report records how far a step is.
func (run *Run) report(ctx context.Context, p operation.Progress, pre ...commands.Precondition[operation.State]) error {
	_, err := commands.Execute(ctx, run.runner.Engine, operation.Decider, run.stream(),
		operation.Command(operation.Report{Epoch: run.about.Epoch, Progress: p}), pre...)
	return err
}

// Log is where the run tells the operator what went wrong.
func (run *Run) Log() *slog.Logger { return run.runner.log(run) }

// Tell records what a run has to say besides its steps.
func (run *Run) Tell(ctx context.Context, cmd operation.Command) error {
	_, err := commands.Execute(ctx, run.runner.Engine, operation.Decider, run.stream(), cmd)
	return err
}

// Renew lets the run hold its lock longer.
func (run *Run) Renew(ctx context.Context) error {
	_, err := run.runner.Workspaces.Execute(ctx, run.about.WorkspaceID, workspace.Renew{
		Epoch: run.about.Epoch, Now: run.runner.Workspaces.Now(), Timeout: run.runner.Workspaces.LockFor(),
	})
	return err
}

// at notes the step that is being done, "" between two.
func (run *Run) at(step string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.step = step
}

func (run *Run) lastStep() string {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.step
}

// beyond reports whether the point of no return is behind.
func (run *Run) beyond() bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.committed
}

// heed lets stop cancel what the run does now.
func (run *Run) heed(cancel context.CancelCauseFunc) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.cancel = cancel; run.stopped != nil {
		cancel(run.stopped)
	}
}

// stop ends what the run does, for a cause.
func (run *Run) stop(cause error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.stopped != nil || run.committed && reasonOf(cause) == "cancelled" {
		return
	}
	if run.stopped = cause; run.cancel != nil {
		run.cancel(cause)
	}
}

// settling bounds how long it takes to record how something ended.
const settling = 15 * time.Second

// aside is a context for what has to be recorded although ctx may have ended.
func aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settling)
}
