package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/domain/collection"
	"svc/domain/value"
)

// View calls fn with the rows of a namespace as they are now, and how far they are.
// Both are of one moment. It waits until the log was read to its end, and fails for a
// namespace with an entry that cannot be read.
func (m *Model) View(ctx context.Context, id domain.StreamID, fn func(collection.Source, collection.Mark) error) error {
	v, at, err := m.beginRead(ctx, spaceOf(id))
	for errors.Is(err, errBehind) {
		if err := m.Reach(ctx, 0); err != nil {
			return err
		}
		v, at, err = m.beginRead(ctx, spaceOf(id))
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

// beginRead opens a reader between two batches.
func (m *Model) beginRead(ctx context.Context, space string) (*view, namespaceState, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, caught := m.Health(); !caught {
		return nil, namespaceState{}, errBehind
	}
	v := &view{ctx: ctx, txn: m.opts.DB.NewTransaction(false), space: space}
	at, err := readNamespaceState(v.txn, space)
	if err == nil {
		v.infos, err = m.infosOf(v.txn, space)
	}
	return v, at, err
}

// maxCachedInfos bounds how many namespaces are remembered.
const maxCachedInfos = 10_000

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
	if len(m.infos) >= maxCachedInfos {
		clear(m.infos)
	}
	m.infos[space] = infos
	return infos, nil
}

func readInfos(txn *badger.Txn, space string) (infos []*collection.Info, err error) {
	prefix := append(append([]byte{keyInfo}, space...), 0)
	err = scan(txn, prefix, nil, nil, func(_, b []byte) (bool, error) {
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

// UniqueOwner implements collection.View.
func (v *view) UniqueOwner(number uint32, x collection.Index, key []byte) (string, error) {
	id, err := get(v.txn, entryKey(v.space, number, x, key, ""))
	return string(id), err
}

// Raw implements collection.Source.
func (v *view) Raw(number uint32, visit func(id string, row []byte) error) error {
	area := areaKey(keyRow, v.space, number)
	return scan(v.txn, area, nil, nil, func(key, row []byte) (bool, error) {
		if err := v.ctx.Err(); err != nil {
			return false, err
		}
		return true, visit(string(key), row)
	})
}

// Rows implements collection.View.
func (v *view) Rows(number uint32, ranges []collection.Range, x *collection.Index, visit func(string, collection.Row) (bool, error)) error {
	if x == nil {
		return v.allRows(number, visit)
	}
	prefix, more := indexKey(v.space, number, *x), true
	for _, r := range ranges {
		err := scan(v.txn, prefix, r.From, r.To, func(_, id []byte) (bool, error) {
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

func (v *view) allRows(number uint32, visit func(string, collection.Row) (bool, error)) error {
	return scan(v.txn, areaKey(keyRow, v.space, number), nil, nil, func(key, b []byte) (bool, error) {
		if err := v.ctx.Err(); err != nil {
			return false, err
		}
		return visit(string(key), collection.StoredRow(b))
	})
}

// scan visits the keys below a prefix, without it, that are from from on and before
// to; nil is no bound. Values are not read ahead: Badger begins with a hundred, and with
// a goroutine for each, which takes longer than to read them, however many are visited.
func scan(txn *badger.Txn, prefix, from, to []byte, visit func(key, value []byte) (more bool, err error)) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix, opts.PrefetchValues = prefix, false
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

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// dropErasedInterval is how often namespaces are looked for that the log has no more.
	dropErasedInterval = 10 * time.Minute
)

// Run follows the log until ctx ends, which is no error.
func (m *Model) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { m.dropErasedLoop(ctx) })
	defer running.Wait()
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		before, _ := m.Health()
		err := m.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errStale) {
			m.opts.Logger.Warn("the rows of collections are built again", "err", err)
			err = m.Reset()
		}
		if err == nil {
			pause = firstPause / 2
			continue
		}
		if now, _ := m.Health(); now != before {
			pause = firstPause
		}
		m.opts.Logger.Error("the rows of collections are not followed, trying again", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// follow reads the log from the checkpoint on, after comparing the two.
func (m *Model) follow(ctx context.Context) error {
	identity, reach, last, err := m.opts.Log.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at the log of collections: %w", err)
	}
	m.mu.Lock()
	at, none := m.at, checkpoint{}
	if at == none {
		m.at, m.fresh = checkpoint{Version: version, Identity: identity}, true
	}
	m.mu.Unlock()
	if at != none && (at.Version != version || at.Identity != identity || at.Seq > reach) {
		return fmt.Errorf("%w: the model is of %+v, the log is %s and ends at %d", errStale, at, identity, reach)
	}
	return m.opts.Log.Follow(ctx, at.Seq+1, func(entries []collection.Logged, pending uint64) error {
		if err := m.apply(ctx, entries); err != nil {
			return err
		}
		return m.updateProgress(ctx, pending, &last)
	})
}

// updateProgress notes how far the model is. It has caught up when nothing follows, and the
// log has nothing that a replica did not know of.
func (m *Model) updateProgress(ctx context.Context, pending uint64, last *uint64) (err error) {
	m.mu.Lock()
	at := m.at.Seq
	m.mu.Unlock()
	_, caught := m.Health()
	if !caught && pending == 0 {
		if at < *last { // it may have been erased since
			if _, _, *last, err = m.opts.Log.Info(ctx); err != nil {
				return err
			}
		}
		caught = at >= *last
	}
	if caught {
		m.mu.Lock()
		m.fresh = false
		m.mu.Unlock()
	}
	m.advance(at, caught)
	return nil
}

// Reset forgets everything, so that Run fills the model again from the beginning of
// the log. One that a crash cut short is known by its checkpoint, which goes last.
func (m *Model) Reset() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(0, false)
	m.progress.Lock()
	clear(m.infos)
	m.progress.Unlock()
	b := m.newBatch()
	defer func() { b.txn.Discard() }()
	m.at = checkpoint{Version: resetting}
	if err := errors.Join(b.setJSON([]byte{keyCheckpoint}, m.at), b.flush()); err != nil {
		return err
	}
	for _, kind := range []byte{keyNamespace, keyInfo, keyStats, keyRow, keyUnique, keyIndex} {
		if err := b.dropPrefix([]byte{kind}); err != nil {
			return err
		}
	}
	if err := errors.Join(b.delete([]byte{keyCheckpoint}), b.flush()); err != nil {
		return err
	}
	m.at = checkpoint{}
	return nil
}

// dropErasedLoop looks for namespaces that were erased, once the model has caught up and
// then from time to time.
func (m *Model) dropErasedLoop(ctx context.Context) {
	if m.Reach(ctx, 0) != nil {
		return
	}
	tick := time.NewTicker(dropErasedInterval)
	defer tick.Stop()
	for {
		if err := m.DropErased(ctx); err != nil && ctx.Err() == nil {
			m.opts.Logger.Warn("namespaces of collections that were erased were not looked for", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// DropErased forgets the namespaces of which the log has nothing any more.
func (m *Model) DropErased(ctx context.Context) error {
	have, err := m.namespaces("")
	if err != nil {
		return err
	}
	ids, err := m.opts.Log.IDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		delete(have, spaceOf(id))
	}
	return m.dropNamespaces(have)
}

// DropWorkspace forgets the namespaces of a workspace that is deleted.
func (m *Model) DropWorkspace(workspaceID string) error {
	have, err := m.namespaces(workspaceID + ".")
	if err != nil {
		return err
	}
	return m.dropNamespaces(have)
}

// namespaces returns the namespaces whose names begin so, and how far they are.
func (m *Model) namespaces(prefix string) (map[string]uint64, error) {
	txn := m.opts.DB.NewTransaction(false)
	defer txn.Discard()
	have := map[string]uint64{}
	for _, key := range firstKeys(txn, spaceKey(prefix), math.MaxInt) {
		space := string(key[1:])
		at, err := readNamespaceState(txn, space)
		if err != nil {
			return nil, err
		}
		have[space] = at.Seq
	}
	return have, nil
}

// dropNamespaces drops namespaces that are still where they were.
func (m *Model) dropNamespaces(spaces map[string]uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.newBatch()
	defer func() { b.txn.Discard() }()
	for _, space := range slices.Sorted(maps.Keys(spaces)) {
		at, err := readNamespaceState(b.txn, space)
		if err != nil {
			return err
		}
		if at.Seq != spaces[space] {
			continue
		}
		// What says how far it is goes last: until then this can be done again.
		if err := b.clearNamespace(space); err != nil {
			return err
		}
		if err := b.delete(spaceKey(space)); err != nil {
			return err
		}
	}
	defer m.forgetInfos(b)
	return b.flush()
}

// Dump visits everything that the model keeps, in order. It is for comparing models.
func (m *Model) Dump(visit func(key, value []byte) error) error {
	m.mu.RLock()
	txn := m.opts.DB.NewTransaction(false)
	m.mu.RUnlock()
	defer txn.Discard()
	return scan(txn, nil, nil, nil, func(key, b []byte) (bool, error) { return true, visit(key, b) })
}
