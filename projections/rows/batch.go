package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"svc/domain/collection"
)

// Bounds of one transaction, well below Badger's own.
const (
	maxBytes = 256 << 10
	maxKeys  = 2000
)

// batch applies entries, in as many transactions as that takes. Whatever belongs to a
// row is written before the row, and the counts with it, so that entries that a crash
// cut short can be applied again.
type batch struct {
	m     *Model
	txn   *badger.Txn
	bytes int
	keys  int
	begun bool // something of it is committed

	standings map[string]*standing
	infos     map[string][]*collection.Info // of namespaces that were looked at
	changed   map[string]bool               // namespaces whose collections are others now
	counts    map[string]*stats             // by the key they are kept under
}

func (m *Model) newBatch() *batch {
	return &batch{
		m: m, txn: m.opts.DB.NewTransaction(true), standings: map[string]*standing{}, infos: map[string][]*collection.Info{},
		changed: map[string]bool{}, counts: map[string]*stats{},
	}
}

// room begins another transaction when so many bytes more are too many for this one.
func (b *batch) room(size int) error {
	if b.keys < maxKeys && (b.bytes+size <= maxBytes || b.bytes == 0) {
		b.bytes += size
		b.keys++
		return nil
	}
	if err := b.flush(); err != nil {
		return err
	}
	b.bytes, b.keys = size, 1
	return nil
}

// flush commits what there is, with the counts of it.
func (b *batch) flush() error {
	if err := b.writeCounts(); err != nil {
		return err
	}
	if err := b.m.opts.Commit(b.txn); err != nil {
		return fmt.Errorf("rows: commit: %w", err)
	}
	b.txn, b.begun = b.m.opts.DB.NewTransaction(true), true
	b.bytes, b.keys = 0, 0
	return nil
}

func (b *batch) writeCounts() error {
	for key, s := range b.counts {
		err := error(nil)
		if *s == (stats{}) {
			err = b.txn.Delete([]byte(key)) // as if there had never been a row
		} else {
			err = b.txn.Set([]byte(key), s.encoded())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish commits the rest, and that all of it is done.
func (b *batch) finish(at checkpoint) error {
	if err := b.writeCounts(); err != nil {
		return err
	}
	for space, s := range b.standings {
		if err := b.weigh(space, s); err != nil {
			return err
		}
		if err := b.setJSON(spaceKey(space), s); err != nil {
			return err
		}
	}
	if err := b.setJSON([]byte{ofCheckpoint}, at); err != nil {
		return err
	}
	if err := b.m.opts.Commit(b.txn); err != nil {
		return fmt.Errorf("rows: commit: %w", err)
	}
	return nil
}

// weigh counts the bytes of the rows of a namespace.
func (b *batch) weigh(space string, s *standing) error {
	if _, err := b.info(space, 0); err != nil {
		return err
	}
	s.Live = 0
	for _, info := range b.infos[space] {
		count, err := b.count(space, info.Collection)
		if err != nil {
			return err
		}
		s.Live += count.bytes
	}
	return nil
}

func (b *batch) setJSON(key []byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.txn.Set(key, text)
}

func (b *batch) set(key, v []byte) error {
	if err := b.room(len(key) + len(v)); err != nil {
		return err
	}
	return b.txn.Set(key, v)
}

func (b *batch) delete(key []byte) error {
	if err := b.room(len(key)); err != nil {
		return err
	}
	return b.txn.Delete(key)
}

// drop deletes every key that begins with a prefix.
func (b *batch) drop(prefix []byte) error {
	for {
		keys := first(b.txn, prefix, maxKeys/2)
		if len(keys) == 0 {
			return nil
		}
		for _, key := range keys {
			if err := b.delete(key); err != nil {
				return err
			}
		}
	}
}

// first returns some of the keys that begin with a prefix.
func first(txn *badger.Txn, prefix []byte, n int) (keys [][]byte) {
	opts := badger.DefaultIteratorOptions
	opts.Prefix, opts.PrefetchValues = prefix, false
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Seek(prefix); it.Valid() && len(keys) < n; it.Next() {
		keys = append(keys, it.Item().KeyCopy(nil))
	}
	return keys
}

func (b *batch) standing(space string) (*standing, error) {
	if s := b.standings[space]; s != nil {
		return s, nil
	}
	s, err := readStanding(b.txn, space)
	b.standings[space] = &s
	return &s, err
}

func (b *batch) count(space string, number uint32) (*stats, error) {
	key := string(areaKey(ofStats, space, number))
	if s := b.counts[key]; s != nil {
		return s, nil
	}
	s, err := readStats(b.txn, space, number)
	b.counts[key] = &s
	return &s, err
}

// info returns a collection of a namespace, nil when there is none.
func (b *batch) info(space string, number uint32) (*collection.Info, error) {
	if _, ok := b.infos[space]; !ok {
		infos, err := readInfos(b.txn, space)
		if err != nil {
			return nil, err
		}
		b.infos[space] = infos
	}
	for _, info := range b.infos[space] {
		if info.Collection == number {
			return info, nil
		}
	}
	return nil, nil
}

// setInfo keeps what is known of a collection; nil forgets it.
func (b *batch) setInfo(space string, number uint32, info *collection.Info) error {
	others := slices.DeleteFunc(slices.Clone(b.infos[space]), func(have *collection.Info) bool { return have.Collection == number })
	key := areaKey(ofInfo, space, number)
	b.changed[space] = true
	if info == nil {
		b.infos[space] = others
		return b.delete(key)
	}
	b.infos[space] = append(others, info)
	return b.set(key, collection.AppendInfo(nil, info))
}

// clear forgets everything of a namespace.
func (b *batch) clear(space string) error {
	for _, kind := range []byte{ofInfo, ofStats, ofRow, ofUnique, ofIndex} {
		if err := b.drop(append(append([]byte{kind}, space...), 0)); err != nil {
			return err
		}
	}
	for key := range b.counts {
		if bytes.HasPrefix([]byte(key), append(append([]byte{ofStats}, space...), 0)) {
			delete(b.counts, key)
		}
	}
	b.infos[space], b.changed[space] = nil, true
	return nil
}
