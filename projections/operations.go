package projections

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/domain/operation"
)

// Operations is the read model of the operations on workspaces.
//
//	o{workspace}\0{seq}  the operation; seq is that of its first event
//	i{id}                its key
//	r{id}                workspace: the operation has not ended
type Operations struct{}

// OperationRef names an operation.
type OperationRef struct{ WorkspaceID, ID string }

// Name implements Projection.
func (Operations) Name() string { return "operations.1" }

// Log implements Projection.
func (Operations) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (o Operations) Apply(tx Tx, ev domain.Recorded) error {
	if _, void := ev.Data.(domain.Void); void || ev.Stream.Kind != operation.Decider.Kind {
		return nil
	}
	scope, id := ev.Stream.Scope, ev.Stream.ID
	key, known, err := tx.Get(operationKey('i', id))
	if err != nil {
		return err
	}
	var op operation.State
	if !known {
		key = scoped('o', scope, binary.BigEndian.AppendUint64(nil, ev.Seq))
		if err := tx.Set(operationKey('i', id), key); err != nil {
			return err
		}
	} else if err := getJSON(tx, key, &op); err != nil {
		return fmt.Errorf("operation %s: %w", id, err)
	}
	op = operation.Decider.Evolve(op, ev.Data)
	if err := setJSON(tx, key, op); err != nil {
		return err
	}
	if op.Status.Ended() {
		return tx.Delete(operationKey('r', id))
	}
	return tx.Set(operationKey('r', id), []byte(scope))
}

func operationKey(space byte, id string) []byte { return append([]byte{space}, id...) }

// Get returns the operation with an id.
func (o Operations) Get(r Reader, id string) (op operation.State, ok bool, err error) {
	key, ok, err := r.Get(o, operationKey('i', id))
	if err != nil || !ok {
		return op, false, err
	}
	value, ok, err := r.Get(o, key)
	if err != nil || !ok {
		return op, false, err
	}
	return op, true, json.Unmarshal(value, &op)
}

// List visits the operations of a workspace, the newest first, until visit
// returns false.
func (o Operations) List(r Reader, workspaceID string, visit func(operation.State) (more bool)) error {
	return r.Iterate(o, Span{Prefix: scoped('o', workspaceID, nil), Reverse: true}, func(_, value []byte) (bool, error) {
		var op operation.State
		if err := json.Unmarshal(value, &op); err != nil {
			return false, err
		}
		return visit(op), nil
	})
}

// Running lists the operations that have not ended.
func (o Operations) Running(r Reader) (refs []OperationRef, err error) {
	err = r.Iterate(o, Span{Prefix: []byte{'r'}}, func(key, value []byte) (bool, error) {
		refs = append(refs, OperationRef{WorkspaceID: string(value), ID: string(key[1:])})
		return true, nil
	})
	return refs, err
}

// Operated lists the operations that hold a lock which runs out.
func (w Workspaces) Operated(r Reader) (refs []OperationRef, err error) {
	locked, err := w.Expired(r, time.UnixMilli(1<<60)) // some day all of them have run out
	for _, id := range locked {
		rec, _, readErr := w.Record(r, id)
		if readErr != nil {
			return nil, readErr
		}
		if lock := rec.Dynamic.WriteLock; lock != nil && lock.Operation != nil {
			refs = append(refs, OperationRef{WorkspaceID: id, ID: lock.Operation.ID})
		}
	}
	return refs, err
}

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
