package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// selfDecoder is implemented by an event that is read for every run or save: it is decoded without reflection.
type selfDecoder interface {
	// DecodeJSON decodes what AppendJSON encoded. It returns false for any other JSON, which encoding/json decodes.
	DecodeJSON(body []byte) bool
}

// Most of the time of a replay is spent on decoding envelopes. Their outer object is simple, so it is
// split into members in one pass; the values of members are decoded by encoding/json.

var (
	errNotObject = errors.New("not a JSON object")
	errNotList   = errors.New("not a JSON list")
)

// VisitMembers calls visit with each member of a JSON object: its key without the quotes, and its
// value as written. It does not decode escapes in keys; envelopes have none.
func VisitMembers(data []byte, visit func(key, value []byte) error) error {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return errNotObject
	}
	for i = skipSpace(data, i+1); i < len(data) && data[i] == '"'; i = skipSpace(data, i+1) {
		end := skipString(data, i)
		colon := skipSpace(data, end)
		if end < 0 || colon >= len(data) || data[colon] != ':' {
			return errNotObject
		}
		from := skipSpace(data, colon+1)
		to := skipValue(data, from)
		if to < 0 {
			return errNotObject
		}
		if err := visit(data[i+1:end-1], data[from:to]); err != nil {
			return err
		}
		i = skipSpace(data, to)
		if i >= len(data) || data[i] != ',' {
			break
		}
	}
	if i >= len(data) || data[i] != '}' || skipSpace(data, i+1) != len(data) {
		return errNotObject
	}
	return nil
}

// VisitElements calls visit with each element of a JSON list, as written.
func VisitElements(data []byte, visit func(value []byte) error) error {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '[' {
		return errNotList
	}
	i = skipSpace(data, i+1)
	for first := true; i < len(data) && (data[i] != ']' || !first); first = false {
		to := skipValue(data, i)
		if to < 0 {
			return errNotList
		}
		if err := visit(data[i:to]); err != nil {
			return err
		}
		if i = skipSpace(data, to); i >= len(data) || data[i] != ',' {
			break
		}
		i = skipSpace(data, i+1)
	}
	if i >= len(data) || data[i] != ']' || skipSpace(data, i+1) != len(data) {
		return errNotList
	}
	return nil
}

func skipSpace(data []byte, i int) int {
	if i < 0 {
		return len(data)
	}
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i; -1 when it
// does not end.
func skipString(data []byte, i int) int {
	begin := i + 1
	end := bytes.IndexByte(data[begin:], '"')
	if end < 0 {
		return -1
	}
	escape := bytes.IndexByte(data[begin:begin+end], '\\')
	if escape < 0 {
		return begin + end + 1
	}
	for i = begin + escape; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipValue returns the index after the value that begins at i; -1 when it does not end. It counts
// brackets without matching their kinds: the decoder of the value does that.
func skipValue(data []byte, i int) int {
	depth, start := 0, i
	for i < len(data) {
		switch data[i] {
		case '"':
			if i = skipString(data, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return tokenEnd(start, i)
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return tokenEnd(start, i)
			}
		}
		i++
	}
	return -1
}

// tokenEnd returns the end of a number or a literal; -1 when it is empty.
func tokenEnd(start, i int) int {
	if i == start {
		return -1
	}
	return i
}

// Unquoted returns what is between the quotes of a JSON string as it is written; nil for another value.
func Unquoted(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil
	}
	return value[1 : len(value)-1]
}

// DecodeText sets *to from a JSON string.
func DecodeText(to *string, value []byte) error {
	if text, ok := PlainText(value); ok {
		*to = text
		return nil
	}
	if text, ok := unescape(Unquoted(value)); ok {
		*to = text
		return nil
	}
	return json.Unmarshal(value, to)
}

// DecodeRepeated is DecodeText for a text that is often the same as one before: they share their memory then.
func DecodeRepeated(to *string, value []byte, before string) error {
	if inside := Unquoted(value); inside != nil && string(inside) == before && isPlainString(inside) {
		*to = before
		return nil
	}
	return DecodeText(to, value)
}

// DecodeTexts returns the texts of a JSON list; null is nil, and an empty list is not.
func DecodeTexts(value []byte) ([]string, error) {
	if string(value) == "null" {
		return nil, nil
	}
	texts := []string{}
	err := VisitElements(value, func(element []byte) error {
		text := ""
		err := DecodeText(&text, element)
		texts = append(texts, text)
		return err
	})
	return texts, err
}

// PlainText returns the text of a JSON string that needs no decoding; ok is false for other values.
func PlainText(value []byte) (text string, ok bool) {
	inside := Unquoted(value)
	if inside == nil || !isPlainString(inside) {
		return "", false
	}
	return string(inside), true
}

// isPlainString reports whether b needs no decoding inside quotes.
func isPlainString(b []byte) bool {
	ascii := true
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(b)
}

// unescape returns the text that is written as b inside quotes. It returns false for what is no JSON or no UTF-8, and for
// escapes by number, which encoding/json decodes.
func unescape(b []byte) (text string, ok bool) {
	if !utf8.Valid(b) {
		return "", false
	}
	decoded := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c < ' ' || c == '"' {
			return "", false
		}
		if c != '\\' {
			decoded = append(decoded, c)
			continue
		}
		if i++; i >= len(b) {
			return "", false
		}
		switch b[i] {
		case '"', '\\', '/':
			c = b[i]
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		default:
			return "", false
		}
		decoded = append(decoded, c)
	}
	return string(decoded), len(decoded) > 0
}

// maxPlainDigits is how many digits any number has that fits into 32 bits.
const maxPlainDigits = 9

// DecodeInt sets *to from a JSON number.
func DecodeInt[T int | int64 | uint64](to *T, value []byte) error {
	if len(value) == 0 || len(value) > maxPlainDigits || value[0] == '0' && len(value) > 1 {
		return json.Unmarshal(value, to)
	}
	n := T(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return json.Unmarshal(value, to)
		}
		n = 10*n + T(c-'0')
	}
	*to = n
	return nil
}

// DecodeBool sets *to from true or false.
func DecodeBool(to *bool, value []byte) error {
	switch string(value) {
	case "true":
		*to = true
		return nil
	case "false":
		*to = false
		return nil
	}
	return json.Unmarshal(value, to)
}

// DecodeRaw sets *to to a copy of a JSON value; nil for null.
func DecodeRaw(to *json.RawMessage, value []byte) error {
	switch {
	case string(value) == "null":
		*to = nil
	case !IsEncoded(value) && !json.Valid(value):
		return errNotJSON
	default:
		*to = bytes.Clone(value)
	}
	return nil
}

var errNotJSON = errors.New("not JSON")

// ErrUnknownMember says that an object has a member that its decoder does not know.
var ErrUnknownMember = errors.New("unknown member")
