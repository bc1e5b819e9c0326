package collection_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/collection"
	"svc/domain/value"
)

// memory is the plainest View there is: it looks at every row for everything.
type memory struct {
	infos  map[uint32]*collection.Info
	rows   map[uint32]map[string][]byte
	limits collection.Limits
	ids    int
	seen   int // rows that were visited
	alive  func() error
}

func newMemory() *memory {
	return &memory{infos: map[uint32]*collection.Info{}, rows: map[uint32]map[string][]byte{}}
}

func (m *memory) Infos() ([]*collection.Info, error) {
	return slices.Collect(maps.Values(m.infos)), nil
}

func (m *memory) Stats(c uint32) (rows, size int64, err error) {
	for _, row := range m.rows[c] {
		size += int64(len(row))
	}
	return int64(len(m.rows[c])), size, nil
}

func (m *memory) Row(c uint32, id string) (*value.Object, error) {
	row, ok := m.rows[c][id]
	if !ok {
		return nil, nil
	}
	return collection.DecodeRow(row)
}

func (m *memory) UniqueOwner(c uint32, x collection.Index, key []byte) (holder string, err error) {
	err = m.Rows(c, []collection.Range{{From: key, To: append(bytes.Clone(key), 0)}}, &x, func(id string, _ collection.Row) (bool, error) {
		holder = id
		return false, nil
	})
	return holder, err
}

func (m *memory) Rows(c uint32, ranges []collection.Range, x *collection.Index, visit func(string, collection.Row) (bool, error)) error {
	type entry struct {
		key []byte
		id  string
		row []byte
	}
	var found []entry
	for _, id := range slices.Sorted(maps.Keys(m.rows[c])) {
		row, err := collection.DecodeRow(m.rows[c][id])
		if err != nil {
			return err
		}
		keys := [][]byte{nil}
		if x != nil {
			keys = m.infos[c].Declaration.Keys(*x, row)
		}
		for _, key := range keys {
			if x == nil || slices.ContainsFunc(ranges, func(r collection.Range) bool {
				return bytes.Compare(key, r.From) >= 0 && (r.To == nil || bytes.Compare(key, r.To) < 0)
			}) {
				found = append(found, entry{key, id, m.rows[c][id]})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	for _, e := range found {
		m.seen++
		if more, err := visit(e.id, collection.StoredRow(e.row)); err != nil || !more {
			return err
		}
	}
	return nil
}

func (m *memory) Raw(c uint32, visit func(string, []byte) error) error {
	for _, id := range slices.Sorted(maps.Keys(m.rows[c])) {
		if err := visit(id, m.rows[c][id]); err != nil {
			return err
		}
	}
	return nil
}

// apply does what the read model does, after the changes went through their stored
// form.
func (m *memory) apply(tb testing.TB, changes []collection.Change) {
	tb.Helper()
	var b []byte
	for _, c := range changes {
		b = collection.AppendChange(b, c)
	}
	changes, err := collection.DecodeChanges(b)
	require.NoError(tb, err)
	for _, c := range changes {
		switch c.Kind {
		case collection.Put:
			if m.rows[c.Collection] == nil {
				m.rows[c.Collection] = map[string][]byte{}
			}
			m.rows[c.Collection][c.RowID] = c.Row
		case collection.Removed:
			delete(m.rows[c.Collection], c.RowID)
		case collection.Dropped:
			delete(m.rows, c.Collection)
			delete(m.infos, c.Collection)
		default:
			info := m.infos[c.Collection]
			if info == nil {
				info = &collection.Info{}
			}
			m.infos[c.Collection] = info.After(c)
		}
	}
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
