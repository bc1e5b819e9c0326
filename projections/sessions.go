package projections

import (
	"encoding/binary"

	"svc/domain"
	"svc/domain/session"
)

// Sessions is the read model of sessions that ended before their time, until
// that time has come.
//
//	s{id}         nothing
//	x{expires}{id} nothing; to find what can be forgotten
type Sessions struct{}

// Name implements Projection.
func (Sessions) Name() string { return "sessions.1" }

// Log implements Projection.
func (Sessions) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (s Sessions) Apply(tx Tx, ev domain.Recorded) error {
	ended, ok := ev.Data.(session.Ended)
	if !ok || !ended.Expires.After(ev.At) {
		return nil
	}
	if err := s.forget(tx, ev); err != nil {
		return err
	}
	if err := tx.Set(append([]byte{'s'}, ended.SessionID...), nil); err != nil {
		return err
	}
	return tx.Set(sessionExpiry(ended.Expires.UnixMilli(), ended.SessionID), nil)
}

// Now and then what is over is forgotten: looking for it at each event would
// make a rebuild slow.
const (
	forgetEvery  = 256 // sequences
	forgetAtOnce = 1000
)

// forget drops sessions whose time was over when ev happened.
func (Sessions) forget(tx Tx, ev domain.Recorded) error {
	if ev.Seq%forgetEvery != 0 {
		return nil
	}
	var over [][]byte
	end := uint64(ev.At.UnixMilli())
	err := tx.Iterate(Span{Prefix: []byte{'x'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[1:]) >= end || len(over) == forgetAtOnce {
			return false, nil
		}
		over = append(over, append([]byte(nil), key...))
		return true, nil
	})
	for _, key := range over {
		if err == nil {
			err = tx.Delete(key)
		}
		if err == nil {
			err = tx.Delete(append([]byte{'s'}, key[9:]...))
		}
	}
	return err
}

// Ended reports whether the session with this id ended before its time.
func (s Sessions) Ended(r Reader, id string) (bool, error) {
	_, ended, err := r.Get(s, append([]byte{'s'}, id...))
	return ended, err
}

func sessionExpiry(at int64, id string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'x'}, uint64(at)), id...)
}
