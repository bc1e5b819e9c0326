package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
)

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
		back, ok := document.ReadYAML(text, document.Usual)
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
		_, ok := document.ReadYAML([]byte(text), document.Usual)
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
