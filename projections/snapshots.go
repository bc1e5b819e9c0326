package projections

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
)

// Snapshots stores the folded state of long aggregates, so that a command need not load their whole
// history. They are a cache: losing one costs only time.
// They belong to one log and are used only while that log is being followed.
type Snapshots struct {
	db   store
	open atomic.Bool // the log is known to be the one of the snapshots

	mu     sync.Mutex
	extent extent
}

// extent is the stored record of the log that all snapshots come from.
type extent struct {
	Identity string `json:"identity"` // of STATE
	High     uint64 `json:"high"`     // no snapshot has a later sequence
}

// Get returns the state of the aggregate id as of the event at seq, folded by
// the decider of this version; ok is false when there is none.
func (s *Snapshots) Get(id domain.StreamID, version int) (seq uint64, state []byte, ok bool) {
	if !s.open.Load() {
		return 0, nil, false
	}
	err := s.db.View(func(txn *badger.Txn) (err error) {
		state, ok, err = get(txn, snapshotKey(id, version))
		return err
	})
	if err != nil || !ok || len(state) < 8 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint64(state), state[8:], true
}

// Put stores state, the aggregate id as of the event at seq. Before the log is known it stores
// nothing.
func (s *Snapshots) Put(id domain.StreamID, version int, seq uint64, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open.Load() {
		return nil
	}
	next := extent{s.extent.Identity, max(s.extent.High, seq)}
	value := append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(state)), seq), state...)
	err := s.db.Update(func(txn *badger.Txn) error {
		if err := txn.Set(snapshotKey(id, version), value); err != nil || next == s.extent {
			return err
		}
		return next.write(txn)
	})
	if err != nil {
		return fmt.Errorf("put snapshot of %s: %w", id, err)
	}
	s.extent = next
	return nil
}

func snapshotKey(id domain.StreamID, version int) []byte {
	key := binary.AppendUvarint([]byte{snapshotSpace}, uint64(version))
	for _, part := range []string{id.Scope, id.Kind, id.ID} {
		key = append(append(key, part...), 0)
	}
	return key
}

// openFor opens the snapshots for the log with this identity, whose history is
// known to be that of the read models up to trusted. When they come from another
// log, or one has a later sequence, whose event may be lost, all are discarded first. Snapshots
// that were put after opening need no such check.
func (s *Snapshots) openFor(identity string, trusted uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open.Load() && s.extent.Identity == identity {
		return nil
	}
	var stored extent
	err := s.db.View(func(txn *badger.Txn) (err error) {
		stored, err = readExtent(txn)
		return err
	})
	if err == nil && (stored.Identity != identity || stored.High > trusted) {
		stored = extent{Identity: identity}
		err = s.discard(stored)
	}
	if err != nil {
		return fmt.Errorf("open snapshots: %w", err)
	}
	s.extent = stored
	s.open.Store(true)
	return nil
}

// clear discards every snapshot and stores none until openFor.
func (s *Snapshots) clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.discard(extent{})
}

// discard deletes every snapshot and then records next: after a crash in between they are discarded
// again.
func (s *Snapshots) discard(next extent) error {
	s.open.Store(false)
	if err := dropPrefix(s.db, []byte{snapshotSpace}, func() bool { return false }); err != nil {
		return err
	}
	return s.db.Update(next.write)
}

func readExtent(txn *badger.Txn) (e extent, err error) {
	b, ok, err := get(txn, []byte(extentKey))
	if err != nil || !ok {
		return e, err
	}
	return e, json.Unmarshal(b, &e)
}

func (e extent) write(txn *badger.Txn) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return txn.Set([]byte(extentKey), b)
}
