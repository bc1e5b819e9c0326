// Package cache remembers what is asked for often, within a bound.
//
// It hides otter, whose generic code is compiled anew for each kind of key and value in each
// package that can see it: here it is compiled once.
package cache

import "github.com/maypok86/otter/v2"

// Cache remembers values by key, and forgets those first that are asked for least. It is
// safe for concurrent use.
type Cache[K comparable, V any] struct{ kept kept }

// kept is all of otter that anybody else sees.
type kept interface {
	get(key any) (value any, ok bool)
	set(key, value any)
	update(key any, to func(old any, found bool) (value any, write bool)) (now any)
	drop(key any)
	clear()
	weight() uint64
}

// New returns a Cache of at most so many values.
func New[K comparable, V any](number int) *Cache[K, V] {
	return &Cache[K, V]{hold(number, 0, nil)}
}

// Weighing returns a Cache of values that weigh so much together.
func Weighing[K comparable, V any](bound uint64, weigh func(K, V) uint32) *Cache[K, V] {
	return &Cache[K, V]{hold(0, bound, func(key, value any) uint32 {
		k, _ := key.(K)
		v, _ := value.(V)
		return weigh(k, v)
	})}
}

// Get returns what is remembered under a key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	found, ok := c.kept.get(key)
	value, _ = found.(V)
	return value, ok
}

// Set remembers a value.
func (c *Cache[K, V]) Set(key K, value V) { c.kept.set(key, value) }

// Update remembers what to makes of the value that is remembered, unless write is false, and
// returns what is remembered then. Nobody else changes it meanwhile.
func (c *Cache[K, V]) Update(key K, to func(old V, found bool) (value V, write bool)) (now V) {
	now, _ = c.kept.update(key, func(old any, found bool) (any, bool) {
		was, _ := old.(V)
		return to(was, found)
	}).(V)
	return now
}

// Drop forgets what is remembered under a key.
func (c *Cache[K, V]) Drop(key K) { c.kept.drop(key) }

// Clear forgets everything.
func (c *Cache[K, V]) Clear() { c.kept.clear() }

// Weight is what all that is remembered weighs, if it is weighed.
func (c *Cache[K, V]) Weight() uint64 { return c.kept.weight() }

type held struct{ otter *otter.Cache[any, any] }

//go:noinline
func hold(number int, bound uint64, weigh func(key, value any) uint32) kept {
	return held{otter.Must(&otter.Options[any, any]{MaximumSize: number, MaximumWeight: bound, Weigher: weigh})}
}

func (h held) get(key any) (any, bool) { return h.otter.GetIfPresent(key) }
func (h held) set(key, value any)      { h.otter.Set(key, value) }
func (h held) drop(key any)            { h.otter.Invalidate(key) }
func (h held) clear()                  { h.otter.InvalidateAll() }

func (h held) update(key any, to func(any, bool) (any, bool)) any {
	now, _ := h.otter.Compute(key, func(old any, found bool) (any, otter.ComputeOp) {
		value, write := to(old, found)
		if !write {
			return old, otter.CancelOp
		}
		return value, otter.WriteOp
	})
	return now
}

func (h held) weight() uint64 {
	h.otter.CleanUp()
	return h.otter.WeightedSize()
}
