package document_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
		_, err := document.ReadJSON([]byte(text), document.FileLimits)
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
	require.Equal(t, []any{"a", "b"}, document.StringList([]string{"a", "b"}))
	require.Equal(t, []any{}, document.StringList(nil))
}

func TestEqualAsksForTheSameKindOfValue(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]any{{nil, false}, {"1", 1.0}, {[]any{}, document.MapOf()}, {[]any{1.0}, []any{2.0}}, {1, 1}, {"a", []any{}}} {
		require.False(t, document.Equal(pair[0], pair[1]))
	}
	require.True(t, document.Equal([]any{nil, "a"}, []any{nil, "a"}))
}

// tokens reads JSON as the standard library splits it: it says what ReadJSON has
// to accept, what to refuse, and with which words.
type tokens struct {
	text  []byte
	next  *json.Decoder
	count document.Counter
}

func byTokens(text []byte, limits document.Limits) (any, error) {
	r := &tokens{text: text, count: document.Counter{Limits: limits}}
	if err := r.count.CheckText(text); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, document.NotUTF8(text)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		syntax, _ := errors.AsType[*json.SyntaxError](err)
		return nil, document.FaultAt(text, max(int(syntax.Offset)-1, 0), syntax.Error())
	}
	r.next = json.NewDecoder(bytes.NewReader(text))
	r.next.UseNumber()
	return r.value(1)
}

func (r *tokens) token() (json.Token, int) {
	at := int(r.next.InputOffset())
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	token, err := r.next.Token()
	if err != nil {
		panic(err) // it is valid
	}
	return token, at
}

func (r *tokens) value(depth int) (any, error) {
	token, at := r.token()
	delim, nested := token.(json.Delim)
	if !nested {
		if err := r.node(0, at); err != nil {
			return nil, err
		}
		number, ok := token.(json.Number)
		if !ok {
			return token, nil
		}
		f, err := strconv.ParseFloat(number.String(), 64)
		if err != nil {
			return nil, document.FaultAt(r.text, at, fmt.Sprintf("%s is too large a number", number))
		}
		return f, nil
	}
	if err := r.node(depth, at); err != nil {
		return nil, err
	}
	if delim == '[' {
		return r.list(depth)
	}
	return r.mapping(depth)
}

func (r *tokens) node(depth, at int) error {
	err := r.count.CountNode(depth, 0, 0)
	if fault, ok := errors.AsType[*document.Fault](err); ok {
		place := document.FaultAt(r.text, at, "")
		fault.Line, fault.Column = place.Line, place.Column
	}
	return err
}

func (r *tokens) list(depth int) (any, error) {
	l := []any{}
	for r.next.More() {
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l = append(l, value)
	}
	r.token()
	return l, nil
}

func (r *tokens) mapping(depth int) (any, error) {
	m := document.MapOf()
	for r.next.More() {
		token, at := r.token()
		key := token.(string)
		if _, twice := m.Get(key); twice {
			return nil, document.FaultAt(r.text, at, "the key "+document.QuoteShort(key)+" is given twice")
		}
		if err := r.node(0, at); err != nil {
			return nil, err
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.Set(key, value)
	}
	r.token()
	return m, nil
}

// tight are limits that short texts pass.
var tight = document.Limits{Bytes: 300, Depth: 4, Nodes: 12}

// requireSameAsTokens demands that a text is read, or refused, as by its tokens.
func requireSameAsTokens(t require.TestingT, text []byte) {
	for _, limits := range []document.Limits{{}, tight} {
		want, wrong := byTokens(text, limits)
		got, err := document.ReadJSON(text, limits)
		if wrong != nil {
			require.Equal(t, wrong, err, "%q", text)
			continue
		}
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
}

var hardJSON = []string{
	`{}`, `[]`, ``, ` `, "\x00", "{}\x00", "[1]\x00", `{"a":1,"b":[true,false,null,{"c":"d"}]}`, ` [ 1 , 2 ] `, "\t{\r\n\"a\" : 1 }\n", `[1,]`, `[,1]`, `{"a"}`, `{"a":}`,
	`{"a":1,}`, `{,}`, `{1:2}`, `{"a":1 "b":2}`, `[1 2]`, `{"a":1]`, `[1}`, `[`, `{`, `{"a"`, `{"a":`, `]`, `}`, `,`, `:`, `01`, `-`, `-0`, `-01`, `1.`, `.5`, `1.5e`, `1e+`, `1e5`,
	`1E-5`, `+1`, `1e400`, `-1e400`, `1e-400`, `[1e400,]`, `0x1`, `1_0`, `NaN`, `Infinity`, `tru`, `truex`, `true`, `nul`, `null`, `nullnull`, `falsefalse`, `"a`, `"a\"`, `"\u00e9"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ude00x"`, `"\u12"`, `"\x"`, `"\/\b\f\n\r\t\\"`, "\"a\nb\"", "\"\x1f\"", "\"\x7f\"", `"é"`, "\"\xff\"", "\ufeff{}", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
	`{"a":1,"a":2`, `{"a":1,"a":1e400}`, `[[[[[1]]]]]`, `[[[[[1]]]]`, `[0,0,0,0,0,0,0,0,0,0,0,0,0]`, `{"a":{"b":{"c":{"d":{}}}}}`, `{} {}`, `{}}`, `"a" "b"`, `//`, `{"a":1}//`, "[1\u00a0]", `["\`,
}

func TestJSONIsReadAsTheStandardLibrarySplitsIt(t *testing.T) {
	t.Parallel()
	for _, text := range hardJSON {
		requireSameAsTokens(t, []byte(text))
	}
	for _, depth := range []int{9999, 10000, 10001} {
		requireSameAsTokens(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		requireSameAsTokens(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"b"`, `"`, `\`, " ", "\n", "0", "-", "1.5", "e", "+", "true", "null", `\u00e9`, "é", "\x01", "\xff"}),
			rapid.SampledFrom(hardJSON),
		), 0, 12).Draw(t, "parts")
		requireSameAsTokens(t, []byte(strings.Join(parts, "")))
	})
}

func FuzzReadJSON(f *testing.F) {
	for _, text := range hardJSON {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { requireSameAsTokens(t, text) })
}

func TestSafeJSONIsWhatEncodingJSONMakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a-z<>&"\\]{0,8}`), rapid.String())
		doc := document.MapOf(document.Pair{Key: text.Draw(t, "key"), Value: []any{text.Draw(t, "value"), rapid.Float64().Draw(t, "number"), nil, true}})
		want, err := json.Marshal(doc)
		require.NoError(t, err)
		got, err := document.SafeJSON(doc)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}
