// Package value holds the values that automations compute with: undefined,
// null, booleans, numbers, strings, arrays, objects that keep the order of
// their keys, bytes and streams.
//
// In Go they are Undefined, nil, bool, float64, string, []any, *Object, Bytes
// and Stream. From makes them of what decoders return. Values are never changed
// once they are shared: whoever wants another value makes one.
package value

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
