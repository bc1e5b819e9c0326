package value

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

const unlimited = math.MaxInt

// JSON returns v as JSON, on one line when indent is empty. Undefined and streams are
// omitted from objects and null elsewhere.
func JSON(v any, indent string) string {
	text, _ := JSONWithin(v, indent, unlimited)
	return text
}

// JSONWithin is JSON of at most limit bytes; ok is false, and text incomplete, if v takes
// more.
func JSONWithin(v any, indent string, limit int) (text string, ok bool) {
	w := jsonWriter{indent: indent, limit: limit}
	w.writeValue(v, 0)
	return unsafe.String(unsafe.SliceData(w.b), len(w.b)), !w.isFull()
}

// AppendJSON appends the JSON of v on one line. It fails for numbers that are not finite,
// strings that are not UTF-8, and what is no null, boolean, number, string, list or object.
func AppendJSON(b []byte, v any) ([]byte, error) {
	w := jsonWriter{b: b, limit: unlimited, escapeInvisible: true, strict: true}
	w.writeValue(v, 0)
	return w.b, w.err
}

type jsonWriter struct {
	b               []byte
	indent          string
	limit           int  // of bytes; members beyond it are omitted
	escapeInvisible bool // escape all characters that are not IsVisible
	strict          bool // see AppendJSON
	err             error
}

func (w *jsonWriter) isFull() bool { return len(w.b) > w.limit }

func (w *jsonWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("value: "+format, args...)
	}
}

func (w *jsonWriter) writeValue(v any, depth int) {
	switch v := v.(type) {
	case nil:
		w.b = append(w.b, "null"...)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case float64:
		if w.strict && (math.IsNaN(v) || math.IsInf(v, 0)) {
			w.fail("%v is no number of JSON", v)
		}
		w.b = AppendNumber(w.b, v)
	case string:
		w.writeString(v)
	case []any:
		w.b = append(w.b, '[')
		for i, item := range v {
			if w.isFull() {
				return
			}
			w.separate(i, depth+1)
			w.writeValue(item, depth+1)
		}
		w.end(len(v), depth, ']')
	case *Object:
		w.writeObject(v, depth)
	default:
		w.writeOther(v)
	}
}

// writeOther writes values that only automations have.
func (w *jsonWriter) writeOther(v any) {
	switch v := v.(type) {
	case Bytes:
		if !w.strict {
			w.writeString(base64.StdEncoding.EncodeToString(v))
			return
		}
	case undefined, Stream:
		if !w.strict {
			w.b = append(w.b, "null"...)
			return
		}
	}
	w.b = append(w.b, "null"...)
	if w.escapeInvisible {
		w.fail("a %T is no value", v)
	}
}

func (w *jsonWriter) writeObject(o *Object, depth int) {
	w.b = append(w.b, '{')
	n := 0
	for i, key := range o.Keys() {
		v := o.values[i]
		if _, stream := v.(Stream); (stream || IsUndefined(v)) && !w.strict {
			continue
		}
		if w.isFull() {
			return
		}
		w.separate(n, depth+1)
		w.writeString(key)
		w.b = append(w.b, ':')
		if w.indent != "" {
			w.b = append(w.b, ' ')
		}
		w.writeValue(v, depth+1)
		n++
	}
	w.end(n, depth, '}')
}

func (w *jsonWriter) writeString(s string) {
	if w.strict && !utf8.ValidString(s) {
		w.fail("%q is not UTF-8", s)
	}
	w.b = appendQuoted(w.b, s, w.escapeInvisible)
}

func (w *jsonWriter) separate(n, depth int) {
	if n > 0 {
		w.b = append(w.b, ',')
	}
	w.breakLine(depth)
}

func (w *jsonWriter) end(n, depth int, closing byte) {
	if n > 0 {
		w.breakLine(depth)
	}
	w.b = append(w.b, closing)
}

func (w *jsonWriter) breakLine(depth int) {
	if w.indent == "" {
		return
	}
	w.b = append(w.b, '\n')
	for range depth {
		w.b = append(w.b, w.indent...)
	}
}

// maxExact is the largest number up to which every integer is a float64.
const maxExact = 1 << 53

// AppendNumber appends n as JSON: all digits of a number of usual size, else an exponent,
// with the fewest digits that read back as n. Numbers that are not finite are null.
func AppendNumber(b []byte, n float64) []byte {
	switch size := math.Abs(n); {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return append(b, "null"...)
	case size <= maxExact && n == math.Trunc(n):
		return strconv.AppendInt(b, int64(n), 10) // -0 is 0
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(b, n, 'f', -1, 64)
	default:
		text := strconv.FormatFloat(n, 'e', -1, 64)
		return append(b, strings.Replace(text, "e-0", "e-", 1)...)
	}
}

// IsVisible reports whether a file can contain r unescaped. Readers of YAML take the
// others for the end of a line or of the text.
func IsVisible(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	default:
		return true
	}
}

const hexDigits = "0123456789abcdef"

var shortEscapes = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendQuoted appends s in double quotes with the escapes of JSON, which YAML shares. All
// characters that are not IsVisible are escaped.
func AppendQuoted(b []byte, s string) []byte { return appendQuoted(b, s, true) }

// appendQuoted escapes what JSON must, and the line ends of Unicode; with escapeInvisible
// all characters that are not IsVisible. Invalid UTF-8 becomes the replacement character.
func appendQuoted(b []byte, s string, escapeInvisible bool) []byte {
	b = append(b, '"')
	start := 0 // of what is not appended yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < 0x7f {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
		case c == '"' || c == '\\':
			b = append(append(b, s[start:i]...), '\\', c)
		case c < ' ' && shortEscapes[c] != 0:
			b = append(append(b, s[start:i]...), '\\', shortEscapes[c])
		case r < ' ' || r == 0x2028 || r == 0x2029 || escapeInvisible && !IsVisible(r):
			b = append(append(b, s[start:i]...), '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
		default: // also beyond 16 bits: JSON would need two escapes, which YAML does not know
			i += size
			continue
		}
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

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

// usualMembers is how many members most objects have at most.
const usualMembers = 4

func (p *jsonParser) object(depth int) (any, error) {
	o := &Object{}
	err := p.members('}', func() error {
		if o.keys == nil {
			o.keys, o.values = make([]string, 0, usualMembers), make([]any, 0, usualMembers)
		}
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
