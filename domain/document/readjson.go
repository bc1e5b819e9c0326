package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ReadJSON reads one JSON text, keeping the order of its keys. A fault of the
// text is a *Fault; so are a key given twice and a number too large for JSON's
// readers.
func ReadJSON(text []byte, limits Limits) (any, error) {
	r := &jsonReader{text: text, count: Counter{Limits: limits}}
	if err := r.count.Text(text); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, NotUTF8(text)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, r.fault(max(int(syntax.Offset)-1, 0), "%s", syntax.Error())
		}
		return nil, &Fault{Message: err.Error()}
	}
	r.tokens = json.NewDecoder(bytes.NewReader(text))
	r.tokens.UseNumber()
	return r.value(1)
}

// NotUTF8 returns the fault of a text that is not UTF-8, at its first wrong byte.
func NotUTF8(text []byte) error {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return FaultAt(text, at, "is not UTF-8")
}

// FaultAt returns a fault at a byte of text.
func FaultAt(text []byte, at int, message string) *Fault {
	before := text[:min(at, len(text))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return &Fault{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[begin:]) + 1, Message: message}
}

type jsonReader struct {
	text   []byte
	tokens *json.Decoder
	count  Counter
}

func (r *jsonReader) fault(at int, format string, args ...any) error {
	return FaultAt(r.text, at, fmt.Sprintf(format, args...))
}

// next returns the next token and the byte it begins at.
func (r *jsonReader) next() (json.Token, int, error) {
	at := int(r.tokens.InputOffset())
	for at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[at]) >= 0 {
		at++
	}
	token, err := r.tokens.Token()
	if err != nil {
		return nil, at, r.fault(at, "%s", err.Error())
	}
	return token, at, nil
}

// value reads one value. depth is that of the value if it is a mapping or a list.
func (r *jsonReader) value(depth int) (any, error) {
	token, at, err := r.next()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	if err := r.node(depth, at, nested); err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(t.String(), 64)
		if err != nil {
			return nil, r.fault(at, "%s is too large a number", t)
		}
		return f, nil
	case json.Delim:
		if delim == '{' {
			return r.mapping(depth)
		}
		return r.list(depth)
	default:
		return token, nil
	}
}

func (r *jsonReader) node(depth, at int, nested bool) error {
	if !nested {
		depth = 0
	}
	err := r.count.Node(depth, 0, 0)
	if fault, ok := errors.AsType[*Fault](err); ok {
		place := FaultAt(r.text, at, "")
		fault.Line, fault.Column = place.Line, place.Column
	}
	return err
}

func (r *jsonReader) mapping(depth int) (any, error) {
	m := MapOf()
	for r.tokens.More() {
		token, at, err := r.next()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		if _, twice := m.Get(key); twice {
			return nil, r.fault(at, "the key %s is given twice", Shown(key))
		}
		if err := r.node(0, at, false); err != nil {
			return nil, err
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.Set(key, value)
	}
	_, _, err := r.next()
	return m, err
}

func (r *jsonReader) list(depth int) (any, error) {
	l := []any{}
	for r.tokens.More() {
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l = append(l, value)
	}
	_, _, err := r.next()
	return l, err
}

// Shown returns s quoted for a message, cut when it is long.
func Shown(s string) string {
	if utf8.RuneCountInString(s) > 60 {
		s = string([]rune(s)[:60]) + "…"
	}
	return strconv.Quote(s)
}
