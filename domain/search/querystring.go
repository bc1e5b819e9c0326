package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// queryString reads query_string: words, "phrases", field:value, AND, OR, NOT,
// parentheses and *.
func (p *parser) queryString(v any, at string, depth int) query {
	operator := "or"
	if _, isLong := v.(map[string]any); isLong {
		m, _ := p.options(v, at, "query", "default_operator")
		operator = p.choice(m, "default_operator", at, "or", "and", "or")
		v, at = m["query"], at+".query"
	}
	text := p.text(v, at)
	s := &queryParser{parser: p, at: at, every: operator == "and"}
	p.deep, p.aside = true, true // words may be anywhere
	tokens, fault := tokenize(text)
	if s.tokens = tokens; fault != "" {
		p.fault(at, "%s", fault)
		return matchNone{}
	}
	q := s.alternatives(nil, depth)
	if len(s.tokens) > 0 && !s.failed {
		s.fail("has a ) too many")
	}
	return q
}

// tokenKind is what a token is.
type tokenKind int

const (
	wordToken   tokenKind = iota
	phraseToken           // in quotes
	fieldToken            // a name before a colon
	openToken
	closeToken
	andToken
	orToken
	notToken
)

// token is a piece of a query string. Pattern is that of a word with a star.
type token struct {
	kind    tokenKind
	text    string
	pattern glob
}

// operators are the words that join others.
var operators = map[string]tokenKind{"AND": andToken, "OR": orToken, "NOT": notToken, "&&": andToken, "||": orToken}

// tokenize splits a query string into tokens; fault is its error, "" for none.
func tokenize(text string) (tokens []token, fault string) {
	for text = skipSpace(text); text != ""; text = skipSpace(text) {
		var t token
		switch text[0] {
		case '(':
			t, text = token{kind: openToken}, text[1:]
		case ')':
			t, text = token{kind: closeToken}, text[1:]
		case '"':
			end := closingQuote(text)
			if end < 0 {
				return nil, "has a quote that is not closed"
			}
			t, text = token{kind: phraseToken, text: strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text[1:end])}, text[end+1:]
		case '+', '-', '!', '[', '{', '/':
			return nil, "cannot begin a word with " + text[:1] + "; put it into quotes"
		default:
			value := len(tokens) > 0 && tokens[len(tokens)-1].kind == fieldToken
			if value && (text[0] == '<' || text[0] == '>') {
				return nil, "cannot compare with " + text[:1] + "; use a range query, or put it into quotes"
			}
			t, text = readWord(text, value)
		}
		if t.kind == wordToken && strings.ContainsAny(t.text, "~^") {
			return nil, "has ~ or ^, which are not supported; put them into quotes"
		}
		tokens = append(tokens, t)
	}
	return tokens, ""
}

func skipSpace(text string) string { return strings.TrimLeftFunc(text, unicode.IsSpace) }

// closingQuote returns the place of the quote that ends the phrase at the beginning.
func closingQuote(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// readWord reads one word, operator or, unless it is the value of one, name of a
// field.
func readWord(text string, value bool) (t token, rest string) {
	var b strings.Builder
	i, wild, escaped := 0, false, false
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if unicode.IsSpace(r) || strings.ContainsRune(`()"`, r) {
			break
		}
		i += size
		switch {
		case r == '\\' && i < len(text):
			r, size = utf8.DecodeRuneInString(text[i:])
			i += size
			escaped = true
			t.pattern = append(t.pattern, r)
		case r == ':' && !value && i > size:
			t.kind, t.text = fieldToken, b.String()
			return t, text[i:]
		case r == '*':
			wild = true
			t.pattern = append(t.pattern, many)
		default:
			t.pattern = append(t.pattern, r)
		}
		b.WriteRune(r)
	}
	t.text = b.String()
	if kind, ok := operators[t.text]; ok && !escaped {
		t.kind = kind
	}
	if !wild {
		t.pattern = nil
	}
	return t, text[i:]
}

// queryParser is a query string that is being read. OR binds less than AND, and AND
// less than NOT; words without an operator are joined by the usual one.
type queryParser struct {
	*parser
	at     string
	every  bool // words without an operator are joined by AND
	tokens []token
	failed bool
}

