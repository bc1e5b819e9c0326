// Package cache is a bounded cache of frequently used values.
package cache

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Cache stores values by key. When they are too many it evicts, in the order in which they were stored, those that were not
// used since it looked at them last (SIEVE). It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	seed   maphash.Seed
	weigh  func(K, V) uint32 // nil: each value weighs one
	shards []shard[K, V]     // a power of two of them; a key is in the one that its hash says
}

// shard is a part of a cache with a lock of its own. Reads share it.
type shard[K comparable, V any] struct {
	mu             sync.RWMutex
	entries        map[K]*entry[K, V]
	newest, oldest *entry[K, V]
	hand           *entry[K, V] // the next to be looked at; nil: the oldest
	weight, bound  uint64
}

type entry[K comparable, V any] struct {
	key          K
	value        V
	weight       uint64
	used         atomic.Bool // since the hand was there
	newer, older *entry[K, V]
}

// Caches of a number of values have up to maxShards shards of at least minShard values.
const (
	maxShards = 16
	minShard  = 64
)

// New returns a Cache of at most so many values.
func New[K comparable, V any](number int) *Cache[K, V] {
	shards := 1
	for shards < maxShards && number/(2*shards) >= minShard {
		shards *= 2
	}
	return newCache[K, V](shards, uint64(number/shards), nil)
}

// Weighing returns a Cache of values that weigh so much together. A value that weighs more than that is not stored.
func Weighing[K comparable, V any](bound uint64, weigh func(K, V) uint32) *Cache[K, V] {
	return newCache(1, bound, weigh) // a heavy value must have room for itself
}

func newCache[K comparable, V any](shards int, bound uint64, weigh func(K, V) uint32) *Cache[K, V] {
	c := &Cache[K, V]{seed: maphash.MakeSeed(), weigh: weigh, shards: make([]shard[K, V], shards)}
	for i := range c.shards {
		c.shards[i].entries, c.shards[i].bound = map[K]*entry[K, V]{}, bound
	}
	return c
}

func (c *Cache[K, V]) shardOf(key K) *shard[K, V] {
	if len(c.shards) == 1 {
		return &c.shards[0]
	}
	return &c.shards[maphash.Comparable(c.seed, key)&uint64(len(c.shards)-1)]
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	s := c.shardOf(key)
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.entries[key]
	if e == nil {
		return value, false
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.value, true
}

// Set stores a value.
func (c *Cache[K, V]) Set(key K, value V) {
	s := c.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.store(s, key, value)
}

// Update replaces the value of a key by the result of to, unless write is false, and returns the stored value. It is
// atomic: to must not use the cache.
func (c *Cache[K, V]) Update(key K, to func(old V, found bool) (value V, write bool)) (now V) {
	s := c.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e != nil {
		now = e.value
		e.used.Store(true)
	}
	value, write := to(now, e != nil)
	if write {
		c.store(s, key, value)
		now = value
	}
	return now
}

func (c *Cache[K, V]) store(s *shard[K, V], key K, value V) {
	weight := uint64(1)
	if c.weigh != nil {
		weight = uint64(c.weigh(key, value))
	}
	e := s.entries[key]
	switch {
	case weight > s.bound:
		if e != nil {
			s.remove(e)
		}
		return
	case e == nil:
		s.makeRoom(weight)
		e = &entry[K, V]{key: key, value: value, weight: weight}
		s.entries[key] = e
		s.weight += weight
		s.addNewest(e)
	default:
		s.weight += weight - e.weight
		e.value, e.weight = value, weight
		e.used.Store(true)
		s.makeRoom(0)
	}
}

func (s *shard[K, V]) addNewest(e *entry[K, V]) {
	if e.older = s.newest; e.older == nil {
		s.oldest = e
	} else {
		e.older.newer = e
	}
	s.newest = e
}

// makeRoom evicts values until so much more fits.
func (s *shard[K, V]) makeRoom(weight uint64) {
	for s.weight+weight > s.bound {
		if s.hand == nil {
			s.hand = s.oldest
		}
		if e := s.hand; e.used.Load() {
			e.used.Store(false)
			s.hand = e.newer
		} else {
			s.remove(e)
		}
	}
}

func (s *shard[K, V]) remove(e *entry[K, V]) {
	if s.hand == e {
		s.hand = e.newer
	}
	if e.newer == nil {
		s.newest = e.older
	} else {
		e.newer.older = e.older
	}
	if e.older == nil {
		s.oldest = e.newer
	} else {
		e.older.newer = e.newer
	}
	delete(s.entries, e.key)
	s.weight -= e.weight
}

// Drop deletes the value of a key.
func (c *Cache[K, V]) Drop(key K) {
	s := c.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[key]; e != nil {
		s.remove(e)
	}
}

// Clear deletes all values.
func (c *Cache[K, V]) Clear() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.entries, s.newest, s.oldest, s.hand, s.weight = map[K]*entry[K, V]{}, nil, nil, nil, 0
		s.mu.Unlock()
	}
}

// Weight returns the total weight of all values.
func (c *Cache[K, V]) Weight() (weight uint64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.RLock()
		weight += s.weight
		s.mu.RUnlock()
	}
	return weight
}
