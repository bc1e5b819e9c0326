package collection

import (
	"slices"

	"svc/domain/automation/value"
)

// Row is a row that is read as far as it is asked for. It is valid as long as whoever
// hands it over says.
type Row struct {
	stored []byte
	whole  *value.Object
}

// StoredRow returns a row of what AppendValue wrote.
func StoredRow(stored []byte) Row { return Row{stored: stored} }

// Object returns the whole row, for as long as anyone wants it.
func (r Row) Object() (*value.Object, error) {
	if r.whole != nil {
		return r.whole, nil
	}
	return DecodeRow(r.stored)
}

// some returns the row with at least these of its fields.
func (r Row) some(fields []string) (*value.Object, error) {
	if r.whole != nil {
		return r.whole, nil
	}
	d := decoder{b: r.stored}
	if d.byte() != tagObject {
		return nil, errEncoding
	}
	o := &value.Object{}
	for range d.count() {
		key := d.bytes()
		if i := slices.IndexFunc(fields, func(field string) bool { return field == string(key) }); i >= 0 {
			o.Set(fields[i], d.value(1))
		} else {
			d.skip(1)
		}
	}
	if d.failed {
		return nil, errEncoding
	}
	return o, nil
}

// skip passes over a value.
func (d *decoder) skip(depth int) {
	if depth > 2*maxDepth {
		d.fail()
	}
	switch d.byte() {
	case tagNumber:
		if len(d.b) < 8 {
			d.fail()
			return
		}
		d.b = d.b[8:]
	case tagWhole:
		d.varint()
	case tagString:
		d.bytes()
	case tagList:
		for range d.count() {
			d.skip(depth + 1)
		}
	case tagObject:
		for range d.count() {
			d.bytes()
			d.skip(depth + 1)
		}
	}
}
