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
	"sort"
	"strconv"
	"strings"
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

// readForeign reads YAML that document.YAML did not write.
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

// reader turns parsed nodes into values.
type reader struct {
	count document.Counter
	open  map[*yaml.Node]bool // the aliased nodes that are being read
}

func fault(n *yaml.Node, format string, args ...any) error {
	return &document.Fault{Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)}
}

// value reads n. depth is that of n if it is a mapping or a list.
func (r *reader) value(n *yaml.Node, depth int) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return r.alias(n, depth)
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.SequenceNode:
		return r.list(n, depth)
	case yaml.ScalarNode:
		if err := r.leaf(n, n.Value); err != nil {
			return nil, err
		}
		return scalar(n)
	default:
		return nil, fault(n, "cannot be read as YAML")
	}
}

// leaf counts a key or a scalar.
func (r *reader) leaf(n *yaml.Node, text string) error {
	if err := r.count.CountNode(0, n.Line, n.Column); err != nil {
		return err
	}
	return r.count.CountString(text, n.Line, n.Column)
}

// alias reads what n stands for once more: there are no references in a value.
func (r *reader) alias(n *yaml.Node, depth int) (any, error) {
	if r.open[n.Alias] {
		return nil, fault(n, "the alias %s contains itself", document.QuoteShort(n.Value))
	}
	r.open[n.Alias] = true
	defer delete(r.open, n.Alias)
	v, err := r.value(n.Alias, depth)
	if f, ok := errors.AsType[*document.Fault](err); ok && f.Limit != "" {
		f.Line, f.Column = n.Line, n.Column // it is the alias that is too much
	}
	return v, err
}

func (r *reader) list(n *yaml.Node, depth int) (any, error) {
	if err := r.checkNode(n, "!!seq", depth); err != nil {
		return nil, err
	}
	l := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		v, err := r.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	return l, nil
}

// checkNode counts a mapping or a list and checks that it is no more than that.
func (r *reader) checkNode(n *yaml.Node, tag string, depth int) error {
	if n.Tag != tag {
		return fault(n, "the tag %s is not allowed", document.QuoteShort(n.Tag))
	}
	return r.count.CountNode(depth, n.Line, n.Column)
}

func (r *reader) mapping(n *yaml.Node, depth int) (any, error) {
	if err := r.checkNode(n, "!!map", depth); err != nil {
		return nil, err
	}
	own, err := r.ownKeys(n)
	if err != nil {
		return nil, err
	}
	m := document.MapOf()
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			err = r.merge(m, own, value, depth)
		} else {
			err = r.set(m, key, value, depth)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (r *reader) set(m *document.Map, key, value *yaml.Node, depth int) error {
	v, err := r.value(value, depth+1)
	if err == nil {
		m.Set(keyOf(key), v)
	}
	return err
}

// ownKeys returns the keys that n gives itself, each once.
func (r *reader) ownKeys(n *yaml.Node) (map[string]bool, error) {
	own := make(map[string]bool, len(n.Content)/2)
	merged := false
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if err := checkKey(key); err != nil {
			return nil, err
		}
		name := keyOf(key)
		if err := r.leaf(key, name); err != nil {
			return nil, err
		}
		if isMerge(key) && merged || !isMerge(key) && own[name] {
			return nil, fault(key, "the key %s is given twice", document.QuoteShort(name))
		}
		if isMerge(key) {
			merged = true
		} else {
			own[name] = true
		}
	}
	return own, nil
}

// merge adds the keys of a mapping, or of several, the first of which has its
// way. What the mapping says itself goes before all of them.
func (r *reader) merge(m *document.Map, own map[string]bool, from *yaml.Node, depth int) error {
	v, err := r.value(from, depth)
	if err != nil {
		return err
	}
	sources, several := v.([]any)
	if !several {
		sources = []any{v}
	}
	for _, source := range sources {
		other, ok := source.(*document.Map)
		if !ok {
			return fault(from, "only mappings can be merged with <<")
		}
		for key, value := range other.All() {
			if _, known := m.Get(key); !known && !own[key] {
				m.Set(key, value)
			}
		}
	}
	return nil
}

// What a plain scalar means in the core schema of YAML 1.2.
var (
	isNull    = regexp.MustCompile(`^(?:null|Null|NULL|~|)$`)
	isTrue    = regexp.MustCompile(`^(?:true|True|TRUE)$`)
	isFalse   = regexp.MustCompile(`^(?:false|False|FALSE)$`)
	isDecimal = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	isOctal   = regexp.MustCompile(`^0o[0-7]+$`)
	isHex     = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	isNoValue = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalar returns the value of a scalar node.
func scalar(n *yaml.Node) (any, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return tagged(n)
	}
	if n.Style&quoted != 0 {
		return n.Value, nil
	}
	return plain(n)
}

// plain returns what a scalar without quotes means.
func plain(n *yaml.Node) (any, error) {
	switch s := n.Value; {
	case isNull.MatchString(s):
		return nil, nil
	case isTrue.MatchString(s):
		return true, nil
	case isFalse.MatchString(s):
		return false, nil
	case isDecimal.MatchString(s):
		return number(n, s)
	case isOctal.MatchString(s):
		return whole(n, s[2:], 8)
	case isHex.MatchString(s):
		return whole(n, s[2:], 16)
	case isNoValue.MatchString(s):
		return nil, fault(n, "%s is not a JSON number", s)
	default:
		return s, nil
	}
}

