package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parser reads one string. Its first fault is kept in err and moves it to the
// end, where nothing more is found: no rule needs to look at err on its way.
type parser struct {
	src   string
	pos   int // bytes
	end   int
	depth int
	err   *Error
}

func newParser(src string) *parser { return &parser{src: src, end: len(src)} }

func (p *parser) fail(name, format string, args ...any) {
	p.failAt(p.pos, name, format, args...)
}

func (p *parser) failAt(pos int, name, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{
			Name: name, Message: fmt.Sprintf(format, args...),
			Offset: utf8.RuneCountInString(p.src[:min(pos, len(p.src))]), Expression: p.src,
		}
	}
	p.pos = p.end
}

// enter goes one level deeper; every enter has its leave. The outermost is no
// nested level.
func (p *parser) enter() {
	p.depth++
	if p.depth > MaxDepth+1 {
		p.fail(SyntaxError, "nested more than %d levels deep", MaxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) rest() string { return p.src[p.pos:p.end] }

// peek returns the next character, 0 at the end.
func (p *parser) peek() rune {
	if p.pos >= p.end {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(p.rest())
	return r
}

func (p *parser) at(text string) bool { return strings.HasPrefix(p.rest(), text) }

// take passes text if it comes next.
func (p *parser) take(text string) bool {
	if !p.at(text) {
		return false
	}
	p.pos += len(text)
	return true
}

func (p *parser) expect(text, name string) {
	if !p.take(text) {
		p.fail(name, "%s expected%s", text, p.found())
	}
}

// found says what is there instead.
func (p *parser) found() string {
	if p.pos >= p.end {
		return " at the end"
	}
	return fmt.Sprintf(" before %q", p.peek())
}

func (p *parser) space() {
	p.while(unicode.IsSpace)
}

// while passes characters for which is holds, and returns them.
func (p *parser) while(is func(rune) bool) string {
	start := p.pos
	for p.pos < p.end {
		r, size := utf8.DecodeRuneInString(p.rest())
		if !is(r) {
			break
		}
		p.pos += size
	}
	return p.src[start:p.pos]
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isWordStart(r rune) bool { return unicode.IsLetter(r) || r == '_' || r == '$' }

func isWord(r rune) bool { return isWordStart(r) || isDigit(r) }

func isName(r rune) bool { return isWord(r) || r == '-' }

// word returns the word that comes next without passing it, "" if none does.
func (p *parser) word() string {
	if !isWordStart(p.peek()) {
		return ""
	}
	start := p.pos
	word := p.while(isWord)
	p.pos = start
	return word
}

// takeWord passes word, in any case, if it comes next.
func (p *parser) takeWord(word string) bool {
	if w := p.word(); strings.EqualFold(w, word) {
		p.pos += len(w)
		return true
	}
	return false
}

// quoted returns the text up to the next quote of the kind that comes next, and
// passes both.
func (p *parser) quoted(name string) string {
	quote := p.src[p.pos : p.pos+1]
	inside := p.src[p.pos+1 : p.end]
	n := strings.Index(inside, quote)
	if n < 0 {
		p.fail(name, "the quote is never closed")
		return ""
	}
	p.pos += n + 2
	return inside[:n]
}

var reserved = map[string]bool{
	"true": true, "false": true, "null": true, "undefined": true, "and": true, "or": true, "not": true,
	"in": true, "exists": true, "matches": true, "equals": true, "regex": true,
}
