package rows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"svc/domain/collection"
	"svc/domain/value"
)

// errStale says that the model lacks entries that the log has no more: it is filled
// again.
var errStale = errors.New("rows: entries are missing between the model and the log")

// apply applies entries, all of them or, for whoever reads, none.
func (m *Model) apply(ctx context.Context, entries []collection.Logged) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.newBatch()
	defer func() { b.txn.Discard() }()
	at := m.at
	at.Version = version
	err := b.applyEntries(ctx, entries, &at)
	if err == nil {
		err = b.finish(at)
	}
	if err != nil {
		if b.begun { // a part is there: nobody is to see it
			m.advance(m.at.Seq, false)
		}
		return err
	}
	m.at = at
	m.forgetInfos(b)
	return nil
}

// applyEntries applies entries that come after a checkpoint, which it moves.
func (b *batch) applyEntries(ctx context.Context, entries []collection.Logged, at *checkpoint) error {
	for _, e := range entries {
		if e.Seq <= at.Seq {
			continue
		}
		if err := b.applyEntry(ctx, e); err != nil {
			return fmt.Errorf("apply entry %d of %s: %w", e.Seq, e.Stream, err)
		}
		at.Seq = e.Seq
	}
	return nil
}

func (m *Model) forgetInfos(b *batch) {
	m.progress.Lock()
	defer m.progress.Unlock()
	for space := range b.changed {
		delete(m.infos, space)
	}
}

// applyEntry applies one entry.
func (b *batch) applyEntry(ctx context.Context, e collection.Logged) error {
	space := spaceOf(e.Stream)
	s, err := b.stateOf(space)
	if err != nil {
		return err
	}
	body, err := collection.ParseEntry(e.Body)
	if err == nil && e.Snapshot && e.Previous == s.Seq && s.Fault == "" {
		s.Seq, s.Logged = e.Seq, body.Size // it says what is known
		return nil
	}
	switch {
	case e.Snapshot || e.Previous == 0:
		if err := b.clearNamespace(space); err != nil {
			return err
		}
		*s = namespaceState{}
	case s.Fault != "":
	case e.Previous != s.Seq && !b.m.fresh:
		return errStale
	case e.Previous != s.Seq:
		s.Fault = fmt.Sprintf("the entries between %d and %d are missing from the log", s.Seq, e.Previous)
	}
	if err == nil && s.Fault == "" {
		err = b.applyChanges(ctx, space, e)
	}
	if errors.Is(err, collection.ErrGone) || errors.Is(err, collection.ErrUnreadable) {
		s.Fault = err.Error()
		b.m.opts.Logger.Error("collections cannot be read", "data", e.Stream.String(), "seq", e.Seq, "err", err)
		err = b.clearNamespace(space)
	}
	s.Seq = e.Seq
	s.Logged += body.Size
	return err
}

