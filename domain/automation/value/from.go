package value

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// ordered is any foreign map that knows the order of its keys.
type ordered interface {
	Keys() []string
	Get(key string) (any, bool)
}

// From makes a value of what a decoder returned: maps (in the order of their
// keys' text when they keep none), slices, every kind of number, times and
// text. What is none of them is Undefined.
func From(v any) any {
	switch v := v.(type) {
	case nil, bool, string, float64, Bytes, undefined, Stream:
		return v
	case *Object:
		return each(v.Keys(), v.At)
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
		return each(slices.Sorted(maps.Keys(v)), func(key string) any { return v[key] })
	case ordered:
		return each(v.Keys(), func(key string) any { got, _ := v.Get(key); return got })
	case []byte:
		return Bytes(v)
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	return number(v)
}

func each(keys []string, at func(string) any) *Object {
	o := &Object{}
	for _, key := range keys {
		o.Set(key, From(at(key)))
	}
	return o
}

func number(v any) any {
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

// Settled returns v as it leaves an expression: NaN and infinities, wherever
// they are, become null.
func Settled(v any) any {
	if settled(v) {
		return v
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Settled(item)
		}
		return list
	case *Object:
		o := &Object{}
		for _, key := range v.Keys() {
			o.Set(key, Settled(v.At(key)))
		}
		return o
	}
	return nil
}

func settled(v any) bool {
	switch v := v.(type) {
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !settled(item) })
	case *Object:
		return !slices.ContainsFunc(v.Keys(), func(key string) bool { return !settled(v.At(key)) })
	}
	return true
}
