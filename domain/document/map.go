// Package document holds what the files of a workspace say: values that keep the
// order of their keys, and the one way to write them, so that the same content is
// always the same bytes (contract/versioning.md 4.2).
//
// A value is nil, a bool, a float64, a string, a []any of values or a *Map of
// them. Nothing else: a number is what JSON calls a number, and an int or a
// map[string]any is a mistake of the caller that writing reports.
//
// JSON is read and written here. Of YAML only what was written here is read here:
// reading all of it takes a library, and rules use none; commands/yamltext reads it
// into the same values.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/domain/value"
)

// Map is the ordered mapping of a document. The order of keys is content: of the branches
// of a condition the first one that holds is executed.
type Map = value.Object

// Pair is one key of a Map and its value.
type Pair struct {
	Key   string
	Value any
}

// MapOf returns a Map of pairs. Of two pairs with one key the last value counts, in the
// position of the first.
func MapOf(pairs ...Pair) *Map {
	m := value.NewObjectSize(len(pairs))
	for _, p := range pairs {
		m.Set(p.Key, p.Value)
	}
	return m
}

// Equal reports whether two values are the same, the order of keys included.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case *Map:
		b, ok := b.(*Map)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case nil, bool, float64, string:
		switch b.(type) {
		case nil, bool, float64, string:
			return a == b
		}
	}
	return false
}

func equalMaps(a, b *Map) bool {
	if !slices.Equal(a.Keys(), b.Keys()) {
		return false
	}
	for key, v := range a.All() {
		if other, _ := b.Get(key); !Equal(v, other) {
			return false
		}
	}
	return true
}

// Plain returns v with a map[string]any for every Map, where order does not matter. It
// shares only scalars with v.
func Plain(v any) any {
	switch v := v.(type) {
	case *Map:
		plain := make(map[string]any, v.Len())
		for k, value := range v.All() {
			plain[k] = Plain(value)
		}
		return plain
	case []any:
		plain := make([]any, len(v))
		for i, item := range v {
			plain[i] = Plain(item)
		}
		return plain
	default:
		return v
	}
}

// JSON returns v as JSON on one line, the keys in their order. It fails when v is
// no value of this package.
func JSON(v any) ([]byte, error) { return value.AppendJSON(make([]byte, 0, usualLength), v) }

// usualLength is how long the JSON of most documents is at least.
const usualLength = 128

// SafeJSON returns what encoding/json makes of a document: JSON that may stand in HTML.
func SafeJSON(m *Map) ([]byte, error) {
	body, err := m.MarshalJSON() // on one line, and without what else encoding/json escapes
	if err != nil || bytes.IndexByte(body, '<') < 0 && bytes.IndexByte(body, '>') < 0 && bytes.IndexByte(body, '&') < 0 {
		return body, err
	}
	return json.Marshal(m)
}

// ValueOf returns what Go has as a value of this package, by way of its JSON; nil
// when it has none.
func ValueOf(v any) any {
	body, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	read, err := ReadJSON(body, FileLimits)
	if err != nil {
		return nil
	}
	return read
}

// StringList returns texts as a list of this package.
func StringList(words []string) []any {
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
	if err := count.CheckText(text); err != nil {
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
		fault.Message = fmt.Sprintf("the key %s is given twice", QuoteShort(refused.Text))
	case value.NumberTooLarge:
		fault.Message = refused.Text + " is too large a number"
	}
	return nil, fault
}

// maxDepth is the depth that encoding/json reads, whatever the limits.
const maxDepth = 10000

// Limits bound what is read. Zero: not bounded.
type Limits struct {
	Bytes int // of the text, and of its keys and strings once aliases are expanded
	Depth int // of mappings and lists in one another
	Nodes int // keys and values, those behind aliases as often as they are named
}

// FileLimits are the limits of one file of a workspace.
var FileLimits = Limits{Bytes: 1 << 20, Depth: 64, Nodes: 100_000}

// Fault is why a text could not be read, and where.
type Fault struct {
	Line, Column int    // from 1; 0: not known
	Message      string // in plain words, without the place
	Limit        string // which limit was passed: bytes, depth or nodes; "": the text is wrong
	Value        int    // of that limit
}

// Error implements error.
func (f *Fault) Error() string {
	switch {
	case f.Line == 0:
		return f.Message
	case f.Column == 0:
		return fmt.Sprintf("line %d: %s", f.Line, f.Message)
	default:
		return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Message)
	}
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

