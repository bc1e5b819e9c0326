package document

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// JSON returns v as JSON on one line, the keys in their order. It fails when v is
// no value of this package.
func JSON(v any) ([]byte, error) { return appendJSON(nil, v) }

// MarshalJSON implements json.Marshaler.
func (m *Map) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	return JSON(m)
}

// UnmarshalJSON implements json.Unmarshaler. It is meant for what was stored:
// nothing but the depth is limited.
func (m *Map) UnmarshalJSON(text []byte) error {
	v, err := ReadJSON(text, Limits{Depth: 10000})
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
	case *Map:
		*m = *v
	default:
		return fmt.Errorf("document: a mapping was expected, not a %T", v)
	}
	return nil
}

// ValueOf returns what Go has as a value of this package, by way of its JSON; nil
// when it has none.
func ValueOf(v any) any {
	body, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	read, err := ReadJSON(body, Usual)
	if err != nil {
		return nil
	}
	return read
}

// Words returns texts as a list of this package.
func Words(words []string) []any {
	list := make([]any, len(words))
	for i, word := range words {
		list[i] = word
	}
	return list
}

func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case float64:
		return appendNumber(b, v)
	case string:
		if !utf8.ValidString(v) {
			return b, fmt.Errorf("document: %q is not UTF-8", v)
		}
		return appendQuoted(b, v), nil
	case []any:
		return appendJSONList(b, v)
	case *Map:
		return appendJSONMap(b, v)
	default:
		return b, fmt.Errorf("document: a %T is no value", v)
	}
}

func appendJSONList(b []byte, l []any) ([]byte, error) {
	b = append(b, '[')
	var err error
	for i, item := range l {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, item); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendJSONMap(b []byte, m *Map) ([]byte, error) {
	b = append(b, '{')
	var err error
	for k, v := range m.All() {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, k); err != nil {
			return b, err
		}
		if b, err = appendJSON(append(b, ':'), v); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}
