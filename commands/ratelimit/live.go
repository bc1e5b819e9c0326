package ratelimit

import (
	"crypto/sha256"
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
	spaces map[string]map[counterID]int64 // when their windows end, ns
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
	counters := l.spaces[workspaceID]
	if _, known := counters[id]; known {
		return true
	}
	if len(counters) >= most {
		forgetOver(counters, now)
	}
	if len(counters) >= most {
		return false
	}
	if counters == nil {
		counters = map[counterID]int64{}
		l.spaces[workspaceID] = counters
	}
	counters[id] = (use.slot(now) + 1) * int64(use.Window)
	return true
}

// sweep forgets what is over in all workspaces, now and then. The caller holds the lock.
func (l *live) sweep(now time.Time) {
	if l.spaces == nil {
		l.spaces, l.swept = map[string]map[counterID]int64{}, now
	}
	if now.Sub(l.swept) < sweepEvery {
		return
	}
	l.swept = now
	for workspaceID, counters := range l.spaces {
		if forgetOver(counters, now); len(counters) == 0 {
			delete(l.spaces, workspaceID)
		}
	}
}

func forgetOver(counters map[counterID]int64, now time.Time) {
	for id, end := range counters {
		if end <= now.UnixNano() {
			delete(counters, id)
		}
	}
}
