// Package value holds the values of documents and automations: null, booleans, numbers,
// strings, lists and objects that keep the order of their keys. Automations also have
// undefined, bytes and streams.
//
// In Go they are nil, bool, float64, string, []any, *Object, Undefined, Bytes and Stream.
// From converts what decoders return. A value that is shared is never changed.
package value

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

type undefined struct{}

// Undefined is the value of what is absent. As a member of an object it is left
// out, as an item of an array it is null.
var Undefined any = undefined{}

// IsUndefined reports whether v is Undefined.
func IsUndefined(v any) bool {
	_, is := v.(undefined)
	return is
}

// IsNothing reports whether v is null or Undefined.
func IsNothing(v any) bool { return v == nil || IsUndefined(v) }

// Bytes is a value that is no text.
type Bytes []byte

// Stream marks a live source of chunks, which only the runtime can read. It has
// no text and no JSON.
type Stream interface{ LiveStream() }

// From converts what a decoder returned to a value: maps (sorted by key when they have no
// order), slices, all number types, times and strings. Anything else is Undefined.
func From(v any) any {
	switch v := v.(type) {
	case nil, bool, string, float64, Bytes, undefined, Stream:
		return v
	case *Object:
		return objectFrom(v.Keys(), v.At)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = From(item)
		}
		return list
	case []string:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = item
		}
		return list
	case map[string]any:
		return objectFrom(slices.Sorted(maps.Keys(v)), func(key string) any { return v[key] })
	case []byte:
		return Bytes(v)
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	return numberFrom(v)
}

func objectFrom(keys []string, at func(string) any) *Object {
	o := &Object{}
	for _, key := range keys {
		o.Set(key, From(at(key)))
	}
	return o
}

func numberFrom(v any) any {
	switch n := v.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case int32:
		return float64(n)
	case uint64:
		return float64(n)
	case uint32:
		return float64(n)
	case float32:
		return float64(n)
	case json.Number:
		f, _ := strconv.ParseFloat(n.String(), 64)
		return f
	}
	return Undefined
}

// ReplaceNonFinite returns v with null for every NaN and infinity in it.
func ReplaceNonFinite(v any) any {
	if isFinite(v) {
		return v
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = ReplaceNonFinite(item)
		}
		return list
	case *Object:
		o := &Object{}
		for _, key := range v.Keys() {
			o.Set(key, ReplaceNonFinite(v.At(key)))
		}
		return o
	}
	return nil
}

func isFinite(v any) bool {
	switch v := v.(type) {
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isFinite(item) })
	case *Object:
		return !slices.ContainsFunc(v.Keys(), func(key string) bool { return !isFinite(v.At(key)) })
	}
	return true
}

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
			return runeAt(v, i)
		}
	case Bytes:
		if key == "length" {
			return float64(len(v))
		}
	}
	return Undefined
}

// ReadCost is how many characters are gone through to read one key of v: those of a text
// have to be counted.
func ReadCost(v any, key string) int {
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

// WalkCost is Walk that also returns its cost.
func WalkCost(v any, keys ...string) (at any, effort int) {
	for _, key := range keys {
		effort += ReadCost(v, key)
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

func runeAt(s string, index int) any {
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
