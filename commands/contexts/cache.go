package contexts

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// entry is a context as this node knows it, and the lock under which it is read
// from and written to the log: who holds it knows the order of what it stores.
type entry struct {
	key    Key
	lock   chan struct{} // holds one while the entry is taken
	stale  atomic.Bool   // set when the log may have something else than the entry
	asked  atomic.Uint64 // how often the log was asked
	users  int           // who may hold or want the lock; of the cache
	cost   int           // of the cache
	place  *list.Element // of the cache
	inside               // under the lock
}

// inside is what an entry knows.
type inside struct {
	loaded   bool
	state    state
	seq      uint64    // of the last operation in state
	answered uint64    // which question to the log was the last to be answered
	checked  time.Time // when it was asked
	count    int       // operations since the last snapshot
	bytes    int       // their size
	parts    []string  // what of them, and of the snapshot, has parts
	patience int       // how many operations there must be before the next attempt at a snapshot
}

// take waits for the lock.
func (e *entry) take(ctx context.Context) error {
	select {
	case e.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *entry) give() { <-e.lock }

// forget makes the entry know nothing.
func (e *entry) forget() { e.inside = inside{state: empty()} }

// add applies one operation that the log has at seq.
func (e *entry) add(seq uint64, r record, parts string, size int) {
	e.state, e.seq = e.state.with(r), seq
	e.count++
	e.bytes += size
	if parts != "" {
		e.parts = append(e.parts, parts)
	}
}

// replace makes a snapshot that the log has at seq the whole of the entry.
func (e *entry) replace(seq uint64, s state, parts string) {
	e.state, e.seq, e.count, e.bytes, e.parts, e.patience = s, seq, 0, 0, nil, 0
	if parts != "" {
		e.parts = []string{parts}
	}
}

// When a context is worth a snapshot: reading its operations costs more than
// reading it. A large one is not written again for a few small operations.
const (
	manyOperations = 64
	tooMany        = 8 * manyOperations
	smallContext   = 16 << 10
)

// outweighed reports whether a snapshot should take the place of the operations.
func (e *entry) outweighed() bool {
	switch {
	case e.count < max(2, e.patience):
		return false
	case e.bytes >= 4*max(e.state.size, smallContext), e.count >= tooMany:
		return true
	}
	return e.count >= manyOperations && e.bytes >= e.state.size/8
}

// cache keeps the contexts that were used last. An entry that someone uses is
// never dropped: two entries of one context would not know of each other.
type cache struct {
	mu      sync.Mutex
	max     int // bytes
	used    int
	entries map[Key]*entry
	order   *list.List // of *entry, the last used in front
}

func newCache(limit int) *cache {
	return &cache{max: limit, entries: map[Key]*entry{}, order: list.New()}
}

// use returns the entry of a context. Each use ends with one done.
func (c *cache) use(key Key) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		e = &entry{key: key, lock: make(chan struct{}, 1), cost: entryCost, inside: inside{state: empty()}}
		e.place = c.order.PushFront(e)
		c.entries[key] = e
		c.used += e.cost
	}
	c.order.MoveToFront(e.place)
	e.users++
	return e
}

// entryCost is what an entry takes besides its values, about; and a value in
// memory takes about this many times its JSON.
const (
	entryCost   = 1 << 10
	valueFactor = 3
)

// done ends a use. size is that of the context, negative when it is not known.
func (c *cache) done(e *entry, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	if size >= 0 {
		cost := entryCost + valueFactor*size
		c.used += cost - e.cost
		e.cost = cost
	}
	for place := c.order.Back(); place != nil && c.used > c.max; {
		last, _ := place.Value.(*entry)
		place = place.Prev()
		c.drop(last)
	}
}

func (c *cache) drop(e *entry) {
	if e.users == 0 {
		c.order.Remove(e.place)
		delete(c.entries, e.key)
		c.used -= e.cost
	}
}

// forget drops the entries of a workspace. Those in use are read again.
func (c *cache) forget(workspaceID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if key.WorkspaceID == workspaceID {
			e.stale.Store(true)
			c.drop(e)
		}
	}
}
