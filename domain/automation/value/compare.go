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
	same, _ := SameWithin(a, b, math.MaxInt)
	return same
}

// SameWithin is Same that goes through so many values and bytes of text at most. It
// tells how many it did: of more than that it is false whether they are the same.
func SameWithin(a, b any, limit int) (same bool, spent int) {
	c := comparing{limit}
	same = c.same(a, b)
	return same, limit - c.left
}

// Equal is the operator ==: Same, or null with undefined, or two scalars of
// different types that are the same number.
func Equal(a, b any) bool {
	equal, _ := EqualWithin(a, b, math.MaxInt)
	return equal
}

// EqualWithin is Equal as SameWithin is Same.
func EqualWithin(a, b any, limit int) (equal bool, spent int) {
	c := comparing{limit}
	equal = c.same(a, b) || IsNothing(a) && IsNothing(b) || c.numbers(a, b)
	return equal, limit - c.left
}

// comparing is a comparison under way.
type comparing struct{ left int }

// spends takes n from what is left, and reports whether it was enough.
func (c *comparing) spends(n int) bool {
	c.left -= n
	return c.left >= 0
}

func (c *comparing) same(a, b any) bool {
	if !c.spends(1) {
		return false
	}
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
		return ok && len(a) == len(b) && c.spends(len(a)) && a == b
	case Bytes:
		b, ok := b.(Bytes)
		return ok && len(a) == len(b) && c.spends(len(a)) && bytes.Equal(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, c.same)
	case *Object:
		b, ok := b.(*Object)
		return ok && c.sameObject(a, b)
	}
	return false
}

func (c *comparing) sameObject(a, b *Object) bool {
	return a.Len() == b.Len() && !slices.ContainsFunc(a.Keys(), func(key string) bool {
		other, ok := b.Get(key)
		return !ok || !c.same(a.At(key), other)
	})
}

// numbers reports whether two scalars of different types are the same number.
func (c *comparing) numbers(a, b any) bool {
	return scalar(a) && scalar(b) && Kind(a) != Kind(b) && c.spends(textLen(a)+textLen(b)) && Num(a) == Num(b)
}

func textLen(v any) int {
	s, _ := v.(string)
	return len(s)
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
