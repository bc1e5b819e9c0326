package document

import (
	"slices"

	"svc/domain/automation/value"
)

// Map is the ordered mapping of a document. The order of keys is content: of the branches
// of a condition the first one that holds is executed.
type Map = value.Object

// Pair is one key of a Map and its value.
type Pair struct {
	Key   string
	Value any
}

// MapOf returns a Map of pairs. Of two pairs with one key the last value counts, in the
// position of the first.
func MapOf(pairs ...Pair) *Map {
	m := value.NewObjectSize(len(pairs))
	for _, p := range pairs {
		m.Set(p.Key, p.Value)
	}
	return m
}

// Equal reports whether two values are the same, the order of keys included.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case *Map:
		b, ok := b.(*Map)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case nil, bool, float64, string:
		switch b.(type) {
		case nil, bool, float64, string:
			return a == b
		}
	}
	return false
}

func equalMaps(a, b *Map) bool {
	if !slices.Equal(a.Keys(), b.Keys()) {
		return false
	}
	for key, v := range a.All() {
		if other, _ := b.Get(key); !Equal(v, other) {
			return false
		}
	}
	return true
}

// Plain returns v with a map[string]any for every Map, where order does not matter. It
// shares only scalars with v.
func Plain(v any) any {
	switch v := v.(type) {
	case *Map:
		plain := make(map[string]any, v.Len())
		for k, value := range v.All() {
			plain[k] = Plain(value)
		}
		return plain
	case []any:
		plain := make([]any, len(v))
		for i, item := range v {
			plain[i] = Plain(item)
		}
		return plain
	default:
		return v
	}
}
