package streams

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"svc/commands"
)

// KeyMaintainer is what Rotation drives: a *signing.Keys.
type KeyMaintainer interface {
	// Maintain does what is due and returns when something is due next.
	Maintain(context.Context) (next time.Time, err error)
}

// Rotation rotates the signing keys and deletes expired ones, on one of all nodes.
type Rotation struct {
	Keys  KeyMaintainer
	Lease Lease
	Pause time.Duration    // the shortest wait between two checks; default one minute
	Now   func() time.Time // default time.Now
	Log   *slog.Logger     // default slog.Default
}

// maxRotationPause is the longest wait: requests change what is due, and clocks are adjusted.
const maxRotationPause = time.Hour

// Run works until ctx ends. It never fails: errors are logged and retried.
func (r Rotation) Run(ctx context.Context) error {
	r.Pause = cmp.Or(r.Pause, time.Minute)
	r.Log = cmp.Or(r.Log, slog.Default())
	if r.Now == nil {
		r.Now = time.Now
	}
	return r.Lease.Hold(ctx, r.rotateLoop)
}

func (r Rotation) rotateLoop(ctx context.Context) error {
	for {
		pause := r.Pause
		next, err := r.Keys.Maintain(ctx)
		switch {
		case err == nil:
			pause = min(max(pause, next.Sub(r.Now())), max(maxRotationPause, pause))
		case ctx.Err() == nil:
			r.Log.ErrorContext(ctx, "the signing keys were not looked after", "err", err)
		}
		if err := commands.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