// applyChanges applies the changes of an entry.
func (b *batch) applyChanges(ctx context.Context, space string, e collection.Logged) error {
	return b.m.opts.Opener.Open(ctx, e, func(encoded []byte) error {
		changes, err := collection.DecodeChanges(encoded)
		if err != nil {
			return fmt.Errorf("%w: %w", collection.ErrUnreadable, err)
		}
		for _, c := range changes {
			if err := b.applyChange(space, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *batch) applyChange(space string, c collection.Change) error {
	switch c.Kind {
	case collection.Put, collection.Removed:
		return b.putRow(space, c)
	case collection.Dropped:
		return b.dropCollection(space, c.Collection)
	}
	info, err := b.info(space, c.Collection)
	if err != nil {
		return err
	}
	if info == nil {
		info = &collection.Info{}
	}
	next := info.After(c)
	if c.Kind == collection.Declared {
		if err := b.redeclare(space, info, next); err != nil {
			return err
		}
	}
	return b.setInfo(space, c.Collection, next)
}

func (b *batch) dropCollection(space string, number uint32) error {
	if _, err := b.info(space, number); err != nil {
		return err
	}
	delete(b.counts, string(areaKey(keyStats, space, number)))
	for _, kind := range []byte{keyStats, keyRow, keyUnique, keyIndex} {
		if err := b.dropPrefix(areaKey(kind, space, number)); err != nil {
			return err
		}
	}
	return b.setInfo(space, number, nil)
}

// redeclare drops the indexes that are declared no more, and fills those that are
// new. An index whose fields are of another kind now has other keys.
func (b *batch) redeclare(space string, was, is *collection.Info) error {
	var unchanged []collection.Index
	for _, x := range was.Declaration.All() {
		if i := slices.IndexFunc(is.Declaration.All(), func(y collection.Index) bool { return sameIndex(x, y) }); i >= 0 && was.Declaration.SameKeys(is.Declaration, x) {
			unchanged = append(unchanged, x)
			continue
		}
		if err := b.dropPrefix(indexKey(space, is.Collection, x)); err != nil {
			return err
		}
	}
	for _, x := range is.Declaration.All() {
		if slices.ContainsFunc(unchanged, func(y collection.Index) bool { return sameIndex(x, y) }) {
			continue
		}
		if err := b.fillIndex(space, is, x); err != nil {
			return err
		}
	}
	return nil
}

func sameIndex(x, y collection.Index) bool { return x.Name == y.Name && x.Unique == y.Unique }

// fillIndex puts every row into an index.
func (b *batch) fillIndex(space string, info *collection.Info, x collection.Index) error {
	// The rows are read as they are so far: one transaction cannot hold all keys.
	if err := b.flush(); err != nil {
		return err
	}
	v := &view{ctx: context.Background(), txn: b.m.opts.DB.NewTransaction(false), space: space}
	defer v.txn.Discard()
	return v.allRows(info.Collection, func(id string, stored collection.Row) (bool, error) {
		row, err := stored.Object()
		if err != nil {
			return false, fmt.Errorf("%w: %w", collection.ErrUnreadable, err)
		}
		return true, b.moveInIndex(space, info, x, id, nil, row)
	})
}

// putRow keeps a row, in the place of one with its id, and its keys in all indexes.
func (b *batch) putRow(space string, c collection.Change) error {
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
	was, err := decodeRow(old)
	if err != nil {
		return err
	}
	is, err := decodeRow(row)
	if err != nil {
		return err
	}
	for _, x := range indexes {
		if err := b.moveInIndex(space, info, x, id, was, is); err != nil {
			return err
		}
	}
	return nil
}

func decodeRow(row []byte) (*value.Object, error) {
	if row == nil {
		return nil, nil
	}
	o, err := collection.DecodeRow(row)
	if err != nil {
		err = fmt.Errorf("%w: %w", collection.ErrUnreadable, err)
	}
	return o, err
}

// moveInIndex moves a row within one index.
func (b *batch) moveInIndex(space string, info *collection.Info, x collection.Index, id string, was, is *value.Object) error {
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

	states  map[string]*namespaceState
	infos   map[string][]*collection.Info // of namespaces that were looked at
	changed map[string]bool               // namespaces whose collections are others now
	counts  map[string]*stats             // by the key they are kept under
}

func (m *Model) newBatch() *batch {
	return &batch{
		m: m, txn: m.opts.DB.NewTransaction(true), states: map[string]*namespaceState{}, infos: map[string][]*collection.Info{},
		changed: map[string]bool{}, counts: map[string]*stats{},
	}
}

// ensureSpace begins another transaction when so many bytes more are too many for this one.
func (b *batch) ensureSpace(size int) error {
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
	for space, s := range b.states {
		if err := b.updateLiveBytes(space, s); err != nil {
			return err
		}
		if err := b.setJSON(spaceKey(space), s); err != nil {
			return err
		}
	}
	if err := b.setJSON([]byte{keyCheckpoint}, at); err != nil {
		return err
	}
	if err := b.m.opts.Commit(b.txn); err != nil {
		return fmt.Errorf("rows: commit: %w", err)
	}
	return nil
}

// updateLiveBytes counts the bytes of the rows of a namespace.
func (b *batch) updateLiveBytes(space string, s *namespaceState) error {
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
	if err := b.ensureSpace(len(key) + len(v)); err != nil {
		return err
	}
	return b.txn.Set(key, v)
}

func (b *batch) delete(key []byte) error {
	if err := b.ensureSpace(len(key)); err != nil {
		return err
	}
	return b.txn.Delete(key)
}

// dropPrefix deletes every key that begins with a prefix.
func (b *batch) dropPrefix(prefix []byte) error {
	for {
		keys := firstKeys(b.txn, prefix, maxKeys/2)
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

// firstKeys returns some of the keys that begin with a prefix.
func firstKeys(txn *badger.Txn, prefix []byte, n int) (keys [][]byte) {
	opts := badger.DefaultIteratorOptions
	opts.Prefix, opts.PrefetchValues = prefix, false
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Seek(prefix); it.Valid() && len(keys) < n; it.Next() {
		keys = append(keys, it.Item().KeyCopy(nil))
	}
	return keys
}

func (b *batch) stateOf(space string) (*namespaceState, error) {
	if s := b.states[space]; s != nil {
		return s, nil
	}
	s, err := readNamespaceState(b.txn, space)
	b.states[space] = &s
	return &s, err
}

func (b *batch) count(space string, number uint32) (*stats, error) {
	key := string(areaKey(keyStats, space, number))
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
	key := areaKey(keyInfo, space, number)
	b.changed[space] = true
	if info == nil {
		b.infos[space] = others
		return b.delete(key)
	}
	b.infos[space] = append(others, info)
	return b.set(key, collection.AppendInfo(nil, info))
}

// clearNamespace forgets everything of a namespace.
func (b *batch) clearNamespace(space string) error {
	for _, kind := range []byte{keyInfo, keyStats, keyRow, keyUnique, keyIndex} {
		if err := b.dropPrefix(append(append([]byte{kind}, space...), 0)); err != nil {
			return err
		}
	}
	for key := range b.counts {
		if bytes.HasPrefix([]byte(key), append(append([]byte{keyStats}, space...), 0)) {
			delete(b.counts, key)
		}
	}
	b.infos[space], b.changed[space] = nil, true
	return nil
}
