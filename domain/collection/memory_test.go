package collection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/collection"
	"svc/domain/value"
)

// memory counts the rows that are visited, and calls with fixed times and ids.
type memory struct {
	*collection.Memory

	limits collection.Limits
	ids    int
	seen   int // rows that were visited
	alive  func() error
}

func newMemory() *memory { return &memory{Memory: collection.NewMemory()} }

// Rows implements collection.View.
func (m *memory) Rows(c uint32, ranges []collection.Range, x *collection.Index, visit func(string, collection.Row) (bool, error)) error {
	return m.Memory.Rows(c, ranges, x, func(id string, row collection.Row) (bool, error) {
		m.seen++
		return visit(id, row)
	})
}

func (m *memory) apply(tb testing.TB, changes []collection.Change) {
	tb.Helper()
	require.NoError(tb, m.Apply(changes))
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// call makes one call and applies what it changes.
func (m *memory) call(tb testing.TB, function string, params *value.Object) (any, error) {
	tb.Helper()
	call, err := collection.Prepare(function, params, m.limits)
	if err != nil {
		return nil, err
	}
	if !call.Writes() {
		return call.Read(m, m.alive)
	}
	draft := collection.NewDraft(m)
	result, err := call.Write(draft, collection.Stamp{Now: noon, UserID: "u1", NewID: func() string {
		m.ids++
		return fmt.Sprintf("new%d", m.ids)
	}}, m.alive)
	if err == nil {
		m.apply(tb, draft.Changes)
	}
	return result, err
}

// line makes a call that is written as its function and its parameters, and returns
// its result as JSON, or what was refused and why. The fields that every row has are
// left out.
func (m *memory) line(tb testing.TB, text string) string {
	tb.Helper()
	function, rest, _ := strings.Cut(text, " ")
	result, err := m.call(tb, function, object(tb, rest))
	if err != nil {
		raised := automation.ErrorOf(err)
		return strings.TrimSpace(fmt.Sprintf("%s %v", raised.Name, value.Text(raised.Details.At("reason"))))
	}
	if value.IsUndefined(result) {
		return "undefined"
	}
	return value.JSON(bare(result), "")
}

func bare(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = bare(item)
		}
		return list
	case *value.Object:
		o := &value.Object{}
		for _, key := range v.Keys() {
			if !slices.Contains([]string{"createdAt", "updatedAt", "createdBy", "updatedBy"}, key) {
				o.Set(key, bare(v.At(key)))
			}
		}
		return o
	}
	return v
}

func object(tb testing.TB, text string) *value.Object {
	tb.Helper()
	v, err := value.ParseJSON(text)
	require.NoError(tb, err, text)
	o, ok := v.(*value.Object)
	require.True(tb, ok, text)
	return o
}

// callScript is calls one after the other, each with what it returns.
type callScript []string

func (s callScript) run(tb testing.TB, m *memory) {
	tb.Helper()
	require.Zero(tb, len(s)%2)
	for i := 0; i < len(s); i += 2 {
		require.Equal(tb, s[i+1], m.line(tb, s[i]), "%s", s[i])
	}
}
