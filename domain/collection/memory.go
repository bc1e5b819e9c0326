package collection

import (
	"bytes"
	"maps"
	"slices"

	"svc/domain/value"
)

// Memory has collections in memory, for tests: it looks at every row for everything.
type Memory struct {
	Collections map[uint32]*Info
	Stored      map[uint32]map[string][]byte // rows by id, as they are stored
}

// NewMemory returns a Memory without collections.
func NewMemory() *Memory {
	return &Memory{Collections: map[uint32]*Info{}, Stored: map[uint32]map[string][]byte{}}
}

// Infos implements View.
func (m *Memory) Infos() ([]*Info, error) { return slices.Collect(maps.Values(m.Collections)), nil }

// Stats implements View.
func (m *Memory) Stats(c uint32) (rows, size int64, err error) {
	for _, row := range m.Stored[c] {
		size += int64(len(row))
	}
	return int64(len(m.Stored[c])), size, nil
}

// Row implements View.
func (m *Memory) Row(c uint32, id string) (*value.Object, error) {
	row, ok := m.Stored[c][id]
	if !ok {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	return DecodeRow(row)
}

// UniqueOwner implements View.
func (m *Memory) UniqueOwner(c uint32, x Index, key []byte) (holder string, err error) {
	err = m.Rows(c, []Range{{From: key, To: append(bytes.Clone(key), 0)}}, &x, func(id string, _ Row) (bool, error) {
		holder = id
		return false, nil
	})
	return holder, err
}

// Rows implements View.
func (m *Memory) Rows(c uint32, ranges []Range, x *Index, visit func(string, Row) (bool, error)) error {
	type entry struct {
		key []byte
		id  string
		row []byte
	}
	var found []entry
	for _, id := range slices.Sorted(maps.Keys(m.Stored[c])) {
		row, err := DecodeRow(m.Stored[c][id])
		if err != nil {
			return err
		}
		keys := [][]byte{nil}
		if x != nil {
			keys = m.Collections[c].Declaration.Keys(*x, row)
		}
		for _, key := range keys {
			if x == nil || slices.ContainsFunc(ranges, func(r Range) bool {
				return bytes.Compare(key, r.From) >= 0 && (r.To == nil || bytes.Compare(key, r.To) < 0)
			}) {
				found = append(found, entry{key, id, m.Stored[c][id]})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	for _, e := range found {
		if more, err := visit(e.id, StoredRow(e.row)); err != nil || !more {
			return err
		}
	}
	return nil
}

// Raw implements Source.
func (m *Memory) Raw(c uint32, visit func(string, []byte) error) error {
	for _, id := range slices.Sorted(maps.Keys(m.Stored[c])) {
		if err := visit(id, m.Stored[c][id]); err != nil {
			return err
		}
	}
	return nil
}

// Apply applies changes, as the read model does after they went through their stored form.
func (m *Memory) Apply(changes []Change) error {
	var b []byte
	for _, c := range changes {
		b = AppendChange(b, c)
	}
	changes, err := DecodeChanges(b)
	if err != nil {
		return err
	}
	for _, c := range changes {
		switch c.Kind {
		case Put:
			if m.Stored[c.Collection] == nil {
				m.Stored[c.Collection] = map[string][]byte{}
			}
			m.Stored[c.Collection][c.RowID] = c.Row
		case Removed:
			delete(m.Stored[c.Collection], c.RowID)
		case Dropped:
			delete(m.Stored, c.Collection)
			delete(m.Collections, c.Collection)
		default:
			info := m.Collections[c.Collection]
			if info == nil {
				info = &Info{}
			}
			m.Collections[c.Collection] = info.After(c)
		}
	}
	return nil
}

// Call performs a function of the module and applies what it changes. A call that fails changes nothing.
func (m *Memory) Call(function string, params *value.Object, limits Limits, stamp Stamp, alive func() error) (any, error) {
	call, err := Prepare(function, params, limits)
	if err != nil {
		return nil, err
	}
	if !call.Writes() {
		return call.Read(m, alive)
	}
	draft := NewDraft(m)
	result, err := call.Write(draft, stamp, alive)
	if err == nil {
		err = m.Apply(draft.Changes)
	}
	return result, err
}
