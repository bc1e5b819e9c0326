package collection

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"svc/domain/value"
)

// Row is a row that is decoded as far as needed. Its source says how long it is valid.
type Row struct {
	stored []byte
	whole  *value.Object
}

// StoredRow returns a row of what AppendValue wrote.
func StoredRow(stored []byte) Row { return Row{stored: stored} }

// Object returns the whole row. It stays valid.
func (r Row) Object() (*value.Object, error) {
	if r.whole != nil {
		return r.whole, nil
	}
	return DecodeRow(r.stored)
}

// some returns the row with at least these of its fields.
func (r Row) some(fields []string) (*value.Object, error) {
	if r.whole != nil {
		return r.whole, nil
	}
	d := decoder{b: r.stored}
	if d.byte() != tagObject {
		return nil, errEncoding
	}
	o := &value.Object{}
	for range d.count() {
		key := d.bytes()
		if i := slices.IndexFunc(fields, func(field string) bool { return field == string(key) }); i >= 0 {
			o.Set(fields[i], d.value(1))
		} else {
			d.skip(1)
		}
	}
	if d.failed {
		return nil, errEncoding
	}
	return o, nil
}

// skip passes over a value.
func (d *decoder) skip(depth int) {
	if depth > 2*maxDepth {
		d.fail()
	}
	switch d.byte() {
	case tagNumber:
		if len(d.b) < 8 {
			d.fail()
			return
		}
		d.b = d.b[8:]
	case tagWhole:
		d.varint()
	case tagString:
		d.bytes()
	case tagList:
		for range d.count() {
			d.skip(depth + 1)
		}
	case tagObject:
		for range d.count() {
			d.bytes()
			d.skip(depth + 1)
		}
	}
}

// The ranks of values in the order of sort and of keys. They are stored.
const (
	rankNull byte = iota + 1
	rankBool
	rankNumber
	rankString
	rankOther
)

// longText is how many bytes of a text a key contains; a hash follows for the rest.
const longText = 256

func rankOf(v any) byte {
	switch v.(type) {
	case bool:
		return rankBool
	case float64:
		return rankNumber
	case string:
		return rankString
	}
	if value.IsNothing(v) {
		return rankNull
	}
	return rankOther
}

// Compare orders two values: null before booleans, numbers, strings and all else.
// Arrays and objects have no order among themselves.
func Compare(a, b any) int {
	x, y := rankOf(a), rankOf(b)
	if x != y {
		return int(x) - int(y)
	}
	switch a := a.(type) {
	case bool:
		b, _ := b.(bool)
		return truth(a) - truth(b)
	case float64:
		b, _ := b.(float64)
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
	case string:
		b, _ := b.(string)
		return strings.Compare(a, b)
	}
	return 0
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Key appends a value to the key of an index. Keys have the order of Compare, and no
// key is the beginning of another. Values that are === have the same key; of others
// only long texts with the same beginning are out of order.
func Key(b []byte, v any) []byte {
	rank := rankOf(v)
	b = append(b, rank)
	switch v := v.(type) {
	case bool:
		return append(b, byte(truth(v)))
	case float64:
		return binary.BigEndian.AppendUint64(b, sortable(v))
	case string:
		return keyText(b, v)
	}
	if rank == rankOther {
		sum := sha256.Sum256(AppendValue(nil, inOrder(v)))
		return append(b, sum[:]...)
	}
	return b
}

// sortable returns bits that are in the order of numbers.
func sortable(n float64) uint64 {
	if n == 0 {
		n = 0 // minus zero is the same number
	}
	bits := math.Float64bits(n)
	if bits&(1<<63) != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// keyText appends a text and its end. A zero in it is written so that it comes
// after the end.
func keyText(b []byte, s string) []byte {
	head := s
	if len(s) > longText {
		head = s[:longText]
	}
	for i := range len(head) {
		if b = append(b, head[i]); head[i] == 0 {
			b = append(b, 0xff)
		}
	}
	if len(s) <= longText {
		return append(b, 0, 1)
	}
	sum := sha256.Sum256([]byte(s))
	return append(append(b, 0, 2), sum[:]...)
}

// inOrder returns v with the keys of objects sorted: their order does not count.
func inOrder(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = inOrder(item)
		}
		return list
	case *value.Object:
		o := &value.Object{}
		for _, key := range slices.Sorted(slices.Values(v.Keys())) {
			o.Set(key, inOrder(v.At(key)))
		}
		return o
	}
	return v
}

// identities are values that differ.
type identities map[string]bool

// identitiesOf returns those of a list.
func identitiesOf(list []any) identities {
	i := make(identities, len(list))
	for _, item := range list {
		i.add(item)
	}
	return i
}

// add reports whether no earlier value is === this one.
func (i identities) add(v any) (isNew bool) {
	key := identity(v)
	isNew = !i[key]
	i[key] = true
	return isNew
}

// identity returns a text that two values of rows share exactly when they are ===.
func identity(v any) string { return string(Key(nil, withoutMinusZero(v))) }

// withoutMinusZero returns v without minus zeros, which in a list would have another key.
func withoutMinusZero(v any) any {
	switch v := v.(type) {
	case []any:
		return mapItems(v, withoutMinusZero)
	case *value.Object:
		o := &value.Object{}
		for _, key := range v.Keys() {
			o.Set(key, withoutMinusZero(v.At(key)))
		}
		return o
	case float64:
		if v == 0 {
			return 0.0
		}
	}
	return v
}

// Keys returns the keys of a row in an index: one, or, in an index of one field that may
// hold arrays, one for the array and one for each of its items. A row without the value of
// a unique has none.
func (d *Declaration) Keys(x Index, row *value.Object) [][]byte {
	if len(x.Fields) == 1 && !x.Unique && !d.scalar(x.Fields[0]) {
		return d.manyKeys(row.At(x.Fields[0]))
	}
	var key []byte
	for _, field := range x.Fields {
		v := row.At(field)
		if x.Unique && value.IsNothing(v) {
			return nil
		}
		key = Key(key, v)
	}
	return [][]byte{key}
}

func (d *Declaration) manyKeys(v any) [][]byte {
	keys := [][]byte{Key(nil, v)}
	list, _ := v.([]any)
	for _, item := range list {
		keys = append(keys, Key(nil, item))
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

// SameKeys reports whether rows have the same keys in an index under another
// declaration.
func (d *Declaration) SameKeys(other *Declaration, x Index) bool {
	return x.Unique || len(x.Fields) > 1 || d.scalar(x.Fields[0]) == other.scalar(x.Fields[0])
}

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

// maxWhole is the largest whole number that is stored as a varint.
const maxWhole = 1 << 53

// AppendValue appends a value as it is stored. What JSON cannot express is null.
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

// decoder decodes stored bytes. After the first fault it returns zeros.
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
	next := d.b[:n]
	d.b = d.b[n:]
	return next
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
