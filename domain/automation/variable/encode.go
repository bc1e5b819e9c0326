package variable

import (
	"encoding/binary"
	"errors"
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
)

// maxDecoded is how deep an encoded value may be nested: a state holds variables
// some levels below its root.
const maxDecoded = 2 * MaxNested

var errMalformed = errors.New("a stored value is malformed")

// LostStream is what a stream is read as after it was stored: the source is gone.
type LostStream struct{}

// LiveStream implements value.Stream.
func (LostStream) LiveStream() {}

// Encode writes v so that Decode returns the same value, with undefined, bytes,
// NaN and the order of keys. A stream becomes a LostStream.
func Encode(v any) []byte { return appendValue([]byte{format}, v) }

func appendValue(to []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(to, tagNull)
	case bool:
		return append(to, tagFalse+byte(truth(v)))
	case float64:
		return appendNumber(to, v)
	case string:
		return appendText(append(to, tagText), v)
	case value.Bytes:
		return append(binary.AppendUvarint(append(to, tagBytes), uint64(len(v))), v...)
	case []any:
		to = binary.AppendUvarint(append(to, tagList), uint64(len(v)))
		for _, item := range v {
			to = appendValue(to, item)
		}
		return to
	case *value.Object:
		to = binary.AppendUvarint(append(to, tagObject), uint64(v.Len()))
		for _, key := range v.Keys() {
			to = appendValue(appendText(to, key), v.At(key))
		}
		return to
	case value.Stream:
		return append(to, tagStream)
	}
	return append(to, tagUndefined)
}

func appendNumber(to []byte, n float64) []byte {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 && (n != 0 || !math.Signbit(n)) {
		return binary.AppendVarint(append(to, tagInteger), int64(n))
	}
	return binary.BigEndian.AppendUint64(append(to, tagNumber), math.Float64bits(n))
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

// Decode reads what Encode wrote.
func Decode(data []byte) (any, error) {
	if len(data) == 0 || data[0] != format {
		return nil, fmt.Errorf("%w: unknown format", errMalformed)
	}
	d := &decoder{rest: data[1:]}
	v := d.value(0)
	if d.failed || len(d.rest) > 0 {
		return nil, errMalformed
	}
	return v, nil
}

type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) fail() any {
	d.failed = true
	d.rest = nil
	return nil
}

func (d *decoder) value(depth int) any {
	tag := d.take(1)
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
		return string(d.counted())
	case tagBytes:
		return value.Bytes(append([]byte{}, d.counted()...))
	case tagList:
		return d.list(depth)
	case tagObject:
		return d.object(depth)
	case tagStream:
		return LostStream{}
	}
	return d.fail()
}

func (d *decoder) number(tag byte) any {
	if tag == tagNumber {
		bits := d.take(8)
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
	o := value.Sized(n)
	for range n {
		key := string(d.counted())
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

func (d *decoder) counted() []byte { return d.take(d.count()) }

func (d *decoder) take(n int) []byte {
	if d.failed || n > len(d.rest) {
		d.fail()
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
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
