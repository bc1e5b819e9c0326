package document

import (
	"iter"
	"maps"
	"slices"
)

// Map is a mapping that keeps the order in which its keys were set: in a
// condition the first branch that holds is taken, so order is content. The zero
// Map and a nil *Map are empty; a nil one cannot be set.
type Map struct {
	pairs []Pair
	at    map[string]int // where each key was put; nil while there are few, which are found faster without
}

// few is how many keys are looked through one by one.
const few = 8

// Pair is one key of a Map and its value.
type Pair struct {
	Key   string
	Value any
}

// MapOf returns a Map of pairs. Of two pairs with one key the last has its way,
// in the place of the first.
func MapOf(pairs ...Pair) *Map {
	m := &Map{pairs: make([]Pair, 0, len(pairs))}
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
	return len(m.pairs)
}

// Get returns the value of key, and whether m has that key.
func (m *Map) Get(key string) (any, bool) {
	if i := m.find(key); i >= 0 {
		return m.pairs[i].Value, true
	}
	return nil, false
}

// find returns where a key is, -1 when it is not there.
func (m *Map) find(key string) int {
	if m == nil {
		return -1
	}
	if m.at != nil {
		return m.findAmongMany(key)
	}
	for i := range m.pairs {
		if m.pairs[i].Key == key {
			return i
		}
	}
	return -1
}

// findAmongMany is find with what is known of where keys are: those before may
// have been taken out since.
func (m *Map) findAmongMany(key string) int {
	i, ok := m.at[key]
	if !ok {
		return -1
	}
	i = min(i, len(m.pairs)-1)
	for m.pairs[i].Key != key {
		i--
	}
	return i
}

// Text returns the value of key when it is a string, else "".
func (m *Map) Text(key string) string {
	v, _ := m.Get(key)
	s, _ := v.(string)
	return s
}

// Set gives key a value: in its old place, or at the end when it is new.
func (m *Map) Set(key string, value any) {
	if i := m.find(key); i >= 0 {
		m.pairs[i].Value = value
		return
	}
	m.add(key, value)
}

// add gives a key that is new a value.
func (m *Map) add(key string, value any) {
	m.pairs = append(m.pairs, Pair{key, value})
	switch {
	case m.at != nil:
		m.at[key] = len(m.pairs) - 1
	case len(m.pairs) > few:
		m.at = make(map[string]int, 2*len(m.pairs))
		for i := range m.pairs {
			m.at[m.pairs[i].Key] = i
		}
	}
}

// Delete takes key out of m.
func (m *Map) Delete(key string) {
	i := m.find(key)
	if i < 0 {
		return
	}
	m.pairs = slices.Delete(m.pairs, i, i+1)
	if delete(m.at, key); len(m.pairs) <= few {
		m.at = nil
	}
}

// All yields the keys of m in order, with their values. m must not be changed
// meanwhile.
func (m *Map) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if m == nil {
			return
		}
		for _, p := range m.pairs {
			if !yield(p.Key, p.Value) {
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
	keys := make([]string, len(m.pairs))
	for i := range m.pairs {
		keys[i] = m.pairs[i].Key
	}
	return keys
}

// Copy returns a Map of the same keys that can be changed without changing m. The
// values are shared.
func (m *Map) Copy() *Map {
	c := &Map{pairs: make([]Pair, 0, m.Len()+1)} // a copy is made to set something
	if m != nil {
		c.pairs = append(c.pairs, m.pairs...)
		c.at = maps.Clone(m.at)
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
	if a.Len() == 0 || b.Len() == 0 {
		return a.Len() == b.Len()
	}
	return slices.EqualFunc(a.pairs, b.pairs, func(p, q Pair) bool { return p.Key == q.Key && Equal(p.Value, q.Value) })
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
