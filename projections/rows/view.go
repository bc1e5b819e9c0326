package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/domain/automation/value"
	"svc/domain/collection"
)

// View calls fn with the rows of a namespace as they are now, and how far they are.
// Both are of one moment. It waits until the log was read to its end, and fails for a
// namespace with an entry that cannot be read.
func (m *Model) View(ctx context.Context, id domain.StreamID, fn func(collection.Source, collection.Mark) error) error {
	v, at, err := m.begin(ctx, spaceOf(id))
	for errors.Is(err, errBehind) {
		if err := m.Reach(ctx, 0); err != nil {
			return err
		}
		v, at, err = m.begin(ctx, spaceOf(id))
	}
	if v != nil {
		defer v.txn.Discard()
	}
	if err != nil {
		return err
	}
	if at.Fault != "" {
		return fmt.Errorf("rows: namespace %s: %s", id, at.Fault)
	}
	return fn(v, at.Mark)
}

// errBehind says that a batch may be there in part.
var errBehind = errors.New("rows: the model has not caught up")

// begin opens a reader between two batches.
func (m *Model) begin(ctx context.Context, space string) (*view, standing, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, caught := m.Health(); !caught {
		return nil, standing{}, errBehind
	}
	v := &view{ctx: ctx, txn: m.opts.DB.NewTransaction(false), space: space}
	at, err := readStanding(v.txn, space)
	if err == nil {
		v.infos, err = m.infosOf(v.txn, space)
	}
	return v, at, err
}

// maxKnown bounds how many namespaces are remembered.
const maxKnown = 10_000

// infosOf returns the collections of a namespace. Nothing is applied meanwhile.
func (m *Model) infosOf(txn *badger.Txn, space string) ([]*collection.Info, error) {
	m.progress.Lock()
	infos, known := m.infos[space]
	m.progress.Unlock()
	if known {
		return infos, nil
	}
	infos, err := readInfos(txn, space)
	if err != nil {
		return nil, err
	}
	m.progress.Lock()
	defer m.progress.Unlock()
	if len(m.infos) >= maxKnown {
		clear(m.infos)
	}
	m.infos[space] = infos
	return infos, nil
}

func readInfos(txn *badger.Txn, space string) (infos []*collection.Info, err error) {
	prefix := append(append([]byte{ofInfo}, space...), 0)
	err = scan(txn, prefix, nil, nil, true, func(_, b []byte) (bool, error) {
		info, err := collection.DecodeInfo(b)
		infos = append(infos, info)
		return true, err
	})
	return infos, err
}

// view reads one namespace at one moment.
type view struct {
	ctx   context.Context
	txn   *badger.Txn
	space string
	infos []*collection.Info
}

// Infos implements collection.View.
func (v *view) Infos() ([]*collection.Info, error) { return v.infos, nil }

// Stats implements collection.View.
func (v *view) Stats(number uint32) (rows, size int64, err error) {
	s, err := readStats(v.txn, v.space, number)
	return s.rows, s.bytes, err
}

// Row implements collection.View.
func (v *view) Row(number uint32, id string) (*value.Object, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	b, err := get(v.txn, rowKey(v.space, number, id))
	if err != nil || b == nil {
		return nil, err
	}
	return collection.DecodeRow(b)
}

// Holder implements collection.View.
func (v *view) Holder(number uint32, x collection.Index, key []byte) (string, error) {
	id, err := get(v.txn, entryKey(v.space, number, x, key, ""))
	return string(id), err
}

// Raw implements collection.Source.
func (v *view) Raw(number uint32, visit func(id string, row []byte) error) error {
	area := areaKey(ofRow, v.space, number)
	return scan(v.txn, area, nil, nil, true, func(key, row []byte) (bool, error) {
		if err := v.ctx.Err(); err != nil {
			return false, err
		}
		return true, visit(string(key), row)
	})
}

// Rows implements collection.View.
func (v *view) Rows(number uint32, ranges []collection.Range, x *collection.Index, visit func(string, collection.Row) (bool, error)) error {
	if x == nil {
		return v.all(number, visit)
	}
	prefix, more := indexKey(v.space, number, *x), true
	for _, r := range ranges {
		err := scan(v.txn, prefix, r.From, r.To, false, func(_, id []byte) (bool, error) {
			item, err := v.item(number, string(id))
			if err != nil || item == nil {
				return true, err
			}
			err = item.Value(func(row []byte) (err error) {
				more, err = visit(string(id), collection.StoredRow(row))
				return err
			})
			return more, err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// item returns what a row is kept in, nil when there is none.
func (v *view) item(number uint32, id string) (*badger.Item, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	item, err := v.txn.Get(rowKey(v.space, number, id))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	return item, err
}

func (v *view) all(number uint32, visit func(string, collection.Row) (bool, error)) error {
	return scan(v.txn, areaKey(ofRow, v.space, number), nil, nil, true, func(key, b []byte) (bool, error) {
		if err := v.ctx.Err(); err != nil {
			return false, err
		}
		return visit(string(key), collection.StoredRow(b))
	})
}

// scan visits the keys below a prefix, without it, that are from from on and before
// to; nil is no bound. Many says that values are worth reading ahead.
func scan(txn *badger.Txn, prefix, from, to []byte, many bool, visit func(key, value []byte) (more bool, err error)) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix, opts.PrefetchValues = prefix, many
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Seek(append(bytes.Clone(prefix), from...)); it.Valid(); it.Next() {
		item := it.Item()
		key := item.Key()[len(prefix):]
		if to != nil && bytes.Compare(key, to) >= 0 {
			return nil
		}
		more := false
		err := item.Value(func(b []byte) (err error) {
			more, err = visit(key, b)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}
