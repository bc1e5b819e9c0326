package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/subscription"
)

// Deliveries is the read model of deliveries to subscriptions. The last event about a delivery
// contains all of it: when that event is erased, the delivery is deleted.
//
//	d{id}                         DeliveryRecord
//	l{subscription}\0{ms}{id}     status and type of the event; ms is the start of the delivery
//	p{subscription}\0{place}\0{id} id: another attempt follows; place is the position of the event
//	n{seq}{place}\0{id}           id: the delivery was requested, and not attempted since
//	q{workspace}\0{seq}           ids of the deliveries that the event at this sequence is about, separated by \0
//	h{subscription}               HealthRecord
//	g{workspace}\0{seq}           ids of the subscriptions that the event at this sequence has a health of, separated by \0
//	m{subscription}               the last place that a delivery of the subscription has
//
// m tells without a lookup that most deliveries are new: they are made in the order of their events.
// q and g find what to delete when events are erased: what a later event is about stays. An event is
// about many deliveries, and writes q and g once.
type Deliveries struct{}

// DeliveryRecord is the last recorded state of a delivery.
type DeliveryRecord struct {
	subscription.Delivery
	WorkspaceID string `json:"workspaceId"`
	Last        uint64 `json:"last"` // sequence of the record
	Asked       bool   `json:"asked,omitempty"`
}

// encodedRoom is what the record of a delivery that succeeded at once takes, about.
const encodedRoom = 640

// encoded returns the record as JSON, as encoding/json encodes it.
func (d *DeliveryRecord) encoded() ([]byte, error) {
	o := domain.NewObjectEncoder(make([]byte, 0, encodedRoom))
	d.Delivery.Encode(&o)
	o.Text("workspaceId", d.WorkspaceID)
	o.Int("last", int64(d.Last))
	o.IfTrue("asked", d.Asked)
	return o.End()
}

// HealthRecord is the health of a receiver after the last attempt.
type HealthRecord struct {
	subscription.Health
	At   time.Time `json:"at"`
	Last uint64    `json:"last"` // sequence of the record
}

// Since returns the health; only the time of the last delivery when the breaker was closed by a
// user after it.
func (h HealthRecord) Since(closed time.Time) subscription.Health {
	if h.At.Before(closed) {
		return subscription.Health{LastDeliveryAt: h.LastDeliveryAt}
	}
	return h.Health
}

// Name implements Projection.
func (Deliveries) Name() string { return "deliveries.3" }

// Log implements Projection.
func (Deliveries) Log() domain.Log { return domain.Activity }

// Apply implements Projection.
func (d Deliveries) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case subscription.Attempted:
		return d.putRecords(tx, ev, e.Records)
	case activity.Dropped:
		return d.drop(tx, e)
	case activity.DeliveriesDropped:
		return d.drop(tx, activity.Dropped(e))
	}
	return nil
}

// putRecords keeps the last record of each delivery, and the last health of each receiver.
func (d Deliveries) putRecords(tx Tx, ev domain.Recorded, records []subscription.Record) error {
	last, health := make(map[string]int, len(records)), map[string]int{}
	for i := range records {
		last[records[i].Delivery.ID] = i
		if records[i].Health != nil {
			health[records[i].Delivery.SubscriptionID] = i
		}
	}
	var deliveries, subscriptions []string
	places := map[string]place{}
	for i := range records {
		rec := &records[i]
		if last[rec.Delivery.ID] == i {
			deliveries = append(deliveries, rec.Delivery.ID)
			at, err := places[rec.Delivery.SubscriptionID].of(tx, rec.Delivery.SubscriptionID)
			if err != nil {
				return err
			}
			if err := d.putRecord(tx, ev, rec, rec.Delivery.SortKey > at.before); err != nil {
				return err
			}
			at.after = max(at.after, rec.Delivery.SortKey)
			places[rec.Delivery.SubscriptionID] = at
		}
		if id := rec.Delivery.SubscriptionID; rec.Health != nil && health[id] == i {
			subscriptions = append(subscriptions, id)
			if err := setJSON(tx, healthKey(id), HealthRecord{Health: *rec.Health, At: ev.At.UTC(), Last: ev.Seq}); err != nil {
				return err
			}
		}
	}
	for id, at := range places {
		if at.after == at.before {
			continue
		}
		if err := tx.Set(placeKey(id), []byte(at.after)); err != nil {
			return err
		}
	}
	return errors.Join(putIDs(tx, 'q', ev, deliveries), putIDs(tx, 'g', ev, subscriptions))
}

// place is the last place that a delivery of a subscription has, before and after an event. The zero place is not read yet.
type place struct {
	isRead        bool
	before, after string
}

// of returns the place of a subscription: p when it is read.
func (p place) of(tx Tx, subscriptionID string) (place, error) {
	if p.isRead {
		return p, nil
	}
	value, _, err := tx.Get(placeKey(subscriptionID))
	return place{isRead: true, before: string(value), after: string(value)}, err
}