// QuoteShort returns s quoted for a message, cut when it is long.
func QuoteShort(s string) string {
	if utf8.RuneCountInString(s) > 60 {
		s = string([]rune(s)[:60]) + "…"
	}
	return strconv.Quote(s)
}

// Counter holds a reader to its Limits.
type Counter struct {
	Limits
	nodes, bytes int
}

// CheckText returns a fault when text is too long.
func (c *Counter) CheckText(text []byte) error {
	if c.Bytes > 0 && len(text) > c.Bytes {
		return &Fault{Message: fmt.Sprintf("is longer than %d bytes", c.Bytes), Limit: "bytes", Value: c.Bytes}
	}
	return nil
}

// CountNode counts one more node inside depth mappings and lists. The fault, if any,
// is at that place.
func (c *Counter) CountNode(depth, line, column int) error {
	c.nodes++
	switch {
	case c.Depth > 0 && depth > c.Depth:
		return c.depthFault(line, column)
	case c.Nodes > 0 && c.nodes > c.Nodes:
		return c.nodesFault(line, column)
	default:
		return nil
	}
}

func (c *Counter) depthFault(line, column int) error {
	return &Fault{line, column, fmt.Sprintf("is nested deeper than %d", c.Depth), "depth", c.Depth}
}

func (c *Counter) nodesFault(line, column int) error {
	return &Fault{line, column, fmt.Sprintf("has more than %d keys and values", c.Nodes), "nodes", c.Nodes}
}

// CountString counts the bytes of one more key or string: a long one behind an alias
// is as long each time it is named.
func (c *Counter) CountString(s string, line, column int) error {
	c.bytes += len(s)
	if c.Bytes > 0 && c.bytes > c.Bytes {
		return &Fault{line, column, fmt.Sprintf("is longer than %d bytes once its aliases are expanded", c.Bytes), "bytes", c.Bytes}
	}
	return nil
}

// Localized is a text, or one text for each of some languages.
type Localized struct{ value any } // nil, a string or a *Map of strings

// InEveryLanguage returns a text that is the same in all languages.
func InEveryLanguage(s string) Localized {
	if s == "" {
		return Localized{}
	}
	return Localized{s}
}

// AsLocalized returns v as a text, if it is one. Nothing and "" are no text.
func AsLocalized(v any) (Localized, bool) {
	switch v := v.(type) {
	case nil:
		return Localized{}, true
	case string:
		return InEveryLanguage(v), true
	case *Map:
		for _, text := range v.All() {
			if _, ok := text.(string); !ok {
				return Localized{}, false
			}
		}
		if v.Len() == 0 {
			return Localized{}, true
		}
		return Localized{v}, true
	}
	return Localized{}, false
}

// Value returns the text as a value of this package; nil for none.
func (l Localized) Value() any { return l.value }

// IsZero reports whether there is no text.
func (l Localized) IsZero() bool { return l.value == nil }

// Texts returns the text in all its languages.
func (l Localized) Texts() []string {
	switch v := l.value.(type) {
	case string:
		return []string{v}
	case *Map:
		texts := make([]string, 0, v.Len())
		for _, text := range v.All() {
			texts = append(texts, text.(string))
		}
		return texts
	}
	return nil
}

// In returns the text in a language, "" when it is not there in that one.
func (l Localized) In(language string) string {
	switch v := l.value.(type) {
	case string:
		return v
	case *Map:
		return v.Text(language)
	}
	return ""
}

// Preferred returns the text in the language that an Accept-Language header prefers; "" when it names none that is there.
func (l Localized) Preferred(accept string) string {
	texts, ok := l.value.(*Map)
	if !ok {
		return l.First()
	}
	var offered []string
	for language := range texts.All() {
		offered = append(offered, language)
	}
	return texts.Text(PreferredLanguage(accept, offered))
}

// First returns the text in its first language, "" for none.
func (l Localized) First() string {
	if texts := l.Texts(); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// MarshalJSON implements json.Marshaler.
func (l Localized) MarshalJSON() ([]byte, error) { return JSON(l.value) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Localized) UnmarshalJSON(text []byte) error {
	v, err := ReadJSON(text, Limits{Depth: 64})
	if err != nil {
		return err
	}
	read, ok := AsLocalized(v)
	if !ok {
		return fmt.Errorf("document: a text, or texts by language, was expected: %w", &json.UnmarshalTypeError{})
	}
	*l = read
	return nil
}
