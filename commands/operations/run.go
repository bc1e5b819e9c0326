package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Run is a running operation.
type Run struct {
	runner   *Runner
	about    operation.About // with the epoch of this run
	lockSeq  uint64
	tookOver bool // it goes on with what another run began
	base     context.Context
	request  *commands.Request // of base
	begun    chan struct{}     // closed by setBegun, when the operation is recorded, or with done
	setBegun func()
	done     chan struct{} // closed when nothing more is done here

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
	if err := run.report(ctx, p, run.checkCancel); err != nil {
		return err
	}
	run.setStep(name)
	failed := do(ctx)
	if p.State = operation.StepDone; failed != nil {
		p.State = operation.StepFailed
	}
	p.Duration = (run.runner.Workspaces.Now().Sub(began) + time.Millisecond - 1).Milliseconds()
	telling, cancel := detached(ctx) // what was done is told, whatever happened meanwhile
	defer cancel()
	if err := run.report(telling, p); failed == nil {
		failed = err
	}
	if failed == nil {
		run.setStep("")
	}
	return failed
}

// Commit is the point of no return: a later cancel has no effect. It refuses when the operation was
// cancelled before, or has lost its lock.
func (run *Run) Commit(ctx context.Context) error {
	now, err := run.runner.Get(ctx, run.about.WorkspaceID, run.about.ID)
	if err == nil {
		err = run.checkCancel(now)
	}
	if err != nil {
		return err
	}
	if err := run.checkLock(ctx); err != nil {
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

// checkLock refuses a run that has lost its lock, or whose parent operation has.
func (run *Run) checkLock(ctx context.Context) error {
	if run.about.Under && run.about.Epoch == 0 {
		return nil
	}
	now, err := run.runner.Workspaces.Get(ctx, run.about.WorkspaceID)
	if err != nil {
		return err
	}
	if lock := now.State.Lock; lock == nil || lock.Epoch != run.about.Epoch || !run.about.Under && !isLockOf(lock, run.about.ID) {
		return workspace.LockLost()
	}
	return nil
}

// checkCancel refuses to continue an operation that was cancelled in time.
func (run *Run) checkCancel(now operation.State) error {
	if now.CancelRequested && !run.isCommitted() {
		return Cancelled()
	}
	return nil
}

// report records the progress of a step.
func (run *Run) report(ctx context.Context, p operation.Progress, pre ...commands.Precondition[operation.State]) error {
	_, err := commands.Execute(ctx, run.runner.Engine, operation.Decider, run.stream(),
		operation.Command(operation.Report{Epoch: run.about.Epoch, Progress: p}), pre...)
	return err
}

// Log returns the logger of the run.
func (run *Run) Log() *slog.Logger { return run.runner.log(run) }

// Record records an event of the run besides its steps.
func (run *Run) Record(ctx context.Context, cmd operation.Command) error {
	_, err := commands.Execute(ctx, run.runner.Engine, operation.Decider, run.stream(), cmd)
	return err
}

// Renew extends the lock of the run.
func (run *Run) Renew(ctx context.Context) error {
	_, err := run.runner.Workspaces.Execute(ctx, run.about.WorkspaceID, workspace.Renew{
		Epoch: run.about.Epoch, Now: run.runner.Workspaces.Now(), Timeout: run.runner.Workspaces.LockFor(),
	})
	return err
}

// setStep sets the current step, "" between two.
func (run *Run) setStep(step string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.step = step
}

func (run *Run) lastStep() string {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.step
}

// isCommitted reports whether the point of no return has passed.
func (run *Run) isCommitted() bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.committed
}

// setCancel sets the function that stop calls.
func (run *Run) setCancel(cancel context.CancelCauseFunc) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.cancel = cancel; run.stopped != nil {
		cancel(run.stopped)
	}
}

// stop cancels the work of the run with a cause.
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

// detachedTimeout is the timeout for recording an end.
const detachedTimeout = 15 * time.Second

