package projections

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Tx is what a Projection may touch: its own keys in the generation that is
// being written, and nothing else. It sees the writes of earlier events of the
// same batch. It is valid during Apply only.
type Tx struct {
	keys keys
	area []byte
}

// keys is where a generation is written: a transaction, or a bulk.
type keys interface {
	get(key []byte) (value []byte, ok bool, err error)
	set(key, value []byte) error
	delete(key []byte) error
	iterate(area []byte, s Span, visit func(key, value []byte) (more bool, err error)) error
}

// Get returns the value of key; ok is false when there is none. The value
// belongs to the caller.
func (tx Tx) Get(key []byte) (value []byte, ok bool, err error) {
	return tx.keys.get(join(tx.area, key))
}

// Set stores value under key. Value must not change afterwards. What one event
// changes in one projection must stay below 1 MiB, values over 1 MiB left out
// of account: they are kept apart.
func (tx Tx) Set(key, value []byte) error {
	return tx.keys.set(join(tx.area, key), value)
}

// Delete removes key. Removing what is not there is no error.
func (tx Tx) Delete(key []byte) error {
	return tx.keys.delete(join(tx.area, key))
}

// Iterate visits the keys of s in order until visit returns false. Visit must
// not write, nor iterate again.
func (tx Tx) Iterate(s Span, visit func(key, value []byte) (more bool, err error)) error {
	return tx.keys.iterate(tx.area, s, visit)
}

// Span selects keys to iterate over. The zero Span is all of them, ascending.
type Span struct {
	Prefix   []byte // only keys that start so
	From     []byte // the first key to visit, or the nearest one after it in the order of visit; default the end
	Reverse  bool   // descending
	KeysOnly bool   // the value handed to visit is nil
	Few      bool   // only the first ones are visited: others are not read ahead
}

// stored is the keys of a transaction.
type stored struct{ txn *badger.Txn }

func (t stored) get(key []byte) ([]byte, bool, error) { return get(t.txn, key) }
func (t stored) set(key, value []byte) error          { return t.txn.Set(key, value) }
func (t stored) delete(key []byte) error              { return t.txn.Delete(key) }

func (t stored) iterate(area []byte, s Span, visit func(key, value []byte) (bool, error)) error {
	return iterate(t.txn, area, s, visit)
}

// Reader reads one live generation at one moment. It is valid inside View only.
type Reader struct {
	txn *badger.Txn
	gen *generation
}

// Get returns the value that p stored under key; ok is false when there is
// none. The value belongs to the caller.
func (r Reader) Get(p Projection, key []byte) (value []byte, ok bool, err error) {
	return get(r.txn, join(r.gen.areas[p.Name()], key))
}

// Iterate visits the keys of s that p stored, in order, until visit returns
// false. Key and value are valid until visit returns.
func (r Reader) Iterate(p Projection, s Span, visit func(key, value []byte) (more bool, err error)) error {
	return iterate(r.txn, r.gen.areas[p.Name()], s, visit)
}

func get(txn *badger.Txn, key []byte) ([]byte, bool, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("get %q: %w", key, err)
	}
	value, err := item.ValueCopy(nil)
	return value, err == nil, err
}

func iterate(txn *badger.Txn, area []byte, s Span, visit func(key, value []byte) (bool, error)) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = join(area, s.Prefix)
	opts.Reverse = s.Reverse
	opts.PrefetchValues = !s.KeysOnly && !s.Few
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Seek(s.start(area)); it.Valid(); it.Next() {
		more, err := visitItem(it.Item(), len(area), s.KeysOnly, visit)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func visitItem(item *badger.Item, skip int, keysOnly bool, visit func(key, value []byte) (bool, error)) (more bool, err error) {
	key := item.Key()[skip:]
	if keysOnly {
		return visit(key, nil)
	}
	err = item.Value(func(value []byte) error {
		more, err = visit(key, value)
		return err
	})
	return more, err
}

// start is the key to seek: going down, that is one past all keys of the span.
func (s Span) start(area []byte) []byte {
	switch {
	case s.From != nil:
		return join(area, s.From)
	case s.Reverse:
		return append(join(area, s.Prefix), bytes.Repeat([]byte{0xff}, 32)...)
	}
	return join(area, s.Prefix)
}

func join(area, key []byte) []byte {
	b := make([]byte, 0, len(area)+len(key)+1)
	return append(append(b, area...), key...)
}
