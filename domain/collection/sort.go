package collection

import (
	"container/heap"
	"slices"

	"svc/domain/automation/value"
)

// sorted is what a row is sorted by.
type sorted struct {
	keys []any
	id   string
	size int
}

// before tells which of two rows comes first; ties are settled by id.
func before(keys []sortKey, a, b *sorted) bool {
	for i, key := range keys {
		order := Compare(a.keys[i], b.keys[i])
		if key.desc {
			order = -order
		}
		if order != 0 {
			return order < 0
		}
	}
	return a.id < b.id
}

// top keeps the first rows of those it is shown; the last of them is on top.
type top struct {
	keys []sortKey
	rows []*sorted
}

// Len implements heap.Interface.
func (t *top) Len() int { return len(t.rows) }

// Less implements heap.Interface.
func (t *top) Less(i, j int) bool { return before(t.keys, t.rows[j], t.rows[i]) }

// Swap implements heap.Interface.
func (t *top) Swap(i, j int) { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] }

// Push implements heap.Interface.
func (t *top) Push(x any) { t.rows = append(t.rows, x.(*sorted)) }

// Pop implements heap.Interface.
func (t *top) Pop() any {
	last := t.rows[len(t.rows)-1]
	t.rows = t.rows[:len(t.rows)-1]
	return last
}

// offer keeps a row if it is one of the first, and returns how much more is held.
func (t *top) offer(s *sorted, keep int) int {
	if len(t.rows) < keep {
		heap.Push(t, s)
		return s.size
	}
	last := t.rows[0]
	if !before(t.keys, s, last) {
		return 0
	}
	t.rows[0] = s
	heap.Fix(t, 0)
	return s.size - last.size
}

// read returns the rows that are kept, less those to be skipped.
func (t *top) read(r reader, info *Info, o options) (rows []*value.Object, err error) {
	slices.SortFunc(t.rows, func(a, b *sorted) int { return truth(before(t.keys, b, a)) - truth(before(t.keys, a, b)) })
	held := 0
	for _, s := range t.rows[min(o.skip, len(t.rows)):] {
		row, err := r.Row(info.Collection, s.id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, o.show(row))
		if held += roughSize(row); held > maxHeld {
			return nil, tooHeavy(held)
		}
	}
	return rows, nil
}

// sortFields returns the fields that a sort looks at.
func (o options) sortFields() []string {
	fields := make([]string, len(o.sort))
	for i, key := range o.sort {
		fields[i] = fieldOf(key.path)
	}
	return fields
}

// sorting holds rows until there are no more.
func sorting(e *effort, keys []sortKey, next sink) sink {
	var rows []*value.Object
	held := 0
	return sink{
		take: func(row *value.Object) (bool, error) {
			size, err := e.weigh(row)
			if err != nil {
				return false, err
			}
			rows = append(rows, row)
			held += size
			return true, tooHeavy(held)
		},
		end: func() error {
			if err := sortRows(e, keys, rows); err != nil {
				return err
			}
			return handAll(rows, next)
		},
	}
}

// sortRows sorts rows. When that costs too much it compares no more.
func sortRows(e *effort, keys []sortKey, rows []*value.Object) (err error) {
	slices.SortStableFunc(rows, func(a, b *value.Object) int {
		if err == nil {
			err = e.spend(len(keys))
		}
		if err != nil {
			return 0
		}
		return compareBy(keys, a, b)
	})
	return err
}

func compareBy(keys []sortKey, a, b *value.Object) int {
	for _, key := range keys {
		order := Compare(pick(a, key.path), pick(b, key.path))
		if key.desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}
