package value_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/value"
)

func TestJSONKeepsOrder(t *testing.T) {
	t.Parallel()
	const text = `{"z":1,"a":[true,null,{"k":"<é\"\n"}],"m":1e+21,"n":-0.5}`
	v, err := value.ParseJSON(text)
	require.NoError(t, err)
	require.Equal(t, text, value.JSON(v, ""))
	again, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, text, string(again))
	require.Equal(t, "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}", value.JSON(value.NewObject("a", []any{1.0}, "b", &value.Object{}), "  "))
}

func TestBrokenJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[1,]", "{\"a\"}", "1 2", "[1", "nope", "{\"a\":1,}", strings.Repeat("[", 5000)} {
		_, err := value.ParseJSON(text)
		require.Error(t, err, text)
	}
}

type stream struct{}

func (stream) LiveStream() {}

func TestWhatHasNoJSON(t *testing.T) {
	t.Parallel()
	o := value.NewObject("u", value.Undefined, "s", stream{}, "n", math.NaN(), "b", value.Bytes("hi"), "l", []any{value.Undefined, math.Inf(1)})
	require.Equal(t, `{"n":null,"b":"aGk=","l":[null,null]}`, value.JSON(o, ""))
	require.Equal(t, "0", value.Text(math.Copysign(0, -1)))
	require.Empty(t, value.Text(stream{}))
}

func TestFrom(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	v := value.From(map[string]any{
		"b": int64(1), "a": []any{int32(2), uint64(3), float32(4), json.Number("5")}, "c": []string{"x"}, "d": []byte("y"), "e": at, "f": func() {},
	})
	require.Equal(t, `{"a":[2,3,4,5],"b":1,"c":["x"],"d":"eQ==","e":"2024-01-02T03:04:05.000Z"}`, value.JSON(v, ""))
}

func TestSettled(t *testing.T) {
	t.Parallel()
	v := []any{1.0, value.NewObject("n", math.NaN(), "m", 2.0)}
	require.Equal(t, `[1,{"n":null,"m":2}]`, value.JSON(value.ReplaceNonFinite(v), ""))
	require.Nil(t, value.At(value.At(value.ReplaceNonFinite(v), "1"), "n"))
}

func TestReading(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2.0, value.At(value.Bytes("hi"), "length"))
	require.Equal(t, value.Undefined, value.At(nil, "a"))
	require.Equal(t, value.Undefined, value.At([]any{1.0}, "99999999999"))
	require.Equal(t, value.Undefined, value.At("é", "1"))
	var none *value.Object
	require.Equal(t, value.Undefined, none.At("a"))
	require.Zero(t, none.Len())
	require.NotNil(t, none.Copy())
}
