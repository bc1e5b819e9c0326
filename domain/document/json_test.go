package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
)

func TestJSONKeepsTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	const text = `{"b":{"z":1,"a":[true,null,"<é>"]},"a":-0.5}`
	v := read(t, text)
	back, err := document.JSON(v)
	require.NoError(t, err)
	require.Equal(t, text, string(back))

	var stored struct{ Doc *document.Map }
	require.NoError(t, json.Unmarshal([]byte(`{"Doc":`+text+`}`), &stored))
	require.True(t, document.Equal(v, stored.Doc))
	back, err = json.Marshal(stored)
	require.NoError(t, err)
	require.Equal(t, `{"Doc":{"b":{"z":1,"a":[true,null,"\u003cé\u003e"]},"a":-0.5}}`, string(back))
	require.Equal(t, map[string]any{"b": map[string]any{"z": 1.0, "a": []any{true, nil, "<é>"}}, "a": -0.5}, document.Plain(v))
	require.Error(t, json.Unmarshal([]byte(`{"Doc":[]}`), &stored))
}

func TestBadJSONIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"a\": 1,\n \"é\": 2, \"a\": 3}": "line 2, column 10: the key \"a\" is given twice",
		"{\"a\": 1,\n}":                    "line 2, column 1: invalid character '}' looking for beginning of object key string",
		"{} {}":                            "line 1, column 4: invalid character '{' after top-level value",
		"":                                 "line 1, column 1: unexpected end of JSON input",
		"[1, 1e400]":                       "line 1, column 5: 1e400 is too large a number",
		"[\n\xff]":                         "line 2, column 1: is not UTF-8",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "line 1, column 65: is nested deeper than 64",
		"[" + strings.Repeat("0,", 100_000) + "0]":        "line 1, column 200000: has more than 100000 keys and values",
		strings.Repeat(" ", 1<<20+1):                      "is longer than 1048576 bytes",
	} {
		_, err := document.ReadJSON([]byte(text), document.Usual)
		require.EqualError(t, err, want)
	}
}

func TestAMapKeepsThePlaceOfAKey(t *testing.T) {
	t.Parallel()
	var m document.Map
	m.Set("b", 1.0)
	m.Set("a", "x")
	m.Set("b", 2.0)
	require.Equal(t, []string{"b", "a"}, m.Keys())
	c := m.Copy()
	c.Delete("b")
	c.Delete("none")
	c.Set("b", 3.0)
	require.Equal(t, []string{"a", "b"}, c.Keys())
	require.Equal(t, []string{"b", "a"}, m.Keys(), "a copy is another map")
	require.Equal(t, "x", m.Text("a"))
	require.Empty(t, m.Text("b"))
	require.False(t, document.Equal(&m, c), "order is content")
	for range m.All() {
		break
	}

	var none *document.Map
	require.Zero(t, none.Len())
	require.Nil(t, none.Keys())
	require.True(t, document.Equal(none, document.MapOf()))
	text, err := json.Marshal(none)
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
}

func TestWhatGoHasBecomesAValue(t *testing.T) {
	t.Parallel()
	v := document.ValueOf(struct {
		B int      `json:"b"`
		A []string `json:"a"`
	}{1, []string{"x"}})
	require.True(t, document.Equal(read(t, `{"b":1,"a":["x"]}`), v))
	require.Nil(t, document.ValueOf(func() {}), "it has no JSON")
	require.Nil(t, document.ValueOf(json.RawMessage(`{"a":1,"a":2}`)), "it is no value of a document")
}

func TestWordsBecomeAList(t *testing.T) {
	t.Parallel()
	require.Equal(t, []any{"a", "b"}, document.Words([]string{"a", "b"}))
	require.Equal(t, []any{}, document.Words(nil))
}

func TestEqualAsksForTheSameKindOfValue(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]any{{nil, false}, {"1", 1.0}, {[]any{}, document.MapOf()}, {[]any{1.0}, []any{2.0}}, {1, 1}, {"a", []any{}}} {
		require.False(t, document.Equal(pair[0], pair[1]))
	}
	require.True(t, document.Equal([]any{nil, "a"}, []any{nil, "a"}))
}
