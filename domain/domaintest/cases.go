package domaintest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"svc/domain/value"
)

// Case is one of the cases that say what automations come to. The interpreter is held
// to them by itself, and the whole service over HTTP. It is an entry of testdata/*.yaml:
//
//	name         a sentence
//	T, E, do     what automation t does: set r to T, to {% E %}, or these instructions
//	automations  by slug: a list of instructions, or a document
//	input        of t
//	answers      by kind of request, what the outside says, in order
//	scripted     true: what is expected is the script's, as the clock and chance are
//	expect       r: value of output.r (anyOrder: of its items); absent; output: the whole; error: name of the error
//	             that t ends with; details: of it; events: names of error events; emitted: types of
//	             events; executed: how many executions ended; broke; seconds; http: what was
//	             set of $http
//
// In instructions, {T: v} and {E: e} stand for sets of r, and {set name: value} for a
// set. An automation without output has output {r: '{{r}}'}.
type Case struct{ *value.Object }

// ReadCases returns the cases in the files of a pattern.
func ReadCases(tb testing.TB, pattern string) []Case {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(tb, err)
	require.NotEmpty(tb, files, pattern)
	var all []Case
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(tb, err)
		list, ok := ParseYAML(tb, string(text)).([]any)
		require.True(tb, ok, file)
		for _, item := range list {
			o, ok := item.(*value.Object)
			require.True(tb, ok, file)
			c := Case{o}
			require.False(tb, seen[c.Name()], "two cases are called %s", c.Name())
			seen[c.Name()] = true
			all = append(all, c)
		}
	}
	return all
}

// ParseYAML reads YAML. Keys keep their order.
func ParseYAML(tb testing.TB, text string) any {
	tb.Helper()
	var node yaml.Node
	require.NoError(tb, yaml.Unmarshal([]byte(text), &node), text)
	return ordered(tb, node.Content[0])
}

func ordered(tb testing.TB, n *yaml.Node) any {
	tb.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		o := &value.Object{}
		for i := 0; i < len(n.Content); i += 2 {
			o.Set(n.Content[i].Value, ordered(tb, n.Content[i+1]))
		}
		return o
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, ordered(tb, item))
		}
		return list
	}
	var v any
	require.NoError(tb, n.Decode(&v))
	return value.From(v)
}

// Name is what the case is called.
func (c Case) Name() string { return value.Text(c.At("name")) }

// Scripted reports whether the case needs a script of the outside: answers to what
// leaves the interpreter, or the clock and the chance of the script.
func (c Case) Scripted() bool {
	_, answered := c.Get("answers")
	return answered || c.At("scripted") == true || strings.Contains(value.JSON(c.At("input"), ""), `"handle"`)
}

// Expect is what the case expects.
func (c Case) Expect(tb testing.TB) *value.Object {
	tb.Helper()
	want, ok := c.At("expect").(*value.Object)
	require.True(tb, ok, "a case expects something")
	return want
}

// Automations returns the automations of the case by slug, as they are saved.
func (c Case) Automations(tb testing.TB) *value.Object {
	tb.Helper()
	all := &value.Object{}
	if given, ok := c.At("automations").(*value.Object); ok {
		all = given.Copy()
	}
	for _, key := range []string{"T", "E"} {
		if v, ok := c.Get(key); ok {
			all.Set("t", []any{value.NewObject(key, v)})
		}
	}
	if do, ok := c.Get("do"); ok {
		all.Set("t", do)
	}
	for _, slug := range all.Keys() {
		all.Set(slug, AutomationOf(slug, all.At(slug)))
	}
	_, ok := all.Get("t")
	require.True(tb, ok, "%s has no automation t", c.Name())
	return all
}

// AutomationOf writes out an automation: a list of instructions, or a document without
// its name.
func AutomationOf(slug string, v any) *value.Object {
	doc, ok := expand(v).(*value.Object)
	if !ok {
		doc = value.NewObject("do", expand(v))
	}
	doc.Set("slug", slug)
	doc.Set("name", slug)
	if _, ok := doc.Get("output"); !ok {
		doc.Set("output", value.NewObject("r", "{{r}}"))
	}
	return doc
}

// expand writes out what the cases abbreviate.
func expand(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = expand(item)
		}
		return list
	case *value.Object:
		if v.Len() == 1 {
			if short := expandInstruction(v.Keys()[0], v.At(v.Keys()[0])); short != nil {
				return short
			}
		}
		o := &value.Object{}
		for _, key := range v.Keys() {
			o.Set(key, expand(v.At(key)))
		}
		return o
	}
	return v
}

func expandInstruction(key string, v any) any {
	set := func(name string, v any) any {
		return value.NewObject("set", value.NewObject("name", name, "value", v))
	}
	switch key {
	case "T":
		return set("r", v)
	case "E":
		return set("r", "{% "+value.Text(v)+" %}")
	}
	if name, ok := strings.CutPrefix(key, "set "); ok {
		return set(name, v)
	}
	return nil
}

// Input is what t is given. A text "@n" is one of n characters.
func (c Case) Input() *value.Object {
	o, ok := c.At("input").(*value.Object)
	if !ok {
		return &value.Object{}
	}
	made := &value.Object{}
	for _, key := range o.Keys() {
		v := o.At(key)
		if size, ok := strings.CutPrefix(value.Text(v), "@"); ok {
			v = strings.Repeat("x", int(value.ToNumber(size)))
		}
		made.Set(key, v)
	}
	return made
}

// Stream is a stream of items, as fetch returns one.
type Stream struct{ Items []any }

// LiveStream implements value.Stream.
func (*Stream) LiveStream() {}

// Next returns the next item, Undefined at the end.
func (s *Stream) Next() any {
	if len(s.Items) == 0 {
		return value.Undefined
	}
	item := s.Items[0]
	s.Items = s.Items[1:]
	return item
}

// WithStreams returns a value with a Stream in the place of each {$stream: items}.
func WithStreams(v any) any {
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	if items, ok := o.At("$stream").([]any); ok {
		return &Stream{items}
	}
	made := &value.Object{}
	for _, key := range o.Keys() {
		made.Set(key, WithStreams(o.At(key)))
	}
	return made
}
