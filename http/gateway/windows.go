package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Limiter counts for all nodes together.
type Limiter interface {
	// Add adds n to the counter at key and returns its new total. A counter may
	// be forgotten once window has passed since its first Add. Keys hold only
	// letters, digits, slashes and dashes, and differ from window to window.
	Add(ctx context.Context, key string, window time.Duration, n int64) (total int64, err error)
}

const (
	settleAfter = 250 * time.Millisecond // a first use that nobody has heard of
	settleWait  = 2 * time.Second        // bound on one call of the Limiter
	maxWindows  = 200_000                // counters kept on this node at once
)

// windows counts uses in fixed windows. Limits fail open: a store that does
// not answer must not close the service.
type windows struct {
	shared Limiter // nil: this node counts alone
	now    func() time.Time
	log    *slog.Logger

	unshared chan struct{} // holds one when there is something to settle

	mu     sync.Mutex
	counts map[string]*count
}

// count is one busy window on this node.
type count struct {
	reset   time.Time
	settled int64 // the shared total, as of the last settlement
	pending int64 // used here since
}

func newWindows(shared Limiter, now func() time.Time, log *slog.Logger) *windows {
	return &windows{shared: shared, now: now, log: log, unshared: make(chan struct{}, 1), counts: map[string]*count{}}
}

// take counts one use of class by subject, notes it in ex, and refuses it when
// the limit is exceeded.
func (w *windows) take(ctx context.Context, ex *exchange, class RateClass, subject string) error {
	return w.takeTimes(ctx, ex, class, subject, 1)
}

// takeTimes is take for somebody who may do so many times as much.
func (w *windows) takeTimes(ctx context.Context, ex *exchange, class RateClass, subject string, times int64) error {
	limit := findClass(class)
	if limit == nil || ex.settings.DisableRateLimit || ex.unlimited() {
		return nil
	}
	most, set := ex.settings.RateLimits[class]
	if !set {
		most = limit.PerMinute
	}
	if most <= 0 {
		return nil
	}
	most *= times
	now := w.now()
	start := now.Truncate(ratePeriod)
	state := &rateState{limit: *limit, max: most, reset: start.Add(ratePeriod)}
	key := fmt.Sprintf("%s/%s/%d", class, digest(subject), start.Unix())
	state.used = w.add(ctx, *limit, key, state.reset)
	ex.tighten(state)
	if state.used > most {
		return state.refusal(now)
	}
	return nil
}

// digest makes any subject safe as a part of a key, and unreadable.
func digest(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return hex.EncodeToString(sum[:16])
}

// add counts one use and returns the total so far.
func (w *windows) add(ctx context.Context, limit RateLimit, key string, reset time.Time) int64 {
	if limit.Exact && w.shared != nil {
		total, err := w.ask(ctx, key, 1)
		if err != nil {
			w.log.WarnContext(ctx, "rate limit not counted", "limit", limit.Name, "err", err)
		}
		return total
	}
	defer w.askToSettle()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.counts[key]
	if c == nil {
		if len(w.counts) >= maxWindows {
			return 0
		}
		c = &count{reset: reset}
		w.counts[key] = c
	}
	c.pending++
	return c.settled + c.pending
}

func (w *windows) ask(ctx context.Context, key string, n int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	return w.shared.Add(ctx, key, ratePeriod, n)
}

// run settles the busy counters until ctx ends. It sleeps while nobody counts.
func (w *windows) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.unshared:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleAfter):
			w.settle(ctx)
		}
	}
}

func (w *windows) askToSettle() {
	select {
	case w.unshared <- struct{}{}:
	default: // asked already
	}
}

// settle shares what was counted here and forgets windows that have passed.
// What could not be shared is tried again.
func (w *windows) settle(ctx context.Context) {
	for key, n := range w.unsettled() {
		total, err := w.ask(ctx, key, n)
		if err != nil {
			w.log.WarnContext(ctx, "rate limits not settled", "err", err)
			w.askToSettle()
			return
		}
		w.mu.Lock()
		if c := w.counts[key]; c != nil {
			c.settled, c.pending = total, c.pending-n
		}
		w.mu.Unlock()
	}
}

// unsettled forgets windows that have passed and returns what is to be shared.
func (w *windows) unsettled() map[string]int64 {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.counts, func(_ string, c *count) bool { return !now.Before(c.reset) })
	pending := map[string]int64{}
	for key, c := range w.counts {
		if w.shared != nil && c.pending > 0 {
			pending[key] = c.pending
		}
	}
	return pending
}
