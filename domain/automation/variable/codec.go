package variable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"svc/domain/automation/expr"
	"svc/domain/value"
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
	return e.to, !e.exceeds(0)
}

type encoder struct {
	to    []byte
	limit int
	large map[value.Identity]int // numbers of the large values so far; nil: all are written
}

// exceeds reports whether there is no room for n bytes more.
func (e *encoder) exceeds(n int) bool { return len(e.to)+n > e.limit }

func (e *encoder) value(v any) {
	if e.large != nil && e.writeReference(v) {
		return
	}
	switch v := v.(type) {
	case nil:
		e.to = append(e.to, tagNull)
	case bool:
		e.to = append(e.to, tagFalse+byte(boolSize(v)))
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
		for i := 0; i < len(v) && !e.exceeds(0); i++ {
			e.value(v[i])
		}
	case *value.Object:
		e.to = binary.AppendUvarint(append(e.to, tagObject), uint64(v.Len()))
		for _, key := range v.Keys() {
			if text(e, key); e.exceeds(0) {
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

// writeReference writes only the number of a large value that was written before.
func (e *encoder) writeReference(v any) bool {
	id, large := value.LargeIdentity(v)
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
	if e.exceeds(len(s)) {
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

// maxDecoded is how deep an encoded value may be nested: a state holds variables
// some levels below its root.
const maxDecoded = 2 * MaxNested

var errMalformed = errors.New("a stored value is malformed")

// Decode reads what Encode wrote.
func Decode(data []byte) (any, error) { return (&decoder{}).decode(data) }

// DecodeShared reads what EncodeShared wrote. What was there several times is shared again.
func DecodeShared(data []byte) (any, error) { return (&decoder{shared: true}).decode(data) }

func (d *decoder) decode(data []byte) (any, error) {
	if len(data) == 0 || data[0] != format {
		return nil, fmt.Errorf("%w: unknown format", errMalformed)
	}
	d.rest = data[1:]
	v := d.value(0)
	if d.failed || len(d.rest) > 0 {
		return nil, errMalformed
	}
	return v, nil
}

type decoder struct {
	rest   []byte
	failed bool
	shared bool  // values may be there again
	large  []any // those that may
}

func (d *decoder) fail() any {
	d.failed = true
	d.rest = nil
	return nil
}

func (d *decoder) value(depth int) any {
	tag := d.nextBytes(1)
	if len(tag) == 0 || depth > maxDecoded {
		return d.fail()
	}
	switch tag[0] {
	case tagUndefined:
		return value.Undefined
	case tagNull:
		return nil
	case tagFalse, tagTrue:
		return tag[0] == tagTrue
	case tagInteger, tagNumber:
		return d.number(tag[0])
	case tagText:
		return string(d.countedBytes())
	case tagBytes:
		return value.Bytes(append([]byte{}, d.countedBytes()...))
	case tagList:
		return d.list(depth)
	case tagObject:
		return d.object(depth)
	case tagStream:
		return LostStream{}
	}
	if d.shared {
		return d.decodeShared(tag[0], depth)
	}
	return d.fail()
}

// decodeShared reads a value that may be there again, or one that was there before.
func (d *decoder) decodeShared(tag byte, depth int) any {
	switch tag {
	case tagLarge:
		if len(d.rest) > 0 && d.rest[0] == tagLarge {
			break // it says so once
		}
		n := len(d.large)
		d.large = append(d.large, nil) // nothing holds itself
		v := d.value(depth)
		d.large[n] = v
		return v
	case tagAgain:
		n, used := binary.Uvarint(d.rest)
		if used > 0 && n < uint64(len(d.large)) {
			d.rest = d.rest[used:]
			return d.large[n]
		}
	}
	return d.fail()
}

func (d *decoder) number(tag byte) any {
	if tag == tagNumber {
		bits := d.nextBytes(8)
		if d.failed {
			return nil
		}
		return math.Float64frombits(binary.BigEndian.Uint64(bits))
	}
	n, used := binary.Varint(d.rest)
	if used <= 0 {
		return d.fail()
	}
	d.rest = d.rest[used:]
	return float64(n)
}

func (d *decoder) list(depth int) any {
	list := make([]any, 0, d.count())
	for range cap(list) {
		list = append(list, d.value(depth+1))
	}
	return list
}

func (d *decoder) object(depth int) any {
	n := d.count()
	o := value.NewObjectSize(n)
	for range n {
		key := string(d.countedBytes())
		o.Set(key, d.value(depth+1))
	}
	return o
}

// count reads how many follow. Each takes a byte at least, so that a damaged
// count never asks for more memory than there is data.
func (d *decoder) count() int {
	n, used := binary.Uvarint(d.rest)
	if used <= 0 || n > uint64(len(d.rest)-used) {
		d.fail()
		return 0
	}
	d.rest = d.rest[used:]
	return int(n)
}

func (d *decoder) countedBytes() []byte { return d.nextBytes(d.count()) }

func (d *decoder) nextBytes(n int) []byte {
	if d.failed || n > len(d.rest) {
		d.fail()
		return nil
	}
	next := d.rest[:n]
	d.rest = d.rest[n:]
	return next
}
