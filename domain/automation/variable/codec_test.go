package variable_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

type live struct{}

func (live) LiveStream() {}

func TestEncodingKeepsEverything(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"undefined":           value.Undefined,
		"null":                nil,
		"booleans":            []any{true, false},
		"integers":            []any{0.0, 1.0, -1.0, 255.0, -256.0, float64(1<<53 - 1), -float64(1<<53 - 1)},
		"numbers":             []any{0.1, -1.5, 1e300, 5e-324, float64(1 << 53), math.MaxFloat64, math.Inf(1), math.Inf(-1)},
		"text":                []any{"", "a", "h😀é\x00\xff", strings.Repeat("x", 300)},
		"bytes":               []any{value.Bytes{}, value.Bytes{0, 255}},
		"an undefined item":   []any{value.Undefined, nil},
		"empty ones":          []any{[]any{}, &value.Object{}},
		"the order of keys":   value.NewObject("z", 1.0, "a", value.NewObject("y", nil, "b", []any{})),
		"keys of any text":    value.NewObject("", 1.0, "a.b", 2.0, "__proto__", 3.0, "\xff", 4.0),
		"a stream that ended": variable.LostStream{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := variable.Decode(variable.Encode(v))
			require.NoError(t, err)
			require.Equal(t, v, got)
		})
	}
}

func TestEncodingKeepsNumbersThatEqualHides(t *testing.T) {
	t.Parallel()
	for _, n := range []float64{math.NaN(), math.Copysign(0, -1)} {
		got, err := variable.Decode(variable.Encode(n))
		require.NoError(t, err)
		decoded, _ := got.(float64)
		require.Equal(t, math.Float64bits(n), math.Float64bits(decoded))
	}
}

func TestAStreamIsStoredAsLost(t *testing.T) {
	t.Parallel()
	got, err := variable.Decode(variable.Encode(value.NewObject("s", live{})))
	require.NoError(t, err)
	require.Equal(t, value.NewObject("s", variable.LostStream{}), got)
	require.JSONEq(t, `{}`, value.JSON(got, ""))
}

// TestLargeValuesAreWrittenOnce encodes what is far larger than the memory it takes, and
// finds it shared as it was.
func TestLargeValuesAreWrittenOnce(t *testing.T) {
	t.Parallel()
	long, rows, wide := strings.Repeat("x", 5_000), make([]any, 300), &value.Object{}
	for i := range rows {
		rows[i] = value.NewObject("i", float64(i), "long", long)
		wide.Set(strings.Repeat("k", i), rows)
	}
	v := []any{long, rows, value.NewObject("rows", rows, "bytes", value.Bytes(long)), wide, wide, "short", "short"}
	data, ok := variable.EncodeShared(v, 70_000)
	require.True(t, ok)
	got, err := variable.DecodeShared(data)
	require.NoError(t, err)
	require.Equal(t, v, got)
	list, _ := got.([]any)
	require.Same(t, list[3], list[4])
	scale := value.NewSharedMeter(math.MaxInt)
	scale.Add(got)
	require.Less(t, scale.Weight, 300_000)
	again, ok := variable.EncodeShared(got, math.MaxInt)
	require.True(t, ok)
	require.Equal(t, data, again)
	_, err = variable.Decode(data)
	require.Error(t, err, "only where it is expected")
}

func TestNoMoreIsEncodedThanTheLimit(t *testing.T) {
	t.Parallel()
	bomb := any([]any{1.0})
	for range 60 {
		bomb = []any{bomb, value.NewObject("a", bomb)}
	}
	for name, v := range map[string]any{
		"a bomb": bomb, "a text": strings.Repeat("x", 10_000), "bytes": value.Bytes(strings.Repeat("x", 10_000)), "items": make([]any, 10_000),
		"a key": value.NewObject(strings.Repeat("k", 10_000), 1.0), "a text at last": []any{1.0, strings.Repeat("x", 10_000)},
	} {
		data, ok := variable.EncodeShared(v, 1_000)
		require.False(t, ok, name)
		require.Less(t, len(data), 1_100, name)
	}
	data, ok := variable.EncodeShared("text", 6)
	require.False(t, ok)
	require.Less(t, len(data), 6)
	_, ok = variable.EncodeShared("text", 7)
	require.True(t, ok)
}

