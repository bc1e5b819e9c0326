package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// carryOut runs a work for as long as the lease is held, nobody stops it and its
// time is not up, and records how it ended.
func (r *Runner) carryOut(held context.Context, run *Run, work Work) {
	stoppable, cancel := context.WithCancelCause(held)
	run.heed(cancel)
	ctx, done := context.WithTimeoutCause(stoppable, r.timeout(run.about.Kind), timedOut())
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx, run) })
	result, err := r.attempt(ctx, run, work)
	cause := context.Cause(ctx)
	done()
	cancel(nil)
	watching.Wait()
	if err := r.finish(held, run, result, run.verdict(cause, err)); err != nil {
		r.log(run).WarnContext(held, "how an operation ended was not recorded: it is left to be taken over", "err", err)
	}
}

// watch stops a run that another node was asked to cancel, or goes on with.
func (r *Runner) watch(ctx context.Context, run *Run) {
	tick := time.NewTicker(cmp.Or(r.Look, 2*time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := r.Get(ctx, run.about.WorkspaceID, run.about.ID)
		switch {
		case err != nil: // the next look may tell
		case now.Epoch != run.about.Epoch:
			run.stop(workspace.LockLost())
		case now.CancelRequested:
			run.stop(Cancelled())
		}
	}
}

// attempt runs a work and turns a panic into an error.
func (r *Runner) attempt(ctx context.Context, run *Run, work Work) (result any, err error) {
	defer commands.Recover(func(fell *commands.PanicError) {
		r.log(run).ErrorContext(ctx, "an operation fell over", "err", fell)
		err = fmt.Errorf("panic: %v", fell.Cause)
	})
	return work(ctx, run)
}

// verdict is how a run ended, given why its context ended and what its work
// returned. Before the point of no return a work that was stopped ended for that
// reason, whatever it met on the way; after it the work has the word.
func (run *Run) verdict(cause, err error) error {
	refusal, told := errors.AsType[*domain.Error](err)
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
	case told && (cause == nil || run.beyond() || final[reasonOf(refusal)]):
		return refusal
	case known:
		return why
	case cause != nil:
		return interrupted()
	}
	return err
}

// final are the reasons of what has happened, whether or not the run was stopped.
var final = map[string]bool{workspace.MergeConflict: true, "lock_lost": true}

func interrupted() *domain.Error {
	return domain.Refuse(domain.CodeUnavailable, "the operation was broken off: start it again").Reason("interrupted")
}

func timedOut() *domain.Error {
	return domain.Refuse(domain.CodeGatewayTimeout, "the operation took too long").Reason("operation_timeout")
}

// reasonOf is the stable sub-code of a refusal.
func reasonOf(err error) string {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return ""
	}
	reason, _ := refusal.Details["reason"].(string)
	return reason
}

// finish records how an operation ended, and gives its lock back. What cannot be
// recorded is left to whoever takes the operation over.
func (r *Runner) finish(ctx context.Context, run *Run, result any, err error) error {
	if errors.Is(err, ErrUnsettled) {
		return err
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	end := operation.End{Epoch: run.about.Epoch, Now: r.now(), Status: operation.Succeeded}
	cause := "completed"
	if err != nil {
		end.Status, end.Failure, cause = statusOf(err), r.failure(ctx, run, err), "failed"
		err = run.report(ctx, operation.Progress{
			Step: operation.ErrorStep, State: operation.StepFailed, Message: end.Failure.Message, StartedAt: end.Now, Failure: end.Failure, FailedStep: run.lastStep(),
		})
	} else {
		end.Result, end.Apart, err = r.kept(ctx, result)
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
	if run.heir {
		cause = "recovered"
	}
	r.release(ctx, run, cause)
	return err
}

// statusOf is how an operation ended that was refused.
func statusOf(err error) operation.Status {
	switch reasonOf(err) {
	case workspace.MergeConflict:
		return operation.Conflict
	case "cancelled":
		return operation.Cancelled
	}
	return operation.Failed
}

// failure is what is told of an error. What is no refusal is the operator's.
func (r *Runner) failure(ctx context.Context, run *Run, err error) *operation.Failure {
	refusal, told := errors.AsType[*domain.Error](err)
	if !told {
		r.log(run).ErrorContext(ctx, "an operation failed", "err", err)
		refusal = domain.Refuse(domain.CodeInternal, "unexpected server error")
		if _, later := errors.AsType[*commands.Unavailable](err); later {
			refusal = domain.Refuse(domain.CodeUnavailable, "temporarily unavailable, try again later")
		}
	}
	return bounded(refusal)
}

// What the failure of an operation may say, so that it fits into its event.
const (
	maxMessage = 2 << 10
	maxDetails = 64 << 10
	maxListed  = 100
)

// bounded returns a refusal as it is recorded. Of long lists some are told; when
// that is still too much, the reason is.
func bounded(refusal *domain.Error) *operation.Failure {
	f := operation.FailureOf(refusal)
	if len(f.Message) > maxMessage {
		f.Message = strings.ToValidUTF8(f.Message[:maxMessage], "") + "…"
	}
	if weighs(f.Details) <= maxDetails {
		return f
	}
	f.Details = map[string]any{"truncated": true}
	for key, value := range refusal.Details {
		if list := reflect.ValueOf(value); list.Kind() == reflect.Slice && list.Len() > maxListed {
			value = list.Slice(0, maxListed).Interface()
		}
		f.Details[key] = value
	}
	if weighs(f.Details) > maxDetails {
		f.Details = map[string]any{"truncated": true, "reason": refusal.Details["reason"]}
	}
	return f
}

func weighs(details map[string]any) int {
	body, err := json.Marshal(details)
	if err != nil {
		return math.MaxInt
	}
	return len(body)
}

// maxResult is how large a result may be to be part of an event.
const maxResult = 256 << 10

// kept returns a result as the record of its operation keeps it.
func (r *Runner) kept(ctx context.Context, result any) (body json.RawMessage, apart string, err error) {
	if body, err = json.Marshal(result); err != nil || len(body) <= maxResult {
		return body, "", err
	}
	apart, err = r.Blobs.Put(ctx, body)
	return nil, apart, err
}

// release gives the lock back, unless it is somebody else's by now, or that of a
// conflict.
func (r *Runner) release(ctx context.Context, run *Run, cause string) {
	if run.about.Under {
		return
	}
	_, err := r.Workspaces.Execute(ctx, run.about.WorkspaceID, workspace.Release{Epoch: run.about.Epoch, Cause: cause})
	if code := domain.CodeOf(err); err != nil && code != domain.CodeConflict && code != domain.CodeNotFound {
		r.log(run).WarnContext(ctx, "a lock was not released: it is left to be taken over", "err", err)
	}
}
