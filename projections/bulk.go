package projections

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
)

const (
	bulkBytes = 16 << 20 // what a bulk holds before it is written out
	bulkEntry = 128      // what an entry takes besides its key and value
)

// bulk holds the writes to a generation that nobody reads yet: what an event
// overwrites or deletes soon after need never be written. It is written out when
// it has grown large, and at the end, in several transactions: a generation that
// was not finished is dropped, so that nobody sees a part of them.
type bulk struct {
	db      store
	entries map[string]*entry
	size    int
	partial bool // something has been written out
}

// entry is the last word on one key.
type entry struct {
	value   []byte
	deleted bool
	only    bool // the store does not hold the key
}

func newBulk(db store) *bulk { return &bulk{db: db, entries: map[string]*entry{}} }

func (b *bulk) get(key []byte) ([]byte, bool, error) {
	if e, ok := b.entries[string(key)]; ok {
		return bytes.Clone(e.value), !e.deleted, nil
	}
	if !b.partial {
		return nil, false, nil
	}
	txn := b.db.NewTransaction(false)
	defer txn.Discard()
	return stored{txn}.get(key)
}

func (b *bulk) set(key, value []byte) error {
	b.put(key, value, false)
	return nil
}

func (b *bulk) delete(key []byte) error {
	if e, ok := b.entries[string(key)]; ok && e.only {
		delete(b.entries, string(key))
		b.size -= len(key) + len(e.value) + bulkEntry
		return nil
	}
	if b.partial {
		b.put(key, nil, true)
	}
	return nil
}

func (b *bulk) put(key, value []byte, deleted bool) {
	e, ok := b.entries[string(key)]
	if !ok {
		e = &entry{only: !b.partial}
		b.entries[string(key)] = e
		b.size += len(key) + bulkEntry
	}
	b.size += len(value) - len(e.value)
	e.value, e.deleted = value, deleted
}

// iterate writes everything out first: the store knows the order of keys.
func (b *bulk) iterate(area []byte, s Span, visit func(key, value []byte) (bool, error)) error {
	if err := b.flush(); err != nil {
		return err
	}
	txn := b.db.NewTransaction(false)
	defer txn.Discard()
	return stored{txn}.iterate(area, s, visit)
}

// flush writes everything out, in the order of keys.
func (b *bulk) flush() error {
	txn := b.db.NewTransaction(true)
	defer func() { txn.Discard() }()
	b.partial = b.partial || len(b.entries) > 0
	for _, key := range slices.Sorted(maps.Keys(b.entries)) {
		err := b.entries[key].write(txn, []byte(key))
		if errors.Is(err, badger.ErrTxnTooBig) {
			if err = b.db.commit(txn); err == nil {
				txn = b.db.NewTransaction(true)
				err = b.entries[key].write(txn, []byte(key))
			}
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", key, err)
		}
	}
	if err := b.db.commit(txn); err != nil {
		return err
	}
	clear(b.entries)
	b.size = 0
	return nil
}

func (e *entry) write(txn *badger.Txn, key []byte) error {
	if e.deleted {
		return txn.Delete(key)
	}
	return txn.Set(key, e.value)
}

// newBuilder is newWriter for a generation that nobody reads yet. What it has
// applied is in the store after a flush only.
func (m *Models) newBuilder(gen *generation, log domain.Log, at checkpoint) *writer {
	w := m.newWriter(gen, log, at)
	w.bulk = newBulk(m.db)
	return w
}

// collect is apply for a builder: events change the bulk.
func (w *writer) collect(events []domain.Recorded) error {
	started, count := w.now(), 0
	for _, ev := range events {
		if ev.Seq <= w.at.Seq {
			continue
		}
		if err := w.applyOne(w.bulk, w.at, ev); err != nil {
			return err
		}
		w.at.Seq, w.at.EventID = ev.Seq, ev.ID
		count++
	}
	w.metrics.observe(w.log, count, w.now().Sub(started))
	if w.bulk.size > bulkBytes {
		return w.flush()
	}
	return nil
}

// flush writes out what a builder has collected, and its checkpoint at last.
func (w *writer) flush() error {
	if err := w.bulk.flush(); err != nil {
		return fmt.Errorf("write %s up to %d: %w", w.log, w.at.Seq, err)
	}
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	return w.moveTo(txn, w.at)
}
