package streams

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"svc/commands"
)

// Upkeeper is what Rotation drives: a *signing.Keys.
type Upkeeper interface {
	// Upkeep does what is due and returns when there is something to do next.
	Upkeep(context.Context) (next time.Time, err error)
}

// Rotation rotates the signing keys in time and drops those whose time is over,
// on one of all nodes.
type Rotation struct {
	Keys  Upkeeper
	Lease Lease
	Pause time.Duration    // the shortest wait between two looks; default one minute
	Now   func() time.Time // default time.Now
	Log   *slog.Logger     // default slog.Default
}

// longestPause is the longest wait: what is due may change through requests, and
// clocks are set.
const longestPause = time.Hour

// Run does its work until ctx ends. It has nothing to fail with: what could not be
// done is logged and tried again.
func (r Rotation) Run(ctx context.Context) error {
	r.Pause = cmp.Or(r.Pause, time.Minute)
	r.Log = cmp.Or(r.Log, slog.Default())
	if r.Now == nil {
		r.Now = time.Now
	}
	return r.Lease.Hold(ctx, r.tend)
}

func (r Rotation) tend(ctx context.Context) error {
	for {
		pause := r.Pause
		next, err := r.Keys.Upkeep(ctx)
		switch {
		case err == nil:
			pause = min(max(pause, next.Sub(r.Now())), max(longestPause, pause))
		case ctx.Err() == nil:
			r.Log.ErrorContext(ctx, "the signing keys were not looked after", "err", err)
		}
		if err := commands.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
