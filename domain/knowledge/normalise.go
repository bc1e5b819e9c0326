// Package knowledge has the rules of documents of knowledge bases: how a text is normalised, divided into passages, and
// which language it is in.
package knowledge

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normalise returns a text in the form that offsets of chunks refer to: NFC, lines that end in LF and not in blanks, no
// control characters but LF and tab, and at most one blank line between others.
func Normalise(text string) string {
	text = norm.NFC.String(strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	var b strings.Builder
	blank := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\u00a0")
		if line == "" {
			blank++
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat("\n", min(blank, 1)+1))
		}
		b.WriteString(line)
		blank = 0
	}
	return b.String()
}
