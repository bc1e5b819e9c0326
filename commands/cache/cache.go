// Package cache is a bounded cache of frequently used values.
//
// It hides otter, whose generic code is compiled anew for each kind of key and value in each
// package that can see it: here it is compiled once.
package cache

import "github.com/maypok86/otter/v2"

// Cache stores values by key, and evicts the least frequently used ones. It is safe for concurrent use.
type Cache[K comparable, V any] struct{ backend backend }

// backend hides the type of otter.
type backend interface {
	get(key any) (value any, ok bool)
	set(key, value any)
	update(key any, to func(old any, found bool) (value any, write bool)) (now any)
	drop(key any)
	clear()
	weight() uint64
}

// New returns a Cache of at most so many values.
func New[K comparable, V any](number int) *Cache[K, V] {
	return &Cache[K, V]{newBackend(number, 0, nil)}
}

// Weighing returns a Cache of values that weigh so much together.
func Weighing[K comparable, V any](bound uint64, weigh func(K, V) uint32) *Cache[K, V] {
	return &Cache[K, V]{newBackend(0, bound, func(key, value any) uint32 {
		k, _ := key.(K)
		v, _ := value.(V)
		return weigh(k, v)
	})}
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	found, ok := c.backend.get(key)
	value, _ = found.(V)
	return value, ok
}

// Set stores a value.
func (c *Cache[K, V]) Set(key K, value V) { c.backend.set(key, value) }

// Update replaces the value of a key by the result of to, unless write is false, and returns the stored value. It is
// atomic.
func (c *Cache[K, V]) Update(key K, to func(old V, found bool) (value V, write bool)) (now V) {
	now, _ = c.backend.update(key, func(old any, found bool) (any, bool) {
		was, _ := old.(V)
		return to(was, found)
	}).(V)
	return now
}

// Drop deletes the value of a key.
func (c *Cache[K, V]) Drop(key K) { c.backend.drop(key) }

// Clear deletes all values.
func (c *Cache[K, V]) Clear() { c.backend.clear() }

// Weight returns the total weight of all values, if they are weighed.
func (c *Cache[K, V]) Weight() uint64 { return c.backend.weight() }

type otterBackend struct{ otter *otter.Cache[any, any] }

//go:noinline
func newBackend(number int, bound uint64, weigh func(key, value any) uint32) backend {
	return otterBackend{otter.Must(&otter.Options[any, any]{MaximumSize: number, MaximumWeight: bound, Weigher: weigh})}
}

func (h otterBackend) get(key any) (any, bool) { return h.otter.GetIfPresent(key) }
func (h otterBackend) set(key, value any)      { h.otter.Set(key, value) }
func (h otterBackend) drop(key any)            { h.otter.Invalidate(key) }
func (h otterBackend) clear()                  { h.otter.InvalidateAll() }

func (h otterBackend) update(key any, to func(any, bool) (any, bool)) any {
	now, _ := h.otter.Compute(key, func(old any, found bool) (any, otter.ComputeOp) {
		value, write := to(old, found)
		if !write {
			return old, otter.CancelOp
		}
		return value, otter.WriteOp
	})
	return now
}

func (h otterBackend) weight() uint64 {
	h.otter.CleanUp()
	return h.otter.WeightedSize()
}
