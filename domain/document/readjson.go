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
	v, err := r.document()
	if err != nil {
		return nil, r.explained(err)
	}
	return v, nil
}

// jsonReader reads text, which is UTF-8, from one byte on.
type jsonReader struct {
	text  []byte
	at    int
	count Counter
}

// errSyntax says that the text is no JSON. Why it is none is found out by the
// standard library, once it is known that somebody has to be told.
var errSyntax = errors.New("document: no JSON")

// deepest is how many mappings and lists in one another the standard library
// reads, whatever the limits.
const deepest = 10000

// explained returns the fault of a text that was not read to its end: that it is
// no JSON comes before everything else that is wrong with it.
func (r *jsonReader) explained(err error) error {
	var whole json.RawMessage
	wrong := json.Unmarshal(r.text, &whole)
	if syntax, ok := errors.AsType[*json.SyntaxError](wrong); ok {
		return r.fault(max(int(syntax.Offset)-1, 0), "%s", syntax.Error())
	}
	return err
}

func (r *jsonReader) fault(at int, format string, args ...any) error {
	return FaultAt(r.text, at, fmt.Sprintf(format, args...))
}

func (r *jsonReader) document() (any, error) {
	v, err := r.value(1)
	if r.peek(); err == nil && r.at < len(r.text) {
		err = errSyntax
	}
	return v, err
}

// peek skips blanks and returns the byte after them; 0, which nothing begins with,
// at the end of the text.
func (r *jsonReader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch b := r.text[r.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// takes reports whether b follows, and goes behind it then.
func (r *jsonReader) takes(b byte) bool {
	if r.peek() != b {
		return false
	}
	r.at++
	return true
}

// value reads one value. depth is that of the value if it is a mapping or a list.
func (r *jsonReader) value(depth int) (any, error) {
	first := r.peek()
	if first != '{' && first != '[' {
		return r.scalar(first)
	}
	if depth > deepest {
		return nil, errSyntax
	}
	if err := r.node(depth); err != nil {
		return nil, err
	}
	r.at++
	if first == '{' {
		return r.mapping(depth)
	}
	return r.list(depth)
}

func (r *jsonReader) scalar(first byte) (any, error) {
	if err := r.node(0); err != nil {
		return nil, err
	}
	switch first {
	case '"':
		return r.string()
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	case 'n':
		return nil, r.word("null")
	default:
		return r.number()
	}
}

// node counts the node that begins here.
func (r *jsonReader) node(depth int) error {
	err := r.count.Node(depth, 0, 0)
	if fault, ok := err.(*Fault); ok { //nolint:errorlint // a Counter returns it unwrapped
		place := FaultAt(r.text, r.at, "")
		fault.Line, fault.Column = place.Line, place.Column
	}
	return err
}

func (r *jsonReader) mapping(depth int) (any, error) {
	m := MapOf()
	if r.takes('}') {
		return m, nil
	}
	for {
		if r.peek() != '"' {
			return nil, errSyntax
		}
		at := r.at
		key, err := r.string()
		if err != nil {
			return nil, err
		}
		if _, twice := m.Get(key); twice {
			return nil, r.fault(at, "the key %s is given twice", Shown(key))
		}
		if err := r.keyed(at); err != nil {
			return nil, err
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.add(key, value)
		if !r.takes(',') {
			break
		}
	}
	if !r.takes('}') {
		return nil, errSyntax
	}
	return m, nil
}

// keyed counts the key that began at a byte, and goes behind the colon.
func (r *jsonReader) keyed(at int) error {
	behind := r.at
	r.at = at
	if err := r.node(0); err != nil {
		return err
	}
	if r.at = behind; !r.takes(':') {
		return errSyntax
	}
	return nil
}

func (r *jsonReader) list(depth int) (any, error) {
	l := []any{}
	if r.takes(']') {
		return l, nil
	}
	for {
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l = append(l, value)
		if !r.takes(',') {
			break
		}
	}
	if !r.takes(']') {
		return nil, errSyntax
	}
	return l, nil
}

func (r *jsonReader) word(word string) error {
	if !bytes.HasPrefix(r.text[r.at:], []byte(word)) {
		return errSyntax
	}
	r.at += len(word)
	return nil
}

// string reads a string. One with escapes is left to the standard library.
func (r *jsonReader) string() (s string, err error) {
	begin, escaped := r.at+1, false
	for at := begin; at < len(r.text); at++ {
		switch b := r.text[at]; {
		case b == '\\':
			escaped = true
			at++
		case b < ' ':
			return "", errSyntax
		case b == '"':
			r.at = at + 1
			if !escaped {
				return string(r.text[begin:at]), nil
			}
			if json.Unmarshal(r.text[begin-1:r.at], &s) != nil {
				err = errSyntax
			}
			return s, err
		}
	}
	return "", errSyntax
}

// number reads a number of JSON, which is less than what Go takes for one.
func (r *jsonReader) number() (any, error) {
	begin := r.at
	r.skips("-")
	if !r.skips("0") && r.digits() == 0 {
		return nil, errSyntax
	}
	if r.skips(".") && r.digits() == 0 {
		return nil, errSyntax
	}
	if r.skips("eE") {
		r.skips("+-")
		if r.digits() == 0 {
			return nil, errSyntax
		}
	}
	text := string(r.text[begin:r.at])
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, r.fault(begin, "%s is too large a number", text)
	}
	return f, nil
}

// skips goes behind one of some bytes, and reports whether it was there.
func (r *jsonReader) skips(some string) bool {
	if r.at == len(r.text) || bytes.IndexByte([]byte(some), r.text[r.at]) < 0 {
		return false
	}
	r.at++
	return true
}

// digits goes behind digits and returns how many there were.
func (r *jsonReader) digits() (n int) {
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
		n++
	}
	return n
}
