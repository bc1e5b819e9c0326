package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
)

// ErrorRecorder keeps the errors of callers in the workspace where they met
// them.
type ErrorRecorder interface {
	// RecordFailure records err. ctx carries the request's correlation and
	// caller, and outlives the request.
	RecordFailure(ctx context.Context, workspaceID string, err *domain.Error)
}

const (
	failureWorkers = 2
	failureQueue   = 256
	failureWait    = 10 * time.Second
)

// failures records errors after their answers are decided. When more arrive
// than can be recorded the surplus is logged and dropped: a storm of errors
// must not take the service down with it.
type failures struct {
	recorder ErrorRecorder
	log      *slog.Logger
	queue    chan failed
	workers  sync.WaitGroup

	mu     sync.RWMutex
	closed bool
}

type failed struct {
	ctx         context.Context
	workspaceID string
	err         *domain.Error
}

func newFailures(recorder ErrorRecorder, log *slog.Logger) *failures {
	f := &failures{recorder: recorder, log: log, queue: make(chan failed, failureQueue)}
	if recorder != nil {
		for range failureWorkers {
			f.workers.Go(f.work)
		}
	}
	return f
}

func (f *failures) work() {
	for item := range f.queue {
		f.record(item)
	}
}

func (f *failures) record(item failed) {
	ctx, cancel := context.WithTimeout(item.ctx, failureWait)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			f.log.ErrorContext(ctx, "error recorder panicked", "panic", value)
		}
	}()
	f.recorder.RecordFailure(ctx, item.workspaceID, item.err)
}

// add queues an error unless the contract leaves it out.
func (f *failures) add(r *http.Request, ex *exchange, status int, err *domain.Error) {
	if f.recorder == nil || !ex.grant.InWorkspace || !isRecorded(status) {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return
	}
	// A request of its own: the handler may go on, and the ids that it draws are those of
	// its repetition.
	ctx := commands.WithRequest(context.WithoutCancel(r.Context()), &commands.Request{Meta: ex.command.Meta, Address: ex.command.Address})
	select {
	case f.queue <- failed{ctx, ex.workspaceID(), err}:
	default:
		f.log.WarnContext(r.Context(), "error not recorded: queue full", "correlationId", ex.id, "code", err.Code)
	}
}

func isRecorded(status int) bool {
	return status != http.StatusUnauthorized && status != http.StatusNotFound && status != http.StatusTooManyRequests
}

// close records what is queued and waits for the workers.
func (f *failures) close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.queue)
	}
	f.mu.Unlock()
	f.workers.Wait()
}
