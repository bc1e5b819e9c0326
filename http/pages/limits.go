package pages

import (
	"sync"
	"time"

	"svc/domain"
)

// Limits of one session on this node.
const (
	eventsPerSecond = 30
	eventBurst      = 100
	maxFeeds        = 20
	maxSessions     = 100_000 // that are counted at once
)

// eventLimit counts the events of sessions.
type eventLimit struct {
	mu       sync.Mutex
	sessions map[string]bucket
}

// bucket has what a session may still emit.
type bucket struct {
	left float64
	at   time.Time
}

// take takes one event of a session, or refuses it.
func (l *eventLimit) take(sessionID string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sessions == nil || len(l.sessions) >= maxSessions {
		l.sessions = map[string]bucket{}
	}
	b, ok := l.sessions[sessionID]
	if !ok {
		b = bucket{eventBurst, now}
	}
	b.left = min(eventBurst, b.left+now.Sub(b.at).Seconds()*eventsPerSecond)
	b.at = now
	if b.left < 1 {
		l.sessions[sessionID] = b
		return domain.Refuse(domain.CodeRateLimit, "more than %d events a second", eventsPerSecond).With("retryAfter", 1)
	}
	b.left--
	l.sessions[sessionID] = b
	return nil
}

// feedCount counts the open feeds of sessions.
type feedCount struct {
	mu       sync.Mutex
	sessions map[string]int
}

// enter counts a feed, or refuses it. leave must be called when it has ended.
func (c *feedCount) enter(sessionID string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		c.sessions = map[string]int{}
	}
	if c.sessions[sessionID] >= maxFeeds {
		return nil, domain.Refuse(domain.CodeConcurrency, "a session may have %d open pages", maxFeeds)
	}
	c.sessions[sessionID]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sessions[sessionID]--; c.sessions[sessionID] <= 0 {
			delete(c.sessions, sessionID)
		}
	}, nil
}
