package value

import (
	"strconv"
	"unicode/utf8"
)

// At reads one key of v: a key of an object, an index of an array or a string
// when it is all digits, or the length of an array, string or bytes. An absent
// one is Undefined.
func At(v any, key string) any {
	switch v := v.(type) {
	case *Object:
		return v.At(key)
	case []any:
		if key == "length" {
			return float64(len(v))
		}
		if i, ok := Index(key); ok && i < len(v) {
			return v[i]
		}
	case string:
		if key == "length" {
			return float64(utf8.RuneCountInString(v))
		}
		if i, ok := Index(key); ok {
			return char(v, i)
		}
	case Bytes:
		if key == "length" {
			return float64(len(v))
		}
	}
	return Undefined
}

// Effort is how many characters are gone through to read one key of v: those of a text
// have to be counted.
func Effort(v any, key string) int {
	s, ok := v.(string)
	if !ok {
		return 0
	}
	if i, ok := Index(key); ok && i < len(s) {
		return i + 1
	}
	if key == "length" {
		return len(s)
	}
	return 0
}

// Reach is Walk that also tells how much effort it took.
func Reach(v any, keys ...string) (at any, effort int) {
	for _, key := range keys {
		effort += Effort(v, key)
		v = At(v, key)
	}
	return v, effort
}

// Walk reads a path of keys from v.
func Walk(v any, keys ...string) any {
	for _, key := range keys {
		v = At(v, key)
	}
	return v
}

// Index returns the number that an all-digits key writes.
func Index(key string) (int, bool) {
	if key == "" || len(key) > 9 {
		return 0, false
	}
	for i := range len(key) {
		if key[i] < '0' || key[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(key)
	return n, err == nil
}

func char(s string, index int) any {
	if index >= len(s) {
		return Undefined
	}
	for i, r := range s {
		if index == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			return s[i : i+size]
		}
		_ = r
		index--
	}
	return Undefined
}