// detached returns a context for records that must be written although ctx may have ended.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
}

// execute runs the work of an operation until it ends, loses its lease, is stopped or times out, and
// records how it ended.
func (r *Runner) execute(leaseCtx context.Context, run *Run, work Work) {
	stoppable, cancel := context.WithCancelCause(leaseCtx)
	run.setCancel(cancel)
	ctx, done := context.WithTimeoutCause(stoppable, r.timeout(run.about.Kind), timedOut())
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx, run) })
	result, err := r.runWork(ctx, run, work)
	cause := context.Cause(ctx)
	done()
	cancel(nil)
	watching.Wait()
	if err := r.finish(leaseCtx, run, result, run.endError(cause, err)); err != nil {
		r.log(run).WarnContext(leaseCtx, "how an operation ended was not recorded: it is left to be taken over", "err", err)
	}
}

// watch stops a run that was cancelled on another node, or taken over.
func (r *Runner) watch(ctx context.Context, run *Run) {
	commands.Every(ctx, cmp.Or(r.PollInterval, 2*time.Second), func() {
		now, err := r.Get(ctx, run.about.WorkspaceID, run.about.ID)
		switch {
		case err != nil: // it is tried again
		case now.Epoch != run.about.Epoch:
			run.stop(workspace.LockLost())
		case now.CancelRequested:
			run.stop(Cancelled())
		}
	})
}

// runWork runs a work and turns a panic into an error.
func (r *Runner) runWork(ctx context.Context, run *Run, work Work) (result any, err error) {
	defer commands.Recover(func(p *commands.PanicError) {
		r.log(run).ErrorContext(ctx, "an operation panicked", "err", p)
		err = fmt.Errorf("panic: %v", p.Cause)
	})
	return work(ctx, run)
}

// endError returns how a run ended, given the cause of its context and the error of its work. Before
// the point of no return, a stopped work ends with the cause, whatever its error; after it, the error
// counts.
func (run *Run) endError(cause, err error) error {
	refusal, isRefusal := errors.AsType[*domain.Error](err)
	why, known := errors.AsType[*domain.Error](cause)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnsettled) && cause != nil && !known:
		return ErrUnsettled // the node stops, or another one takes over
	case errors.Is(err, ErrUnsettled):
		return domain.Refuse(domain.CodeUnavailable, "it is not known whether the repository has taken the change").Reason("outcome_unknown")
	case errors.Is(err, ErrInterrupted):
		return interrupted()
	case isRefusal && (cause == nil || run.isCommitted() || final[reasonOf(refusal)]):
		return refusal
	case known:
		return why
	case cause != nil:
		return interrupted()
	}
	return err
}

// final are the reasons that count even when the run was stopped.
var final = map[string]bool{workspace.MergeConflict: true, "lock_lost": true}

func interrupted() *domain.Error {
	return domain.Refuse(domain.CodeUnavailable, "the operation was broken off: start it again").Reason("interrupted")
}

func timedOut() *domain.Error {
	return domain.Refuse(domain.CodeGatewayTimeout, "the operation took too long").Reason("operation_timeout")
}

// reasonOf returns the reason of a refusal.
func reasonOf(err error) string {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return ""
	}
	reason, _ := refusal.Details["reason"].(string)
	return reason
}

