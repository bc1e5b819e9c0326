package feed

import (
	"encoding/json"
	"strings"
)

// Field implements access.Object: one of the top-level fields.
func (e *Event) Field(name string) (any, bool) {
	switch name { // the usual conditions ask for these
	case "type":
		return e.Type, true
	case "id":
		return e.ID, true
	}
	v, ok := e.decoded()[name]
	return v, ok
}

// decoded returns the event as JSON values.
func (e *Event) decoded() map[string]any {
	e.decoding.Do(func() {
		if json.Unmarshal(e.JSON(), &e.fields) != nil {
			e.fields = map[string]any{}
		}
	})
	return e.fields
}

// Values returns what is at a dotted path of the event as it is shown; a path that
// crosses a list goes on in each of its elements, and a list at its end is its
// elements. Nothing is there: nil.
func (e *Event) Values(path string) []any {
	switch path {
	case "@timestamp", "createdAt":
		return []any{e.CreatedAt()}
	case "type":
		return []any{e.Type}
	}
	return valuesAt(e.decoded(), path, nil)
}

func valuesAt(v any, path string, found []any) []any {
	if list, ok := v.([]any); ok {
		for _, item := range list {
			found = valuesAt(item, path, found)
		}
		return found
	}
	if path == "" {
		if v == nil {
			return found
		}
		return append(found, v)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return found
	}
	if inner, ok := fields[path]; ok { // a name may have dots in it
		return valuesAt(inner, "", found)
	}
	for at := strings.IndexByte(path, '.'); at >= 0; at = nextDot(path, at) {
		if inner, ok := fields[path[:at]]; ok {
			found = valuesAt(inner, path[at+1:], found)
		}
	}
	return found
}

// nextDot returns the place of the dot after the one at a place; -1 when it was the
// last.
func nextDot(path string, at int) int {
	next := strings.IndexByte(path[at+1:], '.')
	if next < 0 {
		return -1
	}
	return at + 1 + next
}
