// Package fair shares a limited number of slots between workspaces, or other shareholders such
// as clients that sign in: one with a thousand waiting calls gets no more slots than one with a
// single call.
package fair

import (
	"context"
	"sync"
)

// Slots is a limited number of concurrent uses. Callers without a free slot wait, and the
// workspaces get slots in turn. It is safe for concurrent use.
type Slots struct {
	share       int // most that one workspace holds at once
	newestFirst bool

	mu      sync.Mutex
	free    int
	used    map[string]int             // by workspace
	waiting map[string][]chan struct{} // by workspace, in the order in which they came
	next    []string                   // workspaces with waiting callers, in their turn
}

// New returns slots, of which one workspace gets at most its share at once, even if others are
// free.
func New(slots, share int) *Slots {
	return &Slots{free: slots, share: share, used: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// NewestFirst is New, but the newest caller of a workspace is served first: in a flood, callers
// that have waited for long have given up, or belong to the flood.
func NewestFirst(slots, share int) *Slots {
	p := New(slots, share)
	p.newestFirst = true
	return p
}

// Acquire waits for a slot.
func (p *Slots) Acquire(ctx context.Context, workspaceID string) error {
	p.mu.Lock()
	if p.free > 0 && p.used[workspaceID] < p.share {
		p.acquireLocked(workspaceID)
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
		p.cancel(workspaceID, turn)
		return context.Cause(ctx)
	}
}

// Release releases the slot of a workspace.
func (p *Slots) Release(workspaceID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseLocked(workspaceID)
}

func (p *Slots) acquireLocked(workspaceID string) {
	p.free--
	p.used[workspaceID]++
}

// releaseLocked frees a slot, and gives it to the next workspace below its share.
func (p *Slots) releaseLocked(workspaceID string) {
	p.free++
	if p.used[workspaceID]--; p.used[workspaceID] == 0 {
		delete(p.used, workspaceID)
	}
	for i, id := range p.next {
		if p.used[id] >= p.share {
			continue
		}
		p.next = append(p.next[:i:i], p.next[i+1:]...)
		queue := p.waiting[id]
		turn, others := queue[0], queue[1:]
		if p.newestFirst {
			turn, others = queue[len(queue)-1], queue[:len(queue)-1]
		}
		close(turn)
		p.acquireLocked(id)
		if len(others) == 0 {
			delete(p.waiting, id)
			return
		}
		p.waiting[id] = others
		p.next = append(p.next, id)
		return
	}
}

// cancel removes a waiting caller. A slot that it got meanwhile is released.
func (p *Slots) cancel(workspaceID string, turn chan struct{}) {
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
			p.removeNext(workspaceID)
		}
		return
	}
	p.releaseLocked(workspaceID)
}

func (p *Slots) removeNext(workspaceID string) {
	for i, id := range p.next {
		if id == workspaceID {
			p.next = append(p.next[:i:i], p.next[i+1:]...)
			return
		}
	}
}
