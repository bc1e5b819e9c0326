package projections

import (
	"encoding/binary"
	"errors"
)

// Rows of runs are read and written with every event of a run: as JSON they would take
// longer than everything else. A row is its fields one after the other, each of them a
// pointer to a text or a number.

var errRunsRow = errors.New("a row of runs is damaged")

// pack appends fields to a row.
func pack(row []byte, fields []any) []byte {
	for _, field := range fields {
		switch v := field.(type) {
		case *string:
			row = append(binary.AppendUvarint(row, uint64(len(*v))), *v...)
		case *uint64:
			row = binary.AppendUvarint(row, *v)
		case *int64:
			row = binary.AppendVarint(row, *v)
		case *int:
			row = binary.AppendVarint(row, int64(*v))
		}
	}
	return row
}

// unpack reads fields from the beginning of a row, and returns the rest.
func unpack(row []byte, fields []any) (rest []byte, err error) {
	for _, field := range fields {
		switch v := field.(type) {
		case *string:
			length, n := binary.Uvarint(row)
			if n <= 0 || uint64(len(row)-n) < length {
				return nil, errRunsRow
			}
			*v, row = string(row[n:n+int(length)]), row[n+int(length):]
		case *uint64:
			number, n := binary.Uvarint(row)
			if n <= 0 {
				return nil, errRunsRow
			}
			*v, row = number, row[n:]
		case *int64:
			number, n := binary.Varint(row)
			if n <= 0 {
				return nil, errRunsRow
			}
			*v, row = number, row[n:]
		case *int:
			number, n := binary.Varint(row)
			if n <= 0 {
				return nil, errRunsRow
			}
			*v, row = int(number), row[n:]
		}
	}
	return row, nil
}

// fields of a tally.
func (t *tally) fields() []any {
	return []any{&t.Trees, &t.Open, &t.Standing, &t.Failed, &t.Cancelled, &t.Executions, &t.Recorded, &t.Truncated}
}

// fields of how something began.
func (b *runBegin) fields() []any {
	t, s := &b.Trigger, &b.Source
	return []any{
		&b.Seq, &b.StartedAt, &b.ExecutionID, &b.Automation, &t.Type, &t.Value, &t.ID, &t.AppInstanceSlug,
		&s.UserID, &s.SessionID, &s.IP, &s.SocketID, &s.AutomationSlug, &s.AutomationDepth, &s.AppSlug, &s.AppInstance, &s.AppDepth,
	}
}

// fields of a fact.
func (f *treeFact) fields() []any {
	return append(f.runBegin.fields(), &f.Run, &f.Attempt, &f.Replica, &f.Ended, &f.Duration, &f.Error, &f.Recorded)
}

func (r treeRow) encode() (row []byte) {
	for i := range r.Facts {
		row = pack(row, r.Facts[i].fields())
	}
	return row
}

func (r *treeRow) decode(row []byte) (err error) {
	for len(row) > 0 && err == nil {
		var f treeFact
		row, err = unpack(row, f.fields())
		r.Facts = append(r.Facts, f)
	}
	return err
}

func (r *runRow) fields() []any {
	return append(append(r.tally.fields(), r.First.fields()...), &r.End.Seq, &r.End.At)
}

func (r runRow) encode() []byte { return pack(nil, r.fields()) }

func (r *runRow) decode(row []byte) error {
	_, err := unpack(row, r.fields())
	return err
}

// decoded reads a row into what it is of; ok is false when there is none.
func decoded(value []byte, found bool, err error, into interface{ decode(row []byte) error }) (ok bool, _ error) {
	if err != nil || !found {
		return false, err
	}
	return true, into.decode(value)
}
