package commands

import (
	"context"
	"sync"
)

// Turns lets what belongs to one key go one after the other on this node, such as
// the commands of one aggregate: at once they would only lose races against each
// other. What other nodes do is met on the log. The zero Turns is ready.
type Turns[K comparable] struct {
	mu     sync.Mutex
	queues map[K]*queue
}

// queue is where those of one key wait, in the order they came.
type queue struct {
	busy chan struct{}
	here int // who waits, and who runs
}

// Take waits for a turn, and no longer than ctx: one that is free is always had. leave ends it.
func (t *Turns[K]) Take(ctx context.Context, key K) (leave func(), err error) {
	t.mu.Lock()
	q := t.queues[key]
	if q == nil {
		q = &queue{busy: make(chan struct{}, 1)}
		if t.queues == nil {
			t.queues = map[K]*queue{}
		}
		t.queues[key] = q
	}
	q.here++
	t.mu.Unlock()
	leave = func() { <-q.busy; t.left(key, q) }
	select {
	case q.busy <- struct{}{}:
		return leave, nil
	default:
	}
	select {
	case q.busy <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		t.left(key, q)
		return nil, context.Cause(ctx)
	}
}

func (t *Turns[K]) left(key K, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.here--; q.here == 0 {
		delete(t.queues, key)
	}
}
