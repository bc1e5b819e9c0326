// Package fair shares places between workspaces, or other shareholders such as clients
// that sign in: who has a thousand of its own that wait
// for one gets no more of them than who has one.
package fair

import (
	"context"
	"sync"
)

// Places are what so many hold at once. Those that find none free wait, the workspaces of
// them one after the other. It is safe for concurrent use.
type Places struct {
	share       int // most that one workspace holds at once
	newestFirst bool

	mu      sync.Mutex
	free    int
	held    map[string]int             // by workspace
	waiting map[string][]chan struct{} // by workspace, in the order in which they came
	next    []string                   // the workspaces of those, the first of which is next
}

// New returns places, of which one workspace holds up to its share at once: the others are
// left for everybody else, however long they stay free.
func New(places, share int) *Places {
	return &Places{free: places, share: share, held: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// NewestFirst returns places as New does. Of those of one workspace the one that came last
// is served first: in a flood who waits for long has given up, or belongs to it.
func NewestFirst(places, share int) *Places {
	p := New(places, share)
	p.newestFirst = true
	return p
}

// Enter waits for a place.
func (p *Places) Enter(ctx context.Context, workspaceID string) error {
	p.mu.Lock()
	if p.free > 0 && p.held[workspaceID] < p.share {
		p.take(workspaceID)
		p.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if len(p.waiting[workspaceID]) == 0 {
		p.next = append(p.next, workspaceID)
	}
	p.waiting[workspaceID] = append(p.waiting[workspaceID], turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		p.forget(workspaceID, turn)
		return context.Cause(ctx)
	}
}

// Leave hands the place of a workspace to who is next.
func (p *Places) Leave(workspaceID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.give(workspaceID)
}

func (p *Places) take(workspaceID string) {
	p.free--
	p.held[workspaceID]++
}

// give frees a place, and hands it to the first workspace that may have one.
func (p *Places) give(workspaceID string) {
	p.free++
	if p.held[workspaceID]--; p.held[workspaceID] == 0 {
		delete(p.held, workspaceID)
	}
	for i, id := range p.next {
		if p.held[id] >= p.share {
			continue
		}
		p.next = append(p.next[:i:i], p.next[i+1:]...)
		queue := p.waiting[id]
		turn, others := queue[0], queue[1:]
		if p.newestFirst {
			turn, others = queue[len(queue)-1], queue[:len(queue)-1]
		}
		close(turn)
		p.take(id)
		if len(others) == 0 {
			delete(p.waiting, id)
			return
		}
		p.waiting[id] = others
		p.next = append(p.next, id)
		return
	}
}

// forget takes somebody out of the line who waits no longer. A place that was handed over
// meanwhile goes to the next one.
func (p *Places) forget(workspaceID string, turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.waiting[workspaceID]
	for i, other := range queue {
		if other != turn {
			continue
		}
		p.waiting[workspaceID] = append(queue[:i:i], queue[i+1:]...)
		if len(p.waiting[workspaceID]) == 0 {
			delete(p.waiting, workspaceID)
			p.drop(workspaceID)
		}
		return
	}
	p.give(workspaceID)
}

func (p *Places) drop(workspaceID string) {
	for i, id := range p.next {
		if id == workspaceID {
			p.next = append(p.next[:i:i], p.next[i+1:]...)
			return
		}
	}
}
