package schedules

import (
	"context"
	"errors"
	"time"

	"svc/commands/runtime"
)

// farewell is how long a node that gives its share up lets trees come to their end
// first: whoever takes it over begins those again that did not.
const farewell = 5 * time.Second

// follow runs a tree, and begins it again when it breaks off because of the platform.
// It reports whether it is over, or stands where any node goes on with it.
func (s *share) follow(ctx context.Context, start runtime.Start) (over bool) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return false
	}
	for {
		run := s.Runtime.Launch(start)
		if !run.Settled(ctx, farewell) {
			return false
		}
		select {
		case <-run.Done():
		default:
			return true // any node goes on with it
		}
		if _, err := run.Outcome(); err == nil {
			return true
		} else if errors.Is(err, runtime.ErrClosing) {
			return false
		}
		rest(ctx)
		if ctx.Err() != nil {
			return false
		}
		start.Attempt++
		start.Interrupted, start.Facts = start.Attempt > s.MaxAttempts(), nil
	}
}
