package collection

import (
	"encoding/binary"

	"svc/domain/automation/value"
)

// ChangeKind says what a change does. The numbers are stored.
type ChangeKind byte

// The kinds of changes.
const (
	Made     ChangeKind = iota + 1 // a collection, with its schema and name
	Declared                       // what its rows are to be
	Renamed                        // its schema and name
	Dropped                        // the collection and its rows
	Put                            // a row, whole, in the place of one with its id
	Removed                        // a row
)

// Change is one fact about the collections of a namespace.
type Change struct {
	Kind         ChangeKind
	Collection   uint32       // number of the collection in its namespace
	Schema, Name string       // of Made and Renamed
	Declaration  *Declaration // of Declared
	RowID        string       // of Put and Removed
	Row          []byte       // of Put: as AppendValue wrote it
}

// Info is what is known of a collection besides its rows.
type Info struct {
	Collection   uint32
	Schema, Name string
	Declaration  *Declaration // nil: none
}

// AppendChange appends a change as it is stored.
func AppendChange(b []byte, c Change) []byte {
	b = binary.AppendUvarint(append(b, byte(c.Kind)), uint64(c.Collection))
	switch c.Kind {
	case Made, Renamed:
		return appendText(appendText(b, c.Schema), c.Name)
	case Declared:
		return AppendValue(b, c.Declaration.stored())
	case Put:
		b = binary.AppendUvarint(appendText(b, c.RowID), uint64(len(c.Row)))
		return append(b, c.Row...)
	case Removed:
		return appendText(b, c.RowID)
	}
	return b
}

// DecodeChanges reads what AppendChange wrote, one change after the other. The rows
// of the changes are parts of b.
func DecodeChanges(b []byte) ([]Change, error) {
	d := decoder{b: b}
	var changes []Change
	for len(d.b) > 0 {
		changes = append(changes, d.change())
	}
	if d.failed {
		return nil, errEncoding
	}
	return changes, nil
}

func (d *decoder) change() Change {
	c := Change{Kind: ChangeKind(d.byte()), Collection: uint32(d.uvarint())}
	switch c.Kind {
	case Made, Renamed:
		c.Schema, c.Name = d.text(), d.text()
	case Declared:
		o, _ := d.value(0).(*value.Object)
		declaration, err := reading{}.readDeclaration(o)
		if c.Declaration = declaration; err != nil {
			d.fail()
		}
	case Put:
		c.RowID, c.Row = d.text(), d.bytes()
	case Removed:
		c.RowID = d.text()
	case Dropped:
	default:
		d.fail()
	}
	return c
}

// AppendInfo appends what is known of a collection as a read model keeps it.
func AppendInfo(b []byte, info *Info) []byte {
	b = AppendChange(b, Change{Kind: Made, Collection: info.Collection, Schema: info.Schema, Name: info.Name})
	if info.Declaration != nil {
		b = AppendChange(b, Change{Kind: Declared, Collection: info.Collection, Declaration: info.Declaration})
	}
	return b
}

// DecodeInfo reads what AppendInfo wrote.
func DecodeInfo(b []byte) (*Info, error) {
	changes, err := DecodeChanges(b)
	if err != nil || len(changes) == 0 {
		return nil, errEncoding
	}
	info := &Info{}
	for _, c := range changes {
		info = info.After(c)
	}
	return info, nil
}

// After returns what is known of the collection after a change that is not about
// rows.
func (i *Info) After(c Change) *Info {
	next := *i
	next.Collection = c.Collection
	switch c.Kind {
	case Made, Renamed:
		next.Schema, next.Name = c.Schema, c.Name
	case Declared:
		next.Declaration = c.Declaration
	}
	return &next
}
