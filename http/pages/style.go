package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"

	"svc/domain/page"
)

// cssClass is the class that the CSS of a block is limited to: the same for the same CSS.
func cssClass(b *page.Block) string { return "svc-css-" + cssHash(blockCSS(b)) }

// blockCSS returns the CSS of a block: that of the page, or of its definition when the page has none or imports it.
func blockCSS(b *page.Block) string {
	text := ""
	for _, sheet := range b.CSS {
		text = sheet + "\n" + text
		if !importsDefault(sheet) {
			break
		}
	}
	return text
}

// importsDefault reports whether the CSS of a block is added to that of its kind.
func importsDefault(text string) bool {
	return strings.Contains(strings.Join(strings.Fields(text), " "), "@import default")
}

func cssHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// scopeCSS returns the rules of a style sheet with all selectors limited to a scope, such as #svc-page. Rules that are
// invalid, or that could reach outside, are dropped.
func scopeCSS(text, scope string) string {
	s := scoping{scope: scope, suffix: "-" + cssHash(scope)}
	s.parser = css.NewParser(parse.NewInputString(text), false)
	s.rules(0)
	return s.out.String()
}

// scoping copies a style sheet rule by rule.
type scoping struct {
	parser *css.Parser
	out    strings.Builder
	scope  string
	suffix string // of the names of animations
}

// maxNested limits at-rules inside of each other.
const maxNested = 8

// rules copies rules until the block that they are in ends.
func (s *scoping) rules(depth int) {
	var selectors []string
	for {
		kind, _, data := s.parser.Next()
		switch kind {
		case css.ErrorGrammar:
			if s.parser.HasParseError() {
				continue // what is invalid is skipped
			}
			return
		case css.QualifiedRuleGrammar: // a selector before a comma
			selectors = append(selectors, s.selectors(s.parser.Values())...)
		case css.BeginRulesetGrammar:
			selectors = append(selectors, s.selectors(s.parser.Values())...)
			s.ruleset(selectors)
			selectors = nil
		case css.BeginAtRuleGrammar:
			s.atRule(string(data), depth)
		case css.EndAtRuleGrammar, css.EndRulesetGrammar:
			return
		}
	}
}

// atRule copies an at-rule with a block when it is allowed.
func (s *scoping) atRule(name string, depth int) {
	prelude := tokensText(s.parser.Values())
	name = strings.ToLower(name)
	var inner scoping
	switch name {
	case "@media", "@supports", "@container", "@layer":
		inner = scoping{parser: s.parser, scope: s.scope, suffix: s.suffix}
		inner.rules(depth + 1)
		if depth < maxNested && isSafeText(prelude) {
			s.out.WriteString(name + " " + strings.TrimSpace(prelude) + "{" + inner.out.String() + "}")
		}
	case "@font-face":
		declarations := s.declarations()
		s.out.WriteString("@font-face{" + declarations + "}")
	case "@keyframes", "@-webkit-keyframes":
		s.keyframes(strings.TrimSpace(prelude))
	default:
		s.skipBlock()
	}
}

// keyframes copies an animation under a name of this scope.
func (s *scoping) keyframes(name string) {
	var out strings.Builder
	var steps []string
	for {
		kind, _, _ := s.parser.Next()
		switch kind {
		case css.ErrorGrammar:
			if s.parser.HasParseError() {
				continue
			}
			return
		case css.QualifiedRuleGrammar:
			steps = append(steps, strings.TrimSpace(tokensText(s.parser.Values())))
			continue
		case css.BeginRulesetGrammar:
			steps = append(steps, strings.TrimSpace(tokensText(s.parser.Values())))
			out.WriteString(strings.Join(steps, ",") + "{" + s.declarations() + "}")
			steps = nil
			continue
		case css.EndAtRuleGrammar:
			if isIdentifier(name) {
				s.out.WriteString("@keyframes " + name + s.suffix + "{" + out.String() + "}")
			}
			return
		}
	}
}

