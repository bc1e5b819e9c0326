package value

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// indexThreshold is how many keys an object has before it gets an index: a linear search
// is faster for few keys.
const indexThreshold = 12

// Object is a map that keeps the order in which its keys were first set. Documents and
// automations share it. The zero Object is empty; a nil *Object can be read but not set.
type Object struct {
	keys   []string
	values []any
	index  map[string]int // position of each key when it was added; nil for few keys
}

// NewObject returns an object of alternating keys and values.
func NewObject(pairs ...any) *Object {
	o := NewObjectSize(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			o.Set(key, pairs[i+1])
		}
	}
	return o
}

// NewObjectSize returns an empty object with space for n keys.
func NewObjectSize(n int) *Object {
	if n <= 0 {
		return &Object{}
	}
	return &Object{keys: make([]string, 0, n), values: make([]any, 0, n)}
}

// Len returns the number of keys.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Keys returns the keys in order. The caller must not change them; appending is safe.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return o.keys[:len(o.keys):len(o.keys)]
}

// All yields the keys in order, with their values. The object must not be changed
// meanwhile.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for i, key := range o.keys {
			if !yield(key, o.values[i]) {
				return
			}
		}
	}
}

// find returns the position of a key, -1 if it does not exist.
func (o *Object) find(key string) int {
	if o.index == nil {
		return slices.Index(o.keys, key)
	}
	i, ok := o.index[key]
	if !ok {
		return -1
	}
	// The index is not updated when keys before this one are deleted.
	for i = min(i, len(o.keys)-1); o.keys[i] != key; {
		i--
	}
	return i
}

// Get returns the value of a key, and whether it exists.
func (o *Object) Get(key string) (any, bool) {
	if o == nil {
		return nil, false
	}
	if i := o.find(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// At returns the value of a key, Undefined if it does not exist.
func (o *Object) At(key string) any {
	if o == nil {
		return Undefined
	}
	if i := o.find(key); i >= 0 {
		return o.values[i]
	}
	return Undefined
}

// Text returns the value of a key if it is a string, else "".
func (o *Object) Text(key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}

// Object returns the value of a key if it is an object, else nil.
func (o *Object) Object(key string) *Object {
	v, _ := o.Get(key)
	inner, _ := v.(*Object)
	return inner
}

// Set sets the value of a key. An existing key keeps its position, a new one is added at
// the end. Undefined is not set.
func (o *Object) Set(key string, v any) {
	if IsUndefined(v) {
		return
	}
	if i := o.find(key); i >= 0 {
		o.values[i] = v
		return
	}
	o.add(key, v)
}

// add adds a new key.
func (o *Object) add(key string, v any) {
	o.keys, o.values = append(o.keys, key), append(o.values, v)
	switch {
	case o.index != nil:
		o.index[key] = len(o.keys) - 1
	case len(o.keys) > indexThreshold:
		o.index = make(map[string]int, 2*len(o.keys))
		for i, known := range o.keys {
			o.index[known] = i
		}
	}
}

// Delete removes a key.
func (o *Object) Delete(key string) {
	if o == nil {
		return
	}
	i := o.find(key)
	if i < 0 {
		return
	}
	// Keys and Copy share the slices, so they are not changed in place.
	o.keys = slices.Concat(o.keys[:i], o.keys[i+1:])
	o.values = slices.Concat(o.values[:i], o.values[i+1:])
	if delete(o.index, key); len(o.keys) <= indexThreshold {
		o.index = nil
	}
}

// Copy returns an object with the same keys and values that can be changed without
// changing o.
func (o *Object) Copy() *Object {
	if o.Len() == 0 {
		return &Object{}
	}
	c := NewObjectSize(len(o.keys) + 1) // most copies are made to add a key
	c.keys, c.values, c.index = append(c.keys, o.keys...), append(c.values, o.values...), maps.Clone(o.index)
	return c
}

// MarshalJSON implements json.Marshaler. It fails for values that are none of this package.
func (o *Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("null"), nil
	}
	w := jsonWriter{limit: unlimited, escapeInvisible: true}
	w.writeValue(o, 0)
	return w.b, w.err
}

// UnmarshalJSON implements json.Unmarshaler. It is for stored JSON: only the depth is
// limited.
func (o *Object) UnmarshalJSON(text []byte) error {
	v, _, err := ReadJSON(string(text), ReadOptions{Strict: true, MaxDepth: 10_000})
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
	case *Object:
		*o = *v
	default:
		return fmt.Errorf("value: an object was expected, not %s", TypeName(v))
	}
	return nil
}
