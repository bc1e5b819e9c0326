package value

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

const unlimited = math.MaxInt

// JSON returns v as JSON, on one line when indent is empty. Undefined and streams are
// omitted from objects and null elsewhere.
func JSON(v any, indent string) string {
	text, _ := JSONWithin(v, indent, unlimited)
	return text
}

// JSONWithin is JSON of at most limit bytes; ok is false, and text incomplete, if v takes
// more.
func JSONWithin(v any, indent string, limit int) (text string, ok bool) {
	w := jsonWriter{indent: indent, limit: limit}
	w.writeValue(v, 0)
	return unsafe.String(unsafe.SliceData(w.b), len(w.b)), !w.isFull()
}

// AppendJSON appends the JSON of v on one line. It fails for numbers that are not finite,
// strings that are not UTF-8, and what is no null, boolean, number, string, list or object.
func AppendJSON(b []byte, v any) ([]byte, error) {
	w := jsonWriter{b: b, limit: unlimited, escapeInvisible: true, strict: true}
	w.writeValue(v, 0)
	return w.b, w.err
}

type jsonWriter struct {
	b               []byte
	indent          string
	limit           int  // of bytes; members beyond it are omitted
	escapeInvisible bool // escape all characters that are not IsVisible
	strict          bool // see AppendJSON
	err             error
}

func (w *jsonWriter) isFull() bool { return len(w.b) > w.limit }

func (w *jsonWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("value: "+format, args...)
	}
}

func (w *jsonWriter) writeValue(v any, depth int) {
	switch v := v.(type) {
	case nil:
		w.b = append(w.b, "null"...)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case float64:
		if w.strict && (math.IsNaN(v) || math.IsInf(v, 0)) {
			w.fail("%v is no number of JSON", v)
		}
		w.b = AppendNumber(w.b, v)
	case string:
		w.writeString(v)
	case []any:
		w.b = append(w.b, '[')
		for i, item := range v {
			if w.isFull() {
				return
			}
			w.separate(i, depth+1)
			w.writeValue(item, depth+1)
		}
		w.end(len(v), depth, ']')
	case *Object:
		w.writeObject(v, depth)
	default:
		w.writeOther(v)
	}
}

// writeOther writes values that only automations have.
func (w *jsonWriter) writeOther(v any) {
	switch v := v.(type) {
	case Bytes:
		if !w.strict {
			w.writeString(base64.StdEncoding.EncodeToString(v))
			return
		}
	case undefined, Stream:
		if !w.strict {
			w.b = append(w.b, "null"...)
			return
		}
	}
	w.b = append(w.b, "null"...)
	if w.escapeInvisible {
		w.fail("a %T is no value", v)
	}
}

func (w *jsonWriter) writeObject(o *Object, depth int) {
	w.b = append(w.b, '{')
	n := 0
	for i, key := range o.Keys() {
		v := o.values[i]
		if _, stream := v.(Stream); (stream || IsUndefined(v)) && !w.strict {
			continue
		}
		if w.isFull() {
			return
		}
		w.separate(n, depth+1)
		w.writeString(key)
		w.b = append(w.b, ':')
		if w.indent != "" {
			w.b = append(w.b, ' ')
		}
		w.writeValue(v, depth+1)
		n++
	}
	w.end(n, depth, '}')
}

func (w *jsonWriter) writeString(s string) {
	if w.strict && !utf8.ValidString(s) {
		w.fail("%q is not UTF-8", s)
	}
	w.b = appendQuoted(w.b, s, w.escapeInvisible)
}

func (w *jsonWriter) separate(n, depth int) {
	if n > 0 {
		w.b = append(w.b, ',')
	}
	w.breakLine(depth)
}

func (w *jsonWriter) end(n, depth int, closing byte) {
	if n > 0 {
		w.breakLine(depth)
	}
	w.b = append(w.b, closing)
}

func (w *jsonWriter) breakLine(depth int) {
	if w.indent == "" {
		return
	}
	w.b = append(w.b, '\n')
	for range depth {
		w.b = append(w.b, w.indent...)
	}
}

// maxExact is the largest number up to which every integer is a float64.
const maxExact = 1 << 53

// AppendNumber appends n as JSON: all digits of a number of usual size, else an exponent,
// with the fewest digits that read back as n. Numbers that are not finite are null.
func AppendNumber(b []byte, n float64) []byte {
	switch size := math.Abs(n); {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return append(b, "null"...)
	case size <= maxExact && n == math.Trunc(n):
		return strconv.AppendInt(b, int64(n), 10) // -0 is 0
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(b, n, 'f', -1, 64)
	default:
		text := strconv.FormatFloat(n, 'e', -1, 64)
		return append(b, strings.Replace(text, "e-0", "e-", 1)...)
	}
}

// IsVisible reports whether a file can contain r unescaped. Readers of YAML take the
// others for the end of a line or of the text.
func IsVisible(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	default:
		return true
	}
}

const hexDigits = "0123456789abcdef"

var shortEscapes = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendQuoted appends s in double quotes with the escapes of JSON, which YAML shares. All
// characters that are not IsVisible are escaped.
func AppendQuoted(b []byte, s string) []byte { return appendQuoted(b, s, true) }

// appendQuoted escapes what JSON must, and the line ends of Unicode; with escapeInvisible
// all characters that are not IsVisible. Invalid UTF-8 becomes the replacement character.
func appendQuoted(b []byte, s string, escapeInvisible bool) []byte {
	b = append(b, '"')
	start := 0 // of what is not appended yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < 0x7f {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
		case c == '"' || c == '\\':
			b = append(append(b, s[start:i]...), '\\', c)
		case c < ' ' && shortEscapes[c] != 0:
			b = append(append(b, s[start:i]...), '\\', shortEscapes[c])
		case r < ' ' || r == 0x2028 || r == 0x2029 || escapeInvisible && !IsVisible(r):
			b = append(append(b, s[start:i]...), '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
		default: // also beyond 16 bits: JSON would need two escapes, which YAML does not know
			i += size
			continue
		}
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
