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

// Trees begins trees again that broke off because of the platform, until they have ended.
// It is for whoever looks after a share: one that ended is not begun again, nor one that a
// node runs that is there, and one that is given up is left to whoever takes the share
// over. All fields are required.
type Trees struct {
	Runtime *runtime.Runtime
	// Begun tells what became of the tree that an event starts for an automation.
	Begun func(ctx context.Context, workspaceID, correlationID, eventID, automation string) (Past, error)
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
	// MaxAttempts is how often a tree is begun that is interrupted.
	MaxAttempts func() int
	Log         *slog.Logger
}

// Tree is one that an event starts for an automation.
type Tree struct {
	WorkspaceID, CorrelationID, EventID, Automation string

	Unkept bool            // its event is not on the log: nobody else comes to begin it
	Run    *runtime.Handle // nil: it was begun before, and what became of it is not known yet
	// Attempt is the one that Run is.
	Attempt int
	// Make returns the tree as it is to be begun now; ok is false when there is nothing to
	// begin any more.
	Make func(context.Context) (start runtime.Start, ok bool, err error)
	// Linger waits before it is begun again after a fault. It fails when ctx ends.
	Linger func(ctx context.Context, try int, why error) error

	broke error // why it broke off here
}

// See waits until a tree has ended, or stands where it goes on after a restart. One that
// broke off because of the platform is begun again. It reports whether it is over.
func (t Trees) See(ctx context.Context, b *Tree) (over bool) {
	if b.Run == nil && !t.again(ctx, b) {
		return false
	}
	for try := 0; b.Run != nil; try++ {
		if !b.Run.WaitEndedOrParked(ctx, Farewell) {
			t.giveUp(b)
			return false
		}
		if !b.Run.HasEnded() {
			return true // any node goes on with it
		}
		_, err := b.Run.Outcome()
		if err == nil {
			return true
		}
		b.Run, b.broke = nil, err
		if errors.Is(err, runtime.ErrClosing) || b.Linger(ctx, try, err) != nil || !t.again(ctx, b) {
			return false
		}
	}
	return true
}

// again begins a tree once more that was begun before and did not end, as soon as no node
// that is there runs it. It reports whether that is decided; one that ended meanwhile, or
// that there is nothing left of, is left without a run.
func (t Trees) again(ctx context.Context, b *Tree) (decided bool) {
	for ctx.Err() == nil {
		past, err := t.past(ctx, b)
		if err == nil && past.Over {
			return true
		}
		if err == nil && !past.Running {
			var start runtime.Start
			var ok bool
			if start, ok, err = b.Make(ctx); err == nil {
				if ok {
					t.begin(b, start, past.Attempts)
				}
				return true
			}
		}
		if err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "what became of a tree could not be found out", "workspace", b.WorkspaceID, "event", b.EventID, "automation", b.Automation, "err", err)
		}
		_ = commands.Sleep(ctx, pause)
	}
	return false
}

// begin begins a tree that was begun so often. A log that takes nothing is no fault of the
// tree.
func (t Trees) begin(b *Tree, start runtime.Start, attempts int) {
	next := attempts + 1
	if b.broke != nil && !errors.Is(b.broke, eventstore.ErrUnavailable) {
		next = max(next, b.Attempt+1)
	}
	Prepare(&start, attempts, next, t.MaxAttempts())
	b.Attempt, b.Run = next, t.Runtime.Launch(start)
}

// Prepare makes a tree ready for an attempt, of so many that there may be, that is known to
// have begun so often. That it begins is on disk before it does: one that ends the process
// at once is begun so often too, and not for ever.
func Prepare(s *runtime.Start, begun, attempt, most int) {
	s.Attempt, s.Interrupted, s.Announce = attempt, attempt > most, true
	if begun > 0 {
		s.Facts = nil // they are on the log
	}
}

// past finds out what became of a tree. One that broke off here runs nowhere.
func (t Trees) past(ctx context.Context, b *Tree) (Past, error) {
	if b.Unkept {
		return Past{}, nil
	}
	return Surely(ctx, t.Fresh, func() (Past, error) {
		past, err := t.become(ctx, b)
		past.Running = past.Running && b.broke == nil
		return past, err
	})
}

// become asks what became of a tree.
func (t Trees) become(ctx context.Context, b *Tree) (Past, error) {
	return t.Begun(ctx, b.WorkspaceID, b.CorrelationID, b.EventID, b.Automation)
}

// Farewell is how long a node that gives its share up lets trees come to their end first,
// and how long it takes at most to break one off then: the lease of a share leaves time
// for both.
const Farewell = 2 * time.Second

// giveUp breaks a tree off that the log knows nothing of yet: whoever takes the share over
// begins it as if it never had been. For another one they wait, and one whose event is not
// kept nobody begins again.
func (t Trees) giveUp(b *Tree) {
	if b.Unkept {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), Farewell)
	defer cancel()
	err := t.Fresh(ctx)
	if err == nil {
		var past Past
		if past, err = t.become(ctx, b); err == nil && (past.Over || past.Attempts >= b.Attempt) {
			return
		}
	}
	if !b.Run.BreakOff(ctx) {
		t.Log.WarnContext(ctx, "a tree goes on although its share was given up", "workspace", b.WorkspaceID, "event", b.EventID, "automation", b.Automation, "err", err)
	}
}

// pause is the wait before something is tried again after a fault of ours, and longPause
// the longest one when that happens over and over.
const (
	pause     = time.Second
	longPause = 30 * time.Second
)

// Pause is how long to wait before something is tried again that was tried so often
// before.
func Pause(try int) time.Duration { return min(pause<<min(try, 5), longPause) }

// Past is what became of a tree that may have been begun before.
type Past struct {
	Attempts int  // how often it was begun
	Over     bool // it ended, or stands where any node goes on with it
	Running  bool // a node that is there may still run it
}

// Surely asks what became of a tree, and once more when everything is known that any node
// wrote: one that is not there any more may have ended it before it went.
func Surely(ctx context.Context, fresh func(context.Context) error, ask func() (Past, error)) (Past, error) {
	past, err := ask()
	if err != nil || past.Over || past.Running {
		return past, err
	}
	if err := fresh(ctx); err != nil {
		return past, err
	}
	return ask()
}
