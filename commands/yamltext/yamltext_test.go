package yamltext_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/yamltext"
	"svc/domain/document"
	"svc/domain/domaintest"
)

const handwritten = "\ufeff# the charge\r\n" + `%YAML 1.2
---
slug:   charge   # its slug
'name': "Charge\tcard"
defaults: &d {retries: 3, region: eu}
do:
- conditions:
    "{{body.amount}} > 100":
    - emit: {event: big-charge, <<: *d, region: us}
    default: []
text: >
  folded
  text

200: ok
when: {endpoint: True, empty: , hex: 0x10, octal: 0o17, old: 017, float: 1.50, date: 2001-01-01, word: yes}
...
`

const canonical = `slug: charge
name: "Charge\tcard"
defaults:
  retries: 3
  region: eu
do:
  - conditions:
      '{{body.amount}} > 100':
        - emit:
            event: big-charge
            retries: 3
            region: us
      default: []
text: |
  folded text
'200': ok
when:
  endpoint: true
  empty: null
  hex: 16
  octal: 15
  old: 17
  float: 1.5
  date: '2001-01-01'
  word: 'yes'
`

func TestHandWrittenTextIsReadAndWrittenInOneForm(t *testing.T) {
	t.Parallel()
	lines := strings.TrimPrefix(handwritten, "\ufeff# the charge\r\n")
	for _, text := range []string{handwritten, lines, strings.ReplaceAll(lines, "\n", "\r\n"), canonical} {
		v, err := yamltext.Read([]byte(text), document.FileLimits)
		require.NoError(t, err)
		written, err := document.YAML(v)
		require.NoError(t, err)
		require.Equal(t, canonical, string(written))
	}
}

func TestAnEmptyTextIsNull(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "null\n"} {
		v, err := yamltext.Read([]byte(text), document.FileLimits)
		require.NoError(t, err, text)
		require.Nil(t, v, text)
		_, err = yamltext.ReadMap([]byte(text), document.FileLimits)
		require.EqualError(t, err, "line 1, column 1: must be a mapping", text)
	}
}

const (
	noKey   = "expected a key here: check the indentation, and put texts with { } [ ] : or quotes in them into quotes"
	noColon = `a ":" is not allowed here: check the indentation, and put texts with ": " in them into quotes`
	noToken = "this character cannot begin a value: put the text into quotes; indent with spaces, not tabs"
)

// A fault of the syntax is where it is, and not where the mapping or list around it begins.
func TestBadSyntaxIsRefusedWithItsOwnLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"name: a\ndo:\n  - fetch:\n      url: {{config.url}}/path\n      method: get\noutput: 1\n": "line 4, column 26: " + noKey,
		"name: a\ndo:\n  - set: {name: a, value: 1}\n bad: 1\noutput: 2\n":                         "line 4, column 2: " + noKey,
		"name: a\ndo:\n- a: 1\n- b: 2\n c: 3\n":                                                    "line 5, column 2: " + noKey,
		"name: a\nb: 'x'y\nc: 2":                                                                   "line 2, column 7: " + noKey,
		"name: a\ndo:\n\t- set: 1\n":                                                               "line 3, column 1: " + noToken,
		"name: a\nb: @x\n":                                                                         "line 2, column 4: " + noToken,
		"name: a\nk: value: other\nz: 1\n":                                                         "line 2, column 9: " + noColon,
		"name: a\n  b: 1\n":                                                                        "line 2, column 4: " + noColon,
		"name: a\nlist:\n  - a\n  b: 1\nz: 1":                                                      `line 4, column 4: expected a list item ("- ") here: check the indentation`,
		"name: a\nx: \"abc\noutput: 1\n":                                                           "line 2, column 4: a quote is opened and not closed",
		"name: a\nx:\n  y: {a: 1\nb: 2\n":                                                          `line 3, column 10: expected "," or "}": a { is not closed; put texts that begin with { into quotes`,
		"a: [1,\n 2,\n \"y\" \"z\"]\n":                                                             `line 3, column 8: expected "," or "]": a [ is not closed; put texts that begin with [ into quotes`,
		"a: \"\\q\"\n":                                                                             `line 1, column 5: unknown escape after \ in double quotes: write \\, or use single quotes`,
		strings.Repeat("k: {a: [1, 2]}\n", 20_000) + "é: b: c\n":                                   "line 20001, column 5: " + noColon,
	} {
		_, err := yamltext.ReadMap([]byte(text), document.FileLimits)
		require.EqualError(t, err, want, text[:min(len(text), 200)])
	}
}

func TestBadTextIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\nb: 2\na: 3\n":           `line 3, column 1: the key "a" is given twice`,
		"a: 1\n'a': 2\n":               `line 2, column 1: the key "a" is given twice`,
		"<<: {a: 1}\n<<: {b: 1}\n":     `line 2, column 1: the key "<<" is given twice`,
		"a: 1\n---\nb: 2\n":            "line 2, column 1: has more than one document",
		"a: !secret b\n":               `line 1, column 4: the tag "!secret" is not allowed`,
		"a: !!binary aGk=\n":           `line 1, column 4: the tag "!!binary" is not allowed`,
		"a: !!set {b}\n":               `line 1, column 4: the tag "!!set" is not allowed`,
		"!x a: 1\n":                    `line 1, column 1: the tag "!x" is not allowed in a key`,
		"a: !!int x\n":                 `line 1, column 4: "x" is not a valid int`,
		"a: .inf\n":                    "line 1, column 4: .inf is not a JSON number",
		"a: 1e999\n":                   `line 1, column 4: "1e999" is too large a number`,
		"[a]: b\n":                     "line 1, column 1: a key must be a text; put a template into quotes: '{{name}}'",
		"b: 1\na: {{x}}\n":             "line 2, column 5: a key must be a text; put a template into quotes: '{{name}}'",
		"a: &x\n  b: *x\n":             `line 2, column 6: the alias "x" contains itself`,
		"<<: 1\n":                      "line 1, column 5: only mappings can be merged with <<",
		"a: 1\nb: \xff\n":              "line 2, column 4: is not UTF-8",
		"a: \x07\n":                    "line 1, column 4: the character U+0007 is not allowed",
		"a: b\rc: d\n":                 "line 1, column 5: the character U+000D is not allowed",
		"\xff\xfea\x00":                "line 1, column 1: is not UTF-8",
		"{\"a\": 1, \"a\": 2}":         `line 1, column 10: the key "a" is given twice`,
		"a: *nobody\n":                 "line 1, column 10: unknown anchor 'nobody' referenced",
		"a: b: c\n":                    "line 1, column 5: " + noColon,
		"version https://git-lfs.x\na": "line 1, column 1: must be a mapping",
	} {
		_, err := yamltext.ReadMap([]byte(text), document.FileLimits)
		require.EqualError(t, err, want, text)
		_, ok := errors.AsType[*document.Fault](err)
		require.True(t, ok)
	}
}

func TestBadSizesAreRefusedSoon(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	many := strings.Repeat("- a\n", 100_000)
	for name, tt := range map[string]struct{ text, limit string }{
		"an alias bomb":         {bomb, "nodes"},
		"a merge bomb":          {strings.ReplaceAll(bomb, "[x,x,x,x,x,x,x,x,x]", "{x: 1}"), "nodes"},
		"many nodes":            {many, "nodes"},
		"deep in flow":          {strings.Repeat("[", 65) + strings.Repeat("]", 65) + " # no JSON", "depth"},
		"deep in blocks":        {strings.Repeat("- ", 65) + "a", "depth"},
		"deep in JSON":          {strings.Repeat("[", 65) + strings.Repeat("]", 65), "depth"},
		"deep through an alias": {"a: &a " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\nb: " + strings.Repeat("[", 40) + "*a" + strings.Repeat("]", 40), "depth"},
		"a long alias":          {"a: &a " + strings.Repeat("x", 600_000) + "\nb: [*a, *a]", "bytes"},
		"a long key":            {"a: &a " + strings.Repeat("x", 1000) + "\nb: [" + strings.Repeat("{*a : 1},", 1100) + "]", "bytes"},
		"a long text":           {"a: " + strings.Repeat("x", 1<<20), "bytes"},
	} {
		_, err := yamltext.Read([]byte(tt.text), document.FileLimits)
		fault, ok := errors.AsType[*document.Fault](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, tt.limit, fault.Limit, name)
	}
	v, err := yamltext.Read([]byte(strings.Repeat("[", 64)+strings.Repeat("]", 64)+" #"), document.FileLimits)
	require.NoError(t, err)
	require.NotNil(t, v)
}

// The parser must not be slow for what fits into a file: four times this.
func TestGarbageIsReadInTime(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"[", "{", "- ", "#\n", "a: \n", "? ", "&a ", "'", "\"", "|\n", "[a,", "{a: ", "!", "*a ", "\n ", "- #\n", "a: #\n  b\n", "a\n"} {
		text := strings.Repeat(piece, (1<<18)/len(piece))
		effort := domaintest.MeasureEffort(t, func() { _, _ = yamltext.Read([]byte(text), document.FileLimits) })
		require.Less(t, effort, 10*time.Second, "%q", piece)
	}
}
