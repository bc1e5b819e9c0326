package value_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/value"
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

func TestAnObjectIsTheSameWithFewAndWithManyKeys(t *testing.T) {
	t.Parallel()
	o := &value.Object{}
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("k%d", 40-i))
		o.Set(keys[i], float64(i))
		o.Set(keys[0], "first")
		o.Set("none", value.Undefined)
		require.Equal(t, keys, o.Keys())
		require.Equal(t, i+1, o.Len())
		for n, key := range keys[1:] {
			require.Equal(t, float64(n+1), o.At(key))
		}
		require.Equal(t, "first", o.At("k40"))
		_, ok := o.Get("none")
		require.False(t, ok)
	}
}

func TestACopyIsAnotherObject(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 3, 30} {
		o := &value.Object{}
		for i := range size {
			o.Set(fmt.Sprint(i), true)
		}
		before := value.JSON(o, "")
		c := o.Copy()
		require.Equal(t, before, value.JSON(c, ""))
		c.Set("new", 1.0)
		c.Set("0", 2.0)
		require.Equal(t, before, value.JSON(o, ""))
		require.True(t, value.IsUndefined(o.At("new")))
	}
	require.Equal(t, &value.Object{}, value.NewObject())
}

func TestWithinLooksAtNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	many := []any{"x"}
	for range 100 {
		many = []any{many, many} // 2^100 items in all
	}
	require.False(t, value.FitsWithin(many, 1_000_000))
	require.False(t, value.FitsWithin(value.NewObject("a", many), 1_000_000))
	require.True(t, value.FitsWithin(value.NewObject("a", []any{1.0, "b", nil, value.Bytes("c")}), 100))
	require.False(t, value.FitsWithin(strings.Repeat("x", 99), 100))
	require.False(t, value.FitsWithin(value.NewObject(strings.Repeat("x", 99), 1.0), 100))
	require.True(t, value.FitsWithin(value.Undefined, 1))
}

// decimal is what a number is in a text.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

func TestTextsThatAreNumbers(t *testing.T) {
	t.Parallel()
	drawn := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // nothing to guess
	for range 100_000 {
		b := make([]byte, drawn.IntN(7))
		for i := range b {
			b[i] = "019+-.eE_x"[drawn.IntN(10)]
		}
		_, is := value.ParseNumber(string(b))
		require.Equal(t, decimal.Match(b), is, "%q", b)
	}
	n, is := value.ParseNumber(" -1.5e3\n")
	require.True(t, is)
	require.Equal(t, -1500.0, n)
}

func TestAComparisonStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	list := func() any { return []any{1.0, "abc", value.NewObject("k", []any{nil, true})} }
	same, spent := value.StrictEqualWithin(list(), list(), 100)
	require.True(t, same)
	require.Equal(t, 10, spent, "seven values and a text of three bytes")
	same, spent = value.StrictEqualWithin(list(), list(), 10)
	require.True(t, same)
	require.Equal(t, 10, spent)
	same, spent = value.StrictEqualWithin(list(), list(), 9)
	require.False(t, same)
	require.Greater(t, spent, 9)
	equal, spent := value.LooseEqualWithin("0012", 12.0, 5)
	require.True(t, equal)
	require.Equal(t, 5, spent)
	equal, spent = value.LooseEqualWithin("0012", 12.0, 4)
	require.False(t, equal)
	require.Greater(t, spent, 4)
}

func TestPartsOfAValue(t *testing.T) {
	t.Parallel()
	var many any = []any{}
	for range 60 {
		many = []any{many, value.NewObject("a", many)}
	}
	require.Zero(t, value.CountParts("a text", 10))
	require.Equal(t, 5, value.CountParts([]any{1.0, value.NewObject("k", 1.0)}, 10)) // the object counts as an item and by itself
	parts := value.CountParts(many, 1000)
	require.Greater(t, parts, 1000)
	require.Less(t, parts, 1010)
}

func TestOnlyTextsAreGoneThroughToReadAKey(t *testing.T) {
	t.Parallel()
	v := value.NewObject("s", strings.Repeat("é", 10), "l", []any{1.0, "xy"})
	for path, want := range map[string]int{
		"s": 0, "s length": 20, "s 4": 5, "s 15": 16, "s 20": 0, "s nope": 0, "l length": 0, "l 0": 0, "l 1 length": 2, "nope": 0,
	} {
		keys := strings.Fields(path)
		at, effort := value.WalkCost(v, keys...)
		require.Equal(t, want, effort, path)
		require.Equal(t, value.Walk(v, keys...), at, path)
	}
}
