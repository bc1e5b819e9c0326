package projections

import (
	"encoding/binary"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
)

// The key layout of the store:
//
//	m/live                               which generation serves, and its shape
//	n{generation}                        there is, or may be, such a generation
//	g{generation}c{log}                  checkpoint of a log
//	g{generation}d{projection}\x00{key}  what the projection stored
//	m/snapshots                          which log the snapshots are of
//	s{version}{stream}                   aggregate snapshots, of no generation
const (
	numberSpace     = 'n'
	generationSpace = 'g'
	checkpointSpace = 'c'
	dataSpace       = 'd'
	snapshotSpace   = 's'
	liveKey         = "m/live"
	extentKey       = "m/snapshots"
)

// generation is one complete set of read models. It is immutable: what it holds
// is in the store, this is only where.
type generation struct {
	num   uint32
	areas map[string][]byte // key prefix of each projection, by name
}

func newGeneration(num uint32, projections []Projection) *generation {
	g := &generation{num: num, areas: make(map[string][]byte, len(projections))}
	for _, p := range projections {
		area := append(generationPrefix(num), dataSpace)
		area = append(area, p.Name()...)
		g.areas[p.Name()] = slices.Clip(append(area, 0))
	}
	return g
}

func (g *generation) checkpointKey(log domain.Log) []byte {
	return append(append(generationPrefix(g.num), checkpointSpace), log...)
}

func generationPrefix(num uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{generationSpace}, num)
}

func numberKey(num uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{numberSpace}, num)
}

// generations lists the numbers of all generations that may have a key. It
// reads the list rather than the keys, because those that were just deleted
// take long to pass by.
func generations(txn *badger.Txn) (nums []uint32, err error) {
	err = iterate(txn, []byte{numberSpace}, Span{KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if len(key) == 4 {
			nums = append(nums, binary.BigEndian.Uint32(key))
		}
		return true, nil
	})
	return nums, err
}

// dropBatch bounds how many keys one deleting transaction holds.
const dropBatch = 1000

// dropPrefix deletes every key under prefix, in small transactions, so that
// readers of older snapshots keep what they see and writers are not held up:
// Badger's own DropPrefix stops the world. It stops early when stop says so.
func dropPrefix(db store, prefix []byte, stop func() bool) error {
	for from := prefix; from != nil && !stop(); {
		err := db.Update(func(txn *badger.Txn) (err error) {
			from, err = dropSome(txn, prefix, from)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropSome deletes keys under prefix from from on, and returns where to go on,
// nil at the end.
func dropSome(txn *badger.Txn, prefix, from []byte) (next []byte, err error) {
	keys := someKeys(txn, prefix, from)
	for _, key := range keys {
		if err := txn.Delete(key); err != nil {
			return nil, err
		}
	}
	if len(keys) < dropBatch {
		return nil, nil
	}
	return keys[len(keys)-1], nil
}

func someKeys(txn *badger.Txn, prefix, from []byte) [][]byte {
	opts := badger.DefaultIteratorOptions
	opts.PrefetchValues = false
	opts.Prefix = prefix
	it := txn.NewIterator(opts)
	defer it.Close()
	var keys [][]byte
	for it.Seek(from); it.Valid() && len(keys) < dropBatch; it.Next() {
		keys = append(keys, it.Item().KeyCopy(nil))
	}
	return keys
}
