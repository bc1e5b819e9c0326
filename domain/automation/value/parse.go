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

// The limits of ParseJSON. An empty object takes three bytes of text and thirty times as
// many of memory: the length of a text does not limit the size of its value.
const (
	maxDepth  = 1000      // of lists and objects in each other
	maxValues = 2_000_000 // in all
)

var (
	errDeep = errors.New("nested too deeply")
	errMore = errors.New("more than one value")
	// ErrMany says that a text may be JSON, but has more values than allowed.
	ErrMany = fmt.Errorf("more than %d values", maxValues)
)

// ParseJSON reads one JSON value and keeps the order of keys. The last value of a repeated
// key counts; a number that is too large is infinite.
func ParseJSON(text string) (any, error) {
	v, used, err := FirstJSON(text)
	if err == nil && strings.TrimLeft(text[used:], " \t\r\n") != "" {
		return nil, errMore
	}
	return v, err
}

// FirstJSON reads the JSON value at the start of text, and returns where it ends.
func FirstJSON(text string) (v any, end int, err error) {
	v, end, err = ReadJSON(text, ReadOptions{MaxDepth: maxDepth, MaxNodes: maxValues})
	var refused *ReadError
	if errors.As(err, &refused) {
		switch refused.Reason {
		case TooDeep:
			err = errDeep
		case TooMany:
			err = ErrMany
		}
	}
	return v, end, err
}

// ReadOptions are the rules of ReadJSON. Zero limits are none.
type ReadOptions struct {
	Strict   bool // refuse repeated keys and numbers that are too large; keys count as nodes
	MaxDepth int  // of lists and objects in each other
	MaxNodes int
}

// ReadError says why a text was refused that may be JSON.
type ReadError struct {
	Offset int
	Reason Reason
	Text   string // the repeated key, or the number
}

// Reason is why a text was refused.
type Reason string

// The reasons of a ReadError.
const (
	TooDeep        Reason = "is nested too deeply"
	TooMany        Reason = "has too many values"
	RepeatedKey    Reason = "has a key twice"
	NumberTooLarge Reason = "has a number that is too large"
)

func (e *ReadError) Error() string { return string(e.Reason) }

// ReadJSON reads the JSON value at the start of text, and returns where it ends. It reads
// what encoding/json does, but keeps the order of keys. What is no JSON is no *ReadError.
func ReadJSON(text string, o ReadOptions) (v any, end int, err error) {
	p := jsonParser{text: text, opts: o}
	if v, err = p.value(1); err != nil {
		return nil, 0, err
	}
	return v, p.at, nil
}

type jsonParser struct {
	text  string
	at    int
	nodes int // so far
	opts  ReadOptions
}

// next skips white space and returns the character after it, which stays the next one; 0 at
// the end.
func (p *jsonParser) next() byte {
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

// unexpected returns the error of the character at the current offset.
func (p *jsonParser) unexpected() error {
	if p.at >= len(p.text) {
		return io.ErrUnexpectedEOF
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return fmt.Errorf("invalid character %q at offset %d", r, p.at)
}

// countNode counts the node at an offset.
func (p *jsonParser) countNode(offset int) error {
	if p.nodes++; p.nodes > p.opts.MaxNodes && p.opts.MaxNodes > 0 {
		return &ReadError{Offset: offset, Reason: TooMany}
	}
	return nil
}

// value reads a value. depth is its depth if it is a list or an object.
func (p *jsonParser) value(depth int) (any, error) {
	c := p.next()
	if (c == '{' || c == '[') && depth > p.opts.MaxDepth && p.opts.MaxDepth > 0 {
		return nil, &ReadError{Offset: p.at, Reason: TooDeep}
	}
	if err := p.countNode(p.at); err != nil {
		return nil, err
	}
	switch c {
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

func (p *jsonParser) word(w string) error {
	for i := range len(w) {
		if p.at >= len(p.text) || p.text[p.at] != w[i] {
			return p.unexpected()
		}
		p.at++
	}
	return nil
}

func (p *jsonParser) list(depth int) (any, error) {
	list := []any{}
	err := p.members(']', func() error {
		item, err := p.value(depth + 1)
		list = append(list, item)
		return err
	})
	return list, err
}

func (p *jsonParser) object(depth int) (any, error) {
	o := &Object{}
	err := p.members('}', func() error {
		if p.next() != '"' {
			return p.unexpected()
		}
		start := p.at
		key, err := p.string()
		if err != nil {
			return err
		}
		if p.opts.Strict {
			if o.find(key) >= 0 {
				return &ReadError{Offset: start, Reason: RepeatedKey, Text: key}
			}
			if err := p.countNode(start); err != nil {
				return err
			}
		}
		if p.next() != ':' {
			return p.unexpected()
		}
		p.at++
		v, err := p.value(depth + 1)
		if p.opts.Strict {
			o.add(key, v)
		} else {
			o.Set(key, v)
		}
		return err
	})
	return o, err
}

// members reads what is between brackets. The opening one is the next character.
func (p *jsonParser) members(closing byte, member func() error) error {
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

// string reads a string. It is a copy, so that the whole text can be freed.
func (p *jsonParser) string() (string, error) {
	start, plain := p.at, true
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if inside := p.text[start+1 : p.at-1]; plain || utf8.ValidString(inside) && strings.IndexByte(inside, '\\') < 0 {
				return strings.Clone(inside), nil
			}
			var unquoted string // it has escapes or is not UTF-8
			err := json.Unmarshal([]byte(p.text[start:p.at]), &unquoted)
			return unquoted, err
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

func (p *jsonParser) number() (any, error) {
	start := p.at
	p.skipOne("-")
	if !p.skipOne("0") && !p.skipDigits() {
		return nil, p.unexpected()
	}
	if p.skipOne(".") && !p.skipDigits() {
		return nil, p.unexpected()
	}
	if p.skipOne("eE") {
		p.skipOne("+-")
		if !p.skipDigits() {
			return nil, p.unexpected()
		}
	}
	f, err := strconv.ParseFloat(p.text[start:p.at], 64)
	if err != nil && p.opts.Strict {
		return nil, &ReadError{Offset: start, Reason: NumberTooLarge, Text: p.text[start:p.at]}
	}
	return f, nil
}

// skipOne skips one of some characters, and reports whether it was there.
func (p *jsonParser) skipOne(chars string) bool {
	if p.at < len(p.text) && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

// skipDigits skips digits, and reports whether there were any.
func (p *jsonParser) skipDigits() bool {
	start := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}
