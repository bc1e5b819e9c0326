package knowledge

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// Word is a word of a text, with its place in bytes.
type Word struct {
	Text     string
	From, To int
}

// Words visits the words of a text: runs of letters, digits and their marks. A character of a script that is written
// without spaces is a word of its own.
func Words(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		from := -1
		for at, r := range text {
			inside := isWordRune(r)
			if from >= 0 && (!inside || IsDense(r)) {
				if !yield(Word{text[from:at], from, at}) {
					return
				}
				from = -1
			}
			if inside && IsDense(r) {
				to := at + utf8.RuneLen(r)
				if !yield(Word{text[at:to], at, to}) {
					return
				}
			} else if inside && from < 0 {
				from = at
			}
		}
		if from >= 0 {
			yield(Word{text[from:], from, len(text)})
		}
	}
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// IsDense reports whether a character is of a script that is written without spaces.
func IsDense(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}
