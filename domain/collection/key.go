package collection

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// The ranks of values in the order of sort and of keys. They are stored.
const (
	rankNull byte = iota + 1
	rankBool
	rankNumber
	rankString
	rankOther
)

// longText is how much of a text stands in a key; of more a hash follows.
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

// add tells whether no value before is === this one.
func (i identities) add(v any) (isNew bool) {
	key := identity(v)
	isNew = !i[key]
	i[key] = true
	return isNew
}

// identity returns a text that two values of rows share exactly when they are ===.
func identity(v any) string { return string(Key(nil, unsigned(v))) }

// unsigned returns v without minus zeros, which in a list would have another key.
func unsigned(v any) any {
	switch v := v.(type) {
	case []any:
		return eachItem(v, unsigned)
	case *value.Object:
		o := &value.Object{}
		for _, key := range v.Keys() {
			o.Set(key, unsigned(v.At(key)))
		}
		return o
	case float64:
		if v == 0 {
			return 0.0
		}
	}
	return v
}

// Keys returns the keys under which a row stands in an index: one, or, in an index of
// one field that may hold arrays, one for the array and one for each of its items.
// A row whose unique has no value is not held by it and has none.
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