// putIDs keeps what has a record at the sequence of an event.
func putIDs(tx Tx, space byte, ev domain.Recorded, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return tx.Set(scopedKey(space, ev.Stream.Scope, seqKey(ev.Seq)), []byte(strings.Join(ids, "\x00")))
}

// recordIDs returns the ids in a value of q or g.
func recordIDs(value []byte) []string { return strings.Split(string(value), "\x00") }

// putRecord stores a record instead of the one before, which is not looked for when the delivery is known to be new.
func (Deliveries) putRecord(tx Tx, ev domain.Recorded, e *subscription.Record, isNew bool) error {
	var old DeliveryRecord
	if !isNew {
		if err := getJSON(tx, deliveryKey(e.Delivery.ID), &old); err != nil {
			return err
		}
	}
	now := DeliveryRecord{Delivery: e.Delivery, WorkspaceID: ev.Stream.Scope, Last: ev.Seq, Asked: e.Asked}
	if old.ID != "" {
		if err := deleteKeys(tx, old.indexes()...); err != nil {
			return err
		}
	}
	body, err := now.encoded()
	if err != nil {
		return err
	}
	if err := tx.Set(deliveryKey(now.ID), body); err != nil {
		return err
	}
	for i, key := range now.indexes() {
		value := []byte(now.ID)
		if i == 0 {
			value = listValue(now)
		}
		if err := tx.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// indexes returns the index keys of a delivery. The first one is its key in the list.
func (d DeliveryRecord) indexes() [][]byte {
	keys := [][]byte{deliveryListKey(d.SubscriptionID, d.CreatedAt, d.ID)}
	if d.Open() {
		keys = append(keys, scopedKey('p', d.SubscriptionID, []byte(d.SortKey+"\x00"+d.ID)))
	}
	if d.Asked {
		keys = append(keys, append(append([]byte{'n'}, seqKey(d.Last)...), d.SortKey+"\x00"+d.ID...))
	}
	return keys
}

// drop deletes what is stored from erased events.
func (d Deliveries) drop(tx Tx, gone activity.Dropped) error {
	places := map[string]string{} // the last one of the deleted deliveries, by subscription
	err := eachErased(tx, 'q', gone, func(key, value []byte) error {
		for _, id := range recordIDs(value) {
			var rec DeliveryRecord
			if err := getJSON(tx, deliveryKey(id), &rec); err != nil {
				return err
			}
			if rec.Last != lastSeq(key) {
				continue
			}
			if err := deleteKeys(tx, append(rec.indexes(), deliveryKey(id))...); err != nil {
				return err
			}
			places[rec.SubscriptionID] = max(places[rec.SubscriptionID], rec.SortKey)
		}
		return tx.Delete(key)
	})
	if err != nil {
		return err
	}
	for id, at := range places {
		if err := d.restorePlace(tx, id, at); err != nil {
			return err
		}
	}
	return eachErased(tx, 'g', gone, func(key, value []byte) error {
		for _, id := range recordIDs(value) {
			var rec HealthRecord
			if err := getJSON(tx, healthKey(id), &rec); err != nil {
				return err
			}
			if rec.Last != lastSeq(key) {
				continue
			}
			if err := tx.Delete(healthKey(id)); err != nil {
				return err
			}
		}
		return tx.Delete(key)
	})
}

// restorePlace stores the last place of the deliveries of a subscription again, after the last one of those that were
// deleted was at a place. The oldest events are erased first, so it is seldom that others are left.
func (Deliveries) restorePlace(tx Tx, subscriptionID, deleted string) error {
	value, ok, err := tx.Get(placeKey(subscriptionID))
	if err != nil || !ok || string(value) > deleted {
		return err
	}
	prefix := scopedKey('l', subscriptionID, nil)
	var ids []string
	err = tx.Iterate(Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(prefix)+8:]))
		return true, nil
	})
	last := ""
	for _, id := range ids { // it is not allowed to read others during an iteration
		if err != nil {
			return err
		}
		var rec DeliveryRecord
		err = getJSON(tx, deliveryKey(id), &rec)
		last = max(last, rec.SortKey)
	}
	switch {
	case err != nil:
		return err
	case last == "":
		return tx.Delete(placeKey(subscriptionID))
	}
	return tx.Set(placeKey(subscriptionID), []byte(last))
}

