package projections

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
)

// Badger returns the store itself, for tests that damage it.
func (d *DB) Badger() *badger.DB { return d.badger }

// Update writes as the read models do.
func (d *DB) Update(fn func(*badger.Txn) error) error { return d.store().Update(fn) }

// Generations lists the generations that have a key.
func (m *Models) Generations() (nums []uint32, err error) {
	err = m.db.View(func(txn *badger.Txn) error {
		nums, err = generations(txn)
		return err
	})
	return nums, err
}

// Area returns where the live generation keeps the keys of p.
func (m *Models) Area(p Projection) []byte { return m.live.Load().areas[p.Name()] }

// Hash returns the hash of what p stored in the live generation.
func (m *Models) Hash(p Projection) (sum string, err error) {
	txn, gen := m.snapshot()
	defer txn.Discard()
	_, sum, err = keyArea{txn, gen.areas[p.Name()]}.hash()
	return sum, err
}

// The mark of a store, for tests of what an interrupted open leaves.
const (
	MarkName    = markName
	MaxOpenings = maxOpenings
)

// Gather adds to a batch what has come since.
var Gather = joinBatches

// BeginFormer begins the index of a base in the shape before.
func (x *SearchIndex) BeginFormer(ctx context.Context, workspaceID, baseID string) error {
	return x.write(ctx, knownBase{workspaceID: workspaceID, baseID: baseID}, func(w *indexWriter) error {
		return w.db.Update(func(txn *badger.Txn) error {
			return w.setState(txn, indexState{Generation: 1, Shape: formerShape, Building: true})
		})
	})
}

// Interrupt writes a part of the next batch of a base, as a crash would leave it.
func (x *SearchIndex) Interrupt(ctx context.Context, workspaceID, baseID string, share float64) error {
	return x.write(ctx, knownBase{workspaceID: workspaceID, baseID: baseID}, func(w *indexWriter) error {
		w.persist = true
		s, err := w.load(ctx)
		if err != nil {
			return err
		}
		r := x.o.Models.Reader()
		defer r.Close()
		changes, err := KBDocuments{}.Changes(r, workspaceID, baseID)
		if err != nil {
			return err
		}
		b, err := w.nextBatch(r, s, s.Source, changes)
		if err != nil {
			return err
		}
		txn := w.db.NewTransaction(false)
		defer txn.Discard()
		buffer := &indexBuffer{keys: indexKeys{txn}, changed: map[string][]byte{}}
		if err := errors.Join(w.fill(ctx, buffer, b, false), w.announce(b)); err != nil {
			return err
		}
		keys := slices.Sorted(maps.Keys(buffer.changed))
		return w.db.Update(func(txn *badger.Txn) error {
			for _, key := range keys[:int(share*float64(len(keys)))] {
				if err := buffer.store(txn, key); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Areas returns the indexes of bases that have a key, the live ones and others.
func (x *SearchIndex) Areas() (areas []string, err error) {
	err = x.read(func(k indexKeys) error {
		return iterate(k.txn, []byte{indexDataSpace}, Span{KeysOnly: true}, func(key, _ []byte) (bool, error) {
			area, _, _ := strings.Cut(string(key), "\x00")
			areas = append(areas, area)
			return true, nil
		})
	})
	return slices.Compact(areas), err
}

// Sweep deletes the indexes that no state names.
func (x *SearchIndex) Sweep(ctx context.Context) error { return x.sweepOnce(ctx) }

// Jobs returns how many entries the queue is known to have.
func (p KBDocuments) Jobs(r Reader) (n int, err error) {
	value, ok, err := r.Get(p, []byte{'j'})
	if err != nil || !ok {
		return 0, err
	}
	return n, json.Unmarshal(value, &n)
}

// HasKeys reports whether a generation has keys of read models.
func HasKeys(m *Models, num uint32, of ...Projection) (has bool) {
	txn := m.db.NewTransaction(false)
	defer txn.Discard()
	for _, p := range of {
		has = has || len(someKeys(txn, areaOf(num, p), areaOf(num, p))) > 0
	}
	return has
}

// ForgetAreas leaves the record of the live generation as versions wrote it that kept all keys in one generation.
func ForgetAreas(tb testing.TB, d *DB) {
	require.NoError(tb, d.Update(func(txn *badger.Txn) error {
		l, _, err := readLive(txn)
		l.Areas = nil
		return errors.Join(err, l.write(txn))
	}))
}

// LeaveWithin leaves the live generation as a crash within a large event would.
func LeaveWithin(tb testing.TB, d *DB, log domain.Log) {
	require.NoError(tb, d.Update(func(txn *badger.Txn) error {
		l, _, err := readLive(txn)
		g := newGeneration(l.Generation, nil)
		at, readErr := readCheckpoint(txn, g, log)
		at.Seq, at.EventID, at.Ahead = at.Seq-1, "", 1
		return errors.Join(err, readErr, at.write(txn, g.checkpointKey(log)))
	}))
}
