package variable

import (
	"encoding/binary"
	"fmt"
	"math"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// format is the first byte of everything encoded.
const format = 1

// The tags of encoded values. They are stored: a number is never used again.
const (
	tagUndefined byte = iota
	tagNull
	tagFalse
	tagTrue
	tagInteger // zigzag varint
	tagNumber  // eight bytes
	tagText    // length, bytes
	tagBytes   // length, bytes
	tagList    // count, items
	tagObject  // count, keys and values
	tagStream  // a stream that was not saved
	tagLarge   // a value that may follow again
	tagAgain   // the number of such a value
)

// LostStream is what a stream is read as after it was stored: the source is gone.
type LostStream struct{}

// LiveStream implements value.Stream.
func (LostStream) LiveStream() {}

// Encode writes v so that Decode returns the same value, with undefined, bytes,
// NaN and the order of keys. A stream becomes a LostStream.
func Encode(v any) []byte {
	e := encoder{to: []byte{format}, limit: math.MaxInt}
	e.value(v)
	return e.to
}

// EncodeShared is Encode that writes large values once, however often they are in v, for
// DecodeShared. It is false, and little more than that was written, when there are more
// bytes than limit.
func EncodeShared(v any, limit int) ([]byte, bool) {
	e := encoder{to: []byte{format}, limit: limit, large: map[value.Identity]int{}}
	e.value(v)
	return e.to, !e.full(0)
}

type encoder struct {
	to    []byte
	limit int
	large map[value.Identity]int // numbers of the large values so far; nil: all are written
}

// full reports whether there is no room for n bytes more.
func (e *encoder) full(n int) bool { return len(e.to)+n > e.limit }

func (e *encoder) value(v any) {
	if e.large != nil && e.again(v) {
		return
	}
	switch v := v.(type) {
	case nil:
		e.to = append(e.to, tagNull)
	case bool:
		e.to = append(e.to, tagFalse+byte(truth(v)))
	case float64:
		e.to = appendNumber(e.to, v)
	case string:
		e.to = append(e.to, tagText)
		text(e, v)
	case value.Bytes:
		e.to = append(e.to, tagBytes)
		text(e, v)
	case []any:
		e.to = binary.AppendUvarint(append(e.to, tagList), uint64(len(v)))
		for i := 0; i < len(v) && !e.full(0); i++ {
			e.value(v[i])
		}
	case *value.Object:
		e.to = binary.AppendUvarint(append(e.to, tagObject), uint64(v.Len()))
		for _, key := range v.Keys() {
			if text(e, key); e.full(0) {
				return
			}
			e.value(v.At(key))
		}
	case value.Stream:
		e.to = append(e.to, tagStream)
	default:
		e.to = append(e.to, tagUndefined)
	}
}

// again writes only the number of a large value that was written before.
func (e *encoder) again(v any) bool {
	id, large := value.Large(v)
	if !large {
		return false
	}
	n, known := e.large[id]
	if known {
		e.to = binary.AppendUvarint(append(e.to, tagAgain), uint64(n))
		return true
	}
	e.large[id] = len(e.large)
	e.to = append(e.to, tagLarge)
	return false
}

// text writes a length and so many bytes. Of what there is no room for, it is the length
// alone.
func text[T string | value.Bytes](e *encoder, s T) {
	e.to = binary.AppendUvarint(e.to, uint64(len(s)))
	if e.full(len(s)) {
		e.limit = -1
		return
	}
	e.to = append(e.to, s...)
}

func appendNumber(to []byte, n float64) []byte {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 && (n != 0 || !math.Signbit(n)) {
		return binary.AppendVarint(append(to, tagInteger), int64(n))
	}
	return binary.BigEndian.AppendUint64(append(to, tagNumber), math.Float64bits(n))
}

// Encoded returns the operation as a value, which Encode keeps whole.
func (o Op) Encoded() any {
	path := make([]any, 0, 2*len(o.Path))
	for _, step := range o.Path {
		path = append(path, step.Key, step.Index)
	}
	return []any{float64(o.Kind), path, o.Value}
}

// DecodeOp returns the operation that Encoded made v of.
func DecodeOp(v any) (Op, error) {
	parts, _ := v.([]any)
	if len(parts) != 3 {
		return Op{}, fmt.Errorf("%w: no operation", errMalformed)
	}
	kind, known := parts[0].(float64)
	keys, listed := parts[1].([]any)
	if !known || !listed || len(keys)%2 != 0 || kind != math.Trunc(kind) || kind < 0 || kind > float64(Delete) {
		return Op{}, fmt.Errorf("%w: no operation", errMalformed)
	}
	op := Op{Kind: Kind(kind), Value: parts[2]}
	for i := 0; i < len(keys); i += 2 {
		key, isText := keys[i].(string)
		index, isBool := keys[i+1].(bool)
		if !isText || !isBool {
			return Op{}, fmt.Errorf("%w: no path", errMalformed)
		}
		op.Path = append(op.Path, expr.Step{Key: key, Index: index})
	}
	return op, nil
}
