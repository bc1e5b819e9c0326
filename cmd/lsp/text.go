package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"

	"svc/commands/yamltext"
)

// text is a document with the beginnings of its lines.
type text struct {
	body  string
	lines []int // offset of the first byte of each line
}

func newText(body string) text {
	t := text{body: body, lines: []int{0}}
	for i := 0; i < len(body); i++ {
		if body[i] == '\n' || body[i] == '\r' && (i+1 == len(body) || body[i+1] != '\n') {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns a line without its end; "" for one that does not exist.
func (t text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.body)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return strings.TrimRight(t.body[t.lines[n]:end], "\r\n")
}

// offset returns the byte at a position. Beyond the end of a line, or of the document, it is that end.
func (t text) offset(p position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.lines):
		return len(t.body)
	}
	line, at := t.line(p.Line), 0
	for units := 0; at < len(line) && units < p.Character; {
		r, size := utf8.DecodeRuneInString(line[at:])
		if units += utf16Length(r); units > p.Character {
			break // inside a pair of surrogates: its beginning
		}
		at += size
	}
	return t.lines[p.Line] + at
}

// position returns where a byte is.
func (t text) position(offset int) position {
	offset = min(max(offset, 0), len(t.body))
	line := sort.SearchInts(t.lines, offset+1) - 1
	units := 0
	for _, r := range t.body[t.lines[line]:offset] {
		units += utf16Length(r)
	}
	return position{line, units}
}

// utf16Length is how many units of UTF-16 a character has.
func utf16Length(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

func (t text) rangeOf(start, end int) textRange {
	return textRange{t.position(start), t.position(end)}
}

// at returns the byte at a position of a YAML text, whose columns are characters.
func (t text) at(p yamltext.Position) int {
	if p.Line < 1 || p.Line > len(t.lines) {
		return 0
	}
	line, at := t.line(p.Line-1), 0
	for column := 1; column < p.Column && at < len(line); column++ {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return t.lines[p.Line-1] + at
}

// token returns the end of the key or the value that begins at an offset. It ends at the end of its line.
func (t text) token(start int) int {
	n := t.position(start).Line
	rest := t.line(n)[start-t.lines[n]:]
	return start + len(rest[:tokenLength(rest)])
}

// tokenLength is the length of the key or the value that a line begins with.
func tokenLength(rest string) int {
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		if end := quotedLength(rest); end > 0 {
			return end
		}
	}
	if colon := colonAfterKey(rest); colon >= 0 {
		return colon
	}
	if comment := strings.Index(rest, " #"); comment >= 0 {
		rest = rest[:comment]
	}
	return len(strings.TrimRight(rest, " \t"))
}

// quotedLength is the length of the quoted scalar that s begins with; 0 when it is not closed.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0] && s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return 0
}

// colonAfterKey returns where the colon after the key is that s begins with; -1 when there is none.
func colonAfterKey(s string) int {
	at := 0
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if at = quotedLength(s); at == 0 {
			return -1
		}
		if rest := strings.TrimLeft(s[at:], " "); strings.HasPrefix(rest, ":") {
			return len(s) - len(rest)
		}
		return -1
	}
	for ; at < len(s); at++ {
		switch {
		case s[at] == ':' && (at+1 == len(s) || s[at+1] == ' ' || s[at+1] == '\t'):
			return at
		case s[at] == '#' && (at == 0 || s[at-1] == ' '), at == 0 && strings.IndexByte("{[|>", s[0]) >= 0:
			return -1
		}
	}
	return -1
}
