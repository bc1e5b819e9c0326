package projections

import (
	"bytes"
	"crypto/rand"
	"errors"

	"github.com/dgraph-io/badger/v4"
)

// probes begin the keys of probes, which are of no generation and of no meaning.
const probes = "m/probe/"

// Probe writes, reads and deletes one key, to see that the store works. Several
// may do so at once.
func (d *DB) Probe() error {
	want := []byte(rand.Text())
	probeKey := append([]byte(probes), want...)
	if err := d.store().Update(func(txn *badger.Txn) error { return txn.Set(probeKey, want) }); err != nil {
		return err
	}
	err := d.badger.View(func(txn *badger.Txn) error {
		got, ok, err := get(txn, probeKey)
		if err == nil && (!ok || !bytes.Equal(got, want)) {
			err = errors.New("what was written is not what is read")
		}
		return err
	})
	return errors.Join(err, d.store().Update(func(txn *badger.Txn) error { return txn.Delete(probeKey) }))
}
