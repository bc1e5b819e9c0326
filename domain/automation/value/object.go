package value

import (
	"maps"
	"slices"
)

// indexed is how many keys an object has before it keeps an index of them: few
// are found sooner by looking at each.
const indexed = 8

// Object is a map that keeps the order in which its keys were first set. The
// zero Object is empty; a nil *Object may be read.
type Object struct {
	keys   []string
	values []any
	index  map[string]int // place of each key; nil while there are few
}

// NewObject returns an object of alternating keys and values.
func NewObject(pairs ...any) *Object {
	o := Sized(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			o.Set(key, pairs[i+1])
		}
	}
	return o
}

// Sized returns an empty object with room for n keys.
func Sized(n int) *Object {
	if n == 0 {
		return &Object{}
	}
	return &Object{keys: make([]string, 0, n), values: make([]any, 0, n)}
}

// Len returns how many keys there are.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Keys returns the keys in order. It must not be changed.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

func (o *Object) find(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.Index(o.keys, key)
}

// Get returns the value at key, and whether there is one.
func (o *Object) Get(key string) (any, bool) {
	if o == nil {
		return Undefined, false
	}
	i := o.find(key)
	if i < 0 {
		return Undefined, false
	}
	return o.values[i], true
}

// At returns the value at key, Undefined when there is none.
func (o *Object) At(key string) any {
	v, _ := o.Get(key)
	return v
}

// Set puts v at key. A key that exists keeps its place; an undefined v is not
// put.
func (o *Object) Set(key string, v any) {
	if IsUndefined(v) {
		return
	}
	if i := o.find(key); i >= 0 {
		o.values[i] = v
		return
	}
	o.keys, o.values = append(o.keys, key), append(o.values, v)
	switch {
	case o.index != nil:
		o.index[key] = len(o.keys) - 1
	case len(o.keys) > indexed:
		o.index = make(map[string]int, 2*len(o.keys))
		for i, known := range o.keys {
			o.index[known] = i
		}
	}
}

// Copy returns an object with the same keys and values.
func (o *Object) Copy() *Object {
	if o == nil {
		return &Object{}
	}
	return &Object{keys: slices.Clone(o.keys), values: slices.Clone(o.values), index: maps.Clone(o.index)}
}
