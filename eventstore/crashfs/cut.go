package crashfs

import (
	"fmt"
	"math/rand/v2"
)

// DataLoss says what becomes of the content that no fsync covered.
type DataLoss uint8

const (
	// Strict loses all of it: a file is what its last fsync saw.
	Strict DataLoss = iota
	// Torn keeps, for each file, a random number of the first writes and
	// truncations since its last fsync; the last write kept may be cut short.
	Torn
	// Shuffled takes each 4 KiB page, and the size, as it was at its own random
	// moment between the last fsync and the cut: pages reach the disk in any
	// order, and a file may have grown over pages that never did (zeros).
	Shuffled
	// Kept loses none: the process died, the machine did not.
	Kept
)

// NameLoss says what becomes of the names that no directory fsync covered.
type NameLoss uint8

const (
	// NamesStrict loses all of them: a directory is what its last fsync saw.
	NamesStrict NameLoss = iota
	// NamesOrdered keeps changes of all directories in the order they were
	// made, up to a random moment between the last fsync of any directory and
	// the cut, as a journal does. An fsync of a file covers no name.
	NamesOrdered
	// NamesJournaled is NamesOrdered where an fsync of any file or directory
	// also covers every name changed before it: what ext4 and xfs do in
	// practice, and what no standard promises.
	NamesJournaled
	// NamesKept loses none.
	NamesKept
)

// Cut is a loss of power. The zero Cut is before the first operation; with At
// set, it is the harshest one.
type Cut struct {
	At    int      // the operations with a smaller index happened
	Data  DataLoss // default Strict
	Names NameLoss // default NamesStrict
	Seed  uint64   // decides all that is random; the same seed gives the same image
}

// String returns the cut as a composite literal's fields, for the message of a
// failed test.
func (c Cut) String() string {
	data := [...]string{"Strict", "Torn", "Shuffled", "Kept"}[c.Data]
	names := [...]string{"NamesStrict", "NamesOrdered", "NamesJournaled", "NamesKept"}[c.Names]
	return fmt.Sprintf("Cut{At: %d, Data: %s, Names: %s, Seed: %d}", c.At, data, names, c.Seed)
}

// random returns the source that decides about one object (0: the names).
func (c Cut) random(object uint64) *rand.Rand { return rand.New(rand.NewPCG(c.Seed, object)) }