// lastSeq returns the sequence at the end of a key.
func lastSeq(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

func deleteKeys(tx Tx, keys ...[]byte) error {
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// eachErased visits the keys of a space with erased sequences.
func eachErased(tx Tx, space byte, gone activity.Dropped, visit func(key, value []byte) error) error {
	type pair struct{ key, value []byte }
	var found []pair
	prefix := scopedKey(space, gone.WorkspaceID, nil)
	span := Span{Prefix: prefix, From: scopedKey(space, gone.WorkspaceID, seqKey(gone.From))}
	err := tx.Iterate(span, func(key, value []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[len(prefix):]) > gone.To {
			return false, nil
		}
		found = append(found, pair{append([]byte(nil), key...), append([]byte(nil), value...)})
		return true, nil
	})
	for _, p := range found { // visit may read and write, which is not allowed during an iteration
		if err == nil {
			err = visit(p.key, p.value)
		}
	}
	return err
}

func deliveryKey(id string) []byte { return append([]byte{'d'}, id...) }

func healthKey(subscriptionID string) []byte { return append([]byte{'h'}, subscriptionID...) }

func placeKey(subscriptionID string) []byte { return append([]byte{'m'}, subscriptionID...) }

func deliveryListKey(subscriptionID string, created time.Time, id string) []byte {
	key := make([]byte, 0, 1+len(subscriptionID)+1+8+len(id)) // in one piece: there is one for each delivery
	key = append(append(append(key, 'l'), subscriptionID...), 0)
	return append(binary.BigEndian.AppendUint64(key, uint64(created.UnixMilli())), id...)
}

// Has reports whether a delivery was recorded.
func (d Deliveries) Has(r Reader, id string) (bool, error) {
	_, found, err := r.Get(d, deliveryKey(id))
	return found, err
}

// LastPlace returns the last place that a delivery of a subscription has: one with a later place was not recorded.
func (d Deliveries) LastPlace(r Reader, subscriptionID string) (string, error) {
	value, _, err := r.Get(d, placeKey(subscriptionID))
	return string(value), err
}

// Get returns a delivery.
func (d Deliveries) Get(r Reader, id string) (rec DeliveryRecord, ok bool, err error) {
	value, ok, err := r.Get(d, deliveryKey(id))
	if err != nil || !ok {
		return rec, false, err
	}
	return rec, true, json.Unmarshal(value, &rec)
}

// Health returns the health of the receiver of a subscription after the last attempt.
func (d Deliveries) Health(r Reader, subscriptionID string) (h HealthRecord, err error) {
	value, ok, err := r.Get(d, healthKey(subscriptionID))
	if err != nil || !ok {
		return h, err
	}
	return h, json.Unmarshal(value, &h)
}

// DeliveryListed is an entry of the list of deliveries.
type DeliveryListed struct {
	ID        string
	CreatedAt time.Time
	Status    subscription.Status
	EventType string
}

// listValue is the value of a delivery in the list.
func listValue(d DeliveryRecord) []byte {
	return append(append(append(make([]byte, 0, len(d.Status)+1+len(d.EventType)), d.Status...), 0), d.EventType...)
}

// List visits the deliveries of a subscription that started before a time, the newest first,
// until visit returns false. The zero time is no limit.
func (d Deliveries) List(r Reader, subscriptionID string, before time.Time, visit func(DeliveryListed) (more bool)) error {
	prefix := scopedKey('l', subscriptionID, nil)
	span := Span{Prefix: prefix, Reverse: true}
	if !before.IsZero() {
		span.From = append(append([]byte(nil), prefix...), seqKey(uint64(before.UnixMilli()))...)
	}
	return r.Iterate(d, span, func(key, value []byte) (bool, error) {
		rest := key[len(prefix):]
		status, eventType, _ := strings.Cut(string(value), "\x00")
		return visit(DeliveryListed{
			ID: string(rest[8:]), CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(rest))).UTC(),
			Status: subscription.Status(status), EventType: eventType,
		}), nil
	})
}

// Open visits the deliveries of a subscription that will be attempted again, in the order of
// their events, until visit returns false.
func (d Deliveries) Open(r Reader, subscriptionID string, visit func(DeliveryRecord) (more bool)) error {
	return r.Iterate(d, Span{Prefix: scopedKey('p', subscriptionID, nil)}, func(_, value []byte) (bool, error) {
		rec, ok, err := d.Get(r, string(value))
		return err == nil && (!ok || visit(rec)), err
	})
}

// Waiting returns how many deliveries of a subscription will be attempted again.
func (d Deliveries) Waiting(r Reader, subscriptionID string) (n int, err error) {
	err = r.Iterate(d, Span{Prefix: scopedKey('p', subscriptionID, nil), KeysOnly: true}, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

// Asked visits the deliveries that were requested by events after a sequence, in order. It
// returns the sequence of the last one.
func (d Deliveries) Asked(r Reader, after uint64, visit func(DeliveryRecord)) (last uint64, err error) {
	last = after
	from := append([]byte{'n'}, seqKey(after+1)...)
	err = r.Iterate(d, Span{Prefix: []byte{'n'}, From: from}, func(key, value []byte) (bool, error) {
		last = binary.BigEndian.Uint64(key[1:9])
		rec, ok, err := d.Get(r, string(value))
		if ok {
			visit(rec)
		}
		return err == nil, err
	})
	return last, err
}