// skipBlock reads the block of an at-rule that is not allowed.
func (s *scoping) skipBlock() {
	for depth := 1; depth > 0; {
		switch kind, _, _ := s.parser.Next(); kind {
		case css.ErrorGrammar:
			if !s.parser.HasParseError() {
				return
			}
		case css.BeginAtRuleGrammar, css.BeginRulesetGrammar:
			depth++
		case css.EndAtRuleGrammar, css.EndRulesetGrammar:
			depth--
		}
	}
}

// ruleset copies a rule with its declarations.
func (s *scoping) ruleset(selectors []string) {
	declarations := s.declarations()
	var kept []string
	for _, selector := range selectors {
		if selector != "" {
			kept = append(kept, selector)
		}
	}
	if len(kept) > 0 && declarations != "" {
		s.out.WriteString(strings.Join(kept, ",") + "{" + declarations + "}")
	}
}

// declarations copies the declarations of a block that are allowed. Rules inside of rules are dropped.
func (s *scoping) declarations() string {
	var out strings.Builder
	for {
		kind, _, data := s.parser.Next()
		switch kind {
		case css.ErrorGrammar:
			if s.parser.HasParseError() {
				continue
			}
			return out.String()
		case css.DeclarationGrammar, css.CustomPropertyGrammar:
			if text, ok := s.declaration(string(data), s.parser.Values()); ok {
				out.WriteString(text + ";")
			}
		case css.BeginRulesetGrammar, css.BeginAtRuleGrammar:
			s.skipBlock()
		case css.EndRulesetGrammar, css.EndAtRuleGrammar:
			return out.String()
		}
	}
}

// declaration returns a property with its value; ok is false when it is not allowed.
func (s *scoping) declaration(property string, tokens []css.Token) (text string, ok bool) {
	lower := strings.ToLower(property)
	if lower == "behavior" || lower == "-moz-binding" { //nolint:misspell // the name of a property
		return "", false
	}
	animation := lower == "animation" || lower == "animation-name" || strings.HasSuffix(lower, "-animation") || strings.HasSuffix(lower, "-animation-name")
	if len(tokens) == 1 && tokens[0].TokenType == css.CustomPropertyValueToken {
		tokens = tokensOf(tokens[0].Data) // it is read where a property takes it over
	}
	var b strings.Builder
	for _, t := range tokens {
		data := string(t.Data)
		switch t.TokenType {
		case css.URLToken:
			if !isAllowedURL(urlOf(data)) {
				return "", false
			}
		case css.BadURLToken, css.BadStringToken, css.CDOToken, css.CDCToken:
			return "", false
		case css.FunctionToken:
			switch strings.ToLower(data) {
			case "expression(", "url(", "image(", "image-set(", "-webkit-image-set(", "src(", "element(":
				return "", false // an address in a string is not checked as one
			}
		case css.IdentToken:
			if animation && isAnimationName(data) {
				data += s.suffix
			}
		}
		b.WriteString(data)
	}
	value := strings.TrimSpace(b.String())
	if !isSafeText(value) {
		return "", false
	}
	return property + ":" + value, true
}

// isAnimationName reports whether a word of animation is a name, and no keyword.
func isAnimationName(word string) bool {
	switch strings.ToLower(word) {
	case "none", "linear", "ease", "ease-in", "ease-out", "ease-in-out", "step-start", "step-end", "infinite", "normal", "reverse", "alternate",
		"alternate-reverse", "forwards", "backwards", "both", "running", "paused", "initial", "inherit", "unset", "revert", "important", "auto", "s", "ms":
		return false
	}
	return true
}

