package feed

import "strings"

// Like reports whether a text is as a pattern says, in which * stands for any text.
func Like(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		piece, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(text, piece)
		}
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(piece):], more
	}
	return false
}

// likeAny reports whether a text is as one of several patterns says.
func likeAny(patterns []string, text string) bool {
	for _, p := range patterns {
		if Like(p, text) {
			return true
		}
	}
	return false
}
