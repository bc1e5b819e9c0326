package programs

import (
	"context"
	"sync"
)

// locks let one at a time work at what has a key. Nobody waits for another key.
type locks[K comparable] struct {
	mu    sync.Mutex
	turns map[K]*turn // of keys that somebody has or waits for
}

// turn is whose turn it is with a key.
type turn struct {
	taken chan struct{} // full while somebody has it
	users int           // who have it or wait for it
}

// take waits for the turn with a key, and no longer than ctx: one that is free is always had.
// done ends the turn.
func (l *locks[K]) take(ctx context.Context, key K) (done func(), err error) {
	t := l.join(key)
	done = func() {
		<-t.taken
		l.leave(key, t)
	}
	select {
	case t.taken <- struct{}{}:
		return done, nil
	default:
	}
	select {
	case t.taken <- struct{}{}:
		return done, nil
	case <-ctx.Done():
		l.leave(key, t)
		return nil, ctx.Err()
	}
}

func (l *locks[K]) join(key K) *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.turns[key]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		if l.turns == nil {
			l.turns = map[K]*turn{}
		}
		l.turns[key] = t
	}
	t.users++
	return t
}

func (l *locks[K]) leave(key K, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(l.turns, key)
	}
}