func (s *queryParser) fail(message string) query {
	if !s.failed {
		s.fault(s.at, "%s", message)
	}
	s.failed, s.tokens = true, nil
	return matchNone{}
}

// skipToken returns whether the next token is of a kind, and goes past it then.
func (s *queryParser) skipToken(kind tokenKind) bool {
	if len(s.tokens) == 0 || s.tokens[0].kind != kind {
		return false
	}
	s.tokens = s.tokens[1:]
	return true
}

// hasMore reports whether another word follows, rather than an end.
func (s *queryParser) hasMore() bool {
	return len(s.tokens) > 0 && s.tokens[0].kind != closeToken && s.tokens[0].kind != orToken
}

// alternatives reads operands joined by OR. Words are searched in f, or anywhere.
func (s *queryParser) alternatives(f *field, depth int) query {
	either := boolean{least: 1}
	for {
		either.should = append(either.should, s.conjunctions(f, depth)...)
		if s.skipToken(orToken) {
			continue
		}
		if len(either.should) == 1 {
			return either.should[0]
		}
		return either
	}
}

// conjunctions reads an operand of OR: alternatives again, where words without an operator
// are joined by OR.
func (s *queryParser) conjunctions(f *field, depth int) (alternatives []query) {
	for {
		all := boolean{must: []query{s.unary(f, depth)}}
		for s.skipToken(andToken) || s.every && s.hasMore() {
			all.must = append(all.must, s.unary(f, depth))
		}
		alternatives = append(alternatives, all)
		if !s.hasMore() {
			return alternatives
		}
	}
}

// unary reads one word, phrase, field or group, or what it must not be.
func (s *queryParser) unary(f *field, depth int) query {
	not := false
	for s.skipToken(notToken) {
		not = !not
	}
	q := s.primary(f, depth)
	if not {
		return boolean{mustNot: []query{q}}
	}
	return q
}

func (s *queryParser) primary(f *field, depth int) query {
	if s.clause(s.at); s.clauses > maxClauses || depth > maxDepth {
		return s.fail("has too many words, or is nested too deeply")
	}
	if len(s.tokens) == 0 {
		return s.fail("ends where a word is expected")
	}
	t := s.tokens[0]
	s.tokens = s.tokens[1:]
	switch t.kind {
	case wordToken:
		return s.word(f, t)
	case phraseToken:
		if f != nil && !f.isProse() {
			return s.terms(*f, []any{t.text}, s.at)
		}
		return phrase{f, s.wordsOf(t.text, s.at)}
	case fieldToken:
		return s.inField(f, t, depth)
	case openToken:
		q := s.alternatives(f, depth+1)
		if !s.skipToken(closeToken) && !s.failed {
			return s.fail("has a ( that is not closed")
		}
		return q
	}
	return s.fail("has an operator or a parenthesis where a word is expected")
}

// inField reads what a field must hold.
func (s *queryParser) inField(outer *field, t token, depth int) query {
	if outer != nil || len(s.tokens) == 0 || s.tokens[0].kind > phraseToken && s.tokens[0].kind != openToken {
		return s.fail("names a field without saying what it must be")
	}
	if t.text == "*" { // any field
		return s.primary(nil, depth)
	}
	name := s.fieldAt(t.text, s.at)
	return s.primary(&name, depth)
}

// word is a word, or several that punctuation joins: those must follow each other.
func (s *queryParser) word(f *field, t token) query {
	switch {
	case t.text == "*" && t.pattern != nil && f == nil:
		return matchAll{}
	case t.text == "*" && t.pattern != nil:
		return exists{*f}
	case t.pattern != nil && !s.countPattern(len(t.pattern), s.at):
		s.failed, s.tokens = true, nil
		return matchNone{}
	case f != nil && !f.isProse() && t.pattern != nil:
		return wildcard{field: *f, pattern: t.pattern}
	case f != nil && !f.isProse():
		return s.terms(*f, []any{t.text}, s.at)
	case t.pattern == nil:
		return phrase{f, s.wordsOf(t.text, s.at)}
	}
	return words{f, []word{{pattern: t.pattern.lower()}}, true}
}
