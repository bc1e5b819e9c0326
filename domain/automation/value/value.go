// Package value holds the values that automations compute with: undefined,
// null, booleans, numbers, strings, arrays, objects that keep the order of
// their keys, bytes and streams.
//
// In Go they are Undefined, nil, bool, float64, string, []any, *Object, Bytes
// and Stream. From makes them of what decoders return. Values are never changed
// once they are shared: whoever wants another value makes one.
package value

import "maps"

type undefined struct{}

// Undefined is the value of what is absent. As a member of an object it is left
// out, as an item of an array it is null.
var Undefined any = undefined{}

// IsUndefined reports whether v is Undefined.
func IsUndefined(v any) bool {
	_, is := v.(undefined)
	return is
}

// IsNothing reports whether v is null or Undefined.
func IsNothing(v any) bool { return v == nil || IsUndefined(v) }

// Bytes is a value that is no text.
type Bytes []byte

// Stream marks a live source of chunks, which only the runtime can read. It has
// no text and no JSON.
type Stream interface{ LiveStream() }

// Object is a map that keeps the order in which its keys were first set. The
// zero Object is empty; a nil *Object may be read.
type Object struct {
	keys   []string
	values map[string]any
}

// NewObject returns an object of alternating keys and values.
func NewObject(pairs ...any) *Object {
	o := &Object{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			o.Set(key, pairs[i+1])
		}
	}
	return o
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

// Get returns the value at key, and whether there is one.
func (o *Object) Get(key string) (any, bool) {
	if o == nil {
		return Undefined, false
	}
	v, ok := o.values[key]
	if !ok {
		return Undefined, false
	}
	return v, true
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
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// Copy returns an object with the same keys and values.
func (o *Object) Copy() *Object {
	if o == nil {
		return &Object{}
	}
	return &Object{keys: append([]string(nil), o.keys...), values: maps.Clone(o.values)}
}