func TestMalformedSharedValuesAreRefused(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"none before":       {1, 12, 0},
		"no number":         {1, 8, 2, 11, 1, 12},
		"of a billion":      append([]byte{1, 8, 2, 11, 1, 12}, binary.AppendUvarint(nil, 1<<62)...),
		"large without end": append([]byte{1}, []byte(strings.Repeat("\x0b", 3000)+"\x01")...),
		"large of nothing":  {1, 11},
	} {
		_, err := variable.DecodeShared(data)
		require.Error(t, err, name)
	}
}

func TestOperationsAreEncodedWhole(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]variable.Op{
		"replace the whole":    {Kind: variable.Replace, Value: value.NewObject("a", 1.0)},
		"push at a path":       {Kind: variable.Push, Path: []expr.Step{{Key: "a"}, {Key: "0", Index: true}, {Key: "0"}}, Value: nil},
		"merge":                {Kind: variable.Merge, Path: []expr.Step{{Key: ""}}, Value: []any{value.Bytes{1}}},
		"delete":               {Kind: variable.Delete, Path: []expr.Step{{Key: "x"}}, Value: value.Undefined},
		"a set that unsets it": {Kind: variable.Replace, Path: []expr.Step{{Key: "x"}}, Value: value.Undefined},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := variable.Decode(variable.Encode(op.Encoded()))
			require.NoError(t, err)
			got, err := variable.DecodeOp(v)
			require.NoError(t, err)
			require.Equal(t, op, got)
		})
	}
}

func TestMalformedOperationsAreRefused(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"undefined":         value.Undefined,
		"too short":         []any{0.0, []any{}},
		"an unknown kind":   []any{4.0, []any{}, nil},
		"half a kind":       []any{0.5, []any{}, nil},
		"a negative kind":   []any{-1.0, []any{}, nil},
		"a kind of text":    []any{"0", []any{}, nil},
		"no path":           []any{0.0, "a", nil},
		"half a step":       []any{0.0, []any{"a"}, nil},
		"a key of a number": []any{0.0, []any{1.0, false}, nil},
		"an index of text":  []any{0.0, []any{"a", "b"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := variable.DecodeOp(v)
			require.Error(t, err)
		})
	}
}

func TestMalformedValuesAreRefused(t *testing.T) {
	t.Parallel()
	deep := append([]byte{1}, []byte(strings.Repeat("\x08\x01", 3000)+"\x01")...)
	for name, data := range map[string][]byte{
		"nothing":             {},
		"another format":      {2, 1},
		"no value":            {1},
		"an unknown tag":      {1, 99},
		"more than one":       {1, 1, 1},
		"half a number":       {1, 5, 0, 0},
		"no integer":          {1, 4},
		"text cut off":        {1, 6, 5, 'a'},
		"a list cut off":      {1, 8, 2, 1},
		"an object cut off":   {1, 9, 1, 1, 'a'},
		"a count of billions": append([]byte{1, 8}, binary.AppendUvarint(nil, 1<<62)...),
		"nested too deeply":   deep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := variable.Decode(data)
			require.Error(t, err)
		})
	}
}

func TestSizeIsTheLengthOfTheJSON(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		value.Undefined, nil, true, false, 0.0, -0.5, 1e20, 1e21, 1e-6, 1e-7, 1.5e-10, -1e100, math.NaN(), math.Inf(-1),
		"", "plain", "\"\\\b\f\n\r\t\x00\x1f\x7f", "<&>é😀\u2028\u2029\xff", value.Bytes{}, value.Bytes("abcd"), live{},
		[]any{}, []any{value.Undefined, live{}, nil, 1.0}, &value.Object{},
		value.NewObject("a", live{}), value.NewObject("a", live{}, "\n", 1.0, "c", []any{}),
	} {
		require.Len(t, value.JSON(v, ""), variable.Size(v), "%v", v)
	}
}
