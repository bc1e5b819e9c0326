package collection

import (
	"encoding/binary"
	"errors"
)

// ErrGone says that the key of a workspace was destroyed: what it had is nobody's
// to read any more.
var ErrGone = errors.New("collection: the key of the workspace is destroyed")

// ErrUnreadable says that an entry of the log cannot be read: its namespace is as it
// was before until a snapshot follows.
var ErrUnreadable = errors.New("collection: an entry of the log cannot be read")

// Mark is how far the rows of a namespace are.
type Mark struct {
	Seq    uint64 // of its last entry; 0 for none
	Logged int64  // bytes of its entries from the last snapshot on
	Live   int64  // bytes of its rows
}

// Overgrown reports whether a namespace is due for a snapshot: the log holds several
// times what there is to be read, and not too little.
func (m Mark) Overgrown() bool { return m.Logged > 1<<20 && m.Logged > 4*m.Live }

// Source is a View that a snapshot can be made of.
type Source interface {
	View
	// Raw visits the rows of a collection as AppendValue wrote them.
	Raw(collection uint32, visit func(id string, row []byte) error) error
}

// Entry is the body of an entry of the log: sealed changes, or where they are.
type Entry struct {
	Sealed []byte // nil when there are parts
	Name   string // of the parts, each of which is sealed
	Parts  int
	Size   int64 // of everything
}

// The forms of an entry. They are stored.
const (
	formWhole byte = iota + 1
	formParts
)

// Append appends the entry as it is stored.
func (e Entry) Append(b []byte) []byte {
	if e.Parts == 0 {
		return append(append(b, formWhole), e.Sealed...)
	}
	b = binary.AppendUvarint(append(b, formParts), uint64(e.Parts))
	return append(binary.AppendUvarint(b, uint64(e.Size)), e.Name...)
}

// ParseEntry reads what Append wrote.
func ParseEntry(body []byte) (Entry, error) {
	d := decoder{b: body}
	var e Entry
	switch d.byte() {
	case formWhole:
		e.Sealed, e.Size = d.b, int64(len(d.b))
	case formParts:
		e.Parts, e.Size = int(d.uvarint()&(1<<31-1)), int64(d.uvarint()&(1<<62-1))
		e.Name = string(d.b)
		if e.Parts == 0 || e.Name == "" {
			d.fail()
		}
	default:
		d.fail()
	}
	if d.failed {
		return Entry{}, errors.Join(ErrUnreadable, errEncoding)
	}
	return e, nil
}

// Whole returns every change that makes a namespace what it is, in pieces: hand is
// called with what has come together whenever that is of some size. It must not keep
// the bytes.
func Whole(v Source, size int, hand func(changes []byte) error) error {
	infos, err := v.Infos()
	if err != nil {
		return err
	}
	var b []byte
	flush := func(least int) error {
		if len(b) < least || len(b) == 0 {
			return nil
		}
		err := hand(b)
		b = b[:0]
		return err
	}
	for _, info := range infos {
		b = AppendInfo(b, info)
		err := v.Raw(info.Collection, func(id string, row []byte) error {
			b = AppendChange(b, Change{Kind: Put, Collection: info.Collection, RowID: id, Row: row})
			return flush(size)
		})
		if err != nil {
			return err
		}
	}
	return flush(1)
}
