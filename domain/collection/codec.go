package collection

import (
	"encoding/binary"
	"errors"
	"math"

	"svc/domain/automation/value"
)

// The tags of encoded values. They are stored: none ever changes its meaning.
const (
	tagNull byte = iota
	tagFalse
	tagTrue
	tagNumber // 8 bytes
	tagString // length, bytes
	tagList   // count, values
	tagObject // count, keys and values
	tagWhole  // a number without a fraction, as a varint
)

// maxWhole is the largest whole number that is kept as a varint.
const maxWhole = 1 << 53

// AppendValue appends a value as it is stored. What JSON cannot say is null.
func AppendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case float64:
		return appendNumber(b, v)
	case string:
		return appendText(append(b, tagString), v)
	case []any:
		b = binary.AppendUvarint(append(b, tagList), uint64(len(v)))
		for _, item := range v {
			b = AppendValue(b, item)
		}
		return b
	case *value.Object:
		b = binary.AppendUvarint(append(b, tagObject), uint64(v.Len()))
		for _, key := range v.Keys() {
			b = AppendValue(appendText(b, key), v.At(key))
		}
		return b
	}
	return append(b, tagNull)
}

func appendNumber(b []byte, n float64) []byte {
	if n == math.Trunc(n) && math.Abs(n) < maxWhole && (n != 0 || !math.Signbit(n)) {
		return binary.AppendVarint(append(b, tagWhole), int64(n))
	}
	return binary.BigEndian.AppendUint64(append(b, tagNumber), math.Float64bits(n))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errEncoding says that stored bytes are not what AppendValue or AppendChange made.
var errEncoding = errors.New("collection: the stored bytes are no value")

// DecodeValue reads what AppendValue wrote.
func DecodeValue(b []byte) (any, error) {
	d := decoder{b: b}
	v := d.value(0)
	if d.failed || len(d.b) > 0 {
		return nil, errEncoding
	}
	return v, nil
}

// DecodeRow reads a row.
func DecodeRow(b []byte) (*value.Object, error) {
	v, err := DecodeValue(b)
	row, ok := v.(*value.Object)
	if err == nil && !ok {
		err = errEncoding
	}
	return row, err
}

// decoder takes stored bytes apart. After the first fault it returns zeros.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) fail() {
	d.failed, d.b = true, nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

// bytes returns a length and so many bytes. They are not copied.
func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	taken := d.b[:n]
	d.b = d.b[n:]
	return taken
}

func (d *decoder) text() string { return string(d.bytes()) }

// count returns how many items follow; each takes a byte at least.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) value(depth int) any {
	if depth > 2*maxDepth {
		d.fail()
	}
	switch tag := d.byte(); tag {
	case tagFalse, tagTrue:
		return tag == tagTrue
	case tagNumber:
		if len(d.b) < 8 {
			d.fail()
			return nil
		}
		bits := binary.BigEndian.Uint64(d.b)
		d.b = d.b[8:]
		return math.Float64frombits(bits)
	case tagWhole:
		return float64(d.varint())
	case tagString:
		return d.text()
	case tagList:
		list := make([]any, d.count())
		for i := range list {
			list[i] = d.value(depth + 1)
		}
		return list
	case tagObject:
		o := &value.Object{}
		for range d.count() {
			key := d.text()
			o.Set(key, d.value(depth+1))
		}
		return o
	case tagNull:
	default:
		d.fail()
	}
	return nil
}
