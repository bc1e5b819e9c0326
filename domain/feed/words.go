package feed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words calls visit with each word of a text, in small letters, until it returns
// false: a word is a run of letters and digits.
func Words(text string, visit func(word string) (more bool)) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) }) {
		if !visit(strings.ToLower(word)) {
			return
		}
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// hash is FNV-1a, which can be fed byte by byte.
type hash uint64

const (
	hashStart hash = 14695981039346656037
	hashPrime hash = 1099511628211
)

func (h hash) add(c byte) hash { return (h ^ hash(c)) * hashPrime }

func (h hash) bytes(b []byte) hash {
	for _, c := range b {
		h = h.add(c)
	}
	return h
}

func (h hash) text(s string) hash {
	for i := range len(s) {
		h = h.add(s[i])
	}
	return h
}

// wordHashes visits the hashes of the words of a text: those of Words.
func wordHashes(text []byte, visit func(hash)) {
	h, open := hashStart, false
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text[i:])
			i += size
			if inWord(r) {
				h, open = h.text(strings.ToLower(string(r))), true
				continue
			}
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			h, open = h.add(c), true
			i++
			continue
		case c >= 'A' && c <= 'Z':
			h, open = h.add(c+('a'-'A')), true
			i++
			continue
		default:
			i++
		}
		if open {
			visit(h)
			h, open = hashStart, false
		}
	}
	if open {
		visit(h)
	}
}
