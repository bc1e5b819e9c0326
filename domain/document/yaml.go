package document

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/domain/value"
)

// longKey is the length of a written key, in bytes, above which it takes a line
// of its own: readers look no further than 1024 characters for the colon.
const longKey = 1000

// YAML returns the canonical text of v: the same value gives the same bytes, and
// reading them gives v again. It fails when v is no value of this package.
func YAML(v any) ([]byte, error) {
	w := &yamlWriter{}
	switch v := v.(type) {
	case *Map:
		if v.Len() > 0 {
			w.mapping(v, 0, false)
			return w.b, w.err
		}
	case []any:
		if len(v) > 0 {
			w.list(v, 0, false)
			return w.b, w.err
		}
	}
	w.writeAfter(v, 0)
	return bytes.TrimPrefix(w.b, []byte(" ")), w.err
}

type yamlWriter struct {
	b   []byte
	err error // the first fault
}

// mapping writes the keys of m at a column. The first may continue the line of
// the dash before it.
func (w *yamlWriter) mapping(m *Map, column int, inline bool) {
	for k, v := range m.All() {
		if !inline {
			w.pad(column)
		}
		inline = false
		start := len(w.b)
		w.line(k)
		if len(w.b)-start > longKey {
			w.b = slices.Insert(w.b, start, '?', ' ')
			w.b = append(w.b, '\n')
			w.pad(column)
		}
		w.b = append(w.b, ':')
		w.writeAfter(v, column)
	}
}

// list writes the items of l with their dashes at a column.
func (w *yamlWriter) list(l []any, column int, inline bool) {
	for _, item := range l {
		if !inline {
			w.pad(column)
		}
		inline = false
		w.b = append(w.b, '-')
		switch v := item.(type) {
		case *Map:
			if v.Len() > 0 {
				w.b = append(w.b, ' ')
				w.mapping(v, column+2, true)
				continue
			}
		case []any:
			if len(v) > 0 {
				w.b = append(w.b, ' ')
				w.list(v, column+2, true)
				continue
			}
		}
		w.writeAfter(item, column)
	}
}

// writeAfter writes what follows a colon or a dash at a column, to the end of its
// last line.
func (w *yamlWriter) writeAfter(v any, column int) {
	switch v := v.(type) {
	case *Map:
		if v.Len() > 0 {
			w.b = append(w.b, '\n')
			w.mapping(v, column+2, false)
			return
		}
		w.b = append(w.b, " {}"...)
	case []any:
		if len(v) > 0 {
			w.b = append(w.b, '\n')
			w.list(v, column+2, false)
			return
		}
		w.b = append(w.b, " []"...)
	case string:
		w.b = append(w.b, ' ')
		if isBlockText(v) {
			w.block(v, column+2)
			return
		}
		w.line(v)
	default:
		w.b = append(w.b, ' ')
		w.scalar(v)
	}
	w.b = append(w.b, '\n')
}

func (w *yamlWriter) scalar(v any) {
	switch v := v.(type) {
	case nil:
		w.b = append(w.b, "null"...)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			w.fail(fmt.Errorf("document: %v is no number of JSON", v))
		}
		w.b = value.AppendNumber(w.b, v)
	default:
		w.fail(fmt.Errorf("document: a %T is no value", v))
	}
}

// line writes a string on one line: plain, else in single quotes, else in double
// quotes.
func (w *yamlWriter) line(s string) {
	switch {
	case !utf8.ValidString(s):
		w.fail(fmt.Errorf("document: %q is not UTF-8", s))
	case isPlain(s):
		w.b = append(w.b, s...)
	case isVisible(s):
		w.b = append(w.b, '\'')
		w.b = append(w.b, strings.ReplaceAll(s, "'", "''")...)
		w.b = append(w.b, '\'')
	default:
		w.b = value.AppendQuoted(w.b, s)
	}
}

// block writes a string of several lines as a literal block at a column.
func (w *yamlWriter) block(s string, column int) {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		w.b = append(w.b, "|-\n"...)
		s += "\n"
	case 1:
		w.b = append(w.b, "|\n"...)
	default:
		w.b = append(w.b, "|+\n"...)
	}
	for text := range strings.Lines(s) {
		if text != "\n" {
			w.pad(column)
		}
		w.b = append(w.b, text...)
	}
}

