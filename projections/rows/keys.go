package rows

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/domain/collection"
)

// Keys begin with what they are of:
//
//	c                               the checkpoint
//	n space                         how far a namespace is
//	k space 0 collection            what is known of a collection
//	s space 0 collection            how many rows it has, and bytes of them
//	r space 0 collection id         a row
//	u space 0 collection index 0 key        the id of the row that holds a unique
//	i space 0 collection index 0 key 0 id   a row in an index: its id again
const (
	keyCheckpoint = 'c'
	keyNamespace  = 'n'
	keyInfo       = 'k'
	keyStats      = 's'
	keyRow        = 'r'
	keyUnique     = 'u'
	keyIndex      = 'i'
)

// Versions: they change with the meaning of keys or values, and a model of another one
// is filled again.
const (
	version   = 1
	resetting = -1 // of a model that is being emptied
)

// spaceOf is the name of a namespace in keys.
func spaceOf(id domain.StreamID) string { return id.Scope + "." + id.ID }

func spaceKey(space string) []byte { return append([]byte{keyNamespace}, space...) }

// areaKey is what the keys of one kind of a collection begin with.
func areaKey(kind byte, space string, number uint32) []byte {
	b := append(append([]byte{kind}, space...), 0)
	return binary.BigEndian.AppendUint32(b, number)
}

func rowKey(space string, number uint32, id string) []byte {
	return append(areaKey(keyRow, space, number), id...)
}

// indexKey is what the keys of an index begin with.
func indexKey(space string, number uint32, x collection.Index) []byte {
	kind := byte(keyIndex)
	if x.Unique {
		kind = keyUnique
	}
	return append(append(areaKey(kind, space, number), x.Name...), 0)
}

// entryKey is the place of a row in an index.
func entryKey(space string, number uint32, x collection.Index, key []byte, id string) []byte {
	b := append(indexKey(space, number, x), key...)
	if x.Unique {
		return b
	}
	return append(append(b, 0), id...)
}

// checkpoint is how far the model is.
type checkpoint struct {
	Version  int    `json:"version"`
	Identity string `json:"identity"` // of the log
	Seq      uint64 `json:"seq"`
}

func readCheckpoint(txn *badger.Txn) (c checkpoint, err error) {
	b, err := get(txn, []byte{keyCheckpoint})
	if err != nil || b == nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("rows: decode the checkpoint: %w", err)
	}
	return c, nil
}

// namespaceState is how far a namespace is.
type namespaceState struct {
	collection.Mark

	Fault string // why it is not followed any further; "" for no reason
}

func readNamespaceState(txn *badger.Txn, space string) (s namespaceState, err error) {
	b, err := get(txn, spaceKey(space))
	if err != nil || b == nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("rows: decode namespace %s: %w", space, err)
	}
	return s, nil
}

// get returns a copy of a value, nil when there is none.
func get(txn *badger.Txn, key []byte) ([]byte, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rows: get: %w", err)
	}
	return item.ValueCopy([]byte{})
}

// stats are the rows of a collection, counted.
type stats struct{ rows, bytes int64 }

func readStats(txn *badger.Txn, space string, number uint32) (s stats, err error) {
	b, err := get(txn, areaKey(keyStats, space, number))
	if err != nil || len(b) != 16 {
		return s, err
	}
	return stats{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}, nil
}

func (s stats) encoded() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.rows))
	return binary.BigEndian.AppendUint64(b, uint64(s.bytes))
}
