package runtime

import (
	"context"
	"errors"
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
	startCtx       context.Context // ends when the run is cancelled before it began
	cancelStart    context.CancelCauseFunc
}

func newLifetime(core *runCore) lifetime {
	l := lifetime{runCore: core, activeSince: core.rt.Now(), cancelRequests: make(chan *automation.Error, 1)}
	l.startCtx, l.cancelStart = context.WithCancelCause(core.ctx)
	return l
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
		l.cancelStart(err)
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