// isSafeText reports whether a text cannot end the style sheet or the block that it is in.
func isSafeText(text string) bool {
	return !strings.ContainsAny(text, "<{}") && !strings.Contains(strings.ToLower(text), "javascript:") && !strings.Contains(text, `\`)
}

func isIdentifier(s string) bool {
	if s == "" {
		return false
	}
	for i, r := range s {
		isLetter := r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !isLetter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// urlOf returns the address of url(…).
func urlOf(token string) string {
	inner := strings.TrimSuffix(token[strings.IndexByte(token, '(')+1:], ")")
	return strings.Trim(strings.TrimSpace(inner), `"'`)
}

// isAllowedURL reports whether CSS may load an address: https, relative, or data of a raster image.
func isAllowedURL(address string) bool {
	lower := strings.ToLower(strings.TrimSpace(address))
	if strings.Contains(lower, `\`) {
		return false
	}
	if scheme, rest, ok := strings.Cut(lower, ":"); ok && !strings.ContainsAny(scheme, "/?#.") {
		switch scheme {
		case "https":
			return strings.HasPrefix(rest, "//")
		case "data":
			for _, kind := range []string{"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/avif"} {
				if strings.HasPrefix(rest, kind+";") || strings.HasPrefix(rest, kind+",") {
					return true
				}
			}
		}
		return false
	}
	return !strings.HasPrefix(lower, "//")
}

// tokensOf returns the tokens of a text.
func tokensOf(text []byte) (tokens []css.Token) {
	lexer := css.NewLexer(parse.NewInputBytes(slices.Clone(text)))
	for {
		kind, data := lexer.Next()
		if kind == css.ErrorToken {
			return tokens
		}
		tokens = append(tokens, css.Token{TokenType: kind, Data: data})
	}
}

// selectors returns the selectors of a list, each limited to the scope.
func (s *scoping) selectors(tokens []css.Token) (list []string) {
	depth, from := 0, 0
	for i, t := range tokens {
		switch t.TokenType {
		case css.LeftParenthesisToken, css.LeftBracketToken, css.FunctionToken:
			depth++
		case css.RightParenthesisToken, css.RightBracketToken:
			depth--
		case css.CommaToken:
			if depth == 0 {
				list = append(list, s.selector(tokens[from:i]))
				from = i + 1
			}
		}
	}
	return append(list, s.selector(tokens[from:]))
}

// selector returns a selector limited to the scope: html, body, :root and :block are the scope itself. It is empty
// when the selector is not allowed.
func (s *scoping) selector(tokens []css.Token) string {
	text := strings.TrimSpace(tokensText(tokens))
	if text == "" || !isSafeText(text) || strings.ContainsAny(text, ";@") || strings.Contains(text, "||") {
		return ""
	}
	isBlock := strings.HasPrefix(s.scope, ".")
	own := false
	for _, name := range []string{":root", "html", "body", ":block"} {
		if (name == ":block") != isBlock || !strings.HasPrefix(strings.ToLower(text), name) {
			continue
		}
		rest := text[len(name):]
		if rest == "" || strings.ContainsRune(" >+~:.[#", rune(rest[0])) {
			text, own = rest, true
			if name == "html" && strings.HasPrefix(strings.TrimSpace(strings.ToLower(rest)), "body") { // html body
				text = strings.TrimSpace(rest)[len("body"):]
			}
			break
		}
	}
	if own {
		if c := firstCombinator(text); c == '+' || c == '~' {
			return "" // what is beside the scope
		}
		return s.scope + text
	}
	if strings.HasPrefix(text, ">") || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "~") {
		return ""
	}
	if isBlock {
		return s.scope + " " + strings.ReplaceAll(text, ":block", s.scope)
	}
	return s.scope + " " + text
}

// firstCombinator returns the combinator after the first compound of a selector: +, ~, > or a space; 0 when there is
// none.
func firstCombinator(selector string) byte {
	depth, space := 0, false
	for i := range len(selector) {
		switch c := selector[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth > 0:
		case c == '+' || c == '~' || c == '>':
			return c
		case c == ' ':
			space = true
		case space:
			return ' '
		}
	}
	return 0
}

// tokensText returns tokens as they were written.
func tokensText(tokens []css.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(t.Data)
	}
	return b.String()
}
