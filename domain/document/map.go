package document

import (
	"iter"
	"slices"
)

// Map is a mapping that keeps the order in which its keys were set: in a
// condition the first branch that holds is taken, so order is content. The zero
// Map and a nil *Map are empty; a nil one cannot be set.
type Map struct {
	keys   []string
	values map[string]any
}

// Pair is one key of a Map and its value.
type Pair struct {
	Key   string
	Value any
}

// MapOf returns a Map of pairs. Of two pairs with one key the last has its way,
// in the place of the first.
func MapOf(pairs ...Pair) *Map {
	m := &Map{keys: make([]string, 0, len(pairs)), values: make(map[string]any, len(pairs))}
	for _, p := range pairs {
		m.Set(p.Key, p.Value)
	}
	return m
}

// Len returns how many keys m has.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// Get returns the value of key, and whether m has that key.
func (m *Map) Get(key string) (any, bool) {
	if m == nil {
		return nil, false
	}
	v, ok := m.values[key]
	return v, ok
}

// Text returns the value of key when it is a string, else "".
func (m *Map) Text(key string) string {
	v, _ := m.Get(key)
	s, _ := v.(string)
	return s
}

// Set gives key a value: in its old place, or at the end when it is new.
func (m *Map) Set(key string, value any) {
	if m.values == nil {
		m.values = map[string]any{}
	}
	if _, known := m.values[key]; !known {
		m.keys = append(m.keys, key)
	}
	m.values[key] = value
}

// Delete takes key out of m.
func (m *Map) Delete(key string) {
	if _, known := m.Get(key); !known {
		return
	}
	delete(m.values, key)
	m.keys = slices.DeleteFunc(m.keys, func(k string) bool { return k == key })
}

// All yields the keys of m in order, with their values. m must not be changed
// meanwhile.
func (m *Map) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if m == nil {
			return
		}
		for _, k := range m.keys {
			if !yield(k, m.values[k]) {
				return
			}
		}
	}
}

// Keys returns the keys of m in order, as a slice of the caller's own.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	return slices.Clone(m.keys)
}

// Copy returns a Map of the same keys that can be changed without changing m. The
// values are shared.
func (m *Map) Copy() *Map {
	c := MapOf()
	for k, v := range m.All() {
		c.Set(k, v)
	}
	return c
}

// Equal reports whether two values are the same, the order of keys included.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case *Map:
		b, ok := b.(*Map)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case nil, bool, float64, string:
		switch b.(type) {
		case nil, bool, float64, string:
			return a == b
		}
	}
	return false
}

func equalMaps(a, b *Map) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, k := range a.Keys() {
		if b.keys[i] != k || !Equal(a.values[k], b.values[k]) {
			return false
		}
	}
	return true
}

// Plain returns v with a map[string]any for every Map, for those who do not ask
// for order. It shares nothing with v but its scalars.
func Plain(v any) any {
	switch v := v.(type) {
	case *Map:
		plain := make(map[string]any, v.Len())
		for k, value := range v.All() {
			plain[k] = Plain(value)
		}
		return plain
	case []any:
		plain := make([]any, len(v))
		for i, item := range v {
			plain[i] = Plain(item)
		}
		return plain
	default:
		return v
	}
}
