package yamltext

import (
	"encoding/json"
	"strconv"
	"strings"
)

// step is one part of a path: a key, or a position in a list.
type step struct {
	key    string
	item   int
	isItem bool
}

// stepsOf takes a path apart that shape.Path, or the parser of automations, put
// together. Of one that was cut off, what is whole counts.
func stepsOf(path string) []step {
	var steps []step
	for path != "" {
		s, rest, ok := firstStep(path)
		if !ok {
			break
		}
		steps, path = append(steps, s), rest
	}
	return steps
}

func firstStep(path string) (s step, rest string, ok bool) {
	switch {
	case strings.HasPrefix(path, `["`):
		return quotedStep(path[1:])
	case path[0] == '[':
		digits, rest, closed := strings.Cut(path[1:], "]")
		n, err := strconv.Atoi(digits)
		return step{item: n, isItem: true}, rest, closed && err == nil && n >= 0
	}
	path = strings.TrimPrefix(path, ".")
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return step{key: path[:end]}, path[end:], true
}

// quotedStep reads a key in quotes and the bracket after it.
func quotedStep(path string) (s step, rest string, ok bool) {
	end := 1
	for end < len(path) && path[end] != '"' {
		if path[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(path) || !strings.HasPrefix(path[end+1:], "]") {
		return step{}, "", false
	}
	err := json.Unmarshal([]byte(path[:end+1]), &s.key)
	return s, path[end+2:], err == nil
}
