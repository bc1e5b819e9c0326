package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// block reads {% expression %}.
func (p *parser) block() node {
	p.expect("{%", SyntaxError)
	root := p.expression()
	p.space()
	p.expect("%}", SyntaxError)
	return block{root}
}

// parseAll reads an expression up to the end of the string.
func (p *parser) parseAll() node {
	root := p.expression()
	p.space()
	if p.pos < p.end {
		p.fail(SyntaxError, "unexpected text%s", p.describeNext())
	}
	return root
}

func (p *parser) expression() node {
	p.enter()
	defer p.leave()
	items := []node{p.conjunction()}
	for p.operator("or", "||") {
		items = append(items, p.conjunction())
	}
	if len(items) == 1 {
		return items[0]
	}
	return orNode{items}
}

func (p *parser) conjunction() node {
	items := []node{p.parseNegation()}
	for p.operator("and", "&&") {
		items = append(items, p.parseNegation())
	}
	if len(items) == 1 {
		return items[0]
	}
	return andNode{items}
}

// operator passes a word or its sign.
func (p *parser) operator(word, sign string) bool {
	p.space()
	return p.skipWord(word) || p.skipText(sign)
}

func (p *parser) parseNegation() node {
	p.space()
	if !p.skipWord("not") {
		return p.comparison()
	}
	p.enter()
	defer p.leave()
	return notNode{p.parseNegation()}
}

var signs = []string{"===", "!==", "==", "!=", "<=", ">=", "=", "<", ">"}

func (p *parser) comparison() node {
	left := p.sum()
	p.space()
	for _, sign := range signs {
		if p.skipText(sign) {
			return p.parseComparison(left, sign)
		}
	}
	start := p.pos
	negated := p.skipWord("not")
	p.space()
	var n node
	switch {
	case p.skipWord("equals"):
		n = p.parseComparison(left, "==")
	case p.skipWord("in"):
		n = p.parseComparison(left, "in")
	case p.skipWord("matches"):
		n = p.matching(left)
	case p.skipWord("exists"):
		n = existsNode{left}
	default:
		if p.err == nil {
			p.pos = start
		}
		return left
	}
	if negated {
		return notNode{n}
	}
	return n
}

func (p *parser) parseComparison(left node, op string) node {
	right := p.sum()
	p.space()
	for _, sign := range signs {
		if p.at(sign) {
			p.fail(SyntaxError, "comparisons do not chain: use parentheses")
		}
	}
	return comparison{op, left, right}
}

func (p *parser) sum() node {
	c := chain{first: p.term()}
	for p.err == nil {
		p.space()
		op := p.peek()
		if op != '+' && op != '-' {
			break
		}
		p.pos++
		c.rest = append(c.rest, link{byte(op), p.term()})
	}
	return c.simplify()
}

func (p *parser) term() node {
	c := chain{first: p.unary()}
	for p.err == nil {
		p.space()
		op := p.peek()
		if op != '*' && op != '/' && op != '%' || p.at("%}") {
			break
		}
		p.pos++
		c.rest = append(c.rest, link{byte(op), p.unary()})
	}
	return c.simplify()
}

func (p *parser) unary() node {
	p.space()
	op := p.peek()
	if op != '!' && op != '-' {
		return p.access()
	}
	p.pos++
	p.enter()
	defer p.leave()
	n := p.unary()
	if op == '!' {
		return notNode{n}
	}
	return negation{n}
}

// access reads a call or parentheses with the keys behind them, or an atom.
func (p *parser) access() node {
	word := p.word()
	switch {
	case p.skipText("("):
		n := p.expression()
		p.space()
		p.expect(")", SyntaxError)
		return p.members(n)
	case word != "" && !reserved[strings.ToLower(word)] && strings.HasPrefix(p.rest()[len(word):], "("):
		return p.members(p.call(word))
	}
	return p.atom(word)
}

func (p *parser) members(n node) node {
	var steps []step
	for p.err == nil {
		switch {
		case p.skipText("."):
			word := p.word()
			if word == "" {
				p.fail(SyntaxError, "expected a key%s", p.describeNext())
			}
			p.pos += len(word)
			steps = append(steps, literal{Key: word})
		case p.skipText("["):
			steps = append(steps, p.key())
			p.expect("]", SyntaxError)
		default:
			return member(n, steps)
		}
	}
	return n
}

func (p *parser) atom(word string) node {
	switch {
	case p.at("{{"):
		return p.variable()
	case p.at("{%"):
		return p.block()
	case p.at(`"`), p.at("'"):
		return constant{p.quoted(SyntaxError)}
	case p.skipText("["):
		return list{p.arguments("]")}
	case p.skipText("{"):
		return p.object()
	case isDigit(p.peek()):
		return p.number()
	case word == "":
		p.fail(SyntaxError, "expected a value%s", p.describeNext())
		return constant{}
	}
	return p.parseWord(word)
}

// parseWord reads a word: a reserved one that is a value, or a string.
func (p *parser) parseWord(word string) node {
	lower := strings.ToLower(word)
	if v, ok := names[lower]; ok {
		p.pos += len(word)
		return constant{v}
	}
	if reserved[lower] {
		p.fail(SyntaxError, "unexpected %s: write it in quotes if it is text", word)
		return constant{}
	}
	p.pos += len(word)
	return bareWord(word)
}

// arguments reads expressions between commas, up to and including end.
func (p *parser) arguments(end string) []node {
	var items []node
	p.space()
	if p.skipText(end) {
		return nil
	}
	for p.err == nil {
		items = append(items, p.expression())
		p.space()
		if p.skipText(end) {
			break
		}
		p.expect(",", SyntaxError)
	}
	return items
}

func (p *parser) object() node {
	o := object{}
	p.space()
	for more := !p.skipText("}"); more && p.err == nil; {
		p.space()
		o.keys = append(o.keys, p.pairKey())
		p.space()
		p.expect(":", SyntaxError)
		o.values = append(o.values, p.expression())
		p.space()
		if more = !p.skipText("}"); more {
			p.expect(",", SyntaxError)
		}
	}
	return o
}

func (p *parser) pairKey() string {
	if p.at(`"`) || p.at("'") {
		return p.quoted(SyntaxError)
	}
	word := p.word()
	if word == "" {
		p.fail(SyntaxError, "expected a key%s", p.describeNext())
	}
	p.pos = min(p.pos+len(word), p.end)
	return word
}

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

// skipText passes text if it comes next.
func (p *parser) skipText(text string) bool {
	if !p.at(text) {
		return false
	}
	p.pos += len(text)
	return true
}

func (p *parser) expect(text, name string) {
	if !p.skipText(text) {
		p.fail(name, "%s expected%s", text, p.describeNext())
	}
}

// describeNext says what is there instead.
func (p *parser) describeNext() string {
	if p.pos >= p.end {
		return " at the end"
	}
	return fmt.Sprintf(" before %q", p.peek())
}

func (p *parser) space() {
	p.takeWhile(unicode.IsSpace)
}

// takeWhile passes characters for which is holds, and returns them.
func (p *parser) takeWhile(is func(rune) bool) string {
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
	word := p.takeWhile(isWord)
	p.pos = start
	return word
}

// skipWord passes word, in any case, if it comes next.
func (p *parser) skipWord(word string) bool {
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
