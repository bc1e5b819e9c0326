package ratelimit

import (
	"crypto/sha256"
	"math"
	"sync"
	"time"
)

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
		c.forgetOver(now)
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
		if c.forgetOver(now); len(c.ends) == 0 {
			delete(l.spaces, workspaceID)
		}
	}
}

// forgetOver forgets those whose windows are over. It looks for them only when there are
// any: everybody else waits meanwhile.
func (c *counters) forgetOver(now time.Time) {
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
