package projections

import "github.com/dgraph-io/badger/v4"

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
