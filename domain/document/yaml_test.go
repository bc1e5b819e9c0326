package document_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
)

func read(t *testing.T, text string) any {
	t.Helper()
	v, err := document.ReadJSON([]byte(text), document.FileLimits)
	require.NoError(t, err)
	return v
}

func mapping(t *testing.T, text string) *document.Map {
	t.Helper()
	m, ok := read(t, text).(*document.Map)
	require.True(t, ok)
	return m
}

// Each line is JSON and what it is in YAML, as the contract spells it.
func TestOneValueHasOneText(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		`null`: "null\n", `{}`: "{}\n", `[]`: "[]\n", `true`: "true\n", `"a"`: "a\n", `"a\nb"`: "|-\n  a\n  b\n",
		`{"a":{},"b":[],"c":null,"d":false}`: "a: {}\nb: []\nc: null\nd: false\n",
		`[[1,[2]],{"a":1,"b":[3]},[],{}]`:    "- - 1\n  - - 2\n- a: 1\n  b:\n    - 3\n- []\n- {}\n",
		`{"b":{"z":1,"a":2}}`:                "b:\n  z: 1\n  a: 2\n",
		`{"a":[{"b":[{"c":"x\ny\n"}]}]}`:     "a:\n  - b:\n      - c: |\n          x\n          y\n",
		`{"a":"x\n\n","b":["x\n y"]}`:        "a: |+\n  x\n\nb:\n  - |-\n    x\n     y\n",
	} {
		text, err := document.YAML(read(t, from))
		require.NoError(t, err)
		require.Equal(t, want, string(text), from)
	}
}

func TestNumbersAreWrittenShort(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", -7: "-7", 1.50: "1.5", 1e3: "1000", 9007199254740992: "9007199254740992", 1e20: "100000000000000000000",
		1e21: "1e+21", 0.1: "0.1", 1e-7: "1e-7", 0.000001: "0.000001", 1234567.5: "1234567.5", math.MaxFloat64: "1.7976931348623157e+308",
	} {
		text, err := document.YAML(f)
		require.NoError(t, err)
		require.Equal(t, want+"\n", string(text))
	}
}

func TestStringsAreQuotedOnlyWhenTheyMust(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"Charge card": "Charge card", "/a/b": "/a/b", "_x": "_x", "a@b.c": "a@b.c", "https://x.y": "https://x.y", "a:b": "a:b", "nothing": "nothing",
		"": "''", "a:": "'a:'", "a: b": "'a: b'", "a ": "'a '", " a": "' a'", "1": "'1'", "-a": "'-a'", "Yes": "'Yes'", "N": "'N'", "NULL": "'NULL'",
		"true": "'true'", "it's": "'it''s'", "{{x}} > 1": "'{{x}} > 1'", "é": "'é'", "#a": "'#a'", "a,b": "'a,b'",
		"a\tb": `"a\tb"`, "\n": `"\n"`, "a \nb": `"a \nb"`, " a\nb": `" a\nb"`, "a\nb\r": `"a\nb\r"`, "\x00\x7f\u0085\u2028\ufeff": `"\u0000\u007f\u0085\u2028\ufeff"`,
		"\"\\\x01": `"\"\\\u0001"`, "a\n😀\t.": "|-\n  a\n  😀\t.", "\t😀": `"\t😀"`,
	} {
		text, err := document.YAML(s)
		require.NoError(t, err)
		require.Equal(t, want+"\n", string(text))
	}
}

func TestALongKeyHasALineOfItsOwn(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 1001)
	m := document.MapOf(document.Pair{Key: key, Value: []any{"a"}}, document.Pair{Key: key[1:], Value: 1.0})
	text, err := document.YAML([]any{m})
	require.NoError(t, err)
	require.Equal(t, "- ? "+key+"\n  :\n    - a\n  "+key[1:]+": 1\n", string(text))
}

func TestBadValuesAreNotWritten(t *testing.T) {
	t.Parallel()
	for _, v := range []any{1, map[string]any{}, math.NaN(), math.Inf(1), "\xff", document.MapOf(document.Pair{Key: "\xff"}), []any{[]string{}}} {
		_, err := document.YAML(v)
		require.Error(t, err)
		_, err = document.JSON(v)
		require.Error(t, err)
	}
}

func TestWhatYAMLWroteIsReadBack(t *testing.T) {
	t.Parallel()
	for _, from := range []string{
		`{"a":1}`, `[1]`, `{"a":{},"b":[],"c":null,"d":false,"e":true,"f":-1.5,"g":1e21}`, `[[1,[2]],{"a":1,"b":[3]},[],{}]`, `{"b":{"z":1,"a":2}}`,
		`{"a":[{"b":[{"c":"x\ny\n"}]}],"d":"x\n\n","e":["x\n y\n\n z"]}`, `{"a b":"it's","c: d":"e: f","it's: '":"''","'":"'a","null":"null","1":"1","":""}`,
		`["'a': b","a: b","- a","{}","a:","|"]`, `{"a:b":{"c:d":"e:f"}}`, `{"slug":"charge","do":[{"emit":{"event":"paid","payload":{"amount":"{{body.amount}}"}}}]}`,
	} {
		v := read(t, from)
		text, err := document.YAML(v)
		require.NoError(t, err)
		back, ok := document.ReadYAML(text, document.FileLimits)
		require.True(t, ok, "%s", text)
		require.True(t, document.Equal(v, back), "%s", text)
	}
}

func TestWhatYAMLDidNotWriteIsNotRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "\n", " \n", "a", "a\n", "a: 1", "a: 1\r\n", "a:  1\n", "a: 1 \n", "a: 01\n", "a: 0x1\n", "a: -\n", "a:\n", "a:\nb: 1\n", "a: {b: 1}\n", "a: \"b\"\n", "a: 'b'\n",
		"a: ~\n", "a: yes\n", "a: |\n", "a: |\nb: 1\n", "a: |-\n  b\n\n", "a: >\n  b\n", "a: b # c\n", "# c\na: b\n", "---\na: b\n", "a: &x b\n", "a: !x b\n", "a: b\na: c\n", "-\n", "- \n",
		"-a\n", "- a\nb: c\n", "a: b\n- c\n", "a:\n- b\n", "a:\n    b: c\n", "a:\n   - b\n", " a: b\n", "'a: b\n", "'a' b: c\n", "a: ''b'\n", "\ufeffa: b\n", "a: b\n\n", "<<: {}\n",
	} {
		_, ok := document.ReadYAML([]byte(text), document.FileLimits)
		require.False(t, ok, "%q", text)
	}
	for limits, text := range map[document.Limits]string{
		{Bytes: 4}: "a: 1\n", {Depth: 1}: "a: []\n", {Depth: 2}: "a:\n  - - 1\n", {Nodes: 2}: "a: 1\n", {Nodes: 3}: "- 1\n- 2\n- 3\n", {Nodes: 4}: "- a: 1\n  b: 2\n",
		{}: strings.Repeat("- ", 10001) + "1\n",
	} {
		_, ok := document.ReadYAML([]byte(text), limits)
		require.False(t, ok, "%q", text)
	}
}
