// Package yamltext reads the YAML and JSON that people write into the values of
// domain/document. It is apart from them because it takes a library, which rules
// do not use; and it takes of that library the parser only: what a scalar means,
// how often an alias may be named and what is refused is decided here.
package yamltext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"svc/domain/document"
)

// Read reads one document of YAML 1.2 or JSON, keeping the order of keys. A fault
// of the text, or one more than limits allow, is a *document.Fault.
func Read(text []byte, limits document.Limits) (any, error) {
	count := document.Counter{Limits: limits}
	if err := count.CheckText(text); err != nil {
		return nil, err
	}
	if looksLikeJSON(text) {
		return document.ReadJSON(text, limits)
	}
	if v, ours := document.ReadYAML(text, limits); ours {
		return v, nil
	}
	return readForeign(text, count)
}

// readForeign reads YAML that somebody else than document.YAML wrote.
func readForeign(text []byte, count document.Counter) (any, error) {
	text, err := cleaned(text)
	if err != nil {
		return nil, err
	}
	root, err := parse(text)
	if err != nil || root == nil {
		return nil, err
	}
	r := &reader{count: count, open: map[*yaml.Node]bool{}}
	return r.value(root, 1)
}

// ReadMap is Read for a text that must be a mapping.
func ReadMap(text []byte, limits document.Limits) (*document.Map, error) {
	v, err := Read(text, limits)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*document.Map)
	if !ok {
		return nil, &document.Fault{Line: 1, Column: 1, Message: "must be a mapping"}
	}
	return m, nil
}

// looksLikeJSON reports whether text is JSON, which is read as such: YAML has no
// pairs of \u escapes.
func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid(text)
}

// cleaned returns text without a byte order mark and with LF for CRLF. It refuses
// what no text has.
func cleaned(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, document.NotUTF8(text)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if at := bytes.IndexFunc(text, isControl); at >= 0 {
		r, _ := utf8.DecodeRune(text[at:])
		return nil, document.FaultAt(text, at, fmt.Sprintf("the character %U is not allowed", r))
	}
	if at := versionLine.FindIndex(text); at != nil {
		text[at[1]-1] = '1' // the parser knows the older number only; text is a copy since CRLF
	}
	return text, nil
}

// versionLine is the directive that a text of YAML 1.2 may begin with.
var versionLine = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\n)*%YAML[ \t]+1\.2`)

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 && r != 0x85 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// parse returns the root of the only document of text; nil when it has none.
func parse(text []byte) (*yaml.Node, error) {
	root, err := decode(text)
	if syntax, ok := errors.AsType[*syntaxError](err); ok {
		return nil, syntax.fault(text)
	}
	return root, err
}

// decode is parse without the place of a fault in the syntax.
func decode(text []byte) (root *yaml.Node, err error) {
	defer func() { // the parser panics on what it thinks cannot be
		if p := recover(); p != nil {
			root, err = nil, &document.Fault{Message: "cannot be read as YAML"}
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, &syntaxError{err.Error()}
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, &document.Fault{Line: second.Line, Column: second.Column, Message: "has more than one document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, &syntaxError{err.Error()}
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	return first.Content[0], nil
}
