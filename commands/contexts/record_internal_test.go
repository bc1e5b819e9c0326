package contexts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestOperationsAreStoredWhole(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]record{
		"nothing but its time": {mark: mark("a"), at: noon},
		"writes": {mark: mark("b"), at: noon, expires: noon.Add(time.Minute), writes: []Write{
			{Op: variable.Op{Kind: variable.Push, Path: []expr.Step{{Key: "l"}, {Key: "0", Index: true}}, Value: value.Bytes{1}}, Until: noon},
			{Op: variable.Op{Kind: variable.Delete, Value: value.Undefined}},
		}},
		"a limit and a lifetime": {mark: mark("c"), at: noon, expires: noon.Add(time.Minute), limit: 500_000, lifetime: Extends},
	} {
		got, err := decodeRecord(r.encode())
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
	}
}

func TestOperationsFromBeforeThereWereLimitsAreRead(t *testing.T) {
	t.Parallel()
	got, err := decodeRecord(variable.Encode([]any{value.Bytes(mark("a")), encodeTime(noon), 0.0, []any{}}))
	require.NoError(t, err)
	require.Equal(t, record{mark: mark("a"), at: noon}, got)
}

func TestAStateLastsAsLongAsItsOperationsSay(t *testing.T) {
	t.Parallel()
	soon, later := noon.Add(time.Minute), noon.Add(time.Hour)
	set, none := []Write{{Op: variable.Op{Path: []expr.Step{{Key: "a"}}, Value: 1.0}}}, []Write{}
	for name, c := range map[string]struct {
		first, second record
		want          time.Time
	}{
		"moves back":                     {record{expires: later}, record{expires: soon}, soon},
		"moves to never":                 {record{expires: soon}, record{}, time.Time{}},
		"extends":                        {record{expires: soon}, record{expires: later, lifetime: Extends}, later},
		"does not extend backwards":      {record{expires: later}, record{expires: soon, lifetime: Extends}, later},
		"extends what never expires":     {record{}, record{expires: soon, lifetime: Extends}, time.Time{}},
		"begins anew after it expired":   {record{expires: noon}, record{expires: soon, lifetime: Extends}, soon},
		"a change without writes counts": {record{expires: soon}, record{expires: later, lifetime: Extends, writes: none}, later},
		"nothing lasts as long":          {record{expires: later, lifetime: Extends, writes: none}, record{expires: soon, lifetime: Extends}, later},
		"nothing that expired does not":  {record{expires: noon, lifetime: Extends, writes: none}, record{expires: soon, lifetime: Extends}, soon},
		"nothing that never expires":     {record{writes: none}, record{expires: soon, lifetime: Extends}, soon},
	} {
		c.first.mark, c.first.at = mark("a"), noon.Add(-time.Second)
		c.second.mark, c.second.at = mark("b"), noon
		for _, r := range []*record{&c.first, &c.second} {
			if r.writes == nil {
				r.writes = set
			}
		}
		require.Equal(t, c.want, empty().with(c.first).with(c.second).expires, name)
	}
}

func TestAWriteBeyondTheLimitIsLeftOut(t *testing.T) {
	t.Parallel()
	push := func(text string) Write {
		return Write{Op: variable.Op{Kind: variable.Push, Path: []expr.Step{{Key: "l"}}, Value: text}}
	}
	s := empty().with(record{mark: mark("a"), at: noon, limit: 30, writes: []Write{push("0123456789")}})
	s = s.with(record{mark: mark("b"), at: noon, limit: 30, writes: []Write{push("0123456789"), push("0")}})
	require.JSONEq(t, `{"l":["0123456789","0"]}`, value.JSON(s.object, ""), "of one change what fits counts")
	s = s.with(record{mark: mark("c"), at: noon, limit: 10, writes: []Write{push("0"), {Op: variable.Op{Path: []expr.Step{{Key: "l"}}, Value: "0123456789"}}}})
	require.JSONEq(t, `{"l":"0123456789"}`, value.JSON(s.object, ""), "what makes it smaller does, although it is still too large")
}

func TestStatesAreStoredWhole(t *testing.T) {
	t.Parallel()
	s := empty().with(record{mark: mark("a"), at: noon, expires: noon.Add(time.Hour), writes: []Write{
		{Op: variable.Op{Path: []expr.Step{{Key: "a"}, {Key: "b"}}, Value: value.NewObject("z", 1.0, "y", nil)}, Until: noon.Add(time.Minute)},
		{Op: variable.Op{Kind: variable.Push, Path: []expr.Step{{Key: "l"}}, Value: "é"}},
	}})
	got, err := decodeState(s.encode())
	require.NoError(t, err)
	require.Equal(t, s, got)
	require.Equal(t, variable.Size(s.object), s.size)
}

