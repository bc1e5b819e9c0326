package variable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"svc/domain/automation/value"
)

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
	if d.shared {
		return d.known(tag[0], depth)
	}
	return d.fail()
}

// known reads a value that may be there again, or one that was there before.
func (d *decoder) known(tag byte, depth int) any {
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
	o := value.NewObjectSize(n)
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
