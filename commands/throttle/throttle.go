// Package throttle slows workspaces down to a pace: what they do too often waits,
// and is never refused. Each node keeps its own pace.
package throttle

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What is slowed down.
type What uint8

// The things that have a pace of their own.
const (
	Executions What = iota
	Emits
	Fetches
	Repeats
)

// Rate is a pace: so many a second, and so many at once after a rest. When either
// is zero or below, nothing waits.
type Rate struct{ PerSecond, Burst float64 }

func (r Rate) off() bool { return r.PerSecond <= 0 || r.Burst <= 0 }

const (
	forgetEvery = time.Minute // looks for buckets that are full again
	askEvery    = time.Second // for the rate, while something waits
)

// Throttle keeps a bucket of tokens for each workspace and thing. Buckets are full
// at the start.
type Throttle struct {
	// Rate returns the pace of a workspace. It is asked at each Wait, and again
	// while something waits; required.
	Rate func(workspaceID string, what What) Rate
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	mu      sync.Mutex
	buckets map[key]*bucket
	looked  time.Time // when full buckets were forgotten last
}

type key struct {
	workspaceID string
	what        What
}

// bucket is the tokens of one workspace for one thing.
type bucket struct {
	turn   chan struct{} // held by the first in line; those behind wait for it in the order they came
	here   int           // who waits, and who takes; under Throttle.mu
	tokens float64       // below zero after more was taken than a burst
	rate   Rate          // the pace they flowed in at last
	at     time.Time     // when that was so
}

// Limits reports whether there is a limit: Wait takes no time without one.
func (t *Throttle) Limits(workspaceID string, what What) bool {
	return !t.Rate(workspaceID, what).off()
}

// Wait takes n tokens and returns how long that took. It fails with its cause
// when ctx ends before, and takes none then. More than a burst at once is taken
// when the bucket is full, and paid for by those that follow.
func (t *Throttle) Wait(ctx context.Context, workspaceID string, what What, n int) (waited time.Duration, err error) {
	if n <= 0 || t.Rate(workspaceID, what).off() {
		return 0, nil
	}
	began := t.now()
	id := key{workspaceID, what}
	b := t.acquireBucket(id)
	defer t.releaseBucket(b)
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return t.now().Sub(began), fmt.Errorf("wait for a turn: %w", context.Cause(ctx))
	}
	for {
		missing := t.spendTokens(id, b, float64(n))
		if missing <= 0 {
			return t.now().Sub(began), nil
		}
		timer := time.NewTimer(min(missing, askEvery))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return t.now().Sub(began), fmt.Errorf("wait for tokens: %w", context.Cause(ctx))
		}
	}
}

// spendTokens takes n tokens, or returns how long it takes until there are enough.
func (t *Throttle) spendTokens(id key, b *bucket, n float64) (missing time.Duration) {
	rate := t.Rate(id.workspaceID, id.what)
	t.mu.Lock()
	defer t.mu.Unlock()
	if rate.off() {
		return 0
	}
	b.fill(rate, t.now())
	if short := min(n, rate.Burst) - b.tokens; short > 0 {
		return max(time.Duration(short/rate.PerSecond*float64(time.Second)), time.Microsecond)
	}
	b.tokens -= n
	return 0
}

// fill adds what has flowed in since.
func (b *bucket) fill(rate Rate, now time.Time) {
	if b.at.IsZero() {
		b.tokens = rate.Burst
	} else if gone := now.Sub(b.at); gone > 0 {
		b.tokens += rate.PerSecond * gone.Seconds()
	}
	b.tokens, b.rate, b.at = min(b.tokens, rate.Burst), rate, now
}

// acquireBucket returns the bucket, which stays until releaseBucket.
func (t *Throttle) acquireBucket(id key) *bucket {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buckets == nil {
		t.buckets = map[key]*bucket{}
	}
	t.deleteIdle()
	b := t.buckets[id]
	if b == nil {
		b = &bucket{turn: make(chan struct{}, 1)}
		t.buckets[id] = b
	}
	b.here++
	return b
}

func (t *Throttle) releaseBucket(b *bucket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b.here--
}

// deleteIdle drops the buckets that are full again and that nobody waits at: a new one
// is the same.
func (t *Throttle) deleteIdle() {
	now := t.now()
	if now.Sub(t.looked) < forgetEvery {
		return
	}
	t.looked = now
	for id, b := range t.buckets {
		if b.here > 0 {
			continue
		}
		if b.fill(b.rate, now); b.tokens >= b.rate.Burst {
			delete(t.buckets, id)
		}
	}
}

func (t *Throttle) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// Rates are the paces of a workspace.
type Rates struct {
	Disabled                            bool // nothing waits
	Executions, Emits, Fetches, Repeats Rate
}

// Of returns the pace of one thing.
func (r Rates) Of(what What) Rate {
	if r.Disabled {
		return Rate{}
	}
	switch what {
	case Executions:
		return r.Executions
	case Emits:
		return r.Emits
	case Fetches:
		return r.Fetches
	case Repeats:
		return r.Repeats
	}
	return Rate{}
}

// overridePrefix begins the names of the secrets by which a super admin sets the
// paces of one workspace.
const overridePrefix = "svc_ratelimit_"

// Overridden returns the paces with what the secrets of a workspace say instead:
// secret returns the value of a name, "" when there is none. A value that is no
// number changes nothing.
func (r Rates) Overridden(secret func(name string) string) Rates {
	if disabled, err := strconv.ParseBool(strings.TrimSpace(secret(overridePrefix + "disabled"))); err == nil {
		r.Disabled = disabled
	}
	for _, o := range []struct {
		name string
		rate *Rate
	}{{"automations", &r.Executions}, {"emits", &r.Emits}, {"fetchs", &r.Fetches}, {"repeats", &r.Repeats}} {
		override(&o.rate.PerSecond, secret(overridePrefix+o.name))
		override(&o.rate.Burst, secret(overridePrefix+o.name+"_burst"))
	}
	return r
}

func override(n *float64, text string) {
	if given, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && given >= 0 {
		*n = given
	}
}
