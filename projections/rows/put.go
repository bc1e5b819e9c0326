package rows

import (
	"bytes"
	"fmt"
	"slices"

	"svc/domain/automation/value"
	"svc/domain/collection"
)

// put keeps a row, in the place of one with its id, and its keys in all indexes.
func (b *batch) put(space string, c collection.Change) error {
	info, err := b.info(space, c.Collection)
	if err != nil {
		return err
	}
	if info == nil {
		return fmt.Errorf("%w: a row of the collection %d, which is not there", collection.ErrUnreadable, c.Collection)
	}
	key := rowKey(space, c.Collection, c.RowID)
	old, err := get(b.txn, key)
	if err != nil {
		return err
	}
	if err := b.reindex(space, info, c.RowID, old, c.Row); err != nil {
		return err
	}
	if c.Row == nil {
		err = b.delete(key)
	} else {
		err = b.set(key, bytes.Clone(c.Row))
	}
	if err != nil {
		return err
	}
	count, err := b.count(space, c.Collection)
	if err != nil {
		return err
	}
	if old == nil && c.Row != nil {
		count.rows++
	} else if old != nil && c.Row == nil {
		count.rows--
	}
	count.bytes += int64(len(c.Row) - len(old))
	return nil
}

// reindex moves a row from its old keys to its new ones.
func (b *batch) reindex(space string, info *collection.Info, id string, old, row []byte) error {
	indexes := info.Declaration.All()
	if len(indexes) == 0 {
		return nil
	}
	was, err := decoded(old)
	if err != nil {
		return err
	}
	is, err := decoded(row)
	if err != nil {
		return err
	}
	for _, x := range indexes {
		if err := b.move(space, info, x, id, was, is); err != nil {
			return err
		}
	}
	return nil
}

func decoded(row []byte) (*value.Object, error) {
	if row == nil {
		return nil, nil
	}
	o, err := collection.DecodeRow(row)
	if err != nil {
		err = fmt.Errorf("%w: %w", collection.ErrUnreadable, err)
	}
	return o, err
}

// move moves a row within one index.
func (b *batch) move(space string, info *collection.Info, x collection.Index, id string, was, is *value.Object) error {
	var before, now [][]byte
	if was != nil {
		before = info.Declaration.Keys(x, was)
	}
	if is != nil {
		now = info.Declaration.Keys(x, is)
	}
	has := func(keys [][]byte, key []byte) bool {
		return slices.ContainsFunc(keys, func(have []byte) bool { return bytes.Equal(have, key) })
	}
	for _, key := range before {
		if has(now, key) {
			continue
		}
		at := entryKey(space, info.Collection, x, key, id)
		if holder, err := get(b.txn, at); err != nil || string(holder) != id {
			if err != nil {
				return err
			}
			continue // another row has it by now
		}
		if err := b.delete(at); err != nil {
			return err
		}
	}
	for _, key := range now {
		if !has(before, key) {
			if err := b.set(entryKey(space, info.Collection, x, key, id), []byte(id)); err != nil {
				return err
			}
		}
	}
	return nil
}
