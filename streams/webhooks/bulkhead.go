package webhooks

import "sync"

// Bounds of what is under way at once.
const (
	mostOfOne  = 16  // for one subscription
	mostOfNode = 256 // on this node
	// share is the part of what is free that one subscription may have: those that hang
	// leave something to those that come.
	share = 8
	// spare is what those that do not do well leave to those that do.
	spare = mostOfNode / 2
)

// bulkhead keeps receivers from slowing each other down.
type bulkhead struct {
	mu      sync.Mutex
	free    int
	waiting map[chan struct{}]bool // to be notified when something is free
}

func newBulkhead() *bulkhead { return &bulkhead{free: mostOfNode, waiting: map[chan struct{}]bool{}} }

// take takes a place for a subscription that has some already, and perhaps a receiver
// that failed last. When it may not, the channel is notified as soon as it may be worth
// asking again.
func (b *bulkhead) take(have int, failing bool, again chan struct{}) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.free
	if failing {
		free -= spare
	}
	if free <= 0 || have > free/share {
		b.waiting[again] = true
		return false
	}
	b.free--
	return true
}

// give gives a place back.
func (b *bulkhead) give() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free++
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
