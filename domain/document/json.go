package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"svc/domain/automation/value"
)

// JSON returns v as JSON on one line, the keys in their order. It fails when v is
// no value of this package.
func JSON(v any) ([]byte, error) { return value.AppendJSON(nil, v) }

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

// ReadJSON reads one JSON text and keeps the order of its keys. Errors are of type *Fault,
// also for a repeated key and for a number that is too large.
func ReadJSON(text []byte, limits Limits) (any, error) {
	count := Counter{Limits: limits}
	if err := count.Text(text); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, NotUTF8(text)
	}
	depth := limits.Depth
	if depth == 0 || depth > maxDepth {
		depth = maxDepth
	}
	whole := string(text)
	v, end, err := value.ReadJSON(whole, value.ReadOptions{Strict: true, MaxDepth: depth, MaxNodes: limits.Nodes})
	if err == nil && strings.TrimLeft(whole[end:], " \t\r\n") == "" {
		return v, nil
	}
	// Invalid JSON is reported before any other fault.
	var raw json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &raw)); ok {
		return nil, FaultAt(text, max(int(syntax.Offset)-1, 0), syntax.Error())
	}
	refused, ok := errors.AsType[*value.ReadError](err)
	if !ok {
		return nil, err
	}
	fault := FaultAt(text, refused.Offset, "")
	switch refused.Reason {
	case value.TooDeep:
		return nil, count.depthFault(fault.Line, fault.Column)
	case value.TooMany:
		return nil, count.nodesFault(fault.Line, fault.Column)
	case value.RepeatedKey:
		fault.Message = fmt.Sprintf("the key %s is given twice", Shown(refused.Text))
	case value.NumberTooLarge:
		fault.Message = refused.Text + " is too large a number"
	}
	return nil, fault
}

// maxDepth is the depth that encoding/json reads, whatever the limits.
const maxDepth = 10000
