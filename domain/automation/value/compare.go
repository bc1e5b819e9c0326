package value

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// Same is the operator ===: same type and value, arrays and objects by their
// content whatever the order of keys. NaN is the same as nothing.
func Same(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case undefined:
		return IsUndefined(b)
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	case Bytes:
		b, ok := b.(Bytes)
		return ok && bytes.Equal(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Same)
	case *Object:
		b, ok := b.(*Object)
		return ok && sameObject(a, b)
	}
	return false
}

func sameObject(a, b *Object) bool {
	return a.Len() == b.Len() && !slices.ContainsFunc(a.Keys(), func(key string) bool {
		other, ok := b.Get(key)
		return !ok || !Same(a.At(key), other)
	})
}

// Equal is the operator ==: Same, or null with undefined, or two scalars of
// different types that are the same number.
func Equal(a, b any) bool {
	if Same(a, b) || IsNothing(a) && IsNothing(b) {
		return true
	}
	return scalar(a) && scalar(b) && Kind(a) != Kind(b) && Num(a) == Num(b)
}

func scalar(v any) bool {
	switch v.(type) {
	case bool, float64, string:
		return true
	}
	return false
}

// Compare orders two values as < and > do: two strings by code point, all else
// as numbers. It is false when they have no order.
func Compare(a, b any) (int, bool) {
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			return strings.Compare(s, t), true
		}
	}
	x, y := Num(a), Num(b)
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return 0, false
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}
