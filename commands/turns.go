package commands

import (
	"context"
	"sync"

	"svc/domain"
)

// turns lets the commands of one aggregate go one after the other on this node.
// At once they would only lose races against each other, each at the price of an
// append and a load. What other nodes do is met on the log.
type turns struct {
	mu     sync.Mutex
	queues map[domain.StreamID]*queue
}

// queue is where the commands of one aggregate wait, in the order they came.
type queue struct {
	busy chan struct{}
	here int // who waits, and who runs
}

// take waits for the turn of a command; leave ends it.
func (t *turns) take(ctx context.Context, id domain.StreamID) (leave func(), err error) {
	t.mu.Lock()
	q := t.queues[id]
	if q == nil {
		q = &queue{busy: make(chan struct{}, 1)}
		if t.queues == nil {
			t.queues = map[domain.StreamID]*queue{}
		}
		t.queues[id] = q
	}
	q.here++
	t.mu.Unlock()
	select {
	case q.busy <- struct{}{}:
		return func() { <-q.busy; t.left(id, q) }, nil
	case <-ctx.Done():
		t.left(id, q)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) left(id domain.StreamID, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.here--; q.here == 0 {
		delete(t.queues, id)
	}
}
