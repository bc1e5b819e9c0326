package page

import (
	"strconv"
	"strings"

	"svc/domain/value"
)

// Template is a string of a stored document with placeholders.
type Template struct {
	source string
	parts  []templatePart
	negate bool // !{{x}}
}

// templatePart is plain text, or a placeholder when it has a path.
type templatePart struct {
	text    string
	path    []string
	filters []filterCall
}

// filterCall is a filter with its arguments: strings, numbers, or paths.
type filterCall struct {
	name string
	args []any // string, float64 or argumentPath
}

// argumentPath is an argument that is read like a placeholder.
type argumentPath []string

// maxTemplate is the length of a string that is parsed for placeholders; a longer one is plain text.
const maxTemplate = 100_000

// parseTemplate returns the template of a string, or nil when it has no placeholder.
func parseTemplate(s string) *Template {
	if len(s) > maxTemplate || !strings.Contains(s, "{{") {
		return nil
	}
	t := &Template{source: s}
	rest, found := s, false
	for rest != "" {
		open := strings.Index(rest, "{{")
		if open < 0 {
			break
		}
		inner := rest[open+2:]
		end := placeholderEnd(inner)
		if end < 0 {
			break
		}
		p, ok := parsePlaceholder(inner[:end])
		if !ok { // it is plain text, up to and with its braces
			t.addText(rest[:open+2])
			rest = inner
			continue
		}
		found = true
		t.addText(rest[:open])
		t.parts = append(t.parts, p)
		rest = inner[end+2:]
	}
	if !found {
		return nil
	}
	t.addText(rest)
	if len(t.parts) == 2 && t.parts[0].path == nil && strings.TrimSpace(t.parts[0].text) == "!" {
		t.parts, t.negate = t.parts[1:], true
	}
	return t
}

// addText appends plain text to the template.
func (t *Template) addText(s string) {
	if s == "" {
		return
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].path == nil {
		t.parts[n-1].text += s
		return
	}
	t.parts = append(t.parts, templatePart{text: s})
}

// placeholderEnd returns where the closing braces are, outside of quoted arguments; -1 when there are none.
func placeholderEnd(s string) int {
	i := indexOutsideQuotes(s, "{}")
	if i < 0 || !strings.HasPrefix(s[i:], "}}") {
		return -1
	}
	return i
}

// indexOutsideQuotes returns the index of the first of some characters that is not in quotes; -1 when there is none.
func indexOutsideQuotes(s, characters string) int {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(characters, c) >= 0:
			return i
		}
	}
	return -1
}

// parsePlaceholder reads path|filter:arg,arg|filter.
func parsePlaceholder(s string) (p templatePart, ok bool) {
	sections := splitOutsideQuotes(s, "|")
	if p.path, ok = parsePath(strings.TrimSpace(sections[0])); !ok {
		return p, false
	}
	for _, section := range sections[1:] {
		name, rest, hasArgs := cutOutsideQuotes(section, ":")
		f := filterCall{name: strings.TrimSpace(name)}
		if f.name == "" {
			return p, false
		}
		if hasArgs {
			for _, arg := range splitOutsideQuotes(rest, ",") {
				v, ok := parseArgument(strings.TrimSpace(arg))
				if !ok {
					return p, false
				}
				f.args = append(f.args, v)
			}
		}
		p.filters = append(p.filters, f)
	}
	return p, true
}

// parseArgument reads a quoted string, a number or a path.
func parseArgument(s string) (any, bool) {
	if s == "" {
		return "", true
	}
	if q := s[0]; q == '\'' || q == '"' {
		if len(s) < 2 || s[len(s)-1] != q {
			return nil, false
		}
		return unescapeQuoted(s[1 : len(s)-1]), true
	}
	if n, ok := value.ParseNumber(s); ok {
		return n, true
	}
	path, ok := parsePath(s)
	return argumentPath(path), ok
}

// unescapeQuoted replaces \x by x.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch i++; s[i] {
			case '\'', '"', '\\':
			default: // a pattern keeps its backslashes
				b.WriteByte('\\')
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// splitOutsideQuotes splits s at a separator that is not in quotes.
func splitOutsideQuotes(s, separator string) (parts []string) {
	for {
		before, after, found := cutOutsideQuotes(s, separator)
		parts = append(parts, before)
		if !found {
			return parts
		}
		s = after
	}
}

// cutOutsideQuotes cuts s at the first separator that is not in quotes.
func cutOutsideQuotes(s, separator string) (before, after string, found bool) {
	if i := indexOutsideQuotes(s, separator); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// parsePath reads names joined by dots, with [n] for items of lists.
func parsePath(s string) (path []string, ok bool) {
	for {
		end := strings.IndexAny(s, ".[")
		name := s
		if end >= 0 {
			name = s[:end]
		}
		if !isName(name) {
			return nil, false
		}
		path = append(path, name)
		if end < 0 {
			return path, true
		}
		s = s[end:]
		for strings.HasPrefix(s, "[") {
			index, rest, closed := strings.Cut(s[1:], "]")
			if _, err := strconv.ParseUint(index, 10, 31); err != nil || !closed {
				return nil, false
			}
			path = append(path, index)
			s = rest
		}
		if s == "" {
			return path, true
		}
		if s[0] != '.' {
			return nil, false
		}
		s = s[1:]
	}
}

func isName(s string) bool {
	if s == "" {
		return false
	}
	for _, r := range s {
		if r <= ' ' || strings.ContainsRune(`.[]{}|:,'"!()<>=&`, r) {
			return false
		}
	}
	return true
}

// paths visits the paths that a template reads.
func (t *Template) paths(visit func([]string)) {
	for _, p := range t.parts {
		if p.path == nil {
			continue
		}
		visit(p.path)
		for _, f := range p.filters {
			for _, arg := range f.args {
				if path, ok := arg.(argumentPath); ok {
					visit(path)
				}
			}
		}
	}
}

// evalTemplate evaluates a template in a scope. A template that is one placeholder keeps the type of the value.
func (e *expansion) evalTemplate(t *Template, s *scope) any {
	if len(t.parts) == 1 {
		v := e.evalPart(t.parts[0], s)
		if t.negate {
			return !value.IsTruthy(v)
		}
		switch v {
		case "true":
			return true
		case "false":
			return false
		}
		return v
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.path == nil {
			b.WriteString(p.text)
			continue
		}
		text := e.textOf(e.evalPart(p, s))
		if !e.spend(len(text)) {
			return ""
		}
		b.WriteString(text)
	}
	return b.String()
}

func (e *expansion) evalPart(p templatePart, s *scope) any {
	v := e.lookup(p.path, s)
	for _, f := range p.filters {
		v = e.applyFilter(f, v, s)
	}
	return v
}

// textOf returns a value as it is put into mixed text: texts by language are resolved, other objects are JSON.
func (e *expansion) textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	if s, ok := e.view.Language.Resolve(v); ok {
		return s
	}
	if value.IsNothing(v) {
		return ""
	}
	switch v.(type) {
	case *value.Object, []any:
		text, _ := value.JSONWithin(v, "", maxExpandedBytes)
		return text
	}
	return value.Text(v)
}
