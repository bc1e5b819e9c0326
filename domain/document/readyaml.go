package document

import (
	"bytes"
	"strconv"
	"strings"
)

// ReadYAML reads a text that YAML wrote, as most files of workspaces are; ok is
// false for any other, and for one beyond limits. It knows no YAML but that: what it
// takes a text for counts only when writing that gives the same bytes again, and a
// text of YAML is that of one value.
func ReadYAML(text []byte, limits Limits) (v any, ok bool) {
	r := &yamlReader{rest: string(text), count: Counter{Limits: limits}}
	if r.count.Text(text) != nil || !bytes.HasSuffix(text, []byte("\n")) {
		return nil, false
	}
	if v, ok = r.block(0, 1); !ok || r.rest != "" {
		return nil, false
	}
	again, err := YAML(v)
	return v, err == nil && bytes.Equal(again, text)
}

// yamlReader reads lines from the beginning of rest.
type yamlReader struct {
	rest  string
	count Counter
}

// begins goes behind the blanks of the next line, if it begins at a column.
func (r *yamlReader) begins(column int) bool {
	text := strings.TrimLeft(r.rest, " ")
	if text == "" || len(r.rest)-len(text) != column {
		return false
	}
	r.rest = text
	return true
}

// line takes what is left of a line.
func (r *yamlReader) line() string {
	line, rest, _ := strings.Cut(r.rest, "\n")
	r.rest = rest
	return line
}

// block reads the mapping or the list whose lines begin at a column.
func (r *yamlReader) block(column, depth int) (any, bool) {
	if !r.begins(column) {
		return nil, false
	}
	return r.inline(column, depth)
}

// inline is block behind the blanks of its first line.
func (r *yamlReader) inline(column, depth int) (any, bool) {
	if depth > maxDepth || r.count.Node(depth, 0, 0) != nil {
		return nil, false
	}
	if r.rest[0] == '-' {
		return r.list(column, depth)
	}
	return r.mapping(column, depth)
}

func (r *yamlReader) mapping(column, depth int) (any, bool) {
	m := MapOf()
	for more := true; more; more = r.begins(column) {
		colon := colonIn(r.rest)
		if colon < 0 || r.count.Node(0, 0, 0) != nil {
			return nil, false
		}
		key := unquoted(r.rest[:colon])
		r.rest = r.rest[colon+1:]
		value, ok := r.after(column, depth)
		if !ok {
			return nil, false
		}
		m.Set(key, value)
	}
	return m, true
}

// colonIn returns where in the first line of text the colon behind its key is, -1
// when it has none.
func colonIn(text string) int {
	line, _, _ := strings.Cut(text, "\n")
	at := 0
	if strings.HasPrefix(line, "'") {
		for at = 1; at < len(line) && (line[at] != '\'' || strings.HasPrefix(line[at:], "''")); at++ {
			if line[at] == '\'' {
				at++
			}
		}
		if at++; !strings.HasPrefix(line[min(at, len(line)):], ":") {
			return -1
		}
	}
	if colon := strings.Index(line[at:], ": "); colon >= 0 {
		return at + colon
	}
	if strings.HasSuffix(line, ":") {
		return len(line) - 1
	}
	return -1
}

func (r *yamlReader) list(column, depth int) (any, bool) {
	l := []any{}
	for more := true; more; more = r.begins(column) {
		if !strings.HasPrefix(r.rest, "- ") {
			return nil, false
		}
		var item any
		var ok bool
		if text := r.rest[2:]; strings.HasPrefix(text, "- ") || colonIn(text) >= 0 {
			r.rest = text
			item, ok = r.inline(column+2, depth+1)
		} else {
			r.rest = r.rest[1:]
			item, ok = r.after(column, depth)
		}
		if !ok {
			return nil, false
		}
		l = append(l, item)
	}
	return l, true
}

// after reads what follows a colon or a dash at a column.
func (r *yamlReader) after(column, depth int) (any, bool) {
	text, told := strings.CutPrefix(r.line(), " ")
	if !told {
		return r.block(column+2, depth+1)
	}
	switch text {
	case "{}":
		return MapOf(), r.count.Node(depth+1, 0, 0) == nil
	case "[]":
		return []any{}, r.count.Node(depth+1, 0, 0) == nil
	}
	if r.count.Node(0, 0, 0) != nil {
		return nil, false
	}
	switch text {
	case "null":
		return nil, true
	case "true", "false":
		return text == "true", true
	case "|", "|-", "|+":
		return r.literal(column+2, text), true
	}
	if text == "" || !strings.ContainsRune("-0123456789", rune(text[0])) {
		return unquoted(text), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// literal reads the lines of a literal block at a column.
func (r *yamlReader) literal(column int, style string) string {
	var lines strings.Builder
	margin := strings.Repeat(" ", column)
	for {
		text, inside := strings.CutPrefix(r.rest, margin)
		if !inside && !strings.HasPrefix(text, "\n") {
			break
		}
		r.rest = text
		lines.WriteString(r.line() + "\n")
	}
	if style == "|-" {
		return strings.TrimSuffix(lines.String(), "\n")
	}
	return lines.String()
}

// unquoted returns a string that stands on one line, without its single quotes.
func unquoted(s string) string {
	if len(s) < 2 || s[0] != '\'' || s[len(s)-1] != '\'' {
		return s
	}
	return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
}
