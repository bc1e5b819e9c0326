package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of JSON. It takes three bytes to write an empty object, and thirty times as
// many to hold it: the length of a text does not say what becomes of it.
const (
	maxDepth  = 1000      // how deep it may be nested
	maxValues = 2_000_000 // how many values it may have in all
)

var (
	errDeep = errors.New("nested too deeply")
	errMore = errors.New("more than one value")
	// ErrMany says that a text may be JSON, but of more values than are held.
	ErrMany = fmt.Errorf("more than %d values", maxValues)
)

// ParseJSON reads one JSON value and keeps the order of keys. Of a key that
// stands twice the last value counts.
func ParseJSON(text string) (any, error) {
	v, used, err := FirstJSON(text)
	if err == nil && strings.TrimLeft(text[used:], " \t\r\n") != "" {
		return nil, errMore
	}
	return v, err
}

// FirstJSON reads the JSON value that text begins with, and returns where it
// ends.
func FirstJSON(text string) (v any, end int, err error) {
	p := parser{text: text}
	if v, err = p.value(0); err != nil {
		return nil, 0, err
	}
	return v, p.at, nil
}

// parser reads JSON as encoding/json does, but objects in their order, and in one go.
type parser struct {
	text   string
	at     int
	values int // so far
}

// next skips white space, and returns the character that follows without passing it; 0 at
// the end.
func (p *parser) next() byte {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// unexpected is the error of what is at the parser's place.
func (p *parser) unexpected() error {
	if p.at >= len(p.text) {
		return io.ErrUnexpectedEOF
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return fmt.Errorf("invalid character %q at offset %d", r, p.at)
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	if p.values++; p.values > maxValues {
		return nil, ErrMany
	}
	switch c := p.next(); c {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		return p.number()
	}
}

func (p *parser) word(w string) error {
	for i := range len(w) {
		if p.at >= len(p.text) || p.text[p.at] != w[i] {
			return p.unexpected()
		}
		p.at++
	}
	return nil
}

func (p *parser) list(depth int) (any, error) {
	list := []any{}
	err := p.members(']', func() error {
		item, err := p.value(depth + 1)
		list = append(list, item)
		return err
	})
	return list, err
}

func (p *parser) object(depth int) (any, error) {
	o := &Object{}
	err := p.members('}', func() error {
		if p.next() != '"' {
			return p.unexpected()
		}
		key, err := p.string()
		if err != nil {
			return err
		}
		if p.next() != ':' {
			return p.unexpected()
		}
		p.at++
		v, err := p.value(depth + 1)
		o.Set(key, v)
		return err
	})
	return o, err
}

// members reads what stands between brackets, of which the first is at the parser's
// place.
func (p *parser) members(closing byte, member func() error) error {
	p.at++
	if p.next() == closing {
		p.at++
		return nil
	}
	for {
		if err := member(); err != nil {
			return err
		}
		switch p.next() {
		case ',':
			p.at++
		case closing:
			p.at++
			return nil
		default:
			return p.unexpected()
		}
	}
}

// string reads a text. It is a copy: the whole that it was part of need not be kept.
func (p *parser) string() (string, error) {
	start, plain := p.at, true
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if inside := p.text[start+1 : p.at-1]; plain || utf8.ValidString(inside) && strings.IndexByte(inside, '\\') < 0 {
				return strings.Clone(inside), nil
			}
			return unquoted(p.text[start:p.at])
		case c < ' ':
			return "", p.unexpected()
		case c == '\\':
			plain = false
			p.at++
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	p.at = len(p.text)
	return "", io.ErrUnexpectedEOF
}

// unquoted reads a text with escapes, or that is not UTF-8.
func unquoted(literal string) (text string, err error) {
	err = json.Unmarshal([]byte(literal), &text)
	return text, err
}

func (p *parser) number() (any, error) {
	start := p.at
	if p.at < len(p.text) && p.text[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.text) && p.text[p.at] == '0' {
		p.at++
	} else if !p.digits() {
		return nil, p.unexpected()
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		if p.at++; !p.digits() {
			return nil, p.unexpected()
		}
	}
	if p.at < len(p.text) && p.text[p.at]|0x20 == 'e' {
		if p.at++; p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if !p.digits() {
			return nil, p.unexpected()
		}
	}
	f, _ := strconv.ParseFloat(p.text[start:p.at], 64) // infinite when it is too large
	return f, nil
}

// digits passes digits, and reports whether there are any.
func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}
