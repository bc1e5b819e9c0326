package variable_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// FuzzDecode reads anything, and what it can read it writes and reads again.
func FuzzDecode(f *testing.F) {
	f.Add(variable.Encode(value.NewObject("a", []any{1.0, "x", value.Bytes{7}, nil, value.Undefined, 0.5})))
	f.Add([]byte{1, 8, 1, 9, 1, 1, 'k', 10})
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := variable.Decode(data)
		if err != nil {
			return
		}
		require.Len(t, value.JSON(v, ""), variable.Size(v))
		encoded := variable.Encode(v)
		again, err := variable.Decode(encoded)
		require.NoError(t, err)
		require.Equal(t, encoded, variable.Encode(again))
	})
}

// draw makes values and operations of the bytes of a fuzz input.
type draw struct{ data []byte }

func (d *draw) next(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

func (d *draw) value(depth int) any {
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	switch d.next(kinds) {
	case 0:
		return value.Undefined
	case 1:
		return nil
	case 2:
		return float64(d.next(200)) / 4
	case 3:
		return string(rune('a' + d.next(26)))
	case 4:
		return value.Bytes{byte(d.next(256))}
	case 5:
		return live{}
	case 6:
		list := []any{}
		for range d.next(4) {
			list = append(list, d.value(depth-1))
		}
		return list
	}
	o := &value.Object{}
	for range d.next(4) {
		o.Set(d.step().Key, d.value(depth-1))
	}
	return o
}

func (d *draw) step() expr.Step {
	if n := d.next(6); n < 4 {
		return expr.Step{Key: []string{"a", "b", "c", "é\n"}[n]}
	}
	return expr.Step{Key: fmt.Sprint(d.next(5)), Index: d.next(2) == 0}
}

func (d *draw) op() variable.Op {
	op := variable.Op{Kind: variable.Kind(d.next(4))}
	for range d.next(4) {
		op.Path = append(op.Path, d.step())
	}
	op.Value = d.value(2)
	return op
}

// FuzzChange applies operations to a value: the growth told is the growth seen,
// nothing that was is changed, and operations survive being stored.
func FuzzChange(f *testing.F) {
	f.Add([]byte{7, 3, 0, 6, 3, 2, 1, 2, 1, 0, 1, 1, 2, 1, 0, 3, 2, 2, 4, 1, 0, 1, 3, 1, 4, 0, 1})
	f.Add([]byte{7, 2, 4, 5, 1, 5, 1, 5, 0, 7, 1, 2, 2, 2, 2, 2, 3, 1, 1, 1, 0, 0, 0, 2, 1, 1, 3, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &draw{data}
		v := d.value(3)
		for len(d.data) > 0 {
			op := d.op()
			stored, err := variable.DecodeOp(op.Encoded())
			require.NoError(t, err)
			require.Equal(t, op, stored)
			before := variable.Encode(v)
			next, grown, err := variable.Change(v, op)
			require.Equal(t, before, variable.Encode(v))
			if err != nil {
				require.Zero(t, grown)
			}
			require.Equal(t, variable.Size(next)-variable.Size(v), grown, "%+v on %s", op, value.JSON(v, ""))
			require.Len(t, value.JSON(next, ""), variable.Size(next))
			v = next
		}
	})
}
