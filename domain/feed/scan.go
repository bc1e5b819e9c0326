package feed

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep a payload is looked into.
const maxDepth = 100

// scanner visits the leaves of a JSON value without decoding it: an index looks at
// every event that is ever recorded.
type scanner struct {
	data []byte
	at   int
	path []byte // of the leaf, dotted
	// leaf is called with the path and the text of each text, number, true and
	// false. Both are valid during the call only.
	leaf func(path, text []byte)
	ok   bool // what was seen was JSON, and not too deep
}

// leaves visits the leaves of data; false when it could not look at all of them.
func leaves(data []byte, prefix string, leaf func(path, text []byte)) bool {
	s := scanner{data: data, path: append(make([]byte, 0, 64), prefix...), leaf: leaf, ok: true}
	s.value(0)
	return s.ok
}

func (s *scanner) space() byte {
	for ; s.at < len(s.data); s.at++ {
		if c := s.data[s.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	s.ok = false
	return 0
}

func (s *scanner) value(depth int) {
	c := s.space()
	switch {
	case depth > maxDepth:
		s.ok = false
	case c == '{':
		s.object(depth)
	case c == '[':
		s.list(depth)
	case c == '"':
		s.leaf(s.path, s.text())
	case s.ok:
		s.word()
	}
}

func (s *scanner) object(depth int) {
	s.at++
	length := len(s.path)
	for s.ok {
		switch c := s.space(); c {
		case '}':
			s.at++
			return
		case ',':
			s.at++
		case '"':
			if key := s.text(); len(s.path) > 0 {
				s.path = append(append(s.path, '.'), key...)
			} else {
				s.path = append(s.path, key...)
			}
			if s.space() == ':' {
				s.at++
			}
			s.value(depth + 1)
			s.path = s.path[:length]
		default:
			s.ok = false
		}
	}
}

func (s *scanner) list(depth int) {
	s.at++
	for s.ok {
		switch s.space() {
		case ']':
			s.at++
			return
		case ',':
			s.at++
		default:
			s.value(depth + 1)
		}
	}
}

// word is a number, true, false or null.
func (s *scanner) word() {
	start := s.at
	for ; s.at < len(s.data); s.at++ {
		if c := s.data[s.at]; c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			break
		}
	}
	word := s.data[start:s.at]
	switch {
	case len(word) == 0:
		s.ok = false
	case word[0] == 't' || word[0] == 'f':
		s.leaf(s.path, word)
	case word[0] != 'n':
		s.leaf(s.path, plainNumber(word))
	}
}

// plainNumber returns a number in the one form that it is compared in.
func plainNumber(word []byte) []byte {
	for _, c := range word {
		if c < '0' || c > '9' {
			return []byte(NumberText(string(word)))
		}
	}
	if len(word) > 15 {
		return []byte(NumberText(string(word)))
	}
	return word
}

// NumberText returns the text of a number in the one form that it is compared in:
// 1, 1.0 and 1e0 are the same.
func NumberText(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// text returns the string that begins here, and goes behind it.
func (s *scanner) text() []byte {
	start := s.at
	escaped := false
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			escaped = true
			s.at++
		case '"':
			s.at++
			raw := s.data[start:s.at]
			if !escaped {
				return raw[1 : len(raw)-1]
			}
			var t string
			if json.Unmarshal(raw, &t) != nil || !utf8.ValidString(t) {
				s.ok = false
			}
			return []byte(t)
		}
	}
	s.ok = false
	return nil
}
