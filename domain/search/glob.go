package search

import (
	"unicode"
	"unicode/utf8"
)

// glob is a pattern over texts, character by character.
type glob []rune

// What is no character in a pattern.
const (
	many rune = -1 // any text
	one  rune = -2 // any character
)

// globOf reads a pattern in which * stands for any text, ? for any character and \
// takes its meaning from what follows.
func globOf(pattern string) (g glob) {
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			g, escaped = append(g, r), false
		case r == '\\':
			escaped = true
		case r == '*':
			g = append(g, many)
		case r == '?':
			g = append(g, one)
		default:
			g = append(g, r)
		}
	}
	return g
}

// lower returns the pattern in small letters.
func (g glob) lower() glob {
	small := make(glob, len(g))
	for i, r := range g {
		small[i] = r
		if r >= 0 {
			small[i] = unicode.ToLower(r)
		}
	}
	return small
}

// match reports whether the text is as the pattern says. It goes back to the last
// star only, so that no pattern takes longer than its length times that of the text.
func (g glob) match(text string) bool {
	at, star, mark := 0, -1, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case at < len(g) && (g[at] == one || g[at] == r):
			at, i = at+1, i+size
		case at < len(g) && g[at] == many:
			star, mark = at, i
			at++
		case star >= 0:
			_, size = utf8.DecodeRuneInString(text[mark:])
			mark += size
			at, i = star+1, mark
		default:
			return false
		}
	}
	for at < len(g) && g[at] == many {
		at++
	}
	return at == len(g)
}