func TestAStateKnowsItsLastOperations(t *testing.T) {
	t.Parallel()
	s := empty()
	push := []Write{{Op: variable.Op{Kind: variable.Push, Path: []expr.Step{{Key: "l"}}, Value: 1.0}}}
	for i := range 100 {
		r := record{mark: mark(string(rune('a' + i))), at: noon, writes: push}
		s = s.with(r)
		s = s.with(r)
	}
	require.Len(t, s.object.At("l"), 100)
	require.Len(t, s.seen, maxSeen)
	s = s.with(record{mark: mark(string(rune('a' + 50))), at: noon, writes: push})
	require.Len(t, s.object.At("l"), 100, "an earlier one too")
}

func TestMalformedRecordsAreRefused(t *testing.T) {
	t.Parallel()
	op := variable.Op{}.Encoded()
	good := value.Bytes(mark("a"))
	for name, v := range map[string]any{
		"no list":               1.0,
		"too short":             []any{good, 0.0, 0.0},
		"a mark of text":        []any{"a", 0.0, 0.0, []any{}},
		"a short mark":          []any{value.Bytes{1}, 0.0, 0.0, []any{}},
		"five parts":            []any{good, 0.0, 0.0, []any{}, 0.0},
		"a limit of text":       []any{good, 0.0, 0.0, []any{}, "x", 0.0},
		"a limit below zero":    []any{good, 0.0, 0.0, []any{}, -1.0, 0.0},
		"a broken limit":        []any{good, 0.0, 0.0, []any{}, 1.5, 0.0},
		"a time of text":        []any{good, "x", 0.0, []any{}},
		"writes of text":        []any{good, 0.0, 0.0, "x"},
		"a write without time":  []any{good, 0.0, 0.0, []any{[]any{op}}},
		"a write of nothing":    []any{good, 0.0, 0.0, []any{[]any{1.0, 0.0}}},
		"a write at no time":    []any{good, 0.0, 0.0, []any{[]any{op, nil}}},
		"a state with no marks": []any{value.Bytes{1}, 0.0, &value.Object{}, []any{}},
		"a state of a list":     []any{good, 0.0, []any{}, []any{}},
	} {
		_, err := decodeRecord(variable.Encode(v))
		require.ErrorIs(t, err, errMalformed, name)
		_, err = decodeState(variable.Encode(v))
		require.ErrorIs(t, err, errMalformed, name)
		_, err = decodeKey(variable.Encode(v))
		require.ErrorIs(t, err, errMalformed, name)
	}
	for name, v := range map[string]any{
		"no lifetime":           []any{good, 0.0, &value.Object{}, []any{1.0}},
		"a lifetime of nothing": []any{good, 0.0, &value.Object{}, []any{[]any{1.0, 1.0}}},
	} {
		_, err := decodeState(variable.Encode(v))
		require.ErrorIs(t, err, errMalformed, name)
	}
	_, err := decodeKey(variable.Encode([]any{"w", 1.0, "i"}))
	require.ErrorIs(t, err, errMalformed)
	_, err = decodeRecord([]byte("x"))
	require.ErrorIs(t, err, errMalformed)
}

// FuzzDecode reads anything as what is stored, and applies it.
func FuzzDecode(f *testing.F) {
	r := record{mark: mark("a"), at: noon, expires: noon, writes: []Write{
		{Op: variable.Op{Path: []expr.Step{{Key: "a"}}, Value: []any{1.0}}, Until: noon},
		{Op: variable.Op{Kind: variable.Delete, Path: []expr.Step{{Key: "a"}, {Key: "0", Index: true}}}},
	}}
	f.Add(r.encode(), empty().with(r).encode())
	f.Fuzz(func(t *testing.T, operation, snapshot []byte) {
		s, err := decodeState(snapshot)
		if err != nil {
			s = empty()
		}
		r, err := decodeRecord(operation)
		if err != nil {
			return
		}
		next := s.with(r)
		require.Equal(t, variable.Size(next.object), next.size)
		again, err := decodeState(next.encode())
		require.NoError(t, err)
		require.Equal(t, next.encode(), again.encode())
		next.at(noon.AddDate(1, 0, 0))
	})
}
