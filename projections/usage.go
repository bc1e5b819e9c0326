package projections

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/activity"
)

// Usage is the read model of how much workspaces are used: who and what came on which
// day, and what apps say of themselves. Days are those of UTC.
//
//	s{workspace}\0{seq}              the space of an event that counts, and its day
//	i{workspace}\0{day}{seq}         an interaction: the time of day, and each id that counts
//	d{workspace}\0{day}{kind}{id}    how many interactions of the day have the id
//	u{workspace}\0{day}{seq}         what an app said, JSON
//	m{workspace}\0{day}              what all apps of the day come to, JSON
//
// Ids are hashes. What a day comes to is kept for reading, what each event added for
// the day on which the event is erased, and for parts of days.
type Usage struct{}

// Name implements Projection.
func (Usage) Name() string { return "usage.2" }

// Log implements Projection.
func (Usage) Log() domain.Log { return domain.Activity }

// Apply implements Projection.
func (u Usage) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case activity.Interaction:
		return u.count(tx, ev, idsOf(ev.Meta, e.Trigger.Type))
	case activity.Dropped:
		return u.drop(tx, e)
	}
	if said, ok := saidBy(ev); ok {
		return u.gauge(tx, ev, said)
	}
	return nil
}

// The kinds of ids that are counted.
const (
	kindTransaction byte = 't'
	kindHTTP        byte = 'h'
	kindEvent       byte = 'e'
	kindSchedule    byte = 's'
	kindSession     byte = 'S'
	kindUser        byte = 'U'
)

// countedID is a kind and the hash of an id.
type countedID [1 + idLength]byte

const idLength = 8

// idsOf lists what an interaction counts for.
func idsOf(m domain.Meta, trigger string) (ids []countedID) {
	add := func(kind byte, id string) {
		if id != "" {
			sum := sha256.Sum256([]byte(id))
			ids = append(ids, countedID(append([]byte{kind}, sum[:idLength]...)))
		}
	}
	add(kindTransaction, m.CorrelationID)
	switch trigger {
	case activity.ByEndpoint:
		add(kindHTTP, m.CorrelationID)
	case activity.ByEvent:
		add(kindEvent, m.CorrelationID)
	case activity.BySchedule:
		add(kindSchedule, m.CorrelationID)
	}
	add(kindSession, m.SessionID)
	add(kindUser, m.UserID)
	return ids
}

// count adds an interaction to its day.
func (u Usage) count(tx Tx, ev domain.Recorded, ids []countedID) error {
	row := binary.BigEndian.AppendUint32(nil, uint32(ev.At.Sub(startOf(dayOf(ev.At))).Milliseconds()))
	for _, id := range ids {
		row = append(row, id[:]...)
		if err := u.change(tx, ev.Stream.Scope, dayOf(ev.At), id, 1); err != nil {
			return err
		}
	}
	return u.keep(tx, ev, 'i', row)
}

// keep stores what an event added, in a space.
func (Usage) keep(tx Tx, ev domain.Recorded, space byte, row []byte) error {
	day := dayOf(ev.At)
	if err := tx.Set(scoped('s', ev.Stream.Scope, seqKey(ev.Seq)), append([]byte{space}, dayKey(day)...)); err != nil {
		return err
	}
	return tx.Set(usageKey(space, ev.Stream.Scope, day, ev.Seq), row)
}

// change adds to how many interactions of a day have an id, or takes one away.
func (Usage) change(tx Tx, workspaceID string, day uint32, id countedID, by int) error {
	key := scoped('d', workspaceID, append(dayKey(day), id[:]...))
	value, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	n, _ := binary.Uvarint(value)
	if n += uint64(by); n == 0 {
		return tx.Delete(key)
	}
	return tx.Set(key, binary.AppendUvarint(nil, n))
}

// drop takes away what erased events added.
func (u Usage) drop(tx Tx, gone activity.Dropped) error {
	again := map[uint32]bool{}
	err := erased(tx, 's', gone, func(key, value []byte) error {
		if len(value) != 5 {
			return fmt.Errorf("usage: %q has no day", key)
		}
		space, day := value[0], binary.BigEndian.Uint32(value[1:])
		row := usageKey(space, gone.WorkspaceID, day, binary.BigEndian.Uint64(key[len(key)-8:]))
		if space == 'i' {
			if err := u.discount(tx, gone.WorkspaceID, day, row); err != nil {
				return err
			}
		} else {
			again[day] = true
		}
		if err := tx.Delete(row); err != nil {
			return err
		}
		return tx.Delete(key)
	})
	for day := range again {
		if err == nil {
			err = u.gaugeAgain(tx, gone.WorkspaceID, day)
		}
	}
	return err
}

// discount takes an interaction away from its day.
func (u Usage) discount(tx Tx, workspaceID string, day uint32, key []byte) error {
	row, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	return eachID(row, func(id countedID) error { return u.change(tx, workspaceID, day, id, -1) })
}

// eachID visits the ids of an interaction.
func eachID(row []byte, visit func(countedID) error) error {
	for row = row[min(4, len(row)):]; len(row) >= 1+idLength; row = row[1+idLength:] {
		if err := visit(countedID(row[:1+idLength])); err != nil {
			return err
		}
	}
	return nil
}

const dayLength = 24 * time.Hour

// dayOf returns the number of the day of a time.
func dayOf(at time.Time) uint32 { return uint32(max(0, at.Unix()) / int64(dayLength/time.Second)) }

// startOf returns the first moment of a day.
func startOf(day uint32) time.Time {
	return time.Unix(int64(day)*int64(dayLength/time.Second), 0).UTC()
}

func dayKey(day uint32) []byte { return binary.BigEndian.AppendUint32(nil, day) }

func usageKey(space byte, workspaceID string, day uint32, seq uint64) []byte {
	return scoped(space, workspaceID, append(dayKey(day), seqKey(seq)...))
}
