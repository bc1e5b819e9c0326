package gateway

import (
	"slices"
	"strings"
)

// segment is one part of a path template between two slashes.
type segment struct {
	text string // as written
	rank int    // the lower, the more specific
}

// The ranks of segments.
const (
	rankWord   = iota // a literal word
	rankBound         // a variable with a pattern or some literal text
	rankFree          // a variable that takes any one segment
	rankSlashy        // a variable that takes several segments
)

// parseTemplate splits a path template at the slashes outside braces.
func parseTemplate(path string) []segment {
	var segments []segment
	depth, start := 0, 1
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' && depth == 0 {
			text := path[start:i]
			segments = append(segments, segment{text, rankOf(text)})
			start = i + 1
			continue
		}
		switch path[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	return segments
}

func rankOf(text string) int {
	name, pattern, _ := strings.Cut(text, ":")
	switch {
	case !strings.Contains(name, "{"):
		return rankWord
	case strings.HasPrefix(pattern, ".+}"), strings.HasPrefix(pattern, ".*}"):
		return rankSlashy
	case pattern != "" || !strings.HasPrefix(name, "{") || strings.Index(name, "}") != len(name)-1:
		return rankBound
	}
	return rankFree
}

// label returns the template without patterns, for metrics and spans.
func label(segments []segment) string {
	return "/" + join(segments, func(name, _ string) string { return name })
}

// shape returns the template without variable names, for finding duplicates.
func shape(segments []segment) string {
	return "/" + join(segments, func(_, pattern string) string { return pattern })
}

// join writes segments with each variable replaced by what keep takes of it.
func join(segments []segment, keep func(name, pattern string) string) string {
	words := make([]string, len(segments))
	for i, s := range segments {
		words[i] = s.text
		if s.rank != rankWord {
			words[i] = replaceVariables(s.text, keep)
		}
	}
	return strings.Join(words, "/")
}

func replaceVariables(text string, keep func(name, pattern string) string) string {
	var b strings.Builder
	depth, start := 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '{':
			if depth++; depth == 1 {
				start = i + 1
			}
		case text[i] == '}':
			if depth--; depth == 0 {
				name, pattern, _ := strings.Cut(text[start:i], ":")
				b.WriteString("{" + keep(name, pattern) + "}")
			}
		case depth == 0:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// bySpecificity orders templates so that the first that matches is the one
// that is meant: words before variables, more segments before fewer.
func bySpecificity(a, b []segment) int {
	for i := range min(len(a), len(b)) {
		if a[i].rank != b[i].rank {
			return a[i].rank - b[i].rank
		}
	}
	return len(b) - len(a)
}

// fits compares the words of a template with an escaped path. It is the cheap
// question before the regular expression: most rows fall out here.
func fits(segments []segment, path string) bool {
	rest := strings.TrimPrefix(path, "/")
	for i, s := range segments {
		if s.rank == rankSlashy {
			return true
		}
		word, tail, more := strings.Cut(rest, "/")
		if s.rank == rankWord && s.text != word || more != (i < len(segments)-1) && !slashyAhead(segments[i+1:]) {
			return false
		}
		rest = tail
	}
	return true
}

func slashyAhead(segments []segment) bool {
	return slices.ContainsFunc(segments, func(s segment) bool { return s.rank == rankSlashy })
}
