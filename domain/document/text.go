package document

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// exact is the largest number below which all whole numbers are float64.
const exact = 1 << 53

// appendNumber writes f as JSON does in every browser: all digits of a number of
// usual size, else an exponent; never more digits than it takes to read f back.
func appendNumber(b []byte, f float64) ([]byte, error) {
	switch size := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return b, fmt.Errorf("document: %v is no number of JSON", f)
	case size <= exact && f == math.Trunc(f):
		return strconv.AppendInt(b, int64(f), 10), nil // -0 is 0
	case size < 1e-6 || size >= 1e21:
		text := strconv.AppendFloat(nil, f, 'e', -1, 64)
		return append(b, bytes.Replace(text, []byte("e-0"), []byte("e-"), 1)...), nil
	default:
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
}

// visible reports whether r may stand in a file as it is. What readers of YAML
// take for the end of a line or of the text may not.
func visible(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	default:
		return true
	}
}

// isVisible reports whether all of s may stand in a file as it is, on one line.
func isVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !visible(r) })
}

const hex = "0123456789abcdef"

// appendQuoted writes s in double quotes, with the escapes of JSON, which YAML
// shares.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' && shortEscapes[r] != 0:
			b = append(b, '\\', shortEscapes[r])
		case r <= 0xffff && !visible(r):
			b = append(b, '\\', 'u', hex[r>>12], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
		default: // beyond 16 bits JSON would take two escapes, which YAML does not know
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

var shortEscapes = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
