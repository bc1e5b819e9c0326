package value

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

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
