package value_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/value"
)

// slowly reads a JSON value with the tokens of encoding/json.
func slowly(dec *json.Decoder, depth int) (any, error) {
	if depth > 1000 {
		return nil, errors.New("too deep")
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			item, err := slowly(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		o := &value.Object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := slowly(dec, depth+1)
			if err != nil {
				return nil, err
			}
			o.Set(key.(string), v)
		}
		_, err = dec.Token()
		return o, err
	}
	return value.From(token), nil
}

var texts = []string{
	`{"a":1,"b":[true,false,null,"x"],"a":2}`, ` [ ] `, `{}`, `-0.5e+3`, `01`, `1.`, `.5`, `-`, `1e`, `1e999`, `"\u00e9\ud83d\ude00"`, `"\ud800"`, "\"\xff\"", "\"a\tb\"",
	`"é"`, `"\x"`, `"unended`, `"\`, `[1,]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `tru`, `nulll`, `1 2`, `{"a":1}}`, ``, ` `, "\u00a01", `["a","b\nc"]`, `[[[[]]]]`, `"a` + "\x7f" + `"`,
	`{"":{"":[]}}`, `12abc`, `{"a":12b}`, `-01`, `1E5`, `1e-5`, `--1`, `[,1]`, `{,}`, `"\u12"`, `"\uD83D\u0041"`,
}

func same(t *testing.T, text string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	want, failed := slowly(dec, 0)
	got, end, err := value.FirstJSON(text)
	require.Equal(t, failed != nil, err != nil, "%q: %v, %v", text, failed, err)
	if err != nil {
		return
	}
	require.Equal(t, value.JSON(want, ""), value.JSON(got, ""), text)
	require.Equal(t, int(dec.InputOffset()), end, text)
	rest := strings.TrimLeft(text[end:], " \t\r\n")
	_, err = value.ParseJSON(text)
	require.Equal(t, rest == "", err == nil, text)
}

func TestJSONIsReadAsTheStandardLibraryDoes(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		same(t, text)
	}
	_, err := value.ParseJSON(`{"a":`)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = value.ParseJSON(`{"a":x}`)
	require.EqualError(t, err, "invalid character 'x' at offset 5")
	_, err = value.ParseJSON(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))
	require.NoError(t, err)
	_, err = value.ParseJSON(strings.Repeat("[", 1002) + strings.Repeat("]", 1002))
	require.EqualError(t, err, "nested too deeply")
}

// TestJSONOfTooManyValuesIsRefused reads few bytes that would take a lot of memory.
func TestJSONOfTooManyValuesIsRefused(t *testing.T) {
	t.Parallel()
	most := "[" + strings.Repeat("0,", 1_999_998) + "0]"
	v, err := value.ParseJSON(most)
	require.NoError(t, err)
	require.Len(t, v, 1_999_999)
	_, err = value.ParseJSON(`{"a":` + most + `}`)
	require.ErrorIs(t, err, value.ErrMany)
	require.EqualError(t, err, "more than 2000000 values")
}

func FuzzParseJSON(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { same(t, text) })
}

func BenchmarkParseJSON(b *testing.B) {
	const text = `{"order":"o-000042","price":19.99,"quantity":7,"customer":{"name":"Ada","city":"Ghent"}}`
	for b.Loop() {
		if _, err := value.ParseJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
