package variable

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"svc/domain/value"
)

// Size returns the length of v as compact JSON, in bytes.
func Size(v any) int { return measure(v).bytes }

// measured is the length of a value as JSON and its depth: 0 for a scalar. What is deeper
// than a variable may be is not measured.
type measured struct{ bytes, depth int }

func measure(v any) measured { return measureAt(v, 0) }

func measureAt(v any, depth int) measured {
	switch v := v.(type) {
	case bool:
		return measured{len("false") - boolSize(v), depth}
	case float64:
		return measured{numberSize(v), depth}
	case string:
		return measured{textSize(v), depth}
	case value.Bytes:
		return measured{base64.StdEncoding.EncodedLen(len(v)) + len(`""`), depth}
	case []any:
		return measureList(v, depth+1)
	case *value.Object:
		return measureObject(v, depth+1)
	}
	return measured{len("null"), depth}
}

func boolSize(v bool) int {
	if v {
		return 1
	}
	return 0
}

func measureList(list []any, depth int) measured {
	all := measured{bytes: len("[]"), depth: depth}
	if depth > MaxNested {
		return all
	}
	for i, item := range list {
		one := measureAt(item, depth)
		all.bytes += one.bytes + len(",") - missingComma(i)
		all.depth = max(all.depth, one.depth)
	}
	return all
}

func measureObject(o *value.Object, depth int) measured {
	all := measured{bytes: len("{}"), depth: depth}
	if depth > MaxNested {
		return all
	}
	members := 0
	for key, v := range o.All() {
		if !isInJSON(v) {
			continue
		}
		one := measureAt(v, depth)
		all.bytes += textSize(key) + len(":") + one.bytes + len(",") - missingComma(members)
		all.depth = max(all.depth, one.depth)
		members++
	}
	return all
}

// missingComma is 1 for the first item, which has no comma before it.
func missingComma(before int) int {
	if before == 0 {
		return 1
	}
	return 0
}

// isInJSON reports whether a member with this value is part of the JSON.
func isInJSON(v any) bool {
	_, stream := v.(value.Stream)
	return !stream && !value.IsUndefined(v)
}

// memberSize is what the member of key adds to the JSON of o when its value has
// that size.
func memberSize(o *value.Object, key string, size int) int {
	size += textSize(key) + len(":")
	for other, v := range o.All() {
		if other != key && isInJSON(v) {
			return size + len(",")
		}
	}
	return size
}

// numberSize is the length of a number as encoding/json writes it.
func numberSize(n float64) int {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return len("null")
	}
	if n == 0 {
		return len("0") // also of minus zero
	}
	var space [32]byte
	if size := math.Abs(n); size >= 1e-6 && size < 1e21 {
		return len(strconv.AppendFloat(space[:0], n, 'f', -1, 64))
	}
	text := strconv.AppendFloat(space[:0], n, 'e', -1, 64)
	if end := len(text); text[end-4] == 'e' && text[end-3] == '-' && text[end-2] == '0' {
		return end - 1 // e-09 is written e-9
	}
	return len(text)
}

// textSize is the length of a string as JSON, with its quotes.
func textSize(s string) int {
	size := len(s) + len(`""`)
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			size += escapeSize(b)
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && width == 1 || r == '\u2028' || r == '\u2029' {
			size += len(`\uffff`) - width
		}
		i += width
	}
	return size
}

// escapeSize is by how many bytes JSON is longer than this byte.
func escapeSize(b byte) int {
	switch b {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return len(`\n`) - 1
	}
	if b < ' ' {
		return len(`\u0000`) - 1
	}
	return 0
}