// finish records how an operation ended, and releases its lock. When that fails, the operation is
// left to be taken over.
func (r *Runner) finish(ctx context.Context, run *Run, result any, err error) error {
	if errors.Is(err, ErrUnsettled) {
		return err
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	end := operation.End{Epoch: run.about.Epoch, Now: r.now(), Status: operation.Succeeded}
	cause := "completed"
	if err != nil {
		end.Status, end.Failure, cause = statusOf(err), r.failure(ctx, run, err), "failed"
		err = run.report(ctx, operation.Progress{
			Step: operation.ErrorStep, State: operation.StepFailed, Message: end.Failure.Message, StartedAt: end.Now, Failure: end.Failure, FailedStep: run.lastStep(),
		})
	} else {
		end.Result, end.Apart, err = r.encodeResult(ctx, result)
	}
	if err == nil {
		_, err = commands.Execute(ctx, r.Engine, operation.Decider, run.stream(), operation.Command(end))
	}
	if end.Failure == nil && reasonOf(err) == "event_too_large" { // it would be for every heir
		return r.finish(ctx, run, nil, domain.Refuse(domain.CodeInternal, "the result is too large to be kept"))
	}
	if err != nil && domain.CodeOf(err) != domain.CodeConflict { // a conflict: somebody else ends it
		return err
	}
	if run.tookOver {
		cause = "recovered"
	}
	r.release(ctx, run, cause)
	return err
}

// statusOf returns the status of an operation that ended with an error.
func statusOf(err error) operation.Status {
	switch reasonOf(err) {
	case workspace.MergeConflict:
		return operation.Conflict
	case "cancelled":
		return operation.Cancelled
	}
	return operation.Failed
}

// failure returns an error for the event. An error that is not a refusal is logged for the operator.
func (r *Runner) failure(ctx context.Context, run *Run, err error) *operation.Failure {
	refusal, isRefusal := errors.AsType[*domain.Error](err)
	if !isRefusal {
		r.log(run).ErrorContext(ctx, "an operation failed", "err", err)
		refusal = domain.Refuse(domain.CodeInternal, "unexpected server error")
		if _, later := errors.AsType[*commands.Unavailable](err); later {
			refusal = domain.Refuse(domain.CodeUnavailable, "temporarily unavailable, try again later")
		}
	}
	return boundedFailure(refusal)
}

// Limits of the failure of an operation, so that it fits into its event.
const (
	maxMessage = 2 << 10
	maxDetails = 64 << 10
	maxListed  = 100
)

// boundedFailure returns a refusal for the event. Long lists are truncated; when it is still too
// large, only the reason is left.
func boundedFailure(refusal *domain.Error) *operation.Failure {
	f := operation.FailureOf(refusal)
	if len(f.Message) > maxMessage {
		f.Message = strings.ToValidUTF8(f.Message[:maxMessage], "") + "…"
	}
	if sizeOf(f.Details) <= maxDetails {
		return f
	}
	f.Details = map[string]any{"truncated": true}
	for key, value := range refusal.Details {
		if list := reflect.ValueOf(value); list.Kind() == reflect.Slice && list.Len() > maxListed {
			value = list.Slice(0, maxListed).Interface()
		}
		f.Details[key] = value
	}
	if sizeOf(f.Details) > maxDetails {
		f.Details = map[string]any{"truncated": true, "reason": refusal.Details["reason"]}
	}
	return f
}

func sizeOf(details map[string]any) int {
	body, err := json.Marshal(details)
	if err != nil {
		return math.MaxInt
	}
	return len(body)
}

// maxResult is the largest result that is part of an event.
const maxResult = 256 << 10

// encodeResult returns a result for the event; a large one is stored as a blob.
func (r *Runner) encodeResult(ctx context.Context, result any) (body json.RawMessage, apart string, err error) {
	if body, err = json.Marshal(result); err != nil || len(body) <= maxResult {
		return body, "", err
	}
	apart, err = r.Blobs.Put(ctx, body)
	return nil, apart, err
}

// release releases the lock, unless it is of another operation now, or of a conflict.
func (r *Runner) release(ctx context.Context, run *Run, cause string) {
	if run.about.Under {
		return
	}
	_, err := r.Workspaces.Execute(ctx, run.about.WorkspaceID, workspace.Release{Epoch: run.about.Epoch, Cause: cause})
	if code := domain.CodeOf(err); err != nil && code != domain.CodeConflict && code != domain.CodeNotFound {
		r.log(run).WarnContext(ctx, "a lock was not released: it is left to be taken over", "err", err)
	}
}