func (w *yamlWriter) pad(column int) {
	for range column {
		w.b = append(w.b, ' ')
	}
}

func (w *yamlWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// ReadYAML reads a text that YAML wrote, as most files of workspaces are; ok is
// false for any other, and for one beyond limits. It knows no YAML but that: what it
// takes a text for counts only when writing that gives the same bytes again, and a
// text of YAML is that of one value.
func ReadYAML(text []byte, limits Limits) (v any, ok bool) {
	r := &yamlReader{rest: string(text), count: Counter{Limits: limits}}
	if r.count.CheckText(text) != nil || !bytes.HasSuffix(text, []byte("\n")) {
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

// skipIndent goes behind the blanks of the next line, if it begins at a column.
func (r *yamlReader) skipIndent(column int) bool {
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
	if !r.skipIndent(column) {
		return nil, false
	}
	return r.inline(column, depth)
}

// inline is block behind the blanks of its first line.
func (r *yamlReader) inline(column, depth int) (any, bool) {
	if depth > maxDepth || r.count.CountNode(depth, 0, 0) != nil {
		return nil, false
	}
	if r.rest[0] == '-' {
		return r.list(column, depth)
	}
	return r.mapping(column, depth)
}

func (r *yamlReader) mapping(column, depth int) (any, bool) {
	m := MapOf()
	for more := true; more; more = r.skipIndent(column) {
		colon := colonIn(r.rest)
		if colon < 0 || r.count.CountNode(0, 0, 0) != nil {
			return nil, false
		}
		key := unquoted(r.rest[:colon])
		r.rest = r.rest[colon+1:]
		value, ok := r.scalarOrBlock(column, depth)
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
	for more := true; more; more = r.skipIndent(column) {
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
			item, ok = r.scalarOrBlock(column, depth)
		}
		if !ok {
			return nil, false
		}
		l = append(l, item)
	}
	return l, true
}

// scalarOrBlock reads what follows a colon or a dash at a column.
func (r *yamlReader) scalarOrBlock(column, depth int) (any, bool) {
	text, spaced := strings.CutPrefix(r.line(), " ")
	if !spaced {
		return r.block(column+2, depth+1)
	}
	switch text {
	case "{}":
		return MapOf(), r.count.CountNode(depth+1, 0, 0) == nil
	case "[]":
		return []any{}, r.count.CountNode(depth+1, 0, 0) == nil
	}
	if r.count.CountNode(0, 0, 0) != nil {
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

// unquoted returns a string of one line without its single quotes.
func unquoted(s string) string {
	if len(s) < 2 || s[0] != '\'' || s[len(s)-1] != '\'' {
		return s
	}
	return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
}

// isPlain reports whether every reader of YAML, of the old version too, takes s
// without quotes for this string.
func isPlain(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if !plainBytes[s[i]] || s[i] == ':' && i+1 < len(s) && s[i+1] == ' ' {
			return false
		}
	}
	first, last := s[0], s[len(s)-1]
	return (isLetter(first) || first == '_' || first == '/') && last != ' ' && last != ':' && !isWordOfYAML(s)
}

// wordsOfYAML are read as something else than themselves by some reader.
var wordsOfYAML = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

func isWordOfYAML(s string) bool {
	return len(s) <= len("false") && slices.Contains(wordsOfYAML, strings.ToLower(s))
}

// plainBytes are those that a string without quotes is made of.
var plainBytes = func() (plain [256]bool) {
	for i := range plain {
		b := byte(i)
		plain[i] = isLetter(b) || b >= '0' && b <= '9' || strings.IndexByte("_ ./@+:-", b) >= 0
	}
	return plain
}()

func isLetter[T byte | rune](c T) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isBlockText reports whether s is written as a literal block: several lines without
// blanks at either end, which tools could remove.
func isBlockText(s string) bool {
	if !strings.Contains(s, "\n") || strings.ContainsRune(" \t\n", rune(s[0])) || !utf8.ValidString(s) {
		return false
	}
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") || !isVisible(strings.ReplaceAll(line, "\t", "")) {
			return false
		}
	}
	return true
}

// isVisible reports whether a file can contain all of s unescaped, on one line.
func isVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !value.IsVisible(r) })
}
