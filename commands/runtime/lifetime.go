package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/eventstore"
)

// lifetime decides when a run ends other than by itself: it was active for too long, it was
// cancelled, or the platform cannot continue it.
type lifetime struct {
	*runCore
	activeTime   time.Duration
	activeSince  time.Time // until when activeTime is counted
	stopReason   *automation.Error
	stopDeadline time.Time // when a stopped run ends without its finally blocks
	fault        error     // of the platform: the run breaks off at the end of its turn

	cancelRequests chan *automation.Error

	startMu     sync.Mutex
	cancelled   error                   // why the run is to stop; nil: nobody has cancelled it
	cancelStart context.CancelCauseFunc // of startContext; nil: the run does not wait for its start
}

func newLifetime(core *runCore) lifetime {
	return lifetime{runCore: core, activeSince: core.rt.Now(), cancelRequests: make(chan *automation.Error, 1)}
}

// startContext returns a context for what the run waits for before it begins: it ends when the run is cancelled. The
// caller calls begun at the end.
func (l *lifetime) startContext() (ctx context.Context, begun func()) {
	l.startMu.Lock()
	defer l.startMu.Unlock()
	ctx, cancel := context.WithCancelCause(l.ctx)
	if l.cancelStart = cancel; l.cancelled != nil {
		cancel(l.cancelled)
	}
	return ctx, func() { cancel(nil) }
}

// endedBeforeStart returns why the run ended or was cancelled before it began; nil when it was not.
func (l *lifetime) endedBeforeStart() error {
	l.startMu.Lock()
	defer l.startMu.Unlock()
	if l.cancelled != nil {
		return l.cancelled
	}
	return context.Cause(l.ctx)
}

// breakOff breaks the run off at the end of its turn because of a platform error. Nil has no
// effect.
func (l *lifetime) breakOff(err error) {
	if l.fault == nil {
		l.fault = err
	}
}

// breakOffIfInDoubt breaks the run off when it is unknown whether an effect happened, or the
// node stops: no automation can handle that, and repeating the effect would do it twice. It
// returns the answer unchanged.
func (l *lifetime) breakOffIfInDoubt(a machine.Answer) machine.Answer {
	if errors.Is(a.Err, eventstore.ErrUnavailable) || errors.Is(a.Err, ErrClosing) {
		l.breakOff(a.Err)
	}
	return a
}

// cancel asks the run to stop. It returns false when that was asked before.
func (l *lifetime) cancel() bool {
	err := automation.Raise(automation.ExecutionCancelled, "the run was cancelled")
	select {
	case l.cancelRequests <- err:
		l.startMu.Lock()
		defer l.startMu.Unlock()
		if l.cancelled = err; l.cancelStart != nil {
			l.cancelStart(err)
		}
		return true
	default:
		return false
	}
}

// checkCancelled cancels a run that was started before when it has been cancelled since: no
// node could receive that while none ran it.
func (l *lifetime) checkCancelled(began time.Time) error {
	if l.rt.Cancelled == nil {
		return nil
	}
	cancelled, err := l.rt.Cancelled(l.ctx, l.workspaceID(), l.start.CorrelationID, began)
	if err == nil && cancelled {
		l.cancel()
	}
	return err
}

func (l *lifetime) isDue(at time.Time) bool { return !at.IsZero() && !l.rt.Now().Before(at) }

// countActive adds the time since the last call to the active time, unless the run only
// waited.
func (l *lifetime) countActive(onlyWaits bool) {
	now := l.rt.Now()
	if !onlyWaits {
		l.activeTime += now.Sub(l.activeSince)
	}
	l.activeSince = now
}

// untilTimeout returns how long the run may wait for an answer.
func (l *lifetime) untilTimeout(onlyWaits bool) time.Duration {
	wait := time.Hour
	if !onlyWaits {
		wait = min(wait, l.settings.MaxActive-l.activeTime)
	}
	if !l.stopDeadline.IsZero() {
		wait = min(wait, l.stopDeadline.Sub(l.rt.Now()))
	}
	return wait
}
