package expr

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"svc/domain/value"
)

// maxPattern is the length of a regular expression.
const maxPattern = 10_000

// pattern is a compiled regular expression and what a character costs it.
type pattern struct {
	*regexp.Regexp
	cost int
}

// compilePattern returns RE2 syntax compiled, or why it is none.
func compilePattern(s string) (*pattern, string) {
	if len(s) > maxPattern {
		return nil, "the regular expression is too long"
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, patternProblem(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, patternProblem(err)
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, patternProblem(err)
	}
	return &pattern{re, len(prog.Inst)}, ""
}

func patternProblem(err error) string {
	return strings.Replace(err.Error(), "error parsing regexp", "bad regular expression", 1)
}

// CheckPattern says what is wrong with a regular expression, "" if nothing is.
func CheckPattern(s string) string {
	_, why := compilePattern(s)
	return why
}

// matchesNode is the operator matches. fixed are patterns known in advance.
type matchesNode struct {
	left, right node
	fixed       []*pattern
}

// matching reads the right side of matches.
func (p *parser) matching(left node) node {
	p.space()
	start := p.pos
	m := matchesNode{left: left}
	if w := p.word(); strings.EqualFold(w, "regex") {
		p.pos += len(w)
		p.space()
		m.right = p.regex()
	} else {
		m.right = p.sum()
	}
	for _, s := range fixedTexts(m.right) {
		compiled, why := compilePattern(s)
		if why != "" {
			p.failAt(start, SyntaxError, "%s", why)
			return m
		}
		m.fixed = append(m.fixed, compiled)
	}
	return m
}

// fixedTexts returns the patterns of a right side that is written out.
func fixedTexts(n node) []string {
	if items, ok := n.(list); ok && isFixed(n) {
		var all []string
		for _, item := range items.items {
			all = append(all, fixedTexts(item)...)
		}
		return all
	}
	switch n := n.(type) {
	case bareWord:
		return []string{string(n)}
	case constant:
		if s, ok := n.v.(string); ok && s != "" {
			return []string{s}
		}
	}
	return nil
}

// regex reads (raw), up to the parenthesis that balances the first.
func (p *parser) regex() node {
	p.expect("(", SyntaxError)
	var parts []node
	start := p.pos
	text := func() {
		if p.pos > start {
			parts = append(parts, constant{p.src[start:p.pos]})
		}
	}
	for level := 1; p.err == nil; {
		switch {
		case p.pos >= p.end, p.at("%}"):
			p.fail(SyntaxError, "the parenthesis of regex is never closed")
		case p.at(")") && level == 1:
			text()
			p.pos++
			return p.raw(parts)
		case p.at("{{") && strings.Contains(p.rest(), "}}"):
			text()
			parts = append(parts, p.variable())
			start = p.pos
		case p.at(`\`):
			p.pos++
			p.skip()
		default:
			level += strings.Count(p.rest()[:1], "(") - strings.Count(p.rest()[:1], ")")
			p.skip()
		}
	}
	return constant{}
}

func (p *parser) skip() {
	_, size := utf8.DecodeRuneInString(p.rest())
	p.pos += size
}

// raw returns the pattern of regex(…), compiled at once when it has no variables.
func (p *parser) raw(parts []node) node {
	dynamic := rawPattern{text{parts}}
	for _, part := range parts {
		if _, ok := part.(constant); !ok {
			return dynamic
		}
	}
	s, why := withFlags(value.Text(dynamic.text.eval(newWorldlessEvaluation(MaxSpent))))
	if why != "" {
		p.fail(SyntaxError, "%s", why)
	}
	return constant{s}
}

// rawPattern is regex(…) with variables in it.
type rawPattern struct{ text text }

func (r rawPattern) eval(e *evaluation) any {
	s, why := withFlags(value.Text(r.text.eval(e)))
	if why != "" {
		e.fail(&Error{Name: SyntaxError, Message: why, Function: "regex"})
	}
	return s
}

var slashed = regexp.MustCompile(`(?s)^/(.*)/([A-Za-z]*)$`)

// withFlags returns the pattern of a raw text with its flags.
func withFlags(s string) (regexpText, why string) {
	s = strings.TrimSpace(s)
	if len(s) > 2*maxPattern { // with flags, and what stands around it
		return "", "the regular expression is too long"
	}
	if m := slashed.FindStringSubmatch(s); m != nil {
		flags := ""
		for _, flag := range m[2] {
			switch {
			case strings.ContainsRune("ims", flag):
				flags += string(flag)
			case !strings.ContainsRune("gu", flag):
				return "", "unknown flag of a regular expression: " + string(flag)
			}
		}
		if flags != "" {
			return "(?" + flags + ")" + m[1], ""
		}
		return m[1], ""
	}
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1], ""
	}
	return s, ""
}

func (m matchesNode) eval(e *evaluation) any {
	left, ok := keyText(m.left.eval(e))
	patterns := m.fixed
	if patterns == nil {
		patterns = e.patterns(m.right.eval(e))
	}
	if !ok {
		return false
	}
	for _, p := range patterns {
		if !e.spend(p.cost*len(left)) || p.MatchString(left) {
			return e.err == nil
		}
	}
	return false
}

// patterns compiles what a right side of matches evaluated to.
func (e *evaluation) patterns(v any) []*pattern {
	var texts []any
	switch v := v.(type) {
	case string:
		texts = []any{v}
	case []any:
		texts = v
	default:
		if !value.IsNothing(v) {
			e.fail(&Error{Name: SyntaxError, Message: "matches needs a string or a list, not " + value.TypeName(v)})
		}
	}
	if !e.spend(len(texts)) {
		return nil
	}
	var all []*pattern
	for _, item := range texts {
		s, ok := item.(string)
		if !ok || s == "" || e.err != nil {
			continue
		}
		p, why := compilePattern(s)
		if why != "" {
			e.fail(&Error{Name: SyntaxError, Message: why})
			return nil
		}
		if e.spendCompile(p) {
			all = append(all, p)
		}
	}
	return all
}

// spendCompile takes from the budget what it takes to compile a pattern.
func (e *evaluation) spendCompile(p *pattern) bool { return e.spend(p.cost * 1000) }

// shorten returns the beginning of a text for a message.
func shorten(s string) string {
	if runes := []rune(s[:min(len(s), 200)]); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return s
}
