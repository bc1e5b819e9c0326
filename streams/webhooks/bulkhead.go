package webhooks

import "sync"

// Bounds of what is under way at once.
const (
	mostOfOne  = 16  // for one subscription
	mostOfNode = 256 // on this node
	// share is the part of what is free that one subscription may have: those that hang
	// leave something to those that come.
	share = 8
	// spare is what those that are not known to do well leave to those that are.
	spare = mostOfNode / 2
	// ofWorkspace is the part of what is free that one workspace may have for those that
	// do well: all of them may cease to at once.
	ofWorkspace = 2
)

// bulkhead keeps receivers from slowing each other down.
type bulkhead struct {
	mu      sync.Mutex
	free    int
	held    map[string]int         // by workspace, for those that do well
	waiting map[chan struct{}]bool // to be notified when something is free
}

func newBulkhead() *bulkhead {
	return &bulkhead{free: mostOfNode, held: map[string]int{}, waiting: map[chan struct{}]bool{}}
}

// take takes a place for a subscription that has some already, of a receiver that is
// known to do well or not. When it may not, the channel is notified as soon as it may be
// worth asking again.
func (b *bulkhead) take(workspaceID string, have int, well bool, again chan struct{}) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.free
	if !well {
		free -= spare
	}
	if free <= 0 || have > free/share || well && b.held[workspaceID] > free/ofWorkspace {
		b.waiting[again] = true
		return false
	}
	b.free--
	if well {
		b.held[workspaceID]++
	}
	return true
}

// give gives a place back that was taken for a receiver that was known to do well or not.
func (b *bulkhead) give(workspaceID string, well bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free++
	if well {
		b.held[workspaceID]--
	}
	if b.held[workspaceID] == 0 {
		delete(b.held, workspaceID)
	}
	for again := range b.waiting {
		notify(again)
	}
	clear(b.waiting)
}

// leave forgets somebody who waits.
func (b *bulkhead) leave(again chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, again)
}
