package projections

import (
	"encoding/binary"
	"encoding/hex"
)

// Flags of a stored item.
const (
	flagApart = 1 << iota
	flagPublic
)

func (i Item) encode() []byte {
	hash, _ := hex.DecodeString(i.Hash) // made by HashOf
	var flags byte
	if i.Apart {
		flags |= flagApart
	}
	if i.Public {
		flags |= flagPublic
	}
	b := append(hash, flags)
	for _, n := range []uint64{i.Revision, i.Created, i.Updated} {
		b = binary.AppendUvarint(b, n)
	}
	return append(b, i.ID...)
}

func parseItem(path string, b []byte) (Item, error) {
	if len(b) < 36 {
		return Item{}, errHeader
	}
	i := Item{Path: path, Hash: hex.EncodeToString(b[:32]), Apart: b[32]&flagApart != 0, Public: b[32]&flagPublic != 0}
	b = b[33:]
	for _, n := range []*uint64{&i.Revision, &i.Created, &i.Updated} {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return Item{}, errHeader
		}
		*n, b = v, b[size:]
	}
	i.ID = string(b)
	return i, nil
}
