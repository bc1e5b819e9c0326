package document

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/domain/automation/value"
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
	w.after(v, 0)
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
		w.after(v, column)
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
		w.after(item, column)
	}
}

// after writes what follows a colon or a dash at a column, to the end of its
// last line.
func (w *yamlWriter) after(v any, column int) {
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
		if isBlock(v) {
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
