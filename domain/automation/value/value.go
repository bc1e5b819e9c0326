// Package value holds the values of documents and automations: null, booleans, numbers,
// strings, lists and objects that keep the order of their keys. Automations also have
// undefined, bytes and streams.
//
// In Go they are nil, bool, float64, string, []any, *Object, Undefined, Bytes and Stream.
// From converts what decoders return. A value that is shared is never changed.
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
