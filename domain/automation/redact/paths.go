package redact

import (
	"strconv"

	"svc/domain/automation/value"
)

// Paths returns where in v there are secrets: the keys and indexes that lead to each text
// that holds one, or to an object with one in a key of it.
func (s *Set) Paths(v any) [][]string {
	in := s.current()
	if in == nil {
		return nil
	}
	return in.paths(v, nil, nil)
}

func (in *index) paths(v any, at []string, found [][]string) [][]string {
	step := func(key string) []string { return append(at[:len(at):len(at)], key) }
	switch v := v.(type) {
	case string:
		if in.text(v) != v {
			found = append(found, at)
		}
	case []any:
		for i, item := range v {
			found = in.paths(item, step(strconv.Itoa(i)), found)
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if in.text(key) != key {
				return append(found, at)
			}
		}
		for _, key := range v.Keys() {
			found = in.paths(v.At(key), step(key), found)
		}
	}
	return found
}
