package value

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatNumber writes n as JSON does: NaN and infinities are null.
func formatNumber(n float64) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return "null"
	}
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return strconv.FormatInt(int64(n), 10) // also of minus zero
	}
	if text, err := json.Marshal(n); err == nil {
		return string(text)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// JSON writes v, compact when indent is empty. Undefined and streams are left
// out of objects and null elsewhere.
func JSON(v any, indent string) string {
	w := writer{indent: indent, limit: math.MaxInt}
	w.value(v, 0)
	return w.String()
}

// JSONWithin is JSON of a value whose text has so many bytes at most; ok is false, and
// little more than that was written, when it has more.
func JSONWithin(v any, indent string, limit int) (text string, ok bool) {
	w := writer{indent: indent, limit: limit}
	w.value(v, 0)
	return w.String(), !w.full()
}

type writer struct {
	strings.Builder
	indent string
	limit  int // of bytes; what is beyond is left out
}

func (w *writer) full() bool { return w.Len() > w.limit }

func (w *writer) value(v any, depth int) {
	switch v := v.(type) {
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case float64:
		w.WriteString(formatNumber(v))
	case string:
		w.text(v)
	case Bytes:
		w.text(base64.StdEncoding.EncodeToString(v))
	case []any:
		w.list(v, depth)
	case *Object:
		w.object(v, depth)
	default:
		w.WriteString("null")
	}
}

func (w *writer) text(s string) {
	if isPlain(s) {
		w.WriteByte('"')
		w.WriteString(s)
		w.WriteByte('"')
		return
	}
	enc := json.NewEncoder(&trimmed{w})
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a JSON form, a Builder always room
}

// isPlain reports whether a string stands in JSON as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// trimmed drops the line break that json.Encoder ends a value with.
type trimmed struct{ w *writer }

func (t *trimmed) Write(p []byte) (int, error) {
	t.w.WriteString(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

func (w *writer) list(list []any, depth int) {
	w.WriteByte('[')
	for i, item := range list {
		if w.full() {
			return
		}
		w.separate(i, depth+1)
		w.value(item, depth+1)
	}
	w.end(len(list), depth, ']')
}

func (w *writer) object(o *Object, depth int) {
	w.WriteByte('{')
	n := 0
	for i, key := range o.Keys() {
		v := o.values[i]
		if _, stream := v.(Stream); stream || IsUndefined(v) {
			continue
		}
		if w.full() {
			return
		}
		w.separate(n, depth+1)
		w.text(key)
		w.WriteByte(':')
		if w.indent != "" {
			w.WriteByte(' ')
		}
		w.value(v, depth+1)
		n++
	}
	w.end(n, depth, '}')
}

func (w *writer) separate(n, depth int) {
	if n > 0 {
		w.WriteByte(',')
	}
	w.line(depth)
}

func (w *writer) end(n, depth int, closing byte) {
	if n > 0 {
		w.line(depth)
	}
	w.WriteByte(closing)
}

func (w *writer) line(depth int) {
	if w.indent == "" {
		return
	}
	w.WriteByte('\n')
	for range depth {
		w.WriteString(w.indent)
	}
}

// MarshalJSON implements json.Marshaler.
func (o *Object) MarshalJSON() ([]byte, error) { return []byte(JSON(o, "")), nil }