func number(n *yaml.Node, s string) (any, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fault(n, "%s is too large a number", document.QuoteShort(s))
	}
	return f, nil
}

func whole(n *yaml.Node, digits string, base int) (any, error) {
	u, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return nil, fault(n, "%s is too large a number", document.QuoteShort(n.Value))
	}
	return float64(u), nil
}

// tagged returns the value of a scalar that says itself what it is. Only what a
// plain scalar can be is allowed.
func tagged(n *yaml.Node) (any, error) {
	if n.Tag == "!!str" {
		return n.Value, nil
	}
	v, err := plain(n)
	if err != nil {
		return nil, err
	}
	fits := false
	switch n.Tag {
	case "!!null":
		fits = v == nil
	case "!!bool":
		_, fits = v.(bool)
	case "!!float":
		_, fits = v.(float64)
	case "!!int":
		_, fits = v.(float64)
		fits = fits && !strings.ContainsAny(n.Value, ".eE") || isHex.MatchString(n.Value)
	default:
		return nil, fault(n, "the tag %s is not allowed", document.QuoteShort(n.Tag))
	}
	if !fits {
		return nil, fault(n, "%s is not a valid %s", document.QuoteShort(n.Value), strings.TrimPrefix(n.Tag, "!!"))
	}
	return v, nil
}

// isMerge reports whether key is the << that merges.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Tag == "!!merge"
}

// checkKey refuses what cannot be a key of JSON.
func checkKey(key *yaml.Node) error {
	scalarKey := key
	if key.Kind == yaml.AliasNode {
		scalarKey = key.Alias
	}
	switch {
	case scalarKey.Kind != yaml.ScalarNode:
		return fault(key, "a key must be a text; put a template into quotes: '{{name}}'")
	case scalarKey.Style&yaml.TaggedStyle != 0 && scalarKey.Tag != "!!str" && !isMerge(scalarKey):
		return fault(key, "the tag %s is not allowed in a key", document.QuoteShort(scalarKey.Tag))
	default:
		return nil
	}
}

// keyOf returns a key as it is written: 200 and '200' are one key.
func keyOf(key *yaml.Node) string {
	if key.Kind == yaml.AliasNode {
		return key.Alias.Value
	}
	return key.Value
}

// syntaxError is what the parser says of a text that is no YAML, with the line that it
// names: that of the mapping or list around the fault, if there is one.
type syntaxError struct{ text string }

// Error implements error.
func (e *syntaxError) Error() string { return e.text }

// maxSearched bounds how many bytes are parsed again to find the place of a fault.
const maxSearched = 16 << 20

var parserPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// plainMessages are the words of the parser that its users do not know.
var plainMessages = map[string]string{
	"did not find expected key":                      "expected a key here: check the indentation, and put texts with { } [ ] : or quotes in them into quotes",
	"did not find expected '-' indicator":            `expected a list item ("- ") here: check the indentation`,
	"did not find expected ',' or '}'":               `expected "," or "}": a { is not closed; put texts that begin with { into quotes`,
	"did not find expected ',' or ']'":               `expected "," or "]": a [ is not closed; put texts that begin with [ into quotes`,
	"did not find expected node content":             "expected a value here; put texts that begin with { or [ into quotes",
	"mapping values are not allowed in this context": `a ":" is not allowed here: check the indentation, and put texts with ": " in them into quotes`,
	"found character that cannot start any token":    "this character cannot begin a value: put the text into quotes; indent with spaces, not tabs",
	"found unexpected end of stream":                 "a quote is opened and not closed",
	"found unknown escape character":                 `unknown escape after \ in double quotes: write \\, or use single quotes`,
	"could not find expected ':'":                    `expected ":" after the key`,
}

// fault returns where in the text the parser stopped: the shortest beginning of the text
// that it refuses with the same words ends there. What is opened and never closed is
// found where it is opened.
func (e *syntaxError) fault(text []byte) *document.Fault {
	named := parserPrefix.FindStringSubmatch(e.text)
	fault := &document.Fault{Message: e.text}
	if named != nil {
		fault.Message = e.text[len(named[0]):]
		fault.Line, _ = strconv.Atoi(named[1])
	}
	if plain, ok := plainMessages[fault.Message]; ok {
		fault.Message = plain
	}
	left := maxSearched
	refused := func(end int) bool {
		if left -= end; left < 0 {
			return true
		}
		_, err := decode(text[:end])
		same, ok := errors.AsType[*syntaxError](err)
		return ok && same.text == e.text
	}
	ends := lineEnds(text)
	line := sort.Search(len(ends)-1, func(i int) bool { return refused(ends[i]) })
	if left < 0 { // the text is too long to be searched
		return fault
	}
	start := 0
	if line > 0 {
		start = ends[line-1]
	}
	content := bytes.TrimRight(text[start:ends[line]], "\n")
	width := sort.Search(len(content), func(i int) bool { return refused(start + i) })
	fault.Line = line + 1
	if left >= 0 {
		fault.Column = max(1, utf8.RuneCount(content[:width]))
	}
	return fault
}

// lineEnds returns where each line ends, after its line break.
func lineEnds(text []byte) []int {
	var ends []int
	for at := 0; at < len(text); {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
		ends = append(ends, at)
	}
	if len(ends) == 0 || ends[len(ends)-1] < len(text) {
		ends = append(ends, len(text))
	}
	return ends
}
