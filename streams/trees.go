package streams

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"svc/commands"
	"svc/commands/runtime"
	"svc/eventstore"
)

// TreeRestarter starts trees again that were interrupted by a fault of the platform, until they have ended. The
// holder of a partition uses it. It does not start a tree again that ended, or that a live node runs. When the
// partition is lost, its next holder continues. All fields are required.
type TreeRestarter struct {
	Runtime *runtime.Runtime
	// LoadStatus returns the status of the tree that an event starts for an automation.
	LoadStatus func(ctx context.Context, workspaceID, correlationID, eventID, automation string) (TreeStatus, error)
	// Fresh waits until the read models contain what any node has written.
	Fresh func(context.Context) error
	// MaxAttempts is how often an interrupted tree is started.
	MaxAttempts func() int
	Log         *slog.Logger
}

// Tree is a tree that an event starts for an automation.
type Tree struct {
	WorkspaceID, CorrelationID, EventID, Automation string

	Transient bool            // its event is not on the log: nobody else can start it
	Run       *runtime.Handle // nil: it was started before, and its status is not known yet
	// Attempt is the number of the attempt that Run is.
	Attempt int
	// NewStart returns how the tree is started now; ok is false when there is nothing to start any more.
	NewStart func(context.Context) (start runtime.Start, ok bool, err error)
	// BackOff waits before the tree is started again after a fault. It fails when ctx ends.
	BackOff func(ctx context.Context, try int, why error) error

	lastError error // why it was interrupted here
}

// AwaitEnd waits until a tree has ended or is parked. A tree that was interrupted by the platform is started again.
// It reports whether the tree is done.
func (t TreeRestarter) AwaitEnd(ctx context.Context, b *Tree) (over bool) {
	if b.Run == nil && !t.restart(ctx, b) {
		return false
	}
	for try := 0; b.Run != nil; try++ {
		if !b.Run.WaitEndedOrParked(ctx, ShutdownGrace) {
			t.abandon(b)
			return false
		}
		if !b.Run.HasEnded() {
			return true // it is parked: any node resumes it
		}
		_, err := b.Run.Outcome()
		if err == nil {
			return true
		}
		b.Run, b.lastError = nil, err
		if errors.Is(err, runtime.ErrClosing) || b.BackOff(ctx, try, err) != nil || !t.restart(ctx, b) {
			return false
		}
	}
	return true
}

// restart starts a tree again that did not end, as soon as no live node runs it. It reports whether that is decided.
// A tree that ended meanwhile, or cannot be started any more, has no Run then.
func (t TreeRestarter) restart(ctx context.Context, b *Tree) (decided bool) {
	for ctx.Err() == nil {
		past, err := t.checkStatus(ctx, b)
		if err == nil && past.Done {
			return true
		}
		if err == nil && !past.Running {
			var start runtime.Start
			var ok bool
			if start, ok, err = b.NewStart(ctx); err == nil {
				if ok {
					t.startAttempt(b, start, past.Attempts)
				}
				return true
			}
		}
		if err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "the status of a tree could not be read", "workspace", b.WorkspaceID, "event", b.EventID, "automation", b.Automation, "err", err)
		}
		_ = commands.Sleep(ctx, minPause)
	}
	return false
}

// startAttempt starts a tree that was started so often before. An unavailable log does not count as an attempt.
func (t TreeRestarter) startAttempt(b *Tree, start runtime.Start, attempts int) {
	next := attempts + 1
	if b.lastError != nil && !errors.Is(b.lastError, eventstore.ErrUnavailable) {
		next = max(next, b.Attempt+1)
	}
	PrepareAttempt(&start, attempts, next, t.MaxAttempts())
	b.Attempt, b.Run = next, t.Runtime.Launch(start)
}

// PrepareAttempt prepares the next attempt of a tree, out of at most so many, after so many that are on the log. The
// start is recorded durably before the tree runs: a tree that crashes the process is not started for ever.
func PrepareAttempt(s *runtime.Start, begun, attempt, most int) {
	s.Attempt, s.Interrupted, s.Announce = attempt, attempt > most, true
	if begun > 0 {
		s.Facts = nil // they are on the log
	}
}

// checkStatus reads the status of a tree. One that was interrupted here runs nowhere.
func (t TreeRestarter) checkStatus(ctx context.Context, b *Tree) (TreeStatus, error) {
	if b.Transient {
		return TreeStatus{}, nil
	}
	return RecheckFresh(ctx, t.Fresh, func() (TreeStatus, error) {
		past, err := t.become(ctx, b)
		past.Running = past.Running && b.lastError == nil
		return past, err
	})
}

// become reads the status of a tree.
func (t TreeRestarter) become(ctx context.Context, b *Tree) (TreeStatus, error) {
	return t.LoadStatus(ctx, b.WorkspaceID, b.CorrelationID, b.EventID, b.Automation)
}

// ShutdownGrace is how long a node that loses a partition lets its trees end, and how long it may then take to
// interrupt one. The lease of a partition leaves time for both.
const ShutdownGrace = 2 * time.Second

// abandon interrupts a tree that is not on the log yet: the next holder of the partition starts it. For any other
// tree the next holder waits, and nobody starts a transient one again.
func (t TreeRestarter) abandon(b *Tree) {
	if b.Transient {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), ShutdownGrace)
	defer cancel()
	err := t.Fresh(ctx)
	if err == nil {
		var past TreeStatus
		if past, err = t.become(ctx, b); err == nil && (past.Done || past.Attempts >= b.Attempt) {
			return
		}
	}
	if !b.Run.BreakOff(ctx) {
		t.Log.WarnContext(ctx, "a tree continues although its partition was lost", "workspace", b.WorkspaceID, "event", b.EventID, "automation", b.Automation, "err", err)
	}
}

// The shortest and the longest wait between two attempts after a fault of ours.
const (
	minPause = time.Second
	maxPause = 30 * time.Second
)

// RetryPause is how long to wait after so many attempts.
func RetryPause(try int) time.Duration { return min(minPause<<min(try, 5), maxPause) }

// PauseAfterFault waits before a retry after a fault of ours, or until ctx ends.
func PauseAfterFault(ctx context.Context) { _ = commands.Sleep(ctx, RetryPause(0)) }

// TreeStatus is the status of a tree that may have been started before.
type TreeStatus struct {
	Attempts int  // how often it was started
	Done     bool // it ended, or stands where it is parked: any node resumes it
	Running  bool // a live node may still run it
}

// RecheckFresh reads the status of a tree, and once more with fresh read models if it seems to be interrupted: a node
// that is gone may have ended it before.
func RecheckFresh(ctx context.Context, fresh func(context.Context) error, ask func() (TreeStatus, error)) (TreeStatus, error) {
	past, err := ask()
	if err != nil || past.Done || past.Running {
		return past, err
	}
	if err := fresh(ctx); err != nil {
		return past, err
	}
	return ask()
}
