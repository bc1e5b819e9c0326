// Package ratelimit is the rateLimit instruction: so much may be used in each
// window of time, by all nodes together.
//
// Windows are fixed and begin at multiples of their length from the epoch on. A
// use is counted before it is admitted, and counted back when it was too much. So
// the counter is never below what was admitted, and what was admitted never above
// the limit, whatever happens between the two: a node that dies there leaves a
// counter that admits less until its window is over.
package ratelimit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"svc/domain/automation"
	"svc/domain/value"
)

// Counter counts for all nodes together. It is a *jetstream.Counters.
type Counter interface {
	// AddDurable adds n to the counter at key in the current window of that length, and
	// returns its total, which no restart takes back. Windows begin at multiples of
	// their length from the epoch on, by the same clock as Limiter.Now.
	AddDurable(ctx context.Context, key string, window time.Duration, n int64) (total int64, err error)
}

const (
	counterWait = 2 * time.Second // bound on one question to the counter
	attempts    = 3               // at a window that ended meanwhile, or a use that another's retreat made possible
)

// Limiter admits uses.
type Limiter struct {
	Counter Counter          // required
	Now     func() time.Time // required
	Log     *slog.Logger     // required
	Most    int              // counters of a workspace whose windows are not over, of this node; default 100,000

	live live
}

// Scope is whose limits they are.
type Scope struct{ WorkspaceID, Instance string }

// Consume uses a limit and returns the result of the instruction. A use that is too
// much consumes nothing; with Break it is a RateLimitExceededError. When the
// counter does not answer, the use is admitted: what it protects must not depend
// on it. One more counter than a workspace may have is refused.
func (l *Limiter) Consume(ctx context.Context, scope Scope, use Use) (*value.Object, error) {
	used, ok, err := l.count(ctx, scope, use)
	if many, is := errors.AsType[*automation.Error](err); is {
		return nil, many
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l.Log.WarnContext(ctx, "rate limit not counted", "workspace", scope.WorkspaceID, "limit", use.Name, "err", err)
		used, ok = use.Consume, true
	}
	result := use.result(used, ok, l.Now())
	if !ok && use.Break {
		return result, &automation.Error{
			Name: automation.RateLimitExceeded, Message: fmt.Sprintf("rate limit %s exceeded", use.Name), Details: result,
		}
	}
	return result, nil
}

// count counts a use, and returns how much is used and whether it was admitted.
func (l *Limiter) count(ctx context.Context, scope Scope, use Use) (used int64, ok bool, err error) {
	for range attempts {
		now := l.Now()
		slot := use.slot(now)
		c := counting{l, scope.key(use) + "-" + strconv.FormatInt(slot, 36), use}
		if most := cmp.Or(l.Most, mostLive); !l.live.admit(scope.WorkspaceID, c.key, use, now, most) {
			return 0, false, automation.Raise(automation.InvalidInstruction, "the workspace has too many limits and consumers in use at the same time", "limit", float64(most))
		}
		used, ok, err = c.try(ctx)
		if err != nil {
			return used, ok, err
		}
		// A window that ended meanwhile says nothing: the answer may be that of a
		// counter that nobody else asks.
		over := use.slot(l.Now()) != slot
		if !over && (ok || use.exceeded(used+use.Consume)) {
			return used, ok, nil
		}
		if over {
			ok = false
		}
	}
	return used, ok, nil
}

// counting is one use in one window.
type counting struct {
	*Limiter
	key string // names the window, so that what is counted back late is not missing in the next one
	use Use
}

// try counts the use and admits it, or counts it back.
func (c counting) try(ctx context.Context) (used int64, ok bool, err error) {
	n := c.use.Consume
	if n != 1 {
		// To look first keeps what cannot be admitted from getting into the way of
		// others. A use of one cannot: if it is too much, so is any other.
		if used, err = c.add(ctx, 0); err != nil || n == 0 || c.use.exceeded(used+n) {
			return used, err == nil && !c.use.exceeded(used+n), err
		}
	}
	if used, err = c.add(ctx, n); err != nil || !c.use.exceeded(used) {
		return used, err == nil, err
	}
	// Whoever asked may be gone: what was too much must still go.
	back, err := c.add(context.WithoutCancel(ctx), -n)
	if err != nil {
		c.Log.WarnContext(ctx, "rate limit not counted back", "limit", c.use.Name, "err", err)
		back = used - n
	}
	return back, false, nil
}

func (c counting) add(ctx context.Context, n int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, counterWait)
	defer cancel()
	return c.Counter.AddDurable(ctx, c.key, c.use.Window, n)
}

// key names the counter of a use: anything may be in names and consumers, so it is
// a digest.
func (s Scope) key(use Use) string {
	sum := sha256.Sum256([]byte(value.JSON([]any{s.WorkspaceID, s.Instance, use.Name, use.Consumer}, "")))
	return "use-" + hex.EncodeToString(sum[:16])
}

func (u Use) slot(now time.Time) int64 { return now.UnixNano() / int64(u.Window) }

