package document

import (
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/automation/value"
)

// isPlain reports whether every reader of YAML, of the old version too, takes s
// without quotes for this string.
func isPlain(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if !plainBytes[s[i]] || s[i] == ':' && i+1 < len(s) && s[i+1] == ' ' {
			return false
		}
	}
	first, last := s[0], s[len(s)-1]
	return (isLetter(first) || first == '_' || first == '/') && last != ' ' && last != ':' && !isWordOfYAML(s)
}

// wordsOfYAML are read as something else than themselves by some reader.
var wordsOfYAML = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

func isWordOfYAML(s string) bool {
	return len(s) <= len("false") && slices.Contains(wordsOfYAML, strings.ToLower(s))
}

// plainBytes are those that a string without quotes is made of.
var plainBytes = func() (plain [256]bool) {
	for i := range plain {
		b := byte(i)
		plain[i] = isLetter(b) || b >= '0' && b <= '9' || strings.IndexByte("_ ./@+:-", b) >= 0
	}
	return plain
}()

func isLetter[T byte | rune](c T) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

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

// isVisible reports whether a file can contain all of s unescaped, on one line.
func isVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !value.IsVisible(r) })
}
