// Package persistent holds a map whose versions share their structure: a change returns a new
// map and costs the logarithm of the size, and the map before it stays as it is. The state of an
// aggregate and the programs of a workspace consist of such maps, so that a change of one
// document costs the same in a workspace of ten documents as in one of thousands.
package persistent

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Map is an immutable map from strings, in the order of its keys. The zero Map is empty. Maps
// with the same content are deeply equal, whatever changes led to them: the tree is a treap
// whose priorities are hashes of the keys, and of such a tree there is one for each set of keys.
type Map[V any] struct{ root *node[V] }

// node is never changed once a Map has it.
type node[V any] struct {
	key         string
	value       V
	priority    uint32
	size        int // of the whole tree below, the node included
	left, right *node[V]
}

// Collect returns the Map with the content of m.
func Collect[V any](m map[string]V) Map[V] {
	var ends []*node[V] // the right edge of the tree, from the root down
	for _, key := range slices.Sorted(maps.Keys(m)) {
		n := &node[V]{key: key, value: m[key], priority: hash(key)}
		for len(ends) > 0 && n.above(ends[len(ends)-1]) {
			n.left = ends[len(ends)-1]
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 {
			ends[len(ends)-1].right = n
		}
		ends = append(ends, n)
	}
	if len(ends) == 0 {
		return Map[V]{}
	}
	ends[0].count()
	return Map[V]{ends[0]}
}

// count sets the sizes of a new tree.
func (n *node[V]) count() int {
	if n == nil {
		return 0
	}
	n.size = 1 + n.left.count() + n.right.count()
	return n.size
}

// Len returns how many keys m has.
func (m Map[V]) Len() int { return m.root.len() }

func (n *node[V]) len() int {
	if n == nil {
		return 0
	}
	return n.size
}

// IsZero reports whether m is empty, for the option omitzero of JSON.
func (m Map[V]) IsZero() bool { return m.root == nil }

// At returns the value of a key, the zero value when there is none.
func (m Map[V]) At(key string) V {
	v, _ := m.Get(key)
	return v
}

// Get returns the value of a key, and whether there is one.
func (m Map[V]) Get(key string) (v V, ok bool) {
	for n := m.root; n != nil; {
		switch order := strings.Compare(key, n.key); {
		case order == 0:
			return n.value, true
		case order < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return v, false
}

// Has reports whether m has a key.
func (m Map[V]) Has(key string) bool {
	_, ok := m.Get(key)
	return ok
}

// Set returns m with another value of a key.
func (m Map[V]) Set(key string, v V) Map[V] {
	return Map[V]{m.root.set(&node[V]{key: key, value: v, priority: hash(key), size: 1})}
}

// Delete returns m without a key.
func (m Map[V]) Delete(key string) Map[V] {
	if !m.Has(key) {
		return m
	}
	return Map[V]{m.root.remove(key)}
}

// All visits the keys in their order, with their values.
func (m Map[V]) All() iter.Seq2[string, V] { return m.Prefix("") }

// Keys visits the keys in their order.
func (m Map[V]) Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		m.root.walk("", func(key string, _ V) bool { return yield(key) })
	}
}

// Prefix visits the keys that begin with prefix, in their order, with their values. It costs as
// much as it visits.
func (m Map[V]) Prefix(prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { m.root.walk(prefix, yield) }
}

// First returns the value of the first key that begins with prefix.
func (m Map[V]) First(prefix string) (v V, ok bool) {
	var first *node[V] // that is not before prefix
	for n := m.root; n != nil; {
		if n.key < prefix {
			n = n.right
		} else {
			first, n = n, n.left
		}
	}
	if first == nil || !strings.HasPrefix(first.key, prefix) {
		return v, false
	}
	return first.value, true
}

// Changes visits the keys that were set or deleted between another version of m and m, and those on the way to
// them in the tree, whose values are the same. It costs as much as it visits: what both versions share is skipped.
func (m Map[V]) Changes(other Map[V]) iter.Seq[string] {
	return func(yield func(string) bool) { compare(m.root, other.root, yield) }
}

// MarshalJSON implements json.Marshaler: the same as of a map.
func (m Map[V]) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(m.All())) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Map[V]) UnmarshalJSON(body []byte) error {
	var all map[string]V
	err := json.Unmarshal(body, &all)
	*m = Collect(all)
	return err
}

// hash is FNV-1a with its bits spread: the order of hashes is that of priorities.
func hash(key string) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// above reports whether n is nearer to the root than other.
func (n *node[V]) above(other *node[V]) bool {
	if n.priority != other.priority {
		return n.priority > other.priority
	}
	return n.key < other.key
}

// with returns a copy of n with other children.
func (n *node[V]) with(left, right *node[V]) *node[V] {
	next := *n
	next.left, next.right, next.size = left, right, 1+left.len()+right.len()
	return &next
}

// set returns the tree with a new node, in the place of the one that has its key.
func (n *node[V]) set(added *node[V]) *node[V] {
	if n == nil || added.key != n.key && added.above(n) {
		left, right := n.split(added.key)
		return added.with(left, right)
	}
	switch order := strings.Compare(added.key, n.key); {
	case order == 0:
		return added.with(n.left, n.right)
	case order < 0:
		return n.with(n.left.set(added), n.right)
	default:
		return n.with(n.left, n.right.set(added))
	}
}

// split returns the parts of a tree before and after a key that it does not have.
func (n *node[V]) split(key string) (before, after *node[V]) {
	if n == nil {
		return nil, nil
	}
	if key < n.key {
		before, after = n.left.split(key)
		return before, n.with(after, n.right)
	}
	before, after = n.right.split(key)
	return n.with(n.left, before), after
}

// remove returns the tree without a key that it has.
func (n *node[V]) remove(key string) *node[V] {
	switch order := strings.Compare(key, n.key); {
	case order == 0:
		return join(n.left, n.right)
	case order < 0:
		return n.with(n.left.remove(key), n.right)
	default:
		return n.with(n.left, n.right.remove(key))
	}
}

// join returns one tree of two: all keys of the first are before those of the second.
func join[V any](before, after *node[V]) *node[V] {
	switch {
	case before == nil:
		return after
	case after == nil:
		return before
	case before.above(after):
		return before.with(before.left, join(before.right, after))
	default:
		return after.with(join(before, after.left), after.right)
	}
}

// walk visits the keys with a prefix, until yield returns false.
func (n *node[V]) walk(prefix string, yield func(string, V) bool) bool {
	if n == nil {
		return true
	}
	begins := strings.HasPrefix(n.key, prefix)
	if (begins || n.key > prefix) && !n.left.walk(prefix, yield) {
		return false
	}
	if begins && !yield(n.key, n.value) {
		return false
	}
	return !begins && n.key > prefix || n.right.walk(prefix, yield)
}

// compare visits the keys of two trees except for those in parts that both share, until yield returns false.
func compare[V any](a, b *node[V], yield func(string) bool) bool {
	if a == b {
		return true
	}
	if a == nil || b != nil && b.above(a) {
		a, b = b, a
	}
	var left, right *node[V]
	if b != nil && a.key == b.key {
		left, right = b.left, b.right
	} else { // b does not have the key: its node would be above the root of b
		left, right = b.split(a.key)
	}
	return compare(a.left, left, yield) && yield(a.key) && compare(a.right, right, yield)
}
