package projections

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"svc/domain"
	"svc/domain/keyring"
)

// Keyring is the read model of the signing keys: the ring as its events fold it,
// in one document, and apart from it what nearly every reader asks: whether it
// has changed.
//
//	k   JSON
//	s   sequence of the event that last changed it
type Keyring struct{}

var (
	ringKey    = []byte{'k'}
	ringSeqKey = []byte{'s'}
)

// Name implements Projection.
func (Keyring) Name() string { return "keyring.1" }

// Log implements Projection.
func (Keyring) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (Keyring) Apply(tx Tx, ev domain.Recorded) error {
	changed, ok := ev.Data.(keyring.Updated)
	if !ok {
		return nil
	}
	ring, err := parseRing(tx.Get(ringKey))
	if err != nil {
		return err
	}
	body, err := json.Marshal(keyring.Decider.Evolve(ring, changed))
	if err != nil {
		return err
	}
	if err := tx.Set(ringKey, body); err != nil {
		return err
	}
	return tx.Set(ringSeqKey, binary.BigEndian.AppendUint64(nil, ev.Seq))
}

// Keys returns the key ring and the sequence of the event that last changed it:
// 0 before the first. A caller that has the ring at that sequence already says
// so, and is spared the reading: the ring returned is then empty.
func (k Keyring) Keys(r Reader, known uint64) (ring keyring.State, seq uint64, err error) {
	value, ok, err := r.Get(k, ringSeqKey)
	if err != nil || !ok {
		return ring, 0, err
	}
	if len(value) != 8 {
		return ring, 0, errHeader
	}
	if seq = binary.BigEndian.Uint64(value); seq == known {
		return ring, seq, nil
	}
	ring, err = parseRing(r.Get(k, ringKey))
	return ring, seq, err
}

// parseRing opens what Get returned.
func parseRing(value []byte, ok bool, failed error) (ring keyring.State, err error) {
	if failed != nil || !ok {
		return ring, failed
	}
	if err := json.Unmarshal(value, &ring); err != nil {
		return ring, fmt.Errorf("the stored key ring is damaged: %w", err)
	}
	return ring, nil
}