// result is what the instruction returns.
func (u Use) result(used int64, ok bool, now time.Time) *value.Object {
	retryAfter := 0.0
	if !ok {
		end := (u.slot(now) + 1) * int64(u.Window)
		retryAfter = max(math.Ceil(time.Duration(end-now.UnixNano()).Seconds()), 1)
	}
	return value.NewObject(
		"ok", ok, "retryAfter", retryAfter, "remaining", max(math.Floor(u.Limit)-float64(used), 0),
		"limit", u.Limit, "window", u.Window.Seconds(), "consumer", u.Consumer,
	)
}

// Use is one rateLimit instruction.
type Use struct {
	Name     string
	Limit    float64       // how much may be used in a window
	Window   time.Duration // how long that is
	Consumer any           // who uses it, as text; Undefined: one counter for all
	Consume  int64         // how much is used; 0: only look
	Break    bool          // whether too much is an error
}

const (
	maxCount  = int64(1) << 53    // beyond, numbers are no longer exact
	maxWindow = 366 * 24 * 3600.0 // seconds
	minWindow = 0.001
)

// Read reads the parameters of the instruction.
func Read(params *value.Object) (Use, error) {
	u := Use{Consume: 1, Consumer: value.Undefined}
	var ok bool
	if u.Name, ok = params.At("name").(string); !ok || u.Name == "" {
		return u, automation.Invalid("name is a string that is not empty")
	}
	if u.Limit, ok = params.At("limit").(float64); !ok || !(u.Limit >= 0) || u.Limit > float64(maxCount) {
		return u, automation.Invalid("limit is a number from 0 to %d", maxCount)
	}
	seconds, ok := params.At("window").(float64)
	if !ok || !(seconds >= minWindow) || seconds > maxWindow {
		return u, automation.Invalid("window is a number of seconds above 0 and up to %.0f", maxWindow)
	}
	u.Window = time.Duration(math.Round(seconds * float64(time.Second)))
	if given := params.At("consume"); !value.IsNothing(given) {
		if u.Consume, ok = whole(given); !ok {
			return u, automation.Invalid("consume is a whole number from 0 on")
		}
	}
	var err error
	if u.Consumer, err = consumer(params.At("consumer")); err != nil {
		return u, err
	}
	stop := params.At("break")
	if u.Break, ok = stop.(bool); !ok && !value.IsNothing(stop) {
		return u, automation.Invalid("break is true or false, not %s", value.TypeName(stop))
	}
	return u, nil
}

// exceeded reports whether so much is too much.
func (u Use) exceeded(used int64) bool { return float64(used) > u.Limit }

func whole(v any) (int64, bool) {
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > float64(maxCount) {
		return 0, false
	}
	return int64(n), true
}

// consumer is a scalar, as text.
func consumer(v any) (any, error) {
	switch v.(type) {
	case string, float64, bool:
		return value.Text(v), nil
	}
	if value.IsNothing(v) {
		return value.Undefined, nil
	}
	return nil, automation.Invalid("consumer is a string, not %s", value.TypeName(v))
}

// mostLive is how many counters a workspace may have whose windows are not over: each is
// kept until then, and consumers may have any name.
const mostLive = 100_000

// sweepEvery is how often counters are forgotten whose windows are over, at least.
const sweepEvery = 10 * time.Minute

// live are the counters that this node has used and whose windows are not over, by
// workspace. What it used before it was started it does not know.
type live struct {
	mu     sync.Mutex
	swept  time.Time
	spaces map[string]*counters
}

// counters are those of a workspace.
type counters struct {
	ends  map[counterID]int64 // of their windows, ns
	first int64               // none ends before it
}

// counterID names a counter and its window.
type counterID [16]byte

// admit notes that a counter is used. It is false when it is one more than a workspace may
// have, although those are forgotten first whose windows are over.
func (l *live) admit(workspaceID, key string, use Use, now time.Time, most int) bool {
	sum := sha256.Sum256([]byte(key))
	id := counterID(sum[:16])
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	c := l.spaces[workspaceID]
	if c == nil {
		c = &counters{ends: map[counterID]int64{}, first: math.MaxInt64}
		l.spaces[workspaceID] = c
	}
	if _, known := c.ends[id]; known {
		return true
	}
	if len(c.ends) >= most {
		c.deleteExpired(now)
	}
	if len(c.ends) >= most {
		return false
	}
	end := (use.slot(now) + 1) * int64(use.Window)
	c.ends[id], c.first = end, min(c.first, end)
	return true
}

// sweep forgets what is over in all workspaces, now and then. The caller holds the lock.
func (l *live) sweep(now time.Time) {
	if l.spaces == nil {
		l.spaces, l.swept = map[string]*counters{}, now
	}
	if now.Sub(l.swept) < sweepEvery {
		return
	}
	l.swept = now
	for workspaceID, c := range l.spaces {
		if c.deleteExpired(now); len(c.ends) == 0 {
			delete(l.spaces, workspaceID)
		}
	}
}

// deleteExpired forgets those whose windows are over. It looks for them only when there are
// any: everybody else waits meanwhile.
func (c *counters) deleteExpired(now time.Time) {
	if c.first > now.UnixNano() {
		return
	}
	c.first = math.MaxInt64
	for id, end := range c.ends {
		if end <= now.UnixNano() {
			delete(c.ends, id)
		} else {
			c.first = min(c.first, end)
		}
	}
}
