package commands

import (
	"context"
	"time"
)

// Sleep returns after d, or fails with its cause when ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Backoff waits after the given number of attempts at a write that another node was faster
// with, up to a second. In a cluster a read may come from a replica that does not have the
// other node's write yet: without a pause all attempts would fail on the same old value.
func Backoff(ctx context.Context, attempts int) error {
	return Sleep(ctx, min(time.Millisecond<<min(attempts, 10), time.Second))
}
