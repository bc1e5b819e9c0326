package projections

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
)

// Snapshots keep the folded state of long aggregates, so that a command need
// not load their whole history. They are a cache: losing one costs time only.
// They belong to one log and are used only while that log is being followed.
type Snapshots struct {
	db    *badger.DB
	space atomic.Pointer[[]byte] // key prefix of the log in use; nil before it is known
}

// Get returns the state of the aggregate id as of the event at seq, folded by
// the decider of this version; ok is false when there is none.
func (s *Snapshots) Get(id domain.StreamID, version int) (seq uint64, state []byte, ok bool) {
	space := s.space.Load()
	if space == nil {
		return 0, nil, false
	}
	err := s.db.View(func(txn *badger.Txn) (err error) {
		state, ok, err = get(txn, snapshotKey(*space, id, version))
		return err
	})
	if err != nil || !ok || len(state) < 8 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint64(state), state[8:], true
}

// Put keeps state, the aggregate id as of the event at seq. Before the log is
// known it keeps nothing.
func (s *Snapshots) Put(id domain.StreamID, version int, seq uint64, state []byte) error {
	space := s.space.Load()
	if space == nil {
		return nil
	}
	value := append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(state)), seq), state...)
	err := s.db.Update(func(txn *badger.Txn) error {
		return txn.Set(snapshotKey(*space, id, version), value)
	})
	if err != nil {
		return fmt.Errorf("put snapshot of %s: %w", id, err)
	}
	return nil
}

func snapshotKey(space []byte, id domain.StreamID, version int) []byte {
	key := binary.AppendUvarint(join(space, nil), uint64(version))
	for _, part := range []string{id.Scope, id.Kind, id.ID} {
		key = append(append(key, part...), 0)
	}
	return key
}

func snapshotPrefix(identity string) []byte {
	sum := sha256.Sum256([]byte(identity))
	return append([]byte{snapshotSpace}, sum[:8]...)
}

// admit opens the snapshots of the log with this identity, which ends at last.
// Those of other logs, and those ahead of its end, are discarded first.
func (s *Snapshots) admit(identity string, last uint64) error {
	space := snapshotPrefix(identity)
	keys, err := s.foreign(space, last)
	if err != nil {
		return fmt.Errorf("check snapshots: %w", err)
	}
	if err := s.discard(keys); err != nil {
		return fmt.Errorf("discard snapshots: %w", err)
	}
	s.space.Store(&space)
	return nil
}

// foreign lists the snapshots that a log in space, ending at last, cannot have
// made.
func (s *Snapshots) foreign(space []byte, last uint64) (keys [][]byte, err error) {
	err = s.db.View(func(txn *badger.Txn) error {
		return iterate(txn, nil, Span{Prefix: []byte{snapshotSpace}}, func(key, value []byte) (bool, error) {
			same := string(key[:min(len(key), len(space))]) == string(space)
			if !same || len(value) < 8 || binary.BigEndian.Uint64(value) > last {
				keys = append(keys, join(key, nil))
			}
			return true, nil
		})
	})
	return keys, err
}

// clear discards every snapshot and keeps none until a log is admitted again.
func (s *Snapshots) clear() error {
	s.space.Store(nil)
	return dropPrefix(s.db, []byte{snapshotSpace}, func() bool { return false })
}

func (s *Snapshots) discard(keys [][]byte) error {
	batch := s.db.NewWriteBatch()
	defer batch.Cancel()
	for _, key := range keys {
		if err := batch.Delete(key); err != nil {
			return err
		}
	}
	return batch.Flush()
}
