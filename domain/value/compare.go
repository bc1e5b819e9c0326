package value

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
)

// StrictEqual is the operator ===: same type and value, arrays and objects by their
// content whatever the order of keys. NaN is the same as nothing.
func StrictEqual(a, b any) bool {
	same, _ := StrictEqualWithin(a, b, math.MaxInt)
	return same
}

// StrictEqualWithin is StrictEqual that compares at most limit values and bytes of text. It
// returns how many it compared; beyond the limit it reports false.
func StrictEqualWithin(a, b any, limit int) (same bool, spent int) {
	c := comparison{limit}
	same = c.same(a, b)
	return same, limit - c.left
}

// LooseEqualWithin is the operator ==: StrictEqual, or null with undefined, or two scalars of
// different types that are the same number.
// limit is that of StrictEqualWithin.
func LooseEqualWithin(a, b any, limit int) (equal bool, spent int) {
	c := comparison{limit}
	equal = c.same(a, b) || IsNothing(a) && IsNothing(b) || c.equalNumbers(a, b)
	return equal, limit - c.left
}

// comparison is a running comparison and its budget.
type comparison struct{ left int }

// spend takes n from what is left, and reports whether it was enough.
func (c *comparison) spend(n int) bool {
	c.left -= n
	return c.left >= 0
}

func (c *comparison) same(a, b any) bool {
	if !c.spend(1) {
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
		return ok && len(a) == len(b) && c.spend(len(a)) && a == b
	case Bytes:
		b, ok := b.(Bytes)
		return ok && len(a) == len(b) && c.spend(len(a)) && bytes.Equal(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, c.same)
	case *Object:
		b, ok := b.(*Object)
		return ok && c.sameObject(a, b)
	}
	return false
}

func (c *comparison) sameObject(a, b *Object) bool {
	return a.Len() == b.Len() && !slices.ContainsFunc(a.Keys(), func(key string) bool {
		other, ok := b.Get(key)
		return !ok || !c.same(a.At(key), other)
	})
}

// equalNumbers reports whether two scalars of different types are the same number.
func (c *comparison) equalNumbers(a, b any) bool {
	return isScalar(a) && isScalar(b) && TypeName(a) != TypeName(b) && c.spend(textLen(a)+textLen(b)) && ToNumber(a) == ToNumber(b)
}

func textLen(v any) int {
	s, _ := v.(string)
	return len(s)
}

func isScalar(v any) bool {
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
	x, y := ToNumber(a), ToNumber(b)
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

// IsTruthy reports whether v counts as true: all but false, null, undefined, 0,
// NaN and the empty string.
func IsTruthy(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	}
	return true
}

// ParseNumber returns the number that s writes, and whether it writes one. Spaces
// around it do not count; the empty string writes none.
func ParseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if !isDecimal(s) {
		return math.NaN(), false
	}
	n, _ := strconv.ParseFloat(s, 64) // out of range: an infinity
	return n, true
}

// isDecimal reports whether s is digits with a sign, a fraction and an exponent. It goes
// through s once: texts can be long.
func isDecimal(s string) bool {
	s = trimSign(s)
	rest := trimDigits(s)
	digits := len(s) - len(rest)
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		rest = trimDigits(fraction)
		digits += len(fraction) - len(rest)
	}
	if digits == 0 || rest == "" {
		return digits > 0
	}
	exponent := trimSign(rest[1:])
	return (rest[0] == 'e' || rest[0] == 'E') && exponent != "" && trimDigits(exponent) == ""
}

func trimSign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

func trimDigits(s string) string {
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		s = s[1:]
	}
	return s
}

// ToNumber returns v as a number, NaN when it is none.
func ToNumber(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		if strings.TrimSpace(v) == "" {
			return 0
		}
		n, _ := ParseNumber(v)
		return n
	}
	return math.NaN()
}

// Text returns v as it is put into a text: null, undefined and streams are
// empty, bytes are base64, arrays and objects JSON indented by two spaces.
func Text(v any) string {
	s, _ := TextWithin(v, math.MaxInt)
	return s
}

// TextWithin is Text that may have so many bytes at most; ok is false, and little more
// than that was written, when it has more.
func TextWithin(v any, limit int) (text string, ok bool) {
	switch v := v.(type) {
	case nil, undefined, Stream:
	case string:
		text = v
	case bool:
		text = strconv.FormatBool(v)
	case float64:
		text = string(AppendNumber(nil, v))
	case Bytes:
		if base64.StdEncoding.EncodedLen(len(v)) > limit {
			return "", false
		}
		text = base64.StdEncoding.EncodeToString(v)
	default:
		return JSONWithin(v, "  ", limit)
	}
	return text, len(text) <= limit
}

// TypeName names the type of v for messages.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case undefined:
		return "undefined"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case *Object:
		return "object"
	case Bytes:
		return "bytes"
	}
	return "stream"
}
