package value

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
)

// Truth reports whether v counts as true: all but false, null, undefined, 0,
// NaN and the empty string.
func Truth(v any) bool {
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

// Numeric returns the number that s writes, and whether it writes one. Spaces
// around it do not count; the empty string writes none.
func Numeric(s string) (float64, bool) {
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
	s = unsigned(s)
	rest := afterDigits(s)
	digits := len(s) - len(rest)
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		rest = afterDigits(fraction)
		digits += len(fraction) - len(rest)
	}
	if digits == 0 || rest == "" {
		return digits > 0
	}
	exponent := unsigned(rest[1:])
	return (rest[0] == 'e' || rest[0] == 'E') && exponent != "" && afterDigits(exponent) == ""
}

func unsigned(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

func afterDigits(s string) string {
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		s = s[1:]
	}
	return s
}

// Num returns v as a number, NaN when it is none.
func Num(v any) float64 {
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
		n, _ := Numeric(v)
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

// Kind names the type of v for messages.
func Kind(v any) string {
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
