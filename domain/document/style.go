package document

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// isPlain reports whether every reader of YAML, of the old version too, takes s
// without quotes for this string.
func isPlain(s string) bool {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !isPlainRune(r) }) {
		return false
	}
	first, last := s[0], s[len(s)-1]
	return (isLetter(rune(first)) || first == '_' || first == '/') && last != ' ' && last != ':' &&
		!strings.Contains(s, ": ") && !slices.Contains(wordsOfYAML, strings.ToLower(s))
}

// wordsOfYAML are read as something else than themselves by some reader.
var wordsOfYAML = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

func isPlainRune(r rune) bool {
	return isLetter(r) || r >= '0' && r <= '9' || strings.ContainsRune("_ ./@+:-", r)
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// isBlock reports whether s is written as a literal block: several lines whose
// blanks at either end nobody can lose, because there are none.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || strings.ContainsRune(" \t\n", rune(s[0])) || !utf8.ValidString(s) {
		return false
	}
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") || !isVisible(strings.ReplaceAll(line, "\t", "")) {
			return false
		}
	}
	return true
}
